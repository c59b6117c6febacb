"""Figures 9 and 12: partwise MPC against plain predictive sampling, from scarce to generous planning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gambol.evaluate.benchmark import Findings, Request, Table
from gambol.evaluate.charts import Bars, Chart, Curves
from gambol.evaluate.condition import Condition
from gambol.evaluate.partwise.budget import budget, spent
from gambol.evaluate.partwise.descent import DESCENT, Course, mean_descent
from gambol.evaluate.running import forget, outcomes, wanted
from gambol.evaluate.trial import TRIAL, summary
from gambol.partwise.method import PARTWISE, PLAIN

ROLLOUTS, SLOWDOWNS = (15, 45, 90), (0.5, 1.0)
COUNTED = ("table/climb", "bed/lie-down-get-up", "armchair/stand-sit-stand")
"""The three tasks of the paper's 18 conditions."""
EXCEPTION, REACHING = "stool/rotate", "bench/hand-targets"
"""The task the paper shows as an exception, and the one it says plain sampling fails at 15 rollouts."""
DESCENT_TASKS, DESCENT_BUDGET = (REACHING, "bed/lie-down-get-up", EXCEPTION), (45, 0.5)
METHODS = (PARTWISE, PLAIN)
_FIRST = ", first keyframe"
"""How the rows of Figure 9 are called, behind their task."""

COMPARED = {
    "mean cost": ("lower mean cost", -1, "14 of 18"),
    "mean s": ("shorter motions", -1, "13 of 18"),
    "success %": ("higher success", 1, "on each of the three tasks"),
}
"""What the paper counts, which way is better, and what it found."""

_PAIRS = {
    "success %": "success %",
    "mean cost": "mean cost",
    "mean s": "duration s",
    "jerk m/s³": "jerk",
    "roughness 1/s": "roughness",
}
SHOWN = {
    "task": "{task}",
    "rollouts": "{rollouts}",
    "plans/s": "{plans a second}",
    "trials": "{trials}",
    **{heading: f"{{{PARTWISE} {key}}} | {{{PLAIN} {key}}}" for key, heading in _PAIRS.items()},
    "wall s": "{wall s}",
}


def conditions() -> list[Condition]:
    """Figure 12, each condition with both methods in turn."""
    budgets = [(task, n, slow) for task in (*COUNTED, EXCEPTION) for n in ROLLOUTS for slow in SLOWDOWNS]
    budgets += [(REACHING, min(ROLLOUTS), slow) for slow in SLOWDOWNS]
    return [
        Condition(f"{task}, {n} rollouts, slowdown {slow}", task, budget(n, slow), method)
        for task, n, slow in budgets
        for method in METHODS
    ]


def descent_conditions() -> list[Condition]:
    """Figure 9, each task with both methods in turn."""
    given = budget(*DESCENT_BUDGET)
    return [Condition(f"{task}{_FIRST}", task, given, method) for task in DESCENT_TASKS for method in METHODS]


def baseline(request: Request) -> Findings:
    """Both methods beside each other in every condition, and the mean course of their costs."""
    chosen = wanted([*conditions(), *descent_conditions()], request)
    descending = [condition for condition in chosen if condition.label.endswith(_FIRST)]
    trying = [condition for condition in chosen if not condition.label.endswith(_FIRST)]
    tables: dict[str, Table] = {}
    charts: dict[str, Chart] = {}
    data: dict[str, Table] = {}
    remarks: list[str] = []
    if request.fresh:
        forget(descending, request, DESCENT)  # now: the trials take long and may be interrupted
    if trying:
        rows = _rows(trying, outcomes(trying, request, TRIAL))
        title = (
            "Partwise MPC | plain predictive sampling, Figure 12 (slowdown 0.5: 400 plans a second, 1.0: 200; "
            "mean cost of simulation steps)"
        )
        tables["partwise-baseline"] = Table(title, rows, SHOWN)
        charts["partwise-baseline"] = _bars(rows)
        remarks += _verdicts(rows)
    if descending:
        courses = [mean_descent(ended) for ended in outcomes(descending, request, DESCENT)]
        tables["partwise-descent"] = _descent_table(descending, courses)
        data["partwise-descent-curves"] = _curve_table(descending, courses)
        charts["partwise-descent"] = _curves(descending, courses)
    return Findings(tables, charts, remarks, data)


