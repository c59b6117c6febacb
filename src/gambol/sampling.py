"""One round of sampling among control splines: make candidates, choose the best.

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


def strides(knots: Array, totals: Array, lengths: Sequence[float]) -> Array:
    """Candidates (B, lengths, K, nu) beyond the better half: the nominal (the first candidate) and, ``lengths`` times,
    the step from it to the half's mean, weighted by rank as in CMA-ES.

    An addition to published predictive sampling: one step that many candidates agree on saves several rounds.
    """
    xp = namespace(knots)
    half = max(knots.shape[1] // 2, 1)
    weights = np.log(half + 0.5) - np.log(np.arange(1, half + 1))
    order = xp.argsort(totals, axis=1)[:, :half]
    better = xp.take_along_axis(knots, order[:, :, None, None], axis=1)
    step = ((better - knots[:, :1]) * (weights / weights.sum())[:, None, None]).sum(1)
    return knots[:, :1] + step[:, None] * np.asarray(lengths)[:, None, None]
