"""What the three stages are worth: behaviours with all of them, and straight from the beginning to the last."""

from __future__ import annotations

from gambol.evaluate.benchmark import Findings, Request, Table
from gambol.evaluate.charts import Bars, Chart
from gambol.evaluate.cio.behaviours import CLIP, row_of
from gambol.evaluate.condition import Condition
from gambol.evaluate.running import outcomes, wanted

TASKS = ("cio/walk", "cio/kick", "cio/get-up-front")
ALL, STRAIGHT = "three stages", "straight to the third"


_ONCE = "tries=1"
"""A second try with other noise would hide how often the first fails."""


def conditions() -> list[Condition]:
    """Each task both ways, tried once, with as many iterations in all."""
    ways = []
    for task in TASKS:
        whole = Condition(f"{task}: {ALL}", task, (_ONCE,))
        together = sum(whole.settings.iterations)
        ways += [whole, Condition(f"{task}: {STRAIGHT}", task, (_ONCE, f"iterations=[0, 0, {together}]"))]
    return ways


def continuation(request: Request) -> Findings:
    """A row for each task and way, over seeds."""
    chosen = wanted(conditions(), request)
    rows = [
        {"behaviour": condition.label, **row_of(ended)}
        for condition, ended in zip(chosen, outcomes(chosen, request, CLIP), strict=True)
    ]
    title = "Contact-invariant optimisation with and without its first two stages"
    bars = Bars("success %", [row["behaviour"] for row in rows], {"ours": [row["success %"] for row in rows]}, 100)
    return Findings({"cio-continuation": Table(title, rows)}, {"cio-continuation": Chart([bars], title)})
