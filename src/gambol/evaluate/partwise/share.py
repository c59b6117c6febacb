"""Figure 10: how often the candidate that won was put together from the best motions of parts."""

from __future__ import annotations

from gambol.evaluate.benchmark import Findings, Request, Table
from gambol.evaluate.charts import Bars, Chart
from gambol.evaluate.condition import Condition
from gambol.evaluate.partwise.budget import budget, spent
from gambol.evaluate.partwise.table2 import TABLE_2
from gambol.evaluate.running import outcomes, wanted
from gambol.evaluate.trial import TRIAL, mean_of, summary
from gambol.partwise.method import PARTWISE

ROLLOUTS, SLOWDOWN = 90, 0.5
TASKS = (*TABLE_2, "bench/hand-targets")
STATED = {"bench/shuffle": 22.0, "bench/hand-targets": 66.0}
"""The two shares the text gives, per cent: the lowest and the highest of the figure."""
_STATED_RANGE = " to ".join(f"{per_cent} % ({task})" for task, per_cent in STATED.items())

SHOWN = {
    "task": "{task}",
    "trials": "{trials}",
    "recombined %": "{recombined %}",
    "paper": "{paper recombined %}",
    "success %": "{success %}",
    "rollouts": "{rollouts}",
    "plans/s": "{plans a second}",
    "wall s": "{wall s}",
}


def share(request: Request) -> Findings:
    """Share of plans won by recombined candidates, mean over trials."""
    given = budget(ROLLOUTS, SLOWDOWN)
    conditions = wanted([Condition(name, name, given, PARTWISE) for name in TASKS], request)
    rows = [
        {
            "task": condition.label,
            **summary(ended),
            "recombined %": mean_of(ended, "recombined_share", 100.0),
            "paper recombined %": STATED.get(condition.label),
            **spent(condition),
        }
        for condition, ended in zip(conditions, outcomes(conditions, request, TRIAL), strict=True)
    ]
    columns = {"ours": "recombined %", "paper": "paper recombined %"}
    bars = Bars(
        "plans won by a recombined candidate, %",
        [row["task"] for row in rows],
        {name: [row[column] for row in rows] for name, column in columns.items()},
        100,
    )
    title = (
        f"Partwise MPC, Figure 10 ({ROLLOUTS} rollouts, slowdown {SLOWDOWN}; the paper states two of its eight shares)"
    )
    known = [(row["recombined %"], row["task"]) for row in rows if row["recombined %"] is not None]
    (low, least), (high, most) = min(known), max(known)
    return Findings(
        {"partwise-share": Table(title, rows, SHOWN)},
        {"partwise-share": Chart([bars], "Partwise MPC, Figure 10")},
        [f"{low} % ({least}) to {high} % ({most}); paper: {_STATED_RANGE}"],
    )
