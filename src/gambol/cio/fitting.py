"""A whole motion of a body fitted to where its points should be: damped Gauss-Newton over all frames at once.

Frames fitted one by one jump where joints reach the ends of their ranges. Here a change of joint velocity costs
something, so that neighbouring frames come to the same answer; the equations of all frames together form a band.
"""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np
from scipy.linalg import solveh_banded

from gambol.rotations import Array

_STEPS = 40
_SETTLED = 1e-3
"""Relative improvement below which the fit is done."""
_TO_CLOSED_FORM, _TO_SMOOTH, _TO_RANGE = 0.003, 0.1, 1.0
"""Metres that a radian counts for: off the states begun with, of change against the step before, beyond a range."""


@dataclass(frozen=True)
class Marks:
    """Points of bodies and where they should be, bodies and how they should be turned, and how much each counts."""

    bodies: np.ndarray
    """(M,) indices."""
    offsets: Array
    """(M, 3) of the points in the bodies' frames."""
    positions: Array
    """(T, M, 3) metres."""
    weights: Array
    """(T, M)"""
    quats: Array
    """(T, M, 4) of the bodies."""
    turn_weights: Array
    """(T, M) metres that a radian counts for."""


def fitted(model: mujoco.MjModel, qpos: Array, marks: Marks) -> Array:
    """States (T, nq) near ``qpos``, the first left as it is, that bring the marks nearest within the joint ranges."""
    fit = _Fit(model, qpos, marks)
    states, damping = qpos, 1e-3
    cost, slope, curvature = fit.linearised(states)
    for _ in range(_STEPS):
        tried = fit.moved(states, fit.step(slope, curvature, damping))
        new_cost, new_slope, new_curvature = fit.linearised(tried)
        if new_cost >= cost:
            damping *= 10.0
            if damping > 1e3:
                break
            continue
        gained = cost - new_cost
        states, cost, slope, curvature = tried, new_cost, new_slope, new_curvature
        damping = max(damping / 5.0, 1e-6)
        if gained < _SETTLED * cost:
            break
    return fit.within_ranges(states)


class _Fit:
    def __init__(self, model: mujoco.MjModel, begin: Array, marks: Marks):
        self.model, self.begin, self.marks = model, begin, marks
        self.data = mujoco.MjData(model)
        hinges = np.flatnonzero((model.jnt_type == mujoco.mjtJoint.mjJNT_HINGE) & (model.jnt_limited > 0))
        self.dofs, self.places = model.jnt_dofadr[hinges], model.jnt_qposadr[hinges]
        self.low, self.high = model.jnt_range[hinges].T

    def within_ranges(self, states: Array) -> Array:
        states = states.copy()
        states[1:, self.places] = np.clip(states[1:, self.places], self.low, self.high)
        return states

    def moved(self, states: Array, change: Array) -> Array:
        """States (T, nq) after a change (T - 1, nv) of all but the first."""
        moved = states.copy()
        for state, step in zip(moved[1:], change, strict=True):
            mujoco.mj_integratePos(self.model, state, step, 1.0)
        return moved

    def linearised(self, states: Array) -> tuple[float, Array, Array]:
        """Half the squared errors, their gradient (T - 1, nv) and the blocks (T - 1, nv, nv) of their curvature.

        The curvature of smoothness, which couples frames, is added by :meth:`step`.
        """
        count, nv = len(states) - 1, self.model.nv
        slope, curvature, cost = np.zeros((count, nv)), np.zeros((count, nv, nv)), 0.0
        for t in range(1, count + 1):
            error, jacobian = self._errors(states[t], t)
            cost += 0.5 * float(error @ error)
            slope[t - 1], curvature[t - 1] = error @ jacobian, jacobian.T @ jacobian
        away = _differences(self.model, self.begin[1:], states[1:])
        curvature += _TO_CLOSED_FORM**2 * np.eye(nv)
        slope += _TO_CLOSED_FORM**2 * away
        beyond = np.zeros((count, nv))
        angles = states[1:, self.places]
        beyond[:, self.dofs] = np.maximum(angles - self.high, 0.0) + np.minimum(angles - self.low, 0.0)
        curvature[:, np.arange(nv), np.arange(nv)] += _TO_RANGE**2 * (beyond != 0)
        slope += _TO_RANGE**2 * beyond
        bends = np.diff(_differences(self.model, states[:-1], states[1:]), axis=0)
        slope += _TO_SMOOTH**2 * (_bending(count).T @ bends)
        squares = (_TO_CLOSED_FORM * away, _TO_RANGE * beyond, _TO_SMOOTH * bends)
        return cost + 0.5 * sum(float((part**2).sum()) for part in squares), slope, curvature

    def _errors(self, state: Array, t: int) -> tuple[Array, Array]:
        """Weighted errors (6 M,) of a state at frame ``t`` and their Jacobian (6 M, nv)."""
        marks, data = self.marks, self.data
        data.qpos[:] = state
        mujoco.mj_kinematics(self.model, data)
        mujoco.mj_comPos(self.model, data)
        count = len(marks.bodies)
        errors, jacobian = np.empty((count, 2, 3)), np.empty((count, 2, 3, self.model.nv))
        for k, body in enumerate(marks.bodies):
            place = data.xpos[body] + data.xmat[body].reshape(3, 3) @ marks.offsets[k]
            mujoco.mj_jac(self.model, data, jacobian[k, 0], jacobian[k, 1], place, body)
            errors[k, 0] = place - marks.positions[t, k]
            turn = np.empty(3)
            mujoco.mju_subQuat(turn, data.xquat[body], marks.quats[t, k])
            # a rotation is the same seen before and after itself, so the goal's axes serve
            mujoco.mju_rotVecQuat(errors[k, 1], turn, marks.quats[t, k])
        weights = np.stack([marks.weights[t], marks.turn_weights[t]], axis=-1)[..., None]
        return (weights * errors).ravel(), (weights[..., None] * jacobian).reshape(6 * count, -1)

    def step(self, slope: Array, curvature: Array, damping: float) -> Array:
        """The damped Gauss-Newton step (T - 1, nv): one banded system for all frames."""
        count, nv = slope.shape
        width = 3 * nv
        band = np.zeros((width, count * nv))
        bending = _bending(count)
        coupling = _TO_SMOOTH**2 * (bending.T @ bending)
        for apart in range(nv):
            block = np.zeros((count, nv))
            block[:, apart:] = curvature[:, np.arange(nv - apart), np.arange(apart, nv)]
            if apart == 0:
                block *= 1.0 + damping
            band[width - 1 - apart] = block.ravel()
        for apart in range(min(3, count)):
            coupled = np.zeros(count)
            coupled[apart:] = np.diagonal(coupling, apart)
            band[width - 1 - apart * nv] += np.repeat(coupled, nv)
        return -solveh_banded(band, slope.ravel()).reshape(count, nv)


def _bending(count: int) -> Array:
    """The second differences (count - 1, count) of frames that follow a given first one."""
    full = np.eye(count + 1, k=0)[:-2] - 2 * np.eye(count + 1, k=1)[:-2] + np.eye(count + 1, k=2)[:-2]
    return full[:, 1:]


def _differences(model: mujoco.MjModel, first: Array, second: Array) -> Array:
    """From states (T, nq) to states (T, nq), as velocities over a second (T, nv)."""
    found = np.empty((len(first), model.nv))
    for row, a, b in zip(found, first, second, strict=True):
        mujoco.mj_differentiatePos(model, row, 1.0, a, b)
    return found
