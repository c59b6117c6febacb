"""How often every shipped task succeeds, as it ships."""

from __future__ import annotations

from gambol.evaluate.benchmark import Findings, Request, Table
from gambol.evaluate.charts import Bars, Chart
from gambol.evaluate.condition import Condition
from gambol.evaluate.running import outcomes, wanted
from gambol.evaluate.trial import TRIAL, summary
from gambol.goals import shipped_tasks

SHOWN = {
    "task": "{task}",
    "trials": "{trials}",
    "success %": "{success %}",
    "95 %": "{low %}–{high %}",
    "duration s": "{mean s} ± {sd s}",
    "min–max s": "{min s}–{max s}",
    "jerk": "{jerk m/s³}",
    "roughness": "{roughness 1/s}",
    "wall s": "{wall s}",
}


def trials(request: Request) -> Findings:
    """Success rate and duration of every shipped task."""
    conditions = wanted([Condition(name, name) for name in shipped_tasks()], request)
    found = outcomes(conditions, request, TRIAL)
    rows = [{"task": c.label, **summary(ended)} for c, ended in zip(conditions, found, strict=True)]
    chart = Chart(
        [Bars("success %", [row["task"] for row in rows], {"success %": [r["success %"] for r in rows]}, 100)]
    )
    return Findings({"trials": Table(f"{request.trials} trials of each task", rows, SHOWN)}, {"trials": chart})
