"""Who touches what, when, where and how hard."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import mujoco
import numpy as np

from gambol.rotations import Array

if TYPE_CHECKING:
    from gambol.motion.motion import Motion


@dataclass(frozen=True)
class Contacts:
    """A row for each contact point of each frame, frames ascending.

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

    def __len__(self) -> int:
        return len(self.frame)

    def at_frames(self, frames: np.ndarray) -> Contacts:
        """The rows of the given ascending frames, renumbered from zero."""
        place = np.searchsorted(frames, self.frame)
        kept = (place < len(frames)) & (frames[np.minimum(place, len(frames) - 1)] == self.frame)
        return Contacts(place[kept], self.geoms[kept], self.position[kept], self.depth[kept], self.force[kept])

    def touching(self, geoms: set[int], frames: int) -> np.ndarray:
        """Whether any of the geoms touches something at each frame (frames,)."""
        rows = np.isin(self.geoms, list(geoms)).any(axis=1) & (self.depth > 0)
        touched = np.zeros(frames, bool)
        touched[self.frame[rows]] = True
        return touched


class ContactRecorder:
    """Collects contacts frame by frame from MuJoCo's data."""

    def __init__(self) -> None:
        self._rows: list[tuple[int, int, int, Array, float, Array]] = []

    def add(self, frame: int, model: mujoco.MjModel, data: mujoco.MjData, *, forces: bool) -> None:
        """Record the contacts present in ``data`` as those of a frame."""
        wrench = np.zeros(6)
        for index, contact in enumerate(data.contact):
            force = np.zeros(3)
            if forces:
                mujoco.mj_contactForce(model, data, index, wrench)
                # MuJoCo's force acts on the second geom
                force = -contact.frame.reshape(3, 3).T @ wrench[:3]
            first, second = int(contact.geom[0]), int(contact.geom[1])
            self._rows.append((frame, first, second, contact.pos.copy(), -float(contact.dist), force))

    def collected(self) -> Contacts:
        """Everything recorded so far."""
        if not self._rows:
            return Contacts(np.zeros(0, int), np.zeros((0, 2), int), np.zeros((0, 3)), np.zeros(0), np.zeros((0, 3)))
        frame, first, second, position, depth, force = zip(*self._rows, strict=True)
        return Contacts(
            np.array(frame), np.column_stack([first, second]), np.array(position), np.array(depth), np.array(force)
        )


def detect(motion: Motion, *, margin: float = 0.005) -> Contacts:
    """Contacts from geometry: everything closer than ``margin`` metres counts; forces stay zero.

    For motions that were not simulated, and to check those that were.
    """
    model = _with_margin(motion.scene.spec.copy(), margin)
    data = mujoco.MjData(model)
    recorder = ContactRecorder()
    for t in range(len(motion)):
        data.qpos[:] = motion.qpos[t]
        if motion.mocap is not None:
            data.mocap_pos[:], data.mocap_quat[:] = motion.mocap[t, :, :3], motion.mocap[t, :, 3:]
        mujoco.mj_kinematics(model, data)
        mujoco.mj_collision(model, data)
        recorder.add(t, model, data, forces=False)
    return recorder.collected()


def _with_margin(spec: mujoco.MjSpec, margin: float) -> mujoco.MjModel:
    for geom in spec.geoms:
        geom.margin = max(geom.margin, margin)
    return spec.compile()
