"""One round of sampling on arrays: make candidates, choose the best, recombine the best parts (Section 3.1, Figure 5).

Pure functions over (trials B, candidates N, knots K, actuators nu), in NumPy or JAX.
"""

from __future__ import annotations

from typing import Any

from gambol.rotations import Array, namespace


def candidates(nominal: Array, recombined: Array | None, noise: Array, low: Array, high: Array) -> Array:
    """The nominal knots (B, K, nu), the same with noise (B, M, K, nu), and those recombined in the last round."""
    xp = namespace(nominal)
    tried = [nominal[:, None], nominal[:, None] + noise]
    if recombined is not None:
        tried.append(recombined)
    return xp.clip(xp.concat(tried, axis=1), low, high)


def chosen(knots: Array, index: Array) -> Array:
    """The candidates (B, K, nu) that ``index`` (B,) points at."""
    return namespace(knots).take_along_axis(knots, index[:, None, None, None], axis=1)[:, 0]


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
