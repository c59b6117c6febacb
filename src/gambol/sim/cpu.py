"""Rollouts in float64 on all cores, through ``mujoco.batch``: C threads, no Python between the steps.

``mujoco.batch`` is as fast as ``mujoco.rollout`` and also counts the warnings of each simulation, which is what tells a
failed rollout from a good one without guessing.
"""

from __future__ import annotations

import mujoco
import numpy as np
from mujoco.batch import Batch, SimulationError

from gambol.errors import InputError
from gambol.sim.backend import LARGEST, Backend, Rollout
from gambol.sim.cores import cores
from gambol.sim.quiet import quiet
from gambol.sim.state import STATE, Array, state_columns

INTEGRATION = mujoco.mjtState.mjSTATE_INTEGRATION.value


class CpuBackend(Backend):
    """Rollouts on ``threads`` threads (all usable cores unless given), bit-identical at any number of threads."""

    def __init__(self, model: mujoco.MjModel, *, threads: int | None = None):
        super().__init__(model)
        if threads is not None and threads < 1:
            raise InputError(f"is {threads}; at least 1 is needed", key="threads")
        self.threads = threads or cores()
        self._columns = state_columns(model, INTEGRATION)
        self._at_reset = np.empty(mujoco.mj_stateSize(model, INTEGRATION))
        mujoco.mj_getState(model, mujoco.MjData(model), self._at_reset, INTEGRATION)
        self._batch: Batch | None = self._make_batch(1)
        self._substeps: Rollout | None = None

    def close(self) -> None:
        """End the threads."""
        self._batch = None

    def _make_batch(self, rollouts: int) -> Batch:
        try:
            return Batch(self.model, rollouts, self.threads)
        except ValueError as error:
            raise InputError(f"the model cannot be rolled out: {error}") from error

    def _fill(self, initial: Array, controls: Array, steps_per_control: int, out: Rollout) -> None:
        if steps_per_control == 1:
            self._record(initial, controls, out)
            return
        rollouts, steps = controls.shape[:2]
        width = out.sensors.shape[2]
        every = self._substeps
        if (
            every is None
            or every.states.shape[:2] != (rollouts, steps * steps_per_control)
            or (every.sensors.shape[2] != width)
        ):
            every = Rollout.empty(self.model, rollouts, steps * steps_per_control, sensors=width > 0)
            self._substeps = every
        self._record(initial, np.repeat(controls, steps_per_control, axis=1), every)
        last = slice(steps_per_control - 1, None, steps_per_control)
        out.states[...], out.sensors[...], out.failed[...] = every.states[:, last], every.sensors[:, last], every.failed

    def _record(self, initial: Array, controls: Array, out: Rollout) -> None:
        if self._batch is None:
            raise InputError("the backend is closed")
        rollouts, steps = controls.shape[:2]
        if self._batch.nsim < rollouts:
            self._batch = self._make_batch(rollouts)
        batch = self._batch
        # Everything a state row does not hold (warm start, applied forces) starts as after a reset.
        batch.state[:rollouts] = self._at_reset
        batch.state[:rollouts, self._columns] = initial
        batch.warning[...] = 0
        buffers: dict[str | int, np.ndarray] = {STATE: out.states}
        if out.sensors.shape[2]:
            buffers["sensordata"] = out.sensors
        ids = None if rollouts == batch.nsim else np.arange(rollouts, dtype=np.int32)
        raised: np.ndarray = np.empty(0, int)
        with quiet():
            try:
                batch.rollout(steps, controls, record=tuple(buffers), ids=ids, out=buffers)  # pyright: ignore
            except SimulationError as error:
                raised = error.ids
                if len(raised) == rollouts:
                    raise InputError(f"MuJoCo cannot step this model: {batch.error(0)}") from error
        warned = batch.warning[:rollouts, :, 1].any(axis=1)
        np.logical_or(warned, ~(np.abs(out.states[:, -1]).max(axis=1) <= LARGEST), out=out.failed)
        out.failed[raised] = True
        for n in np.flatnonzero(out.failed):
            good = 0 if n in raised else _good_rows(out.states[n], warned=bool(warned[n]))
            out.states[n, good:] = out.states[n, good - 1] if good else initial[n % len(initial)]
            out.sensors[n, good:] = out.sensors[n, good - 1] if good else 0.0


def _good_rows(states: Array, *, warned: bool) -> int:
    """How many rows (T, nstate) of a failed rollout come before its failure."""
    good = len(states)
    if warned:
        # A simulation stops at the step that warns, and that step's row, its time included, is repeated to the end.
        moving = np.flatnonzero(states[:, 0] != states[-1, 0])
        good = int(moving[-1]) + 1 if len(moving) else 0
    # MuJoCo looks at a state before it steps from it, so the row before the warning may be the one that blew up.
    while good and not np.abs(states[good - 1]).max() <= LARGEST:
        good -= 1
    return good
