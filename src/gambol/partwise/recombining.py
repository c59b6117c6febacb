"""The best parts of several candidates put together (Section 3.1, Figure 5), in NumPy or JAX."""

from __future__ import annotations

from typing import Any

from gambol.rotations import Array, namespace


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
