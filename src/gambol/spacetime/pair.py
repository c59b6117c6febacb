"""One problem of the schedule: a window and the one after it, from a given state (equation 4)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gambol.rotations import Array
from gambol.sim import Backend, Rollout
from gambol.spacetime.objectives import Weighed
from gambol.spacetime.observing import Observer, View
from gambol.spacetime.reference import Reference

UNSTABLE_COST = 1e9
_BEYOND = 1.0
"""Weight of variables beyond the joints' ranges: they change nothing and should come back."""


class Pair:
    """Costs of variables for one or two windows in a row."""

    def __init__(
        self,
        observer: Observer,
        backend: Backend,
        references: Sequence[Reference],
        objectives: Sequence[Sequence[Weighed]],
        state: Array,
        before: Array,
    ):
        self._observer, self._backend = observer, backend
        self._references, self._objectives = references, objectives
        self._state, self._before = state, before
        self._out: Rollout | None = None

    @property
    def variables(self) -> int:
        """How many numbers are searched for."""
        return sum(reference.variables for reference in self._references)

    def costs(self, values: Array) -> Array:
        """Costs (N,) of rows of variables (N, variables)."""
        found, beyond, failed = self._evaluated(values)
        total = sum(part.sum(0) for part in found) + _BEYOND * beyond
        return np.where(failed, UNSTABLE_COST, total)

    def by_term(self, values: Array) -> list[dict[str, float]]:
        """What each objective of each window costs for one row of variables (variables,)."""
        found, _, _ = self._evaluated(values[None])
        return [
            {
                f"{place} {weighed.name}": round(float(cost[0]), 4)
                for place, (weighed, cost) in enumerate(zip(objectives, part, strict=True))
            }
            for objectives, part in zip(self._objectives, found, strict=True)
        ]

    def first_targets(self, values: Array) -> Array:
        """What the servos aim at in the first window (steps, nu), for one row of variables."""
        reference = self._references[0]
        poses, _ = reference.key_poses(values[None, : reference.variables])
        return reference.targets(self._before, poses)[0]

    def last_pose(self, values: Array) -> Array:
        """The key-pose (nu,) with which the first window ends."""
        reference = self._references[0]
        return reference.key_poses(values[None, : reference.variables])[0][0, -1]

    def _evaluated(self, values: Array) -> tuple[list[Array], Array, NDArray[np.bool_]]:
        """Costs (objectives, N) of each window, how far beyond (N,) the ranges, and which (N,) are unstable."""
        targets, beyond, start = [], np.zeros(len(values)), 0
        before = self._before
        for reference in self._references:
            poses, off = reference.key_poses(values[:, start : start + reference.variables])
            targets.append(reference.targets(before, poses))
            before, beyond, start = poses[:, -1], beyond + off, start + reference.variables
        controls = np.concatenate(targets, axis=1)
        if self._out is None or self._out.states.shape[:2] != controls.shape[:2]:
            self._out = Rollout.empty(self._observer.model, *controls.shape[:2])
        out = self._backend.rollout(self._state, controls, out=self._out)
        found, first = [], 0
        for reference, objectives in zip(self._references, self._objectives, strict=True):
            view = View(self._observer, out.sensors[:, first : first + reference.steps])
            found.append(np.stack([weighed.cost(view) for weighed in objectives]))
            first += reference.steps
        return found, beyond, out.failed
