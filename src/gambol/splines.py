"""Cubic splines through a few knots, as matrices: every evaluation is one product with the knot values."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from gambol.rotations import Array


@lru_cache(maxsize=4096)
def spline_row(knots: int, phase: float) -> Array:
    """Weights (knots,) of the knot values at ``phase`` (0: first knot, knots - 1: last; held constant outside).

    Cubic Hermite pieces with finite-difference slopes, as in predictive sampling's own splines.
    """
    if knots == 1:
        return np.ones(1)
    phase = float(np.clip(phase, 0.0, knots - 1.0))
    piece = min(int(phase), knots - 2)
    t = phase - piece
    row = np.zeros(knots)
    row[piece] += 2 * t**3 - 3 * t**2 + 1
    row[piece + 1] += -2 * t**3 + 3 * t**2
    row += (t**3 - 2 * t**2 + t) * _slope(knots, piece) + (t**3 - t**2) * _slope(knots, piece + 1)
    row.flags.writeable = False
    return row


def spline_matrix(knots: int, phases: Array) -> Array:
    """Weights (len(phases), knots) at several phases."""
    return np.array([spline_row(knots, round(float(p), 9)) for p in phases])


def _slope(knots: int, knot: int) -> Array:
    """Weights of the slope at a knot: central inside, one-sided at the ends."""
    before, after = max(knot - 1, 0), min(knot + 1, knots - 1)
    slope = np.zeros(knots)
    slope[after] += 1.0 / (after - before)
    slope[before] -= 1.0 / (after - before)
    return slope
