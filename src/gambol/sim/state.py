"""States as flat rows: MuJoCo's full physics state, ``[time, qpos, qvel, act, …]``, and where mocap bodies are.

Whatever a model has beyond activations (delay buffers, poses of mocap bodies, plugin state, plastic springs) follows
and is kept as it is. Mocap bodies, such as targets, are no part of what MuJoCo calls physics, but costs look at them.
"""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

from gambol.errors import InputError

Array = NDArray[np.float64]

_PART = mujoco.mjtState
MOCAP = _PART.mjSTATE_MOCAP_POS.value | _PART.mjSTATE_MOCAP_QUAT.value
STATE = _PART.mjSTATE_FULLPHYSICS.value | MOCAP
"""What a row holds, as an mjtState specification."""


class State(NamedTuple):
    """The parts of state rows; each keeps the rows' leading axes and shares their memory."""

    time: Array
    qpos: Array
    qvel: Array
    act: Array
    mocap_pos: Array
    """(..., nmocap, 3) metres."""
    mocap_quat: Array
    """(..., nmocap, 4)."""

    @property
    def mocap(self) -> Array:
        """A copy (..., nmocap, 7) of the poses of mocap bodies: position, quaternion."""
        return np.concatenate([self.mocap_pos, self.mocap_quat], axis=-1)


def state_size(model: mujoco.MjModel) -> int:
    """Numbers in one row."""
    return mujoco.mj_stateSize(model, STATE)


def columns_of(model: mujoco.MjModel, parts: int) -> slice:
    """Where neighbouring parts of a row lie, given as mjtState bits."""
    lowest = parts & -parts
    start = mujoco.mj_stateSize(model, STATE & (lowest - 1))
    return slice(start, start + mujoco.mj_stateSize(model, parts))


def state_columns(model: mujoco.MjModel, within: int) -> NDArray[np.intp]:
    """Where each number of a row lies in a row of the larger mjtState specification ``within``."""
    parts = []
    for bit in (1 << k for k in range(mujoco.mjtState.mjNSTATE.value)):
        if bit & STATE:
            start = mujoco.mj_stateSize(model, within & (bit - 1))
            parts.append(start + np.arange(mujoco.mj_stateSize(model, bit)))
    return np.concatenate(parts)


def pack_state(
    model: mujoco.MjModel,
    qpos: ArrayLike,
    qvel: ArrayLike,
    time: ArrayLike = 0.0,
    act: ArrayLike | None = None,
    mocap: ArrayLike | None = None,
) -> Array:
    """Rows (..., nstate) from positions (..., nq), velocities (..., nv), seconds (...), activations (..., na) and poses
    of mocap bodies (..., nmocap, 7: position, quaternion).

    Leading axes broadcast. What is not given is as after a reset of the model.
    """
    given = {
        "time": (np.asarray(time, float), ()),
        "qpos": (np.asarray(qpos, float), (model.nq,)),
        "qvel": (np.asarray(qvel, float), (model.nv,)),
    }
    if act is not None:
        given["act"] = np.asarray(act, float), (model.na,)
    if mocap is not None:
        given["mocap"] = np.asarray(mocap, float), (model.nmocap, 7)
    for name, (part, width) in given.items():
        if part.shape[part.ndim - len(width) :] != width or part.ndim < len(width):
            needed = ", ".join(map(str, ("...", *width)))
            raise InputError(f"has shape {part.shape}; the model needs ({needed})", key=name)
    try:
        leading = np.broadcast_shapes(*(part.shape[: part.ndim - len(width)] for part, width in given.values()))
    except ValueError as error:
        raise InputError(f"the leading axes of {', '.join(given)} do not fit together: {error}") from error
    rows = np.empty((*leading, state_size(model)))
    if sum(int(np.prod(width)) for _, width in given.values()) < rows.shape[-1]:
        rows[...] = state_of(model, mujoco.MjData(model))
    parts = unpack_state(model, rows)
    for name, (part, _) in given.items():
        if name == "mocap":
            parts.mocap_pos[...], parts.mocap_quat[...] = part[..., :3], part[..., 3:]
        else:
            getattr(parts, name)[...] = part
    return rows


def state_of(model: mujoco.MjModel, data: mujoco.MjData) -> Array:
    """The row (nstate,) a simulation is in."""
    row = np.empty(state_size(model))
    mujoco.mj_getState(model, data, row, STATE)
    return row


def set_state(model: mujoco.MjModel, data: mujoco.MjData, state: Array) -> None:
    """Put a simulation into the state of a row (nstate,); nothing that follows from it is computed yet."""
    _check_width(model, state)
    mujoco.mj_setState(model, data, state, STATE)


def unpack_state(model: mujoco.MjModel, state: Array) -> State:
    """Views of the parts of rows (..., nstate)."""
    _check_width(model, state)

    def part(bit: mujoco.mjtState, *shape: int) -> Array:
        return state[..., columns_of(model, bit.value)].reshape(*state.shape[:-1], *shape)

    return State(
        state[..., 0],
        part(_PART.mjSTATE_QPOS, model.nq),
        part(_PART.mjSTATE_QVEL, model.nv),
        part(_PART.mjSTATE_ACT, model.na),
        part(_PART.mjSTATE_MOCAP_POS, model.nmocap, 3),
        part(_PART.mjSTATE_MOCAP_QUAT, model.nmocap, 4),
    )


def _check_width(model: mujoco.MjModel, state: Array) -> None:
    if state.shape[-1:] != (state_size(model),):
        raise InputError(f"has shape {state.shape}; the model needs (..., {state_size(model)})", key="state")
