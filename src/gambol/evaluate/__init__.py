"""Benchmark protocols and their tables. Nothing that a method needs lives here."""

from __future__ import annotations

from gambol.evaluate.benchmark import Benchmark, Table
from gambol.evaluate.planning import planning
from gambol.evaluate.trials import trials

BENCHMARKS: dict[str, Benchmark] = {
    "planning": Benchmark("what a plan costs beside its bare rollouts", planning, trials=50),
    "trials": Benchmark("how often each shipped task succeeds, and how long its motion is", trials, trials=5),
}
"""Every benchmark by name."""

__all__ = ["BENCHMARKS", "Benchmark", "Table"]
