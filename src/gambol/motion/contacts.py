"""Who touches what, when, where and how hard."""

from __future__ import annotations

import copy
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import mujoco
import numpy as np

from gambol.errors import InputError
from gambol.rotations import Array

if TYPE_CHECKING:
    from gambol.motion.motion import Motion


@dataclass(frozen=True)
class Contacts:
    """A row for each contact point of each frame, frames ascending, all numbers finite.

    ``force`` is the force on the first geom's body, in world axes (newtons); zero where a motion's contacts were found
    from its geometry alone.
    """

    frame: np.ndarray
    """(K,) frame of each row."""
    geoms: np.ndarray
    """(K, 2) indices of the two solids in the scene's model."""
    position: Array
    """(K, 3) metres."""
    depth: Array
    """(K,) metres of overlap, negative for a gap."""
    force: Array
    """(K, 3) newtons."""

    def __post_init__(self) -> None:
        rows = len(self.frame) if np.ndim(self.frame) else 0
        shapes = {"frame": (rows,), "geoms": (rows, 2), "position": (rows, 3), "depth": (rows,), "force": (rows, 3)}
        for name, shape in shapes.items():
            values, whole = np.asarray(getattr(self, name)), name in ("frame", "geoms")
            if values.shape != shape:
                raise InputError(f"has shape {values.shape}, {rows} contacts need {shape}", key=f"contacts.{name}")
            if values.dtype.kind not in ("iu" if whole else "fiu"):
                wanted = "whole numbers" if whole else "numbers"
                raise InputError(f"must be {wanted}, not {values.dtype}", key=f"contacts.{name}")
            values = values.astype(int if whole else float, copy=False)
            if not (whole or np.isfinite(values).all()):
                raise InputError("must be finite", key=f"contacts.{name}")
            object.__setattr__(self, name, values)
        if rows and (self.frame[0] < 0 or (np.diff(self.frame) < 0).any()):
            raise InputError("frames must ascend, none below zero", key="contacts.frame")
        if rows and self.geoms.min() < 0:
            raise InputError("must be solids of the scene, none below zero", key="contacts.geoms")

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def has_forces(self) -> bool:
        """Whether forces were recorded, as they are in simulation."""
        return bool(self.force.any())

    def rows(self, chosen: np.ndarray) -> Contacts:
        """Some of the rows, by mask or by ascending indices."""
        return Contacts(*(getattr(self, column.name)[chosen] for column in fields(self)))

    def at_frames(self, frames: np.ndarray) -> Contacts:
        """The rows of the given frames in the given order, renumbered from zero; a frame may come more than once."""
        start, stop = np.searchsorted(self.frame, frames, "left"), np.searchsorted(self.frame, frames, "right")
        counts = stop - start
        number = np.repeat(np.arange(len(frames)), counts)
        within = np.arange(len(number)) - np.repeat(np.cumsum(counts) - counts, counts)
        kept = np.repeat(start, counts) + within
        return Contacts(number, self.geoms[kept], self.position[kept], self.depth[kept], self.force[kept])

    def touching(self, geoms: set[int], frames: int) -> np.ndarray:
        """Whether any of the geoms touches something at each frame (frames,)."""
        rows = np.isin(self.geoms, list(geoms)).any(axis=1) & (self.depth > 0)
        touched = np.zeros(frames, bool)
        touched[self.frame[rows]] = True
        return touched


def joined(parts: list[Contacts]) -> Contacts:
    """The rows of all parts; their frames must ascend from part to part."""
    return Contacts(*(np.concatenate([getattr(part, column.name) for part in parts]) for column in fields(Contacts)))


class ContactRecorder:
    """Collects contacts frame by frame from MuJoCo's data."""

    def __init__(self) -> None:
        self._frames: list[Contacts] = [
            Contacts(np.zeros(0, int), np.zeros((0, 2), int), np.zeros((0, 3)), np.zeros(0), np.zeros((0, 3)))
        ]

    def add(self, frame: int, model: mujoco.MjModel, data: mujoco.MjData, *, forces: bool) -> None:
        """Record the contacts present in ``data`` as those of a frame."""
        found = data.contact
        count = data.ncon
        if not count:
            return
        force = np.zeros((count, 3))
        if forces:
            wrench = np.zeros(6)
            for index in range(count):
                mujoco.mj_contactForce(model, data, index, wrench)
                force[index] = wrench[:3]
            # MuJoCo's force acts on the second geom, in the contact's frame
            force = -np.einsum("kia,ki->ka", found.frame.reshape(-1, 3, 3), force)
        row = Contacts(np.full(count, frame), found.geom.astype(int), found.pos.copy(), -found.dist, force)
        self._frames.append(row)

    def collected(self) -> Contacts:
        """Everything recorded so far."""
        return joined(self._frames)


@dataclass(frozen=True)
class Surfaces:
    """The surface at each row of some contacts."""

    normal: Array
    """(K, 3) unit vector from the second solid towards the first."""
    friction: Array
    """(K,) sliding friction coefficient."""


def detect(motion: Motion, *, margin: float = 0.005) -> Contacts:
    """Contacts from geometry: solids less than ``margin`` metres apart count; forces stay zero.

    For motions that were not simulated, and to check those that were. Only pairs that MuJoCo lets collide are seen.
    """
    return survey(motion, margin=margin)[0]


def survey(motion: Motion, *, margin: float) -> tuple[Contacts, Surfaces]:
    """What :func:`detect` finds, and the surfaces it finds it on."""
    if not 0 <= margin < np.inf:
        raise InputError(f"must be a distance in metres, zero or more (given: {margin!r})", key="margin")
    model = _with_margin(motion.scene.model, margin)
    data = mujoco.MjData(model)
    recorder = ContactRecorder()
    normals, friction = [np.zeros((0, 3))], [np.zeros(0)]
    for t in range(len(motion)):
        data.qpos[:] = motion.qpos[t]
        if motion.mocap is not None:
            data.mocap_pos[:], data.mocap_quat[:] = motion.mocap[t, :, :3], motion.mocap[t, :, 3:]
        mujoco.mj_kinematics(model, data)
        mujoco.mj_collision(model, data)
        if data.ncon:
            recorder.add(t, model, data, forces=False)
            found = data.contact
            normals.append(-found.frame[:, :3])
            friction.append(np.where(found.dim > 1, found.friction[:, 0], 0.0))
    contacts = recorder.collected()
    near = contacts.depth >= -margin
    return contacts.rows(near), Surfaces(np.concatenate(normals)[near], np.concatenate(friction)[near])


def _with_margin(model: mujoco.MjModel, margin: float) -> mujoco.MjModel:
    """The same model, in which solids up to ``margin`` apart come into contact (margins of two solids add up)."""
    model = copy.copy(model)
    for name in ("geom_margin", "body_margin"):
        getattr(model, name)[:] = np.maximum(getattr(model, name), margin / 2)
    model.pair_margin[:] = np.maximum(model.pair_margin, margin)
    return model
