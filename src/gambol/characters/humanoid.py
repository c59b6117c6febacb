"""The 21-motor humanoid of partwise MPC and its heavier relatives.

Geometry, joints and motors are those of the published character: 27 degrees of freedom, 40.84 kg, torque motors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gambol.characters.anatomy import biped_landmarks, biped_parts
from gambol.characters.blueprint import Blueprint, Geom, Joint, Link, Motor, with_mirror_images
from gambol.characters.character import Character, Patch, Pose
from gambol.errors import unknown_name

_LINKS = with_mirror_images(
    (
        Link(
            "torso",
            None,
            (0, 0, 1.282),
            (
                Geom.capsule((0, -0.07, 0), (0, 0.07, 0), 0.07, "torso"),
                Geom.capsule((-0.01, -0.06, -0.12), (-0.01, 0.06, -0.12), 0.06, "waist_upper"),
            ),
        ),
        Link("head", "torso", (0, 0, 0.19), (Geom.sphere((0, 0, 0), 0.09),)),
        Link(
            "waist",
            "torso",
            (-0.01, 0, -0.26),
            (Geom.capsule((0, -0.06, 0), (0, 0.06, 0), 0.06, "waist_lower"),),
            (
                Joint("abdomen_z", (0, 0, 1), (-45, 45), (0, 0, 0.065), 20, 5),
                Joint("abdomen_y", (0, 1, 0), (-75, 30), (0, 0, 0.065), 10, 5),
            ),
        ),
        Link(
            "pelvis",
            "waist",
            (0, 0, -0.165),
            (Geom.capsule((-0.02, -0.07, 0), (-0.02, 0.07, 0), 0.09),),
            (Joint("abdomen_x", (1, 0, 0), (-35, 35), (0, 0, 0.1), 10, 5),),
        ),
        Link(
            "right_thigh",
            "pelvis",
            (0, -0.1, -0.04),
            (Geom.capsule((0, 0, 0), (0, 0.01, -0.34), 0.06),),
            (
                Joint("right_hip_x", (1, 0, 0), (-30, 10), (0, 0, 0), 10, 5),
                Joint("right_hip_z", (0, 0, 1), (-60, 35), (0, 0, 0), 10, 5),
                Joint("right_hip_y", (0, 1, 0), (-150, 20), (0, 0, 0), 10, 5),
            ),
        ),
        Link(
            "right_shin",
            "right_thigh",
            (0, 0.01, -0.4),
            (Geom.capsule((0, 0, 0), (0, 0, -0.3), 0.049),),
            (Joint("right_knee", (0, -1, 0), (-160, 2), (0, 0, 0.02), 1),),
        ),
        Link(
            "right_foot",
            "right_shin",
            (0, 0, -0.39),
            (
                Geom.capsule((-0.07, -0.01, 0), (0.14, -0.03, 0), 0.027, "right_foot_outside"),
                Geom.capsule((-0.07, 0.01, 0), (0.14, 0.03, 0), 0.027, "right_foot_inside"),
            ),
            (
                Joint("right_ankle_y", (0, 1, 0), (-50, 50), (0, 0, 0.08), 6),
                Joint("right_ankle_x", (0.8944, 0, 0.4472), (-50, 50), (0, 0, 0.04), 3),
            ),
        ),
        Link(
            "right_upper_arm",
            "torso",
            (0, -0.17, 0.06),
            (Geom.capsule((0, 0, 0), (0.16, -0.16, -0.16), 0.04),),
            (
                Joint("right_shoulder1", (0.8165, 0.4082, 0.4082), (-85, 60), (0, 0, 0), 1),
                Joint("right_shoulder2", (0, -0.7071, 0.7071), (-85, 60), (0, 0, 0), 1),
            ),
        ),
        Link(
            "right_forearm",
            "right_upper_arm",
            (0.18, -0.18, -0.18),
            (Geom.capsule((0.01, 0.01, 0.01), (0.17, 0.17, 0.17), 0.031),),
            (Joint("right_elbow", (0, -0.7071, 0.7071), (-100, 50)),),
        ),
        Link("right_hand", "right_forearm", (0.18, 0.18, 0.18), (Geom.sphere((0, 0, 0), 0.04),)),
    )
)

_TORQUES = {
    "abdomen": 40,
    "hip_x": 40,
    "hip_z": 40,
    "hip_y": 120,
    "knee": 100,
    "ankle": 20,
    "shoulder": 20,
    "elbow": 40,
}

_PATCHES = {
    "pelvis": Patch("pelvis", ((-0.02, -0.07, -0.09), (-0.02, 0.07, -0.09))),
    "right_foot": Patch(
        "right_foot", ((-0.07, -0.01, -0.027), (-0.07, 0.01, -0.027), (0.14, -0.03, -0.027), (0.14, 0.03, -0.027))
    ),
    "left_foot": Patch(
        "left_foot", ((-0.07, -0.01, -0.027), (-0.07, 0.01, -0.027), (0.14, -0.03, -0.027), (0.14, 0.03, -0.027))
    ),
    "right_hand": Patch("right_hand", ((0.0, 0.0, 0.0),)),
    "left_hand": Patch("left_hand", ((0.0, 0.0, 0.0),)),
}


def _both(**angles: float) -> dict[str, float]:
    return {f"{side}_{joint}": angle for joint, angle in angles.items() for side in ("right", "left")}


_RELAXED_ARMS = _both(shoulder1=0.45, shoulder2=-0.58, elbow=-1.7)
_POSES = {
    "standing": Pose({"abdomen_y": -0.1, **_both(hip_y=0.02, knee=-0.05), **_RELAXED_ARMS}),
    "sitting": Pose(
        {
            "abdomen_y": 0.1,
            **_both(hip_x=-0.05, hip_z=-0.15, hip_y=-1.55, knee=-1.4, shoulder1=0.7, shoulder2=-0.8, elbow=-1.1),
        }
    ),
    "supine": Pose(_both(shoulder1=0.3, shoulder2=-0.7, elbow=-1.2), (0.7071068, 0.0, -0.7071068, 0.0)),
    "prone": Pose(_both(shoulder1=0.3, shoulder2=-0.7, elbow=-1.2, ankle_y=0.6), (0.7071068, 0.0, 0.7071068, 0.0)),
    "handstand": Pose(
        {
            "abdomen_y": 0.52,
            **_both(hip_y=0.05, knee=-0.12, ankle_y=-0.1, shoulder1=-1.48, shoulder2=0.81, elbow=-1.42),
        },
        (0.2732, 0.0, 0.9620, 0.0),
    ),
}

GIRTHS: dict[str, dict[str, float]] = {
    "humanoid": {},
    "big-arms": {"right_arm": 1.6306, "left_arm": 1.6306},
    "big-legs": {"right_leg": 1.1561, "left_leg": 1.1561},
    "big-belly": {"waist_upper": 2.0972, "waist_lower": 2.0972},
}
"""How much thicker the parts of each published variant are; fitted to the published masses."""


def humanoid(name: str = "humanoid", girth: Mapping[str, float] | None = None) -> Character:
    """The humanoid, its parts, links or single geoms thickened by the factors of ``girth``."""
    girth = dict(GIRTHS.get(name, {}) if girth is None else girth)
    parts = biped_parts("waist")
    known = {*parts, *(link.name for link in _LINKS), *(geom.name for link in _LINKS for geom in link.geoms)} - {""}
    for key in girth:
        if key not in known:
            raise unknown_name("part, link or geom of the humanoid", key, known)
    part_of = {body: part for part, bodies in parts.items() for body in bodies}

    def thickened(link: Link) -> Link:
        of_link = girth.get(part_of[link.name], 1.0) * girth.get(link.name, 1.0)
        own = {geom: girth.get(geom.name, 1.0) if geom.name != link.name else 1.0 for geom in link.geoms}
        return replace(link, geoms=tuple(geom.with_girth(of_link * factor) for geom, factor in own.items()))

    links = tuple(thickened(link) for link in _LINKS)
    joints = [joint.name for link in links for joint in link.joints]
    motors = tuple(Motor(j, next(t for key, t in _TORQUES.items() if key in j)) for j in joints)
    untouching = tuple(("waist", f"{side}_thigh") for side in ("right", "left"))
    blueprint = Blueprint(name, links, motors, untouching)
    return Character(
        name=name,
        xml=blueprint.spec().to_xml(),
        parts=parts,
        patches=_PATCHES,
        landmarks=biped_landmarks("torso", knee=(0, 0, 0.02), ankle=(0, 0, 0.06), toe=(0.14, 0, 0)),
        poses=_POSES,
        recipe={"kind": name if name in GIRTHS else "humanoid", "girth": girth},
    ).verified()
