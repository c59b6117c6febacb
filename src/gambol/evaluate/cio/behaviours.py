"""Every behaviour of contact-invariant optimisation: whether contacts and physics hold, and what it took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gambol.evaluate.benchmark import Findings, Request, Table
from gambol.evaluate.charts import Bars, Chart
from gambol.evaluate.condition import Condition
from gambol.evaluate.running import Experiment, outcomes, wanted
from gambol.evaluate.trial import finished, mean_of
from gambol.goals import load_task, shipped_tasks

SECONDS_IN_PAPER = "120–600"
"""A clip on four cores."""


def optimised(condition: Condition, seed: int) -> dict[str, Any]:
    """One optimisation: whether it succeeded, its two costs, the worst that is left, and the seconds."""
    report = finished(condition, seed)
    figures = report.figures
    return {
        "succeeded": report.succeeded,
        "L_Physics": figures["L_Physics"],
        "L_CI": figures["L_CI"],
        "worst": figures["worst"],
        "optimising_seconds": figures["optimising_seconds"],
        "iterations": sum(figures["iterations"]),
        "wall_seconds": report.wall_seconds,
    }


CLIP = Experiment("behaviour", optimised)


def conditions() -> list[Condition]:
    """Every shipped behaviour."""
    return [Condition(name, name) for name in shipped_tasks() if load_task(name).behaviour]


def behaviours(request: Request) -> Findings:
    """A row for each behaviour, over seeds."""
    chosen = wanted(conditions(), request)
    rows = [
        {"behaviour": condition.task, **row_of(ended), "paper s": SECONDS_IN_PAPER}
        for condition, ended in zip(chosen, outcomes(chosen, request, CLIP), strict=True)
    ]
    title = "Contact-invariant optimisation: what is left of the costs, and the seconds (paper s: on 4 cores)"
    names = [row["behaviour"] for row in rows]
    panels = [Bars(key, names, {"ours": [row[key] for row in rows]}) for key in ("L_Physics", "L_CI", "seconds")]
    return Findings({"cio-behaviours": Table(title, rows)}, {"cio-behaviours": Chart(panels, title)})


def row_of(ended: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Columns of a table: means, all the time it took, and what is worst with the first seed."""
    return {
        "trials": len(ended),
        "success %": round(100 * sum(outcome["succeeded"] for outcome in ended) / len(ended), 1),
        "L_Physics": mean_of(ended, "L_Physics"),
        "L_CI": mean_of(ended, "L_CI"),
        **{key: ended[0]["worst"].get(key) for key in ("gap", "slip", "depth")},
        "iterations": mean_of(ended, "iterations"),
        "seconds": mean_of(ended, "optimising_seconds"),
        "wall s": round(sum(outcome["wall_seconds"] for outcome in ended), 1),
    }
