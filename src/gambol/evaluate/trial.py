"""A trial: one solve of a condition, how it ended and how smooth it was; and what many of them say together."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gambol.evaluate.condition import Condition
from gambol.evaluate.running import Experiment
from gambol.front import solve
from gambol.goals.success import judged
from gambol.motion.metrics import measure
from gambol.results import ProgressListener, Report, Status

SMOOTHNESS = ("jerk", "control_roughness")
"""Metrics of each motion and of its controls."""
_SURE = 1.96
"""Standard deviations either side of a normal distribution's mean that hold 95 % of it."""


def finished(condition: Condition, seed: int) -> Report:
    """The report of one solve in this process; one that was cut short says nothing and ends the benchmark."""
    report = solve(condition.loaded, condition.solver, seed).report
    if report.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return report


def solved(condition: Condition, seed: int) -> dict[str, Any]:
    """One solve in this process."""
    report = finished(condition, seed)
    return {
        "succeeded": report.succeeded,
        "seconds": report.sim_seconds,
        "reached": report.figures.get("keyframes_reached"),
        "mean_cost": report.figures.get("mean_cost"),
        "recombined_share": report.figures.get("recombined_share"),
        **{name: report.figures.get(name) for name in SMOOTHNESS},
        "wall_seconds": report.wall_seconds,
    }


def solved_together(
    conditions: Sequence[Condition], seeds: Sequence[int], progress: ProgressListener
) -> list[list[dict[str, Any]]]:
    """One solve for each seed of each of some like conditions, all as one batch of worlds on a GPU.

    They are judged like those of a CPU.
    """
    from gambol.partwise.batch import TrialBatch

    began = time.perf_counter()
    first, tasks = conditions[0], [condition.loaded for condition in conditions]
    trials = len(tasks) * len(seeds)
    batch = TrialBatch(tasks, first.settings, seeds, method=first.solver, keep=trials)
    ended = batch.run(progress)
    wall = (time.perf_counter() - began) / trials
    criteria = [task.success for task in tasks for _ in seeds]
    found = [
        {
            "succeeded": trial.succeeded and not (success and judged(success, motion)[1]),
            "seconds": trial.seconds,
            "reached": trial.reached,
            "mean_cost": trial.mean_cost,
            "recombined_share": trial.recombined_share,
            **{name: metric.value for name, metric in measure(motion, SMOOTHNESS).items()},
            "wall_seconds": wall,
        }
        for trial, motion, success in zip(ended, batch.motions(), criteria, strict=True)
    ]
    return [found[place : place + len(seeds)] for place in range(0, trials, len(seeds))]


TRIAL = Experiment("trial", solved, solved_together)


def summary(outcomes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Columns of a table: how often it succeeded (with 95 % confidence), how long successes took, means of the rest."""
    good = [float(outcome["seconds"]) for outcome in outcomes if outcome["succeeded"]]
    low, high = interval(len(good), len(outcomes))
    return {
        "trials": len(outcomes),
        "success %": round(100 * len(good) / len(outcomes), 1),
        "low %": round(100 * low, 1),
        "high %": round(100 * high, 1),
        "mean s": round(float(np.mean(good)), 2) if good else None,
        "sd s": round(float(np.std(good, ddof=1)), 2) if len(good) > 1 else None,
        "min s": round(min(good), 2) if good else None,
        "max s": round(max(good), 2) if good else None,
        "mean cost": mean_of(outcomes, "mean_cost"),
        "jerk m/s³": mean_of(outcomes, "jerk"),
        "roughness 1/s": mean_of(outcomes, "control_roughness"),
        "wall s": round(sum(outcome["wall_seconds"] for outcome in outcomes), 1),
    }


def mean_of(outcomes: Sequence[Mapping[str, Any]], key: str, scale: float = 1.0) -> float | None:
    """Mean over the outcomes that know it, four digits of it."""
    known = [outcome[key] for outcome in outcomes if outcome.get(key) is not None]
    return float(f"{scale * float(np.mean(known)):.4g}") if known else None


def interval(successes: int, trials: int) -> tuple[float, float]:
    """Between which rates the true one lies, with 95 % confidence (Wilson's score interval)."""
    rate, spread = successes / trials, _SURE**2 / trials
    middle = rate + spread / 2
    reach = _SURE * math.sqrt(rate * (1 - rate) / trials + spread / (4 * trials))
    return max(0.0, (middle - reach) / (1 + spread)), min(1.0, (middle + reach) / (1 + spread))
