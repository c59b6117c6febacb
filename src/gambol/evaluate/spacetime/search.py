"""How soon the search for a window gets as far as the published one does with its whole budget.

The paper gives no costs, so its search is run here: plain CMA-ES on the key-poses with a full covariance matrix, a
population of 16, 18,000 generations. Both searches solve the same problem, the first window of a task together with the
second, however far the task looks ahead. Ours goes on here where it would stop otherwise, because little is left to
gain.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gambol.evaluate.benchmark import Findings, Request, Table
from gambol.evaluate.charts import Chart, Curves
from gambol.evaluate.condition import Condition
from gambol.evaluate.running import Experiment, outcomes, wanted
from gambol.goals import load_task, shipped_tasks
from gambol.spacetime.method import first_search

PERSISTENT = ("look_ahead=1", "patience=null")
"""Overrides that search for a window together with the next, to the last generation."""
PUBLISHED = (*PERSISTENT, "population=16", "generations=18000", "covariance=full", "basis=key-poses")
"""Overrides that search as the paper does."""
SECONDS_IN_PAPER = 1200
"""A window on 8 cores."""
_POINTS = 200
"""Of a history that are kept."""

SHOWN = {
    "task": "{task}",
    "published search: cost": "{published cost}",
    "motions": "{published motions}",
    "seconds": "{published s}",
    "ours: cost": "{our cost}",
    "motions tried": "{our motions}",
    "took s": "{our s}",
    "as good after s": "{as good after s}",
    "times as fast": "{times as fast}",
    "paper s": "{paper s}",
}


def searched(condition: Condition, seed: int) -> dict[str, Any]:
    """One search for the first window: motions tried, seconds and best cost over its course."""
    began = time.perf_counter()
    found, seconds = first_search(condition.loaded, condition.settings, seed)
    places = np.unique(np.geomspace(1, found.generations, _POINTS).astype(int)) - 1
    return {
        "generations": (places + 1).tolist(),
        "costs": found.history[places].tolist(),
        "motions": found.generations * condition.settings.population,
        "search_seconds": seconds,
        "wall_seconds": time.perf_counter() - began,
    }


SEARCH = Experiment("search", searched)


def conditions() -> list[Condition]:
    """Every shipped task with windows, searched for by our search and by the published one in turn."""
    tasks = [name for name in shipped_tasks() if load_task(name).windows]
    return [Condition(name, name, overrides) for name in tasks for overrides in (PERSISTENT, PUBLISHED)]


def search(request: Request) -> Findings:
    """Both searches beside each other: means over seeds, and the course of the first."""
    chosen = wanted(conditions(), request)
    found = outcomes(chosen, request, SEARCH)
    rows, curves = [], []
    for place in range(0, len(chosen), 2):
        ours, published = found[place : place + 2]
        rows.append({"task": chosen[place].task, **compared(ours, published), "paper s": SECONDS_IN_PAPER})
        lines = {name: _course(ended) for name, ended in (("ours", ours), ("published", published))}
        curves.append(Curves(chosen[place].task, "seconds", lines))
    title = f"The first window of each task, {request.trials} searches each (paper s: a window on 8 cores)"
    return Findings(
        {"spacetime-search": Table(title, rows, SHOWN)},
        {"spacetime-search": Chart(curves, "Best cost over the search for a window, seed 0")},
    )


def compared(ours: Sequence[Mapping[str, Any]], published: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Columns of a table; times until our search is as good as the published one ends, on average over seeds."""
    goal = float(np.mean([ended["costs"][-1] for ended in published]))
    reached = [_seconds_until(goal, ended) for ended in ours]
    known = [seconds for seconds in reached if seconds is not None]
    after = float(np.mean(known)) if len(known) == len(reached) else None
    spent = float(np.mean([ended["search_seconds"] for ended in published]))
    return {
        "published cost": float(f"{goal:.4g}"),
        "published motions": round(np.mean([ended["motions"] for ended in published])),
        "published s": round(spent, 1),
        "our cost": float(f"{np.mean([ended['costs'][-1] for ended in ours]):.4g}"),
        "our motions": round(np.mean([ended["motions"] for ended in ours])),
        "our s": round(float(np.mean([ended["search_seconds"] for ended in ours])), 1),
        "as good after s": None if after is None else round(after, 1),
        "times as fast": None if after is None else round(spent / after, 1),
    }


def _seconds_until(goal: float, ended: Mapping[str, Any]) -> float | None:
    """When the best cost came down to the goal, where it did."""
    return next((seconds for seconds, cost in zip(*_course([ended]), strict=True) if cost <= goal), None)


def _course(several: Sequence[Mapping[str, Any]]) -> tuple[list[float], list[float]]:
    """Seconds and best cost over the course of the first of some searches."""
    ended = several[0]
    share = ended["search_seconds"] / ended["generations"][-1]
    return [generation * share for generation in ended["generations"]], ended["costs"]
