"""What symmetry and looking ahead are worth: whole clips with and without them.

Windows that were searched for before come from the cache, with the seconds that they took then; with ``cache=false``
all are searched for anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gambol.evaluate.benchmark import Findings, Request, Table
from gambol.evaluate.charts import Bars, Chart
from gambol.evaluate.condition import Condition
from gambol.evaluate.running import Experiment, outcomes, wanted
from gambol.evaluate.trial import finished, mean_of
from gambol.goals import load_task, shipped_tasks
from gambol.spacetime.settings import Settings


def optimised(condition: Condition, seed: int) -> dict[str, Any]:
    """One clip: whether it succeeded, what its windows cost by their own objectives, and how long the search took."""
    report = finished(condition, seed)
    rows = report.figures["by_window"]
    done = len(rows) == report.figures["windows"]
    return {
        "succeeded": report.succeeded,
        "cost": sum(sum(row["terms"].values()) for row in rows) if done else None,
        "windows": len(rows),
        "search_seconds": sum(row["seconds"] for row in rows),
        "wall_seconds": report.wall_seconds,
    }


CLIP = Experiment("clip", optimised)


def conditions() -> list[Condition]:
    """Every shipped clip as it is, without symmetry where it has that, and with looking ahead the other way round."""
    found = []
    for name in shipped_tasks():
        task = load_task(name)
        windows = task.windows or ()
        if len(windows) < 2:
            continue
        looks = Settings(**task.settings).look_ahead > 0
        other = {"without look-ahead": ["look_ahead=0"]} if looks else {"with look-ahead": ["look_ahead=1"]}
        variants: dict[str, list[str]] = {"as it ships": [], **other}
        symmetric = [f"windows.{k}.symmetric=false" for k, window in enumerate(windows) if window.symmetric]
        if symmetric:
            variants["without symmetry"] = symmetric
        found += [Condition(f"{name}: {key}", name, tuple(overrides)) for key, overrides in variants.items()]
    return found


def ablation(request: Request) -> Findings:
    """Every variant of every clip: means over seeds, and all their time."""
    chosen = wanted(conditions(), request)
    rows = [
        {"clip": condition.label, **_summed(ended)}
        for condition, ended in zip(chosen, outcomes(chosen, request, CLIP), strict=True)
    ]
    bars = Bars("success %", [row["clip"] for row in rows], {"success %": [row["success %"] for row in rows]}, 100)
    title = "Spacetime windows without symmetry, and without looking ahead"
    return Findings(
        {"spacetime-ablation": Table(title, rows)},
        {"spacetime-ablation": Chart([bars], title)},
        ["the cost is that of all windows by their own objectives; a spin that is wished for counts below zero"],
    )


def _summed(ended: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "trials": len(ended),
        "success %": round(100 * float(np.mean([outcome["succeeded"] for outcome in ended])), 1),
        "cost": mean_of(ended, "cost"),
        "windows": mean_of(ended, "windows"),
        "search s": mean_of(ended, "search_seconds"),
        "wall s": round(sum(outcome["wall_seconds"] for outcome in ended), 1),
    }
