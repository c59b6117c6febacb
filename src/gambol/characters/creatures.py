"""The non-human bodies of contact-invariant optimisation: a biped with a wide torso and a short-legged quadruped."""

from __future__ import annotations

from gambol.characters.anatomy import SIDES
from gambol.characters.blueprint import Blueprint, Geom, Joint, Link, Servo, Surface, with_mirror_images
from gambol.characters.character import Character, Patch, Point, Pose

_SURFACE = Surface(friction=1.0, condim=3)


def wide_biped(name: str = "wide-biped", width: float = 0.9, leg: float = 0.7) -> Character:
    """Two legs under a slab ``width`` metres wide; ``leg`` is the length of each leg."""
    upper, lower = 0.5 * leg, 0.5 * leg - 0.06
    links = with_mirror_images(
        (
            Link("torso", None, (0, 0, leg + 0.22), (Geom.box((0, 0, 0), (0.16, width / 2, 0.20)),), mass=40.0),
            Link(
                "right_thigh",
                "torso",
                (0, -0.36 * width, -0.22),
                (Geom.capsule((0, 0, 0), (0, 0, -upper), 0.07),),
                (
                    Joint("right_hip_y", (0, 1, 0), (-120, 60), damping=1.0),
                    Joint("right_hip_x", (1, 0, 0), (-60, 45), damping=1.0),
                    Joint("right_hip_z", (0, 0, 1), (-45, 45), damping=1.0),
                ),
                mass=6.0,
            ),
            Link(
                "right_shin",
                "right_thigh",
                (0, 0, -upper),
                (Geom.capsule((0, 0, 0), (0, 0, -lower), 0.055),),
                (Joint("right_knee", (0, 1, 0), (0, 150), damping=1.0),),
                mass=3.0,
            ),
            Link(
                "right_foot",
                "right_shin",
                (0, 0, -lower),
                (Geom.box((0.05, 0, -0.035), (0.13, 0.06, 0.025)),),
                (
                    Joint("right_ankle_y", (0, 1, 0), (-50, 50), damping=1.0),
                    Joint("right_ankle_x", (1, 0, 0), (-35, 35), damping=1.0),
                ),
                mass=1.0,
            ),
        )
    )
    soles = tuple((x, y, -0.06) for x in (-0.08, 0.18) for y in (-0.06, 0.06))
    return Character(
        name=name,
        xml=_blueprint(name, links, {"hip": 500, "knee": 500, "ankle": 250}, 250.0, (0.55, 0.70, 0.45)).spec().to_xml(),
        parts={"core": ("torso",), **{f"{s}_leg": tuple(f"{s}_{b}" for b in ("thigh", "shin", "foot")) for s in SIDES}},
        patches={f"{side}_foot": Patch(f"{side}_foot", soles) for side in SIDES},
        landmarks={
            "pelvis": Point("torso", (0.0, 0.0, -0.2)),
            **{f"{s}_hip": Point(f"{s}_thigh") for s in SIDES},
            **{f"{s}_knee": Point(f"{s}_shin") for s in SIDES},
            **{f"{s}_ankle": Point(f"{s}_foot") for s in SIDES},
            **{f"{s}_toe": Point(f"{s}_foot", (0.18, 0.0, -0.035)) for s in SIDES},
        },
        poses={
            "standing": Pose(
                {f"{s}_{j}": a for s in SIDES for j, a in (("hip_y", -0.2), ("knee", 0.4), ("ankle_y", -0.2))}
            ),
            "supine": Pose({}, (0.7071068, 0.0, -0.7071068, 0.0)),
            "prone": Pose({}, (0.7071068, 0.0, 0.7071068, 0.0)),
        },
        recipe={"kind": "wide-biped", "width": width, "leg": leg},
    ).verified()


def quadruped(name: str = "quadruped", length: float = 0.8, leg: float = 0.36) -> Character:
    """Four short legs under a long back; ``length`` of the trunk and of each ``leg`` in metres."""
    half = leg / 2
    limbs = tuple(
        Link(
            f"{end}_right_{bone}",
            parent,
            offset,
            (Geom.capsule((0, 0, 0), (0, 0, -half), radius),)
            + ((Geom.sphere((0, 0, -half), 0.04, f"{end}_right_paw"),) if bone == "shin" else ()),
            joints,
            mass,
        )
        for end, x in (("front", 0.42 * length), ("hind", -0.42 * length))
        for bone, parent, offset, radius, joints, mass in (
            (
                "thigh",
                "torso",
                (x, -0.14, -0.06),
                0.045,
                (
                    Joint(f"{end}_right_hip_x", (1, 0, 0), (-45, 30), damping=0.5),
                    Joint(f"{end}_right_hip_y", (0, 1, 0), (-90, 90), damping=0.5),
                ),
                1.2,
            ),
            (
                "shin",
                f"{end}_right_thigh",
                (0, 0, -half),
                0.035,
                (Joint(f"{end}_right_knee", (0, 1, 0), (-130, 130), damping=0.5),),
                0.8,
            ),
        )
    )
    trunk = (
        Link(
            "torso", None, (0, 0, leg + 0.1), (Geom.capsule((-length / 2, 0, 0), (length / 2, 0, 0), 0.13),), mass=18.0
        ),
        Link(
            "head",
            "torso",
            (length / 2 + 0.05, 0, 0.08),
            (Geom.capsule((0, 0, 0), (0.14, 0, 0.08), 0.07),),
            (Joint("neck_y", (0, 1, 0), (-45, 45), damping=0.5),),
            2.0,
        ),
    )
    links = with_mirror_images(trunk + limbs)
    legs = {f"{e}_{s}_leg": (f"{e}_{s}_thigh", f"{e}_{s}_shin") for e in ("front", "hind") for s in SIDES}
    bent = {"hip_y": -0.5, "knee": 1.0}
    return Character(
        name=name,
        xml=_blueprint(name, links, {"hip": 250, "knee": 250, "neck": 80}, 120.0, (0.72, 0.55, 0.36)).spec().to_xml(),
        parts={"core": ("torso", "head"), **legs},
        patches={
            leg_name.replace("leg", "paw"): Patch(bones[1], ((0.0, 0.0, -half - 0.04),))
            for leg_name, bones in legs.items()
        },
        landmarks={
            "pelvis": Point("torso"),
            "head": Point("head"),
            **{k: Point(v[1], (0, 0, -half)) for k, v in legs.items()},
        },
        poses={
            "standing": Pose(
                {
                    f"{e}_{s}_{j}": a * (1 if e == "front" else -1)
                    for e in ("front", "hind")
                    for s in SIDES
                    for j, a in bent.items()
                }
            ),
            "supine": Pose({}, (0.0, 1.0, 0.0, 0.0)),
            "on-side": Pose({}, (0.7071068, 0.7071068, 0.0, 0.0)),
        },
        recipe={"kind": "quadruped", "length": length, "leg": leg},
    ).verified()


def _blueprint(
    name: str, links: tuple[Link, ...], gains: dict[str, float], torque: float, colour: tuple[float, float, float]
) -> Blueprint:
    """Servos with a tenth of their stiffness as damping on every joint."""
    joints = [joint.name for link in links for joint in link.joints]
    stiffness = {j: next(kp for key, kp in gains.items() if key in j) for j in joints}
    servos = tuple(Servo(j, kp, 0.1 * kp, torque) for j, kp in stiffness.items())
    return Blueprint(name, links, servos, (), _SURFACE, colour)
