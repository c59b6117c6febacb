"""One round of sampling on arrays: make candidates, choose the best, recombine the best parts (Section 3.1, Figure 5).

Pure functions over (trials B, candidates N, knots K, actuators nu), in NumPy or JAX.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gambol.rotations import Array, namespace


def widths(count: int, spread: float) -> Array:
    """Factors (count,) of the candidates' noise, from 1 / spread to spread."""
    return np.geomspace(1.0 / spread, spread, count)


def shaped_noise(normal: Array, uniform: Array, width: Any, focus: float) -> Array:
    """Noise (B, M, K, nu) that leaves some actuators of a candidate alone.

    ``normal`` (B, M, K, nu) and ``uniform`` (B, M, 1, nu) are draws, ``width`` (M, nu) the standard deviations.
    """
    return normal * width[:, None] * (uniform < focus)


def candidates(nominal: Array, carried: Array, noise: Array, low: Array, high: Array) -> Array:
    """The nominal knots (B, K, nu), these with noise (B, M, K, nu), and what the last round left (B, C, K, nu)."""
    xp = namespace(nominal)
    return xp.clip(xp.concat([nominal[:, None], nominal[:, None] + noise, carried], axis=1), low, high)


def chosen(knots: Array, index: Array, smoothing: float) -> Array:
    """The candidates (B, K, nu) that ``index`` (B,) points at, mixed with the nominal ones (the first)."""
    best = namespace(knots).take_along_axis(knots, index[:, None, None, None], axis=1)[:, 0]
    return (1.0 - smoothing) * best + smoothing * knots[:, 0]


def recombine(knots: Array, costs: Array, seen: Any, source_groups: Any) -> Array:
    """For each partition, each group's actuators from the candidate that is best for that group (B, partitions, K, nu).

    ``costs`` (B, N, C) of pairs and terms, ``seen`` (B, G, C) which of them count for a group, ``source_groups``
    (partitions, nu) the group of each actuator.
    """
    xp = namespace(knots)
    scores = costs @ xp.permute_dims(seen, (0, 2, 1))
    best = xp.argmin(scores, axis=1)
    rows = best[:, source_groups]
    return xp.take_along_axis(knots, rows[:, :, None, :], axis=1)


def strides(knots: Array, totals: Array, lengths: Sequence[float]) -> Array:
    """Candidates (B, lengths, K, nu) beyond the better half: the nominal (the first candidate) and, ``lengths`` times,
    the step from it to the half's mean, weighted by rank as in CMA-ES.

    An addition to the published planner: one step that many candidates agree on saves several rounds.
    """
    xp = namespace(knots)
    half = max(knots.shape[1] // 2, 1)
    weights = np.log(half + 0.5) - np.log(np.arange(1, half + 1))
    order = xp.argsort(totals, axis=1)[:, :half]
    better = xp.take_along_axis(knots, order[:, :, None, None], axis=1)
    step = ((better - knots[:, :1]) * (weights / weights.sum())[:, None, None]).sum(1)
    return knots[:, :1] + step[:, None] * np.asarray(lengths)[:, None, None]
