"""A scene simulated step by step, for whoever drives it: targets move, and physics that goes wrong is noticed."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from gambol.errors import GambolError, InputError
from gambol.scenes import Scene
from gambol.sim.backend import LARGEST
from gambol.sim.quiet import quiet
from gambol.sim.state import Array, set_state, state_of

_FARTHEST = 1000.0
_WARNINGS = {
    mujoco.mjtWarning.mjWARN_INERTIA: "a matrix of inertia cannot be inverted",
    mujoco.mjtWarning.mjWARN_CONTACTFULL: "there is no room for all contacts",
    mujoco.mjtWarning.mjWARN_CNSTRFULL: "there is no room for all constraints",
    mujoco.mjtWarning.mjWARN_BADQPOS: "a position is too large or no number",
    mujoco.mjtWarning.mjWARN_BADQVEL: "a velocity is too large or no number",
    mujoco.mjtWarning.mjWARN_BADQACC: "an acceleration is too large or no number",
    mujoco.mjtWarning.mjWARN_BADCTRL: "a control is too large or no number",
}


class UnstableError(GambolError, FloatingPointError):
    """Physics went wrong: numbers that are not finite or beyond what MuJoCo simulates."""


class Simulation:
    """A scene from a state (nq,) on, at rest. Everything in ``data`` is up to date between the steps.

    Targets follow their paths until they are moved. MuJoCo by itself starts over from its reference state when numbers
    get out of hand; here that is an :class:`UnstableError`, and ``data`` goes back to the last good state.
    """

    def __init__(self, scene: Scene, qpos: ArrayLike):
        self.scene, self.model = scene, scene.model
        self.data = mujoco.MjData(self.model)
        self.data.qpos[:] = qpos
        self._moved: dict[int, Array] = {}
        self._refresh()

    @property
    def state(self) -> Array:
        """The present state (nstate,)."""
        return state_of(self.model, self.data)

    def restore(self, state: Array) -> None:
        """Go on from a state (nstate,), the targets where it has them until the next step."""
        set_state(self.model, self.data, state)
        mujoco.mj_forward(self.model, self.data)

    def move(self, target: str, to: ArrayLike) -> None:
        """Put a target at a world position (3,) with the next step; it leaves its path for good. From any thread."""
        row, place = self.scene.target_row(target), np.array(to, float)
        if place.shape != (3,) or not np.abs(place).max() <= _FARTHEST:
            raise InputError(f"must be three numbers within ±{_FARTHEST:g} m (given: {to})", key=target)
        self._moved[row] = place  # one dictionary entry: other threads see all of it or nothing

    def leave_targets(self) -> None:
        """Whatever is not where its path has it now has left it for good."""
        planned = self.scene.target_poses(self.data.time)
        for row, place in enumerate(self.data.mocap_pos):
            if not np.allclose(place, planned[row, :3]):
                self._moved[row] = place.copy()

    def step(self, control: Array) -> None:
        """Apply a control (nu,) for one physics step."""
        before, data = self.state, self.data
        data.ctrl[:] = control
        data.warning.number[:] = 0
        with quiet():
            mujoco.mj_step(self.model, data)
        problem = self._problem()
        if problem:
            self.restore(before)
            raise UnstableError(f"the simulation became unstable at {data.time:.3f} s: {problem}")
        self._refresh()

    def _problem(self) -> str:
        warned = np.flatnonzero(self.data.warning.number)
        if len(warned):
            return _WARNINGS[mujoco.mjtWarning(int(warned[0]))]
        # MuJoCo looks at a state only when it steps from it
        return "" if np.abs(self.state).max() <= LARGEST else _WARNINGS[mujoco.mjtWarning.mjWARN_BADQPOS]

    def _refresh(self) -> None:
        if self.model.nmocap:
            poses = self.scene.target_poses(self.data.time)
            for row, place in list(self._moved.items()):
                poses[row, :3] = place
            self.data.mocap_pos[:], self.data.mocap_quat[:] = poses[:, :3], poses[:, 3:]
        mujoco.mj_forward(self.model, self.data)
