"""Coordinates in which the optimisation is well scaled.

A knot of a spline moved alone means large accelerations, all knots moved together mean none: the costs are far steeper
in some directions than in others, and known to be so beforehand. The search works with ``z`` where the features are
``x = M z`` and ``M`` whitens the quadratic costs of acceleration, and of slip for end effectors.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from gambol.cio.dynamics import GRAVITY
from gambol.cio.problem import Problem, Solution
from gambol.rotations import Array

_USUAL_CONTACT = 0.5
_CONTACT_SCALE = 2.0
"""Of the contact variables: they should find their places before the motion bends to contacts that nobody needs."""
_FLOOR, _WISHFUL_FLOOR = 1.0, 3e-3
"""Curvature of everything else, costs per m² of a knot. Wishes alone have next to none: a wish about the end should
bend the whole way there and not its last metre."""


class Metric(NamedTuple):
    """``M`` for every feature (O, 2 n, 2 n) over n knots' values, then velocities."""

    matrices: Any
    contacts: Any
    """(N,) scale of the contact variables."""

    @staticmethod
    def of(problem: Problem, *, wishful: bool = False) -> Metric:
        """The metric that fits the weights of a problem; ``wishful`` where neither contacts nor physics count."""
        weights = {name: float(weight) for name, weight in problem.weights.items()}
        values, first, second = (_free(np.asarray(table), float(problem.spacing)) for table in problem.basis)
        step = 2.0 * float(problem.dt)
        last = first[np.asarray(problem.last)]
        bending, resting = step * second.T @ second, step * weights["ends_at_rest"] * last.T @ last
        if wishful:
            rooted = _whitening(weights["acceleration"] * bending + resting, _WISHFUL_FLOOR)
            ending = _whitening(weights["limb_acceleration"] * bending + resting, _WISHFUL_FLOOR)
        else:
            staying = step * _USUAL_CONTACT * weights["contact"] * (values.T @ values + first.T @ first)
            moved = weights["acceleration"] + weights["physics"] / GRAVITY**2
            rooted = _whitening(moved * bending, _FLOOR)
            ending = _whitening(weights["limb_acceleration"] * bending + staying, _FLOOR)
        matrices = np.repeat(ending[None], len(problem.start), axis=0)
        matrices[np.asarray(problem.body.roots)] = rooted
        return Metric(matrices, np.full(len(problem.burdens), _CONTACT_SCALE))

    def applied(self, whitened: Solution) -> Solution:
        """Features and velocities of whitened ones."""
        both = jnp.concatenate([whitened.features, whitened.velocities])
        features, velocities = jnp.split(jnp.einsum("oij,jok->iok", self.matrices, both), 2)
        return Solution(features, velocities, self.contacts * whitened.contacts)

    def solution(self, flat: Any) -> Solution:
        """The solution of a flat vector of whitened features, velocities and contacts."""
        features, size, _ = self.matrices.shape
        motion, contacts = flat[: 6 * features * size], flat[6 * features * size :]
        values, velocities = motion.reshape(2, size // 2, features, 6)
        return self.applied(Solution(values, velocities, contacts.reshape(-1, self.contacts.size)))

    def flat(self, solution: Solution) -> Array:
        """The vector of which :meth:`solution` makes a solution."""
        return np.concatenate([np.ravel(part) for part in self.undone(solution)])

    def undone(self, solution: Solution) -> Solution:
        """Whitened features and velocities of plain ones."""
        both = np.concatenate([solution.features, solution.velocities])
        features, velocities = np.split(np.einsum("oij,jok->iok", np.linalg.inv(self.matrices), both), 2)
        return Solution(features, velocities, solution.contacts / self.contacts)


def _free(table: Array, spacing: float) -> Array:
    """Spline weights (T, 2 n) without those of the first knot, which is given; velocities scaled as in a solution."""
    values, velocities = np.split(table, 2, axis=1)
    return np.concatenate([values[:, 1:], velocities[:, 1:] / spacing], axis=1)


def _whitening(curvature: Array, floor: float) -> Array:
    lower = np.linalg.cholesky(curvature + floor * np.eye(len(curvature)))
    return np.asarray(np.linalg.inv(lower).T, np.float64)
