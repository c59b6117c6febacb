"""Several solutions of one task: other seeds find other contacts.

One seed after the other: searches of L-BFGS take different steps, so there is nothing to batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gambol.cio.optimise import CONTACT
from gambol.results import Result, Status

Pattern = tuple[tuple[str, ...], ...]


def several(solve: Callable[[int], Result], seeds: Iterable[int]) -> list[Result]:
    """What ``solve`` finds for the seeds, one result for each pattern of contacts: successes first, then by cost.

    An interruption ends the search; what was found before is kept.
    """
    found: dict[Pattern, Result] = {}
    for seed in seeds:
        result = solve(seed)
        if result.report.status is Status.INTERRUPTED:
            break
        kept = found.get(pattern := contact_pattern(result))
        if kept is None or _order(result) < _order(kept):
            found[pattern] = result
    return sorted(found.values(), key=_order)


def contact_pattern(result: Result) -> Pattern:
    """The patches in contact, phase by phase; phases in which nothing changes count once."""
    rows = [
        tuple(name for name, contact in row.items() if name != "phase" and contact >= CONTACT)
        for row in result.report.figures["contacts"]
    ]
    return tuple(row for k, row in enumerate(rows) if k == 0 or row != rows[k - 1])


def _order(result: Result) -> tuple[bool, float]:
    return not result.succeeded, sum(result.report.figures["costs"].values())
