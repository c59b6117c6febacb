"""The same problem on a GPU: a generation is one batch of worlds, and its costs are computed where the worlds are."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from gambol.errors import MissingExtraError
from gambol.rotations import Array
from gambol.spacetime.cost import targets_of, totals, weighed
from gambol.spacetime.objectives import Weighed
from gambol.spacetime.observing import Observer
from gambol.spacetime.reference import Reference


class DeviceCosts:
    """Costs of variables for windows in a row, as :class:`gambol.spacetime.problem.Problem` has them, in float32."""

    def __init__(self, observer: Observer, backend: Any):
        """``backend`` is that of a GPU, over the observer's model."""
        try:
            import jax
        except ImportError as error:
            raise MissingExtraError("JAX", "gpu") from error
        self._jax = jax
        self._observer, self._backend = observer, backend
        self._aimed = lru_cache(maxsize=None)(self._compiled_targets)
        self._priced = lru_cache(maxsize=None)(self._compiled_costs)

    def costs(
        self,
        references: tuple[Reference, ...],
        objectives: tuple[tuple[Weighed, ...], ...],
        state: Array,
        before: Array,
        values: Array,
    ) -> Array:
        """Costs (N,) of rows of variables (N, variables) from a state (nstate,) and a key-pose (nu,) on."""
        targets, beyond = self._aimed(references)(_single(before), _single(values))
        starts = self._jax.numpy.broadcast_to(_single(state), (len(values), len(state)))
        out = self._backend.rollout_jax(starts, targets)
        price = self._priced(references, objectives)
        return np.asarray(price(out.sensors, out.failed, out.overflowed, beyond), float)

    def _compiled_targets(self, references: tuple[Reference, ...]) -> Any:
        return self._jax.jit(lambda before, values: targets_of(references, before, values))

    def _compiled_costs(self, references: tuple[Reference, ...], objectives: tuple[tuple[Weighed, ...], ...]) -> Any:
        def costs(sensors: Any, failed: Any, overflowed: Any, beyond: Any) -> Any:
            found = weighed(self._observer, references, objectives, sensors)
            return totals(found, beyond, failed | (overflowed != 0))

        return self._jax.jit(costs)


def _single(values: Array) -> Any:
    return np.asarray(values, np.float32)