def _rows(trying: Sequence[Condition], tried: Sequence[Sequence[Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """A row for each pair of conditions that differ in their method alone."""
    rows: dict[str, dict[str, Any]] = {}
    for condition, ended in zip(trying, tried, strict=True):
        found = summary(ended)
        row = rows.setdefault(
            condition.label,
            {"condition": condition.label, "task": condition.task, **spent(condition), "trials": found.pop("trials")},
        )
        row["wall s"] = round(row.get("wall s", 0.0) + found.pop("wall s"), 1)
        row.update({f"{condition.solver} {key}": value for key, value in found.items() if key != "trials"})
    return list(rows.values())


def _verdicts(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """In how many of the conditions that the paper counts partwise MPC is better, and how reaching went."""
    told = []
    counted = [row for row in rows if row["task"] in COUNTED]
    for key, (what, sign, stated) in COMPARED.items():
        pairs = [(row[f"{PARTWISE} {key}"], row[f"{PLAIN} {key}"]) for row in counted]
        known = [(ours, plain) for ours, plain in pairs if ours is not None and plain is not None]
        if known:
            better = sum(sign * (ours - plain) > 0 for ours, plain in known)
            ties = sum(ours == plain for ours, plain in known)
            also = f", equal in {ties}" if ties else ""
            told.append(f"partwise has {what} in {better} of {len(known)} conditions{also} (paper: {stated})")
    for row in rows:
        if row["task"] == REACHING:
            told.append(
                f"{row['condition']}: partwise succeeds in {row[f'{PARTWISE} success %']} %, plain sampling in "
                f"{row[f'{PLAIN} success %']} % (paper: partwise consistently, plain sampling never)"
            )
    return told


def _bars(rows: Sequence[Mapping[str, Any]]) -> Chart:
    names = [row["condition"] for row in rows]

    def panel(title: str, key: str, highest: float | None = None) -> Bars:
        return Bars(title, names, {method: [row[f"{method} {key}"] for row in rows] for method in METHODS}, highest)

    panels = [panel("success %", "success %", 100), panel("mean cost of a simulation step", "mean cost")]
    return Chart(panels, "Partwise MPC against predictive sampling, Figure 12")


def _descent_table(descending: Sequence[Condition], courses: Sequence[Course]) -> Table:
    """Mean cost while both methods still aim at the keyframe."""
    rows = []
    for place in range(0, len(descending), len(METHODS)):
        own, plain = ({moment: cost for moment, cost, _ in course} for course in courses[place : place + len(METHODS)])
        common = sorted(own.keys() & plain.keys())
        rows.append(
            {
                "task": descending[place].task,
                **spent(descending[place]),
                "both aim for s": common[-1] if common else None,
                f"{PARTWISE} mean cost": _four_digits([own[moment] for moment in common]),
                f"{PLAIN} mean cost": _four_digits([plain[moment] for moment in common]),
                "partwise lower, % of that time": (
                    round(100 * float(np.mean([own[moment] < plain[moment] for moment in common])), 1)
                    if common
                    else None
                ),
                "paper": 100,
            }
        )
    return Table("The cost during the first keyframe, Figure 9 (paper: lower at all points in time)", rows)


def _curve_table(descending: Sequence[Condition], courses: Sequence[Course]) -> Table:
    rows = [
        {"task": condition.task, "method": condition.solver, "seconds": moment, "mean cost": cost, "trials": trials}
        for condition, course in zip(descending, courses, strict=True)
        for moment, cost, trials in course
    ]
    return Table("Mean cost of the trials that still aim at the first keyframe", rows)


def _curves(descending: Sequence[Condition], courses: Sequence[Course]) -> Chart:
    panels: dict[str, dict[str, tuple[list[float], list[float]]]] = {}
    for condition, course in zip(descending, courses, strict=True):
        points = [moment for moment, _, _ in course], [cost for _, cost, _ in course]
        panels.setdefault(condition.task, {})[condition.solver] = points
    return Chart(
        [Curves(task, "seconds", lines) for task, lines in panels.items()],
        "Mean cost during the first keyframe, Figure 9",
    )


def _four_digits(values: Sequence[float]) -> float | None:
    return float(f"{np.mean(values):.4g}") if values else None
