"""From variables to what servos aim at, and from what sensors saw to costs, in NumPy or JAX."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gambol.rotations import Array, namespace
from gambol.spacetime.objectives import Weighed
from gambol.spacetime.observing import Observer, View
from gambol.spacetime.reference import Reference

UNSTABLE_COST = 1e15
_DEAREST = 0.1 * UNSTABLE_COST
"""No motion that is stable costs more, whatever is wished for."""
_BEYOND = 1.0
"""Weight of variables beyond the joints' ranges: they change nothing and should come back."""


def targets_of(references: Sequence[Reference], before: Array, values: Array) -> tuple[Array, Array]:
    """What the servos aim at (N, T, nu) in windows in a row, and how far (N,) the variables are beyond the ranges."""
    targets, beyond, start = [], 0.0 * values[:, 0], 0
    for reference in references:
        poses, off = reference.key_poses(values[:, start : start + reference.variables])
        targets.append(reference.targets(before, poses))
        before, beyond, start = poses[:, -1], beyond + off, start + reference.variables
    return namespace(values).concat(targets, axis=1), beyond


def weighed(
    observer: Observer, references: Sequence[Reference], objectives: Sequence[Sequence[Weighed]], sensors: Array
) -> list[Array]:
    """Costs (objectives, N) of each window."""
    found, first = [], 0
    for reference, row in zip(references, objectives, strict=True):
        view = View(observer, sensors[:, first : first + reference.steps])
        found.append(namespace(sensors).stack([each.cost(view) for each in row]))
        first += reference.steps
    return found


def totals(found: Sequence[Array], beyond: Array, failed: Any) -> Array:
    """Costs (N,) of motions."""
    whole = sum(part.sum(0) for part in found) + _BEYOND * beyond
    xp = namespace(whole)
    return xp.where(failed, UNSTABLE_COST, xp.minimum(whole, _DEAREST))
