"""Writing down what a simulation does, a row each step."""

from __future__ import annotations

import mujoco
import numpy as np

from gambol.motion import Motion, Source
from gambol.motion.contacts import ContactRecorder
from gambol.rotations import Array
from gambol.scenes import Scene


class Recording:
    """States, controls, places of targets and contacts of a run."""

    def __init__(self, scene: Scene):
        self._scene = scene
        self._rows: list[tuple[Array, Array, Array, Array]] = []
        self._time = -np.inf
        self._contacts = ContactRecorder()

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, data: mujoco.MjData, control: Array) -> None:
        """A frame, with the control that is applied from it on; everything in ``data`` must be up to date."""
        self._contacts.add(len(self._rows), self._scene.model, data, forces=True)
        mocap = np.concatenate([data.mocap_pos, data.mocap_quat], axis=1)
        self._rows.append((data.qpos.copy(), data.qvel.copy(), control.copy(), mocap))
        self._time = data.time

    def close(self, data: mujoco.MjData) -> None:
        """The frame at which a run ended, unless it is there already."""
        if data.time > self._time:
            self.add(data, data.ctrl)

    def motion(self, source: Source) -> Motion:
        """The motion so far."""
        qpos, qvel, ctrl, mocap = (np.array(column) for column in zip(*self._rows, strict=True))
        dt = float(self._scene.model.opt.timestep)
        moved = mocap if self._scene.model.nmocap else None
        return Motion(self._scene, dt, qpos, qvel, ctrl, moved, contacts=self._contacts.collected(), source=source)
