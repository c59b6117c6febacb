"""Inverse kinematics: the joint angles with which a body follows points and orientations over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import mujoco
import numpy as np

from gambol.characters import Character, Point
from gambol.rotations import Array

_FIRST, _NEXT = 200, 12
"""Steps taken at most at the first frame, which starts from the resting pose, and at those that go on from another."""
_TO_REST, _TO_LAST = 0.01, 0.01
"""Metres that a radian away from the resting pose, and from the last frame, counts as: for joints otherwise free."""
_SETTLED = 1e-4
"""Relative improvement below which a frame is done."""


@dataclass(frozen=True)
class Goals:
    """Where points of a body should be, and how bodies should be turned, at every frame."""

    points: Sequence[Point]
    positions: Array
    """(T, points, 3) metres."""
    bodies: Sequence[str]
    quats: Array
    """(T, bodies, 4) wxyz."""
    turn_weights: Array
    """(bodies,) metres that a radian of wrong orientation counts as."""


def follow(character: Character, goals: Goals, start: Array) -> Array:
    """States (T, nq) of the lone character that come closest to the goals within the joint ranges.

    Each frame is a least-squares problem (Levenberg-Marquardt on MuJoCo's Jacobians) that starts from the last frame's
    answer, the first one from ``start`` (nq,). Joints the goals leave free stay near ``start`` and where they were.
    """
    solver = _Solver(character, goals, start)
    states = np.empty((len(goals.positions), len(start)))
    last = start
    for t in range(len(states)):
        last = states[t] = solver.solve(t, last, _NEXT if t else _FIRST)
    return states


class _Solver:
    def __init__(self, character: Character, goals: Goals, rest: Array):
        model = self.model = character.model
        self.data = mujoco.MjData(model)
        self.goals = goals
        self.point_bodies = [model.body(point.body).id for point in goals.points]
        self.offsets = np.array([point.offset for point in goals.points])
        self.bodies = [model.body(name).id for name in goals.bodies]
        self.weights = np.repeat(np.concatenate([np.ones(len(goals.points)), goals.turn_weights]), 3)
        self.rest = rest
        self.jacobian = np.zeros((len(self.weights), model.nv))
        self.inner = np.ones(model.nv)
        self.inner[:6] = 0.0
        single = model.jnt_type >= int(mujoco.mjtJoint.mjJNT_SLIDE)  # slides and hinges: one number each
        hinges = np.flatnonzero(single & (model.jnt_limited > 0))
        self.dofs, self.places = model.jnt_dofadr[hinges], model.jnt_qposadr[hinges]
        self.low, self.high = model.jnt_range[hinges].T

    def solve(self, frame: int, last: Array, steps: int) -> Array:
        """The state nearest the goals of a frame, by at most so many steps from the last one's."""
        state, damping = self._within(last), 1e-4
        error, cost = self._error(frame, state, last)
        slope, curvature = self._model(error, state, last)
        for _ in range(steps):
            change = self._step(state, slope, curvature + damping * np.diag(np.diag(curvature) + 1e-6))
            tried = state.copy()
            mujoco.mj_integratePos(self.model, tried, change, 1.0)
            tried = self._within(tried)
            error, new_cost = self._error(frame, tried, last)
            if new_cost >= cost:
                damping *= 10.0
                if damping > 1e6:
                    break
                continue
            settled = cost - new_cost < _SETTLED * cost
            state, cost, damping = tried, new_cost, max(damping / 10.0, 1e-6)
            if settled:
                break
            slope, curvature = self._model(error, state, last)
        return state

    def _within(self, state: Array) -> Array:
        """A state with its joints inside their ranges."""
        state = state.copy()
        state[self.places] = np.clip(state[self.places], self.low, self.high)
        return state

    def _error(self, frame: int, state: Array, last: Array) -> tuple[Array, float]:
        """Weighted errors (3 points + 3 bodies,) of a state, and its cost with what holds free joints."""
        data, goals = self.data, self.goals
        data.qpos[:] = state
        mujoco.mj_kinematics(self.model, data)
        error = np.empty((len(self.weights) // 3, 3))
        self.seen = data.xpos[self.point_bodies] + np.einsum(
            "kab,kb->ka", data.xmat[self.point_bodies].reshape(-1, 3, 3), self.offsets
        )
        count = len(self.seen)
        error[:count] = self.seen - goals.positions[frame]
        turn = np.empty(3)
        for k, body in enumerate(self.bodies):
            mujoco.mju_subQuat(turn, data.xquat[body], goals.quats[frame, k])
            # a rotation is the same seen before and after itself, so the goal's axes serve
            mujoco.mju_rotVecQuat(error[count + k], turn, goals.quats[frame, k])
        weighted = error.ravel() * self.weights
        held = sum(w**2 * float(((self._away(state, from_) * self.inner) ** 2).sum()) for w, from_ in self._holds(last))
        return weighted, float(weighted @ weighted) + held

    def _holds(self, last: Array) -> tuple[tuple[float, Array], ...]:
        return ((_TO_REST, self.rest), (_TO_LAST, last))

    def _away(self, state: Array, reference: Array) -> Array:
        away = np.empty(self.model.nv)
        mujoco.mj_differentiatePos(self.model, away, 1.0, reference, state)
        return away

    def _model(self, error: Array, state: Array, last: Array) -> tuple[Array, Array]:
        """Gradient and Gauss-Newton curvature of half the cost at the state whose error was computed last."""
        mujoco.mj_comPos(self.model, self.data)
        jacobian, count = self.jacobian, len(self.point_bodies)
        for k, body in enumerate(self.point_bodies):
            mujoco.mj_jac(self.model, self.data, jacobian[3 * k : 3 * k + 3], None, self.seen[k], body)
        for k, body in enumerate(self.bodies, start=count):
            mujoco.mj_jacBody(self.model, self.data, None, jacobian[3 * k : 3 * k + 3], body)
        weighted = jacobian * self.weights[:, None]
        slope, curvature = error @ weighted, weighted.T @ weighted
        for weight, reference in self._holds(last):
            slope += weight**2 * self.inner * self._away(state, reference)
            curvature[np.diag_indices_from(curvature)] += weight**2 * self.inner
        return slope, curvature

    def _step(self, state: Array, slope: Array, curvature: Array) -> Array:
        """The Newton step, with joints that would leave their range taken to its end and the others solved again."""
        step, free = np.zeros(len(slope)), np.ones(len(slope), bool)
        for _ in range(4):
            step[free] = np.linalg.solve(
                curvature[np.ix_(free, free)], -slope[free] - curvature[np.ix_(free, ~free)] @ step[~free]
            )
            angle = state[self.places] + step[self.dofs]
            outside = free[self.dofs] & ((angle < self.low) | (angle > self.high))
            if not outside.any():
                break
            stopped = self.dofs[outside]
            step[stopped] = (np.clip(angle, self.low, self.high) - state[self.places])[outside]
            free[stopped] = False
        return step
