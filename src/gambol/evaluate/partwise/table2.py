"""Table 2: how often the seven skills succeed and how long they take."""

from __future__ import annotations

from typing import NamedTuple

from gambol.evaluate.benchmark import Findings, Request, Table
from gambol.evaluate.charts import Bars, Chart
from gambol.evaluate.condition import Condition
from gambol.evaluate.partwise.budget import spent
from gambol.evaluate.running import outcomes, wanted
from gambol.evaluate.trial import TRIAL, summary


class Published(NamedTuple):
    """A row of the paper's table: 100 trials at Γ = 0.25; seconds of the successes."""

    success: float
    mean: float
    sd: float
    shortest: float
    longest: float


TABLE_2 = {
    "armchair/stand-sit-stand": Published(94, 5.9, 0.5, 5, 9),
    "armchair/cross-legs": Published(96, 20.0, 1.7, 18, 27),
    "armchair/turn-to-relax": Published(100, 7.0, 0.2, 6, 8),
    "stool/rotate": Published(89, 19, 5, 15, 26),
    "bench/shuffle": Published(89, 22.9, 4.4, 20, 27),
    "bed/lie-down-get-up": Published(98, 8.5, 1.2, 7, 15),
    "table/climb": Published(75, 11.9, 10.6, 9, 26),
}

SHOWN = {
    "task": "{task}",
    "trials": "{trials}",
    "success %": "{success %} ({low %}–{high %})",
    "paper": "{paper success %}",
    "duration s": "{mean s} ± {sd s}",
    "paper s": "{paper mean s} ± {paper sd s}",
    "min–max s": "{min s}–{max s}",
    "paper ": "{paper min s}–{paper max s}",
    "rollouts": "{rollouts}",
    "plans/s": "{plans a second}",
    "jerk": "{jerk m/s³}",
    "roughness": "{roughness 1/s}",
    "wall s": "{wall s}",
}


def table2(request: Request) -> Findings:
    """Every row with the settings its task ships with."""
    conditions = wanted([Condition(name, name) for name in TABLE_2], request)
    rows = []
    for condition, ended in zip(conditions, outcomes(conditions, request, TRIAL), strict=True):
        paper = TABLE_2[condition.label]
        rows.append(
            {
                "task": condition.label,
                **summary(ended),
                "paper success %": paper.success,
                "paper mean s": paper.mean,
                "paper sd s": paper.sd,
                "paper min s": paper.shortest,
                "paper max s": paper.longest,
                **spent(condition),
            }
        )
    names = [row["task"] for row in rows]
    chart = Chart(
        [
            Bars("success %", names, {n: [row[f"{p}success %"] for row in rows] for n, p in _SIDES}, 100),
            Bars(
                "duration of successes, s (mean, standard deviation)",
                names,
                {n: [row[f"{p}mean s"] for row in rows] for n, p in _SIDES},
                spreads={n: [row[f"{p}sd s"] for row in rows] for n, p in _SIDES},
            ),
        ],
        "Partwise MPC, Table 2",
    )
    title = (
        "Partwise MPC, Table 2: tasks as they ship (paper: 100 trials at slowdown 0.25, typically 45 or 90 rollouts)"
    )
    return Findings({"partwise-table2": Table(title, rows, SHOWN)}, {"partwise-table2": chart})


_SIDES = (("ours", ""), ("paper", "paper "))
"""Names of the two sides and what their columns begin with."""
