"""Plain parameters of a body, and how they become MJCF through ``mujoco.MjSpec``.

A blueprint is data: links with geoms and joints, and what drives the joints. Right-handed links are written once and
:func:`with_mirror_images` adds the left ones, so that equal angles left and right are mirror images of each other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import mujoco
import numpy as np

Vec3 = tuple[float, float, float]


@dataclass(frozen=True)
class Geom:
    """A solid on a link, in the link's frame. Capsules run from ``start`` to ``end``; other shapes sit at ``start``."""

    shape: str
    start: Vec3 = (0.0, 0.0, 0.0)
    end: Vec3 | None = None
    size: tuple[float, ...] = ()
    name: str = ""

    @staticmethod
    def capsule(start: Vec3, end: Vec3, radius: float, name: str = "") -> Geom:
        """A round-ended bar."""
        return Geom("capsule", start, end, (radius,), name)

    @staticmethod
    def sphere(centre: Vec3, radius: float, name: str = "") -> Geom:
        """A ball."""
        return Geom("sphere", centre, None, (radius,), name)

    @staticmethod
    def box(centre: Vec3, half: Vec3, name: str = "") -> Geom:
        """A box by its half sizes, aligned with the link."""
        return Geom("box", centre, None, half, name)

    def with_girth(self, factor: float) -> Geom:
        """The same solid, thicker: radii scale, a capsule's length does not; a box grows on every side."""
        return replace(self, size=tuple(s * factor for s in self.size))

    @property
    def volume(self) -> float:
        """Cubic metres."""
        if self.shape == "box":
            return float(8 * np.prod(self.size))
        ball = 4 / 3 * np.pi * self.size[0] ** 3
        if self.end is None:
            return ball
        return ball + np.pi * self.size[0] ** 2 * float(np.linalg.norm(np.subtract(self.end, self.start)))


@dataclass(frozen=True)
class Joint:
    """A hinge: axis and anchor in the link's frame, range in degrees, passive stiffness and damping (N m per rad)."""

    name: str
    axis: Vec3
    range_deg: tuple[float, float]
    anchor: Vec3 = (0.0, 0.0, 0.0)
    stiffness: float = 0.0
    damping: float = 0.2
    armature: float = 0.01
    limited: bool = True


@dataclass(frozen=True)
class Link:
    """A rigid body: where it hangs on its parent, its solids, its joints (none: welded; applied in order)."""

    name: str
    parent: str | None
    offset: Vec3
    geoms: tuple[Geom, ...] = ()
    joints: tuple[Joint, ...] = ()
    mass: float | None = None
    """Kilograms shared among the geoms by volume; without it the geoms have the density of water."""


@dataclass(frozen=True)
class Motor:
    """A torque motor: control in [-1, 1] times ``torque`` newton metres."""

    joint: str
    torque: float


@dataclass(frozen=True)
class Servo:
    """A PD servo: control is the target angle, force = kp (target - angle) - kd velocity, clamped to ±torque (N m)."""

    joint: str
    kp: float
    kd: float
    torque: float


@dataclass(frozen=True)
class Surface:
    """Contact properties of all solids of a body."""

    friction: float = 0.7
    condim: int = 1
    solref: tuple[float, float] = (0.015, 1.0)
    solimp: tuple[float, float, float] = (0.9, 0.99, 0.003)


