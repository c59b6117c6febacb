"""Covariance matrix adaptation on one problem, with an end when nothing gets better."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gambol.rotations import Array
from gambol.spacetime.settings import Settings

LITTLE = 0.003
"""Share of the whole improvement so far that is too little to go on for."""


@dataclass(frozen=True)
class Found:
    """The best row of variables, its cost, and how it was come by."""

    values: Array
    cost: float
    generations: int
    history: Array
    """(generations,) the best cost so far after each."""


def minimise(
    costs: Callable[[Array], Array], start: Array, settings: Settings, seed: int, told: Callable[[int, float], None]
) -> Found:
    """The best of what CMA-ES tries from ``start`` on; ``told`` hears of each generation and its best cost so far."""
    strategy = _strategy(start, settings, seed)
    first = costs(start[None])
    best, best_cost = start, float(first[0])
    history: list[float] = []
    for generation in range(settings.generations):
        tried = np.array(strategy.ask())
        found = costs(tried)
        strategy.tell(list(tried), found.tolist())
        if found.min() < best_cost:
            best, best_cost = tried[np.argmin(found)], float(found.min())
        history.append(best_cost)
        told(generation + 1, best_cost)
        if _settled(history, settings.patience) or strategy.stop():
            break
    return Found(best, best_cost, len(history), np.array(history))


def _settled(history: list[float], patience: int | None) -> bool:
    """Whether the best cost came down by little in the last ``patience`` generations, beside all it came down."""
    if patience is None or len(history) <= patience:
        return False
    before, now = history[-1 - patience], history[-1]
    return before - now <= LITTLE * (history[0] - now)


def _strategy(start: Array, settings: Settings, seed: int):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it would rather have matplotlib
        import cma
    options = {
        "popsize": settings.population,
        "seed": seed + 1,
        "verbose": -9,
        "maxiter": settings.generations,
        "tolfun": 0,
        "tolfunhist": 0,
        "tolx": 1e-9,
        "tolstagnation": 0,
        "tolflatfitness": settings.generations,
    }
    return cma.CMAEvolutionStrategy(start, settings.step, options)
