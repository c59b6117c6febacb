"""The athlete of the spacetime method: 41 degrees of freedom, 35 of them driven by PD servos.

Three-axis lumbar, thorax and neck, three-axis hips and shoulders, two-axis ankles and wrists, hinged knees, elbows and
toes. With left-right symmetry 22 angles remain (13 paired, 9 of the trunk), as in the paper's count of variables. The
paper gives neither lengths nor masses: segment masses are the usual shares of body mass, and lengths are chosen so that
the centre of mass of the straight pose is at the paper's balance height.
"""

from __future__ import annotations

from gambol.characters.anatomy import SIDES, biped_landmarks, biped_parts
from gambol.characters.blueprint import Blueprint, Geom, Joint, Link, Servo, Surface, with_mirror_images
from gambol.characters.character import Character, Patch, Pose

_SHARES = {
    "pelvis": 0.142,
    "lumbar": 0.139,
    "torso": 0.216,
    "head": 0.081,
    "thigh": 0.100,
    "shin": 0.0465,
    "foot": 0.0115,
    "toes": 0.003,
    "upper_arm": 0.028,
    "forearm": 0.016,
    "hand": 0.006,
}
"""Segment masses as shares of body mass."""

_SERVOS = {
    "lumbar": (600, 60),
    "thorax": (600, 60),
    "neck": (60, 6),
    "hip": (500, 50),
    "knee": (500, 50),
    "ankle": (300, 30),
    "toe": (40, 4),
    "shoulder": (250, 25),
    "elbow": (200, 20),
    "wrist": (60, 6),
}
"""Gains kp and kd (N m per rad, N m s per rad) by joint."""


def _ball(joint: str, x: tuple[float, float], y: tuple[float, float], z: tuple[float, float]) -> tuple[Joint, ...]:
    """Three hinges at one point: about y (flexion), x (sideways), z (twist)."""
    return (
        Joint(f"{joint}_y", (0, 1, 0), y, damping=1.0),
        Joint(f"{joint}_x", (1, 0, 0), x, damping=1.0),
        Joint(f"{joint}_z", (0, 0, 1), z, damping=1.0),
    )


_LINKS = with_mirror_images(
    (
        Link("pelvis", None, (0, 0, 1.06), (Geom.capsule((-0.02, -0.08, 0), (-0.02, 0.08, 0), 0.105),)),
        Link(
            "lumbar",
            "pelvis",
            (0, 0, 0.10),
            (Geom.capsule((-0.01, -0.06, 0.08), (-0.01, 0.06, 0.08), 0.10),),
            _ball("lumbar", (-35, 35), (-30, 75), (-45, 45)),
        ),
        Link(
            "torso",
            "lumbar",
            (0, 0, 0.17),
            (
                Geom.capsule((-0.01, -0.09, 0.20), (-0.01, 0.09, 0.20), 0.10, "chest"),
                Geom.capsule((-0.01, -0.07, 0.07), (-0.01, 0.07, 0.07), 0.10, "ribs"),
            ),
            _ball("thorax", (-30, 30), (-25, 45), (-45, 45)),
        ),
        Link(
            "head",
            "torso",
            (0, 0, 0.33),
            (Geom.capsule((0, 0, 0.0), (0, 0, 0.05), 0.05, "neck"), Geom.sphere((0.02, 0, 0.15), 0.105)),
            _ball("neck", (-40, 40), (-50, 50), (-70, 70)),
        ),
        Link(
            "right_thigh",
            "pelvis",
            (0, -0.095, -0.04),
            (Geom.capsule((0, 0, -0.04), (0, 0.005, -0.40), 0.07),),
            _ball("right_hip", (-50, 30), (-140, 40), (-50, 50)),
        ),
        Link(
            "right_shin",
            "right_thigh",
            (0, 0.01, -0.47),
            (Geom.capsule((0, 0, -0.03), (0, 0, -0.40), 0.05),),
            (Joint("right_knee", (0, 1, 0), (0, 155), damping=1.0),),
        ),
        Link(
            "right_foot",
            "right_shin",
            (0, 0, -0.46),
            (Geom.box((0.035, 0, -0.05), (0.095, 0.045, 0.035)),),
            (
                Joint("right_ankle_y", (0, 1, 0), (-45, 55), damping=1.0),
                Joint("right_ankle_x", (1, 0, 0), (-35, 35), damping=1.0),
            ),
        ),
        Link(
            "right_toes",
            "right_foot",
            (0.13, 0, -0.065),
            (Geom.box((0.03, 0, 0), (0.033, 0.045, 0.02)),),
            (Joint("right_toe", (0, 1, 0), (-60, 30), stiffness=5.0, damping=0.5),),
        ),
        Link(
            "right_upper_arm",
            "torso",
            (0, -0.215, 0.23),
            (Geom.capsule((0, -0.02, -0.02), (0, -0.02, -0.27), 0.05),),
            _ball("right_shoulder", (-170, 45), (-180, 60), (-90, 90)),
        ),
        Link(
            "right_forearm",
            "right_upper_arm",
            (0, -0.02, -0.31),
            (Geom.capsule((0, 0, -0.02), (0, 0, -0.24), 0.04),),
            (Joint("right_elbow", (0, 1, 0), (-150, 0), damping=1.0),),
        ),
        Link(
            "right_hand",
            "right_forearm",
            (0, 0, -0.28),
            (Geom.box((0, 0, -0.08), (0.035, 0.02, 0.08)),),
            (
                Joint("right_wrist_y", (0, 1, 0), (-80, 80), damping=0.5),
                Joint("right_wrist_x", (1, 0, 0), (-40, 40), damping=0.5),
            ),
        ),
    )
)