@dataclass(frozen=True)
class Blueprint:
    """Everything needed to build a body; the first link carries the free root joint."""

    name: str
    links: tuple[Link, ...]
    actuators: tuple[Motor | Servo, ...]
    untouching: tuple[tuple[str, str], ...] = ()
    """Pairs of links whose solids may overlap without contact (parents and children never touch anyway)."""
    surface: Surface = field(default_factory=Surface)
    colour: tuple[float, float, float] = (0.86, 0.58, 0.42)

    def spec(self) -> mujoco.MjSpec:
        """The MuJoCo specification of this body."""
        spec = mujoco.MjSpec()
        spec.modelname = self.name
        spec.compiler.degree = False
        bodies: dict[str | None, mujoco.MjsBody] = {None: spec.worldbody}
        for link in self.links:
            body = bodies[link.parent].add_body(name=link.name, pos=link.offset)
            bodies[link.name] = body
            if link.parent is None:
                body.add_freejoint(name="root")
            for joint in link.joints:
                body.add_joint(
                    name=joint.name,
                    type=mujoco.mjtJoint.mjJNT_HINGE,
                    axis=joint.axis,
                    pos=joint.anchor,
                    range=np.deg2rad(joint.range_deg),
                    limited=joint.limited,
                    stiffness=joint.stiffness,
                    damping=joint.damping,
                    armature=joint.armature,
                )
            masses = _shares(link)
            for geom, mass in zip(link.geoms, masses, strict=True):
                self._add_geom(body, link, geom, mass)
        for actuator in self.actuators:
            _add_actuator(spec, actuator)
        for first, second in self.untouching:
            spec.add_exclude(name=f"{first}:{second}", bodyname1=first, bodyname2=second)
        return spec

    def _add_geom(self, body: mujoco.MjsBody, link: Link, geom: Geom, mass: float | None) -> None:
        options: dict[str, object] = {
            "name": geom.name or link.name,
            "type": getattr(mujoco.mjtGeom, f"mjGEOM_{geom.shape.upper()}"),
            "size": [*geom.size, 0.0, 0.0][:3],
            "friction": [self.surface.friction, 0.005, 0.0001],
            "condim": self.surface.condim,
            "solref": self.surface.solref,
            "solimp": [*self.surface.solimp, 0.5, 2.0],
            "rgba": [*self.colour, 1.0],
        }
        if geom.end is None:
            options["pos"] = geom.start
        else:
            options["fromto"] = [*geom.start, *geom.end]
        if mass is not None:
            options["mass"] = mass
        body.add_geom(**options)


def _shares(link: Link) -> list[float | None]:
    if link.mass is None:
        return [None] * len(link.geoms)
    volumes = np.array([geom.volume for geom in link.geoms])
    return list(link.mass * volumes / volumes.sum())


def _add_actuator(spec: mujoco.MjSpec, actuator: Motor | Servo) -> None:
    added = spec.add_actuator(
        name=actuator.joint, target=actuator.joint, trntype=mujoco.mjtTrn.mjTRN_JOINT, forcelimited=True
    )
    added.forcerange = [-actuator.torque, actuator.torque]
    if isinstance(actuator, Motor):
        added.set_to_motor()
        added.gear = [actuator.torque, 0, 0, 0, 0, 0]
        # force is before the gear: the control range alone bounds the torque
        added.forcelimited = False
        added.ctrllimited = True
        added.ctrlrange = [-1.0, 1.0]
    else:
        added.set_to_position(kp=actuator.kp, kv=actuator.kd)


_SIDE_WORDS = (("left", "right"), ("Left", "Right"), ("LEFT", "RIGHT"))
_SIDE_LETTER = re.compile(
    r"(?P<lone>(?:^|(?<=[ _.\-]))[LRlr](?=[ _.\-]|$))"  # hand.L, l_arm, Bip01 L Thigh
    r"|(?P<capital>^[LRlr](?=[A-Z]))"  # LHipJoint, lThigh
)


def mirror_name(name: str) -> str:
    """A name with left and right exchanged, in the usual spellings; the same name when it has no side."""
    for left, right in _SIDE_WORDS:
        if left in name or right in name:
            return name.replace(left, "\0").replace(right, left).replace("\0", right)
    return _SIDE_LETTER.sub(lambda found: found.group().translate(str.maketrans("LRlr", "RLrl")), name, count=1)


def mirror_position(vector: Iterable[float]) -> Vec3:
    """A point reflected in the x-z plane."""
    x, y, z = vector
    return (x, -y, z)


def mirror_axis(vector: Iterable[float]) -> Vec3:
    """A rotation axis reflected in the x-z plane: it turns the other way."""
    x, y, z = vector
    return (-x, y, -z)


def with_mirror_images(links: Iterable[Link]) -> tuple[Link, ...]:
    """The links, followed by the left image of every right one."""
    links = tuple(links)
    return links + tuple(_mirror_link(link) for link in links if mirror_name(link.name) != link.name)


def _mirror_link(link: Link) -> Link:
    return replace(
        link,
        name=mirror_name(link.name),
        parent=None if link.parent is None else mirror_name(link.parent),
        offset=mirror_position(link.offset),
        geoms=tuple(
            replace(
                geom,
                name=mirror_name(geom.name),
                start=mirror_position(geom.start),
                end=None if geom.end is None else mirror_position(geom.end),
            )
            for geom in link.geoms
        ),
        joints=tuple(
            replace(
                joint, name=mirror_name(joint.name), axis=mirror_axis(joint.axis), anchor=mirror_position(joint.anchor)
            )
            for joint in link.joints
        ),
    )
