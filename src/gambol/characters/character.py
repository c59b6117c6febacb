"""A body that can be simulated, and what the methods need to know about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import mujoco

from gambol.characters.symmetry import Symmetry
from gambol.errors import InputError, unknown_name
from gambol.rotations import Array

Vec3 = tuple[float, float, float]


@dataclass(frozen=True)
class Point:
    """A point fixed to a body, in that body's frame (metres)."""

    body: str
    offset: Vec3 = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Patch:
    """A region of a body made for contact (a sole, a palm): its corner points in the body's frame."""

    body: str
    points: tuple[Vec3, ...]


@dataclass(frozen=True)
class Pose:
    """Joint angles by name (radians; the unnamed are zero) and how the root is turned."""

    joints: Mapping[str, float] = field(default_factory=dict)
    root: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Character:
    """A simulated body: MJCF text with one free root, and the names methods work with.

    ``parts`` group bodies (core, right_leg, …), ``patches`` are where it may touch the world, ``landmarks`` are the
    anatomical points shared by all bodies of a family (hips, knees, wrists …), by which motions are retargeted.
    """

    name: str
    xml: str
    parts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    patches: Mapping[str, Patch] = field(default_factory=dict)
    landmarks: Mapping[str, Point] = field(default_factory=dict)
    poses: Mapping[str, Pose] = field(default_factory=dict)
    assets: Mapping[str, bytes] = field(default_factory=dict)
    recipe: Mapping[str, Any] | None = None
    """What ``gambol.characters.build`` rebuilds it from; None for a body that only its MJCF describes."""

    def __getstate__(self) -> dict[str, Any]:
        """The compiled model stays behind when a character travels to another process: it is rebuilt there."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def spec(self) -> mujoco.MjSpec:
        """A fresh MuJoCo specification of this body."""
        return mujoco.MjSpec.from_string(self.xml, assets=dict(self.assets))

    @cached_property
    def model(self) -> mujoco.MjModel:
        """The body alone in an empty world."""
        return self.spec().compile()

    @cached_property
    def symmetry(self) -> Symmetry:
        """Which joints mirror which."""
        return Symmetry.of(self.model)

    @cached_property
    def mass(self) -> float:
        """Kilograms."""
        return float(self.model.body_subtreemass[0])

    @property
    def size(self) -> float:
        """Metres: how large it is."""
        return float(self.model.stat.extent)

    @cached_property
    def bodies(self) -> tuple[str, ...]:
        """Names of all bodies, parents first."""
        return tuple(self.model.body(i).name for i in range(1, self.model.nbody))

    @cached_property
    def joints(self) -> tuple[str, ...]:
        """Names of all joints but the root, in the order of the state."""
        return tuple(self.model.joint(i).name for i in range(1, self.model.njnt))

    @cached_property
    def actuators(self) -> tuple[str, ...]:
        """Names of all actuators, in the order of the controls."""
        return tuple(self.model.actuator(i).name for i in range(self.model.nu))

    @cached_property
    def part_of(self) -> dict[str, str]:
        """The part each body belongs to."""
        return {body: part for part, bodies in self.parts.items() for body in bodies}

    def pose_qpos(self, pose: str | Pose = "zero") -> Array:
        """The state (nq,) of a named or given pose with the root at the origin; ``zero`` is always there."""
        if isinstance(pose, str):
            if pose not in self.poses and pose != "zero":
                raise unknown_name(f"pose of {self.name!r}", pose, {*self.poses, "zero"})
            pose = self.poses.get(pose, Pose())
        qpos = self.model.qpos0.copy()
        qpos[:7] = [0, 0, 0, *pose.root]
        for name, angle in pose.joints.items():
            if name not in self.joints:
                raise unknown_name(f"joint of {self.name!r}", name, self.joints)
            qpos[self.model.joint(name).qposadr[0]] = angle
        return qpos

    def named(self, name: str) -> Character:
        """The same body under another name."""
        return replace(self, name=name)

    def verified(self) -> Character:
        """This character, once its parts, patches, landmarks and poses are known to name what is there."""
        model = self.model
        if model.njnt == 0 or model.jnt_type[0] != mujoco.mjtJoint.mjJNT_FREE:
            raise InputError(
                f"character {self.name!r} has no free root joint first",
                hint="give the first body a <freejoint/>; fixed-base bodies are scenery, not characters",
            )
        named = [(f"part {part!r}", body) for part, bodies in self.parts.items() for body in bodies]
        named += [(f"patch {key!r}", patch.body) for key, patch in self.patches.items()]
        named += [(f"landmark {key!r}", point.body) for key, point in self.landmarks.items()]
        for what, body in named:
            if body not in self.bodies:
                raise unknown_name(f"body for {what} of {self.name!r}", body, self.bodies)
        for pose in self.poses:
            self.pose_qpos(pose)
        return self
