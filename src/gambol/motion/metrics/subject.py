"""One character in a motion, and everything about it that several metrics need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import mujoco
import numpy as np

from gambol.motion.contacts import Contacts, Surfaces, survey
from gambol.motion.motion import Motion
from gambol.rotations import Array, rotate

T = TypeVar("T")

NEAR = 0.02
"""Metres within which a solid may be held by what is there."""


@dataclass(frozen=True)
class Mechanics:
    """Mass in motion at every frame; world axes, momenta about the centre of mass."""

    com: Array
    """(T, 3) centre of mass, metres."""
    momentum: Array
    """(T, 6) linear (kg m/s), then angular (kg m²/s)."""
    energy: Array
    """(T,) kinetic energy, gravity's and that of joint springs, joules."""
    gyration: float
    """Metres: the radius at which all mass would have the body's mean moment of inertia, in the first frame."""


@dataclass(frozen=True)
class Touches:
    """Rows where the character is near something that is not itself."""

    contacts: Contacts
    surfaces: Surfaces
    """Normals point into the character."""
    body: np.ndarray
    """(K,) the character's body of each row."""
    other: np.ndarray
    """(K,) the body it is near."""
    sign: Array
    """(K,) +1 where the row's force acts on the character, -1 where it acts on the other."""


def is_single_axis(model: mujoco.MjModel, joint: int) -> bool:
    """Whether a joint is a hinge or a slide."""
    return int(model.jnt_type[joint]) in (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))


class Subject:
    """A motion seen from one of its characters."""

    def __init__(self, motion: Motion, name: str):
        self.motion, self.name = motion, name
        self.character, self.span = motion.scene.characters[name], motion.scene.spans[name]
        self.model = motion.scene.model
        self.root = self.span.bodies[0]
        self.mass = float(self.model.body_subtreemass[self.root])
        self.gravity: Array = self.model.opt.gravity.copy()
        self.weight = self.mass * float(np.linalg.norm(self.gravity))
        self._computed: dict[Callable[[Subject], Any], Any] = {}

    def once(self, compute: Callable[[Subject], T]) -> T:
        """What a function of this subject gives, computed the first time only."""
        if compute not in self._computed:
            self._computed[compute] = compute(self)
        return self._computed[compute]

    @cached_property
    def near(self) -> tuple[Contacts, Surfaces]:
        """Everything in the scene that is within reach of a touch."""
        return survey(self.motion, margin=NEAR)

    @cached_property
    def touches(self) -> Touches:
        """What the character is near, itself aside."""
        contacts, surfaces = self.near
        first, second = self._owned(contacts).T
        chosen = first != second
        sign = np.where(first, 1.0, -1.0)[chosen]
        bodies = self.model.geom_bodyid[contacts.geoms[chosen]]
        body, other = np.where(sign > 0, bodies.T, bodies.T[::-1])
        seen = Surfaces(surfaces.normal[chosen] * sign[:, None], surfaces.friction[chosen])
        return Touches(contacts.rows(chosen), seen, body, other, sign)

    def self_contacts(self) -> Contacts:
        """Rows where both solids are the character's."""
        contacts, _ = self.near
        return contacts.rows(np.asarray(self._owned(contacts).all(axis=1)))

    def _owned(self, contacts: Contacts) -> np.ndarray:
        """(K, 2) whether each solid is the character's."""
        return np.isin(self.model.geom_bodyid[contacts.geoms], list(self.span.bodies))

    def recorded_wrenches(self, contacts: Contacts) -> Array:
        """(T, 6) recorded contact forces on the character and their moments about its centre of mass."""
        owned = self._owned(contacts).astype(float)
        force = contacts.force * (owned[:, :1] - owned[:, 1:])
        moment = np.cross(contacts.position - self.mechanics.com[contacts.frame], force)
        total = np.zeros((len(self.motion), 6))
        np.add.at(total, contacts.frame, np.concatenate([force, moment], axis=1))
        return total

    @cached_property
    def mechanics(self) -> Mechanics:
        """Centre of mass, momentum and energy over time."""
        model, motion, root, dofs = self.model, self.motion, self.root, self.span.qvel
        data = mujoco.MjData(model)
        com, momentum = np.empty((len(motion), 3)), np.empty((len(motion), 6))
        energy, inertial, gyration = np.empty(len(motion)), np.zeros(model.nv), 0.0
        for t in range(len(motion)):
            data.qpos[:] = motion.qpos[t]
            data.qvel[dofs] = self.motion.velocities[t, dofs]
            mujoco.mj_kinematics(model, data)
            mujoco.mj_comPos(model, data)
            mujoco.mj_makeM(model, data)
            mujoco.mj_comVel(model, data)
            mujoco.mj_subtreeVel(model, data)
            mujoco.mj_mulM(model, data, inertial, data.qvel)
            com[t] = data.subtree_com[root]
            momentum[t, :3], momentum[t, 3:] = self.mass * data.subtree_linvel[root], data.subtree_angmom[root]
            energy[t] = inertial @ data.qvel / 2 - self.mass * self.gravity @ com[t]
            if t == 0:
                gyration = self._gyration(data)
        return Mechanics(com, momentum, energy + self._spring_energy(), gyration)

    def _gyration(self, data: mujoco.MjData) -> float:
        bodies = list(self.span.bodies)
        arms = data.xipos[bodies] - data.subtree_com[self.root]
        mass, inertia = self.model.body_mass[bodies], self.model.body_inertia[bodies]
        trace = inertia.sum() + 2 * np.sum(mass[:, None] * arms**2)
        return float(np.sqrt(trace / 3 / self.mass))

    def _spring_energy(self) -> Array:
        """(T,) of hinges and slides."""
        model = self.model
        joints = [j for j in self.joints if is_single_axis(model, j) and model.jnt_stiffness[j] > 0]
        places = model.jnt_qposadr[joints]
        bent = self.motion.qpos[:, places] - model.qpos_spring[places]
        return bent**2 @ model.jnt_stiffness[joints] / 2

    @property
    def joints(self) -> list[int]:
        """Joints of the character, the root first."""
        return [j for j in range(self.model.njnt) if self.model.jnt_bodyid[j] in self.span.bodies]

    def rate(self, values: Array) -> Array:
        """(T, …) central differences in time; NaN at the first and last frame."""
        rates = np.full_like(values, np.nan)
        rates[1:-1] = (values[2:] - values[:-2]) / (2 * self.motion.dt)
        return rates

    def points(self) -> Array:
        """(T, P, 3) where the landmarks are, or the bodies of a character that has none."""
        poses = self.motion.poses()
        if not self.character.landmarks:
            return poses.positions[:, list(self.span.bodies)]
        marks = self.character.landmarks.values()
        bodies = [self.model.body(f"{self.name}/{mark.body}").id for mark in marks]
        return poses.positions[:, bodies] + rotate(poses.quats[:, bodies], np.array([mark.offset for mark in marks]))
