"""States as flat rows: MuJoCo's full physics state, ``[time, qpos, qvel, act, …]``.

Whatever a model has beyond activations (delay buffers, plugin state, plastic springs) follows and is kept as it is.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

from gambol.errors import InputError

Array = NDArray[np.float64]

FULL_PHYSICS = mujoco.mjtState.mjSTATE_FULLPHYSICS.value


class State(NamedTuple):
    """The parts of state rows; each keeps the rows' leading axes and shares their memory."""

    time: Array
    qpos: Array
    qvel: Array
    act: Array


def state_size(model: mujoco.MjModel) -> int:
    """Numbers in one row."""
    return mujoco.mj_stateSize(model, FULL_PHYSICS)


def state_columns(model: mujoco.MjModel, within: int) -> NDArray[np.intp]:
    """Where each number of a row lies in a row of the larger mjtState specification ``within``."""
    parts = []
    for bit in (1 << k for k in range(mujoco.mjtState.mjNSTATE.value)):
        if bit & FULL_PHYSICS:
            start = mujoco.mj_stateSize(model, within & (bit - 1))
            parts.append(start + np.arange(mujoco.mj_stateSize(model, bit)))
    return np.concatenate(parts)


def pack_state(
    model: mujoco.MjModel, qpos: ArrayLike, qvel: ArrayLike, time: ArrayLike = 0.0, act: ArrayLike | None = None
) -> Array:
    """Rows (..., nstate) from positions (..., nq), velocities (..., nv), seconds (...) and activations (..., na).

    Leading axes broadcast. What is not given is as after a reset of the model.
    """
    qpos, qvel, time = np.asarray(qpos, float), np.asarray(qvel, float), np.asarray(time, float)
    act = np.zeros(model.na) if act is None else np.asarray(act, float)
    for name, part, width in (("qpos", qpos, model.nq), ("qvel", qvel, model.nv), ("act", act, model.na)):
        if part.shape[-1:] != (width,):
            raise InputError(f"has shape {part.shape}; the model needs (..., {width})", key=name)
    try:
        leading = np.broadcast_shapes(time.shape, qpos.shape[:-1], qvel.shape[:-1], act.shape[:-1])
    except ValueError as error:
        raise InputError(f"the leading axes of time, qpos, qvel and act do not fit together: {error}") from error
    rows = np.empty((*leading, state_size(model)))
    given = 1 + model.nq + model.nv + model.na
    if given < rows.shape[-1]:
        rows[..., given:] = state_of(model, mujoco.MjData(model))[given:]
    parts = unpack_state(model, rows)
    parts.time[...], parts.qpos[...], parts.qvel[...], parts.act[...] = time, qpos, qvel, act
    return rows


def state_of(model: mujoco.MjModel, data: mujoco.MjData) -> Array:
    """The row (nstate,) a simulation is in."""
    row = np.empty(state_size(model))
    mujoco.mj_getState(model, data, row, FULL_PHYSICS)
    return row


def unpack_state(model: mujoco.MjModel, state: Array) -> State:
    """Views of the parts of rows (..., nstate)."""
    if state.shape[-1:] != (state_size(model),):
        raise InputError(f"has shape {state.shape}; the model needs (..., {state_size(model)})", key="state")
    ends = np.cumsum([1, model.nq, model.nv, model.na])
    return State(state[..., 0], *(state[..., a:b] for a, b in pairwise(ends)))