def _both(**angles: float) -> dict[str, float]:
    return {f"{side}_{joint}": angle for joint, angle in angles.items() for side in SIDES}


_POSES = {
    "standing": Pose(_both(elbow=-0.2)),
    "sitting": Pose({"lumbar_y": 0.15, **_both(hip_y=-1.5, knee=1.5, shoulder_y=-0.4, elbow=-0.9)}),
    "supine": Pose(_both(shoulder_x=-0.3), (0.7071068, 0.0, -0.7071068, 0.0)),
    "prone": Pose(_both(shoulder_x=-0.3, ankle_y=0.7), (0.7071068, 0.0, 0.7071068, 0.0)),
}


def _patches() -> dict[str, Patch]:
    patches = {}
    for side in SIDES:
        patches[f"{side}_foot"] = Patch(
            f"{side}_foot", tuple((x, y, -0.085) for x in (-0.06, 0.13) for y in (-0.045, 0.045))
        )
        patches[f"{side}_toes"] = Patch(f"{side}_toes", ((0.063, -0.045, -0.02), (0.063, 0.045, -0.02)))
        patches[f"{side}_knee"] = Patch(f"{side}_shin", ((0.05, 0.0, -0.03),))
        patches[f"{side}_hand"] = Patch(
            f"{side}_hand", tuple((x, 0.0, z) for x in (-0.035, 0.035) for z in (-0.16, 0.0))
        )
    return patches


def athlete(name: str = "athlete", mass: float = 80.0, torque: float = 200.0) -> Character:
    """The athlete; ``mass`` in kilograms, ``torque`` the clamp of every servo in newton metres (flips use 400)."""
    links = tuple(
        Link(link.name, link.parent, link.offset, link.geoms, link.joints, mass * _SHARES[_segment(link.name)])
        for link in _LINKS
    )
    joints = [joint.name for link in links for joint in link.joints]
    servos = tuple(Servo(j, *next(gains for key, gains in _SERVOS.items() if key in j), torque) for j in joints)
    untouching = tuple(("lumbar", f"{side}_thigh") for side in SIDES)
    parts = biped_parts("lumbar")
    parts |= {f"{side}_leg": (*parts[f"{side}_leg"], f"{side}_toes") for side in SIDES}
    blueprint = Blueprint(name, links, servos, untouching, Surface(friction=1.0, condim=3), (0.42, 0.60, 0.78))
    return Character(
        name=name,
        xml=blueprint.spec().to_xml(),
        parts=parts,
        patches=_patches(),
        landmarks=biped_landmarks("torso", toe=(0.06, 0, 0), toe_body="toes"),
        poses=_POSES,
        recipe={"kind": "athlete", "mass": mass, "torque": torque},
    ).verified()


def _segment(link: str) -> str:
    return link.removeprefix("right_").removeprefix("left_")
