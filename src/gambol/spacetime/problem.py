"""One problem of the schedule: a window and those it looks ahead to, from a given state (equation 4)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gambol.rotations import Array
from gambol.sim import Backend, Rollout
from gambol.spacetime.cost import targets_of, totals, weighed
from gambol.spacetime.device import DeviceCosts
from gambol.spacetime.objectives import Weighed
from gambol.spacetime.observing import Observer
from gambol.spacetime.reference import Reference


class Problem:
    """Costs of variables for windows in a row."""

    def __init__(
        self,
        observer: Observer,
        backend: Backend,
        references: tuple[Reference, ...],
        objectives: tuple[tuple[Weighed, ...], ...],
        state: Array,
        before: Array,
        device: DeviceCosts | None = None,
    ):
        self._observer, self._backend, self._device = observer, backend, device
        self.references, self._objectives = references, objectives
        self._state, self._before = state, before
        self._out: Rollout | None = None

    @property
    def variables(self) -> int:
        """How many numbers are searched for."""
        return sum(reference.variables for reference in self.references)

    def tried(self, values: Array) -> Array:
        """As :meth:`costs`, on the GPU where there is one."""
        if self._device is None:
            return self.costs(values)
        return self._device.costs(self.references, self._objectives, self._state, self._before, values)

    def costs(self, values: Array) -> Array:
        """Costs (N,) of rows of variables (N, variables)."""
        targets, beyond = targets_of(self.references, self._before, values)
        sensors, failed = self._played(targets)
        return totals(self._weighed(sensors), beyond, failed)

    def by_term(self, values: Array) -> list[dict[str, float]]:
        """What each objective of each window costs for one row of variables (variables,)."""
        targets, _ = targets_of(self.references, self._before, values[None])
        found = self._weighed(self._played(targets)[0])
        return [
            {
                f"{place} {objective.name}": round(float(cost[0]), 4)
                for place, (objective, cost) in enumerate(zip(objectives, part, strict=True))
            }
            for objectives, part in zip(self._objectives, found, strict=True)
        ]

    def first_targets(self, values: Array) -> Array:
        """What the servos aim at in the first window (steps, nu), for one row of variables."""
        reference = self.references[0]
        poses, _ = reference.key_poses(values[None, : reference.variables])
        return reference.targets(self._before, poses)[0]

    def last_pose(self, values: Array) -> Array:
        """The key-pose (nu,) with which the first window ends."""
        reference = self.references[0]
        return reference.key_poses(values[None, : reference.variables])[0][0, -1]

    def _played(self, targets: Array) -> tuple[Array, NDArray[np.bool_]]:
        """Sensors (N, T, nsensordata) of the motions, and which (N,) are unstable."""
        if self._out is None or self._out.states.shape[:2] != targets.shape[:2]:
            self._out = Rollout.empty(self._observer.model, *targets.shape[:2])
        out = self._backend.rollout(self._state, targets, out=self._out)
        return out.sensors, out.failed

    def _weighed(self, sensors: Array) -> list[Array]:
        return weighed(self._observer, self.references, self._objectives, sensors)
