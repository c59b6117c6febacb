"""Figure 9: how fast the cost falls while the first keyframe is aimed at."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gambol.evaluate.condition import Condition
from gambol.evaluate.running import Experiment
from gambol.partwise.method import PARTWISE, KeyframeController
from gambol.sim import Simulation


def descended(condition: Condition, seed: int) -> dict[str, Any]:
    """Seconds and cost of each simulation step until the first keyframe is reached or given up."""
    began = time.perf_counter()
    task = condition.loaded
    simulation = Simulation(task.world, task.initial_qpos())
    controller = KeyframeController(task, condition.settings, seed, partwise=condition.solver == PARTWISE)
    controller.reset(simulation.state)
    times: list[float] = []
    try:
        while True:
            control = controller.step(simulation.state)
            if controller.progress.index > 0 or controller.progress.failed:
                break
            times.append(round(simulation.data.time, 4))
            simulation.step(control)
    except FloatingPointError:
        pass  # physics went wrong: the curve ends here
    finally:
        controller.close()
    return {
        "times": times,
        "costs": controller.costs,
        "reached": controller.progress.index > 0,
        "wall_seconds": time.perf_counter() - began,
    }


DESCENT = Experiment("descent", descended)

Course = list[tuple[float, float, int]]
"""Seconds, mean cost, and of how many trials."""


def mean_descent(ended: Sequence[Mapping[str, Any]]) -> Course:
    """The mean over the trials that still aim at the keyframe, while they are at least half of all."""
    by_plan: dict[float, list[float]] = {}
    for outcome in ended:
        for moment, cost in zip(outcome["times"], outcome["costs"], strict=True):
            by_plan.setdefault(moment, []).append(cost)
    return [
        (moment, float(np.mean(costs)), len(costs))
        for moment, costs in sorted(by_plan.items())
        if 2 * len(costs) >= len(ended)
    ]
