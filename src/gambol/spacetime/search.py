"""Covariance matrix adaptation on one problem, with an end when nothing gets better."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version

import numpy as np

from gambol.rotations import Array
from gambol.spacetime.settings import Settings

KEPT = 16
"""How many of the best are told of."""
LITTLE = 0.01
"""Share of the cost, or of a third of the whole improvement so far, that is too little to go on for."""


@dataclass(frozen=True)
class Found:
    """The best rows of variables, and how they were come by."""

    best: Array
    """(rows, variables), the very best first."""
    costs: Array
    """(rows,)"""
    generations: int
    history: Array
    """(generations,) the best cost so far after each."""


def minimise(
    costs: Callable[[Array], Array],
    start: Array,
    settings: Settings,
    seed: int,
    told: Callable[[int, float], None],
    basis: Array | None = None,
) -> Found:
    """The best of what CMA-ES tries from ``start`` on; ``told`` hears of each generation and its best cost so far.

    With a ``basis`` (variables, variables) it varies the coordinates in that.
    """
    turn = np.eye(len(start)) if basis is None else basis
    strategy = _strategy(np.asarray(np.linalg.solve(turn, start), float), settings, seed)
    best, best_costs = np.empty((0, len(start))), np.empty(0)
    history: list[float] = []
    for generation in range(settings.generations):
        asked = np.array(strategy.ask())
        tried = asked @ turn.T
        if generation == 0:
            tried[0] = start
            asked[0] = np.linalg.solve(turn, start)
        found = costs(tried)
        with _quiet():
            strategy.tell(list(asked), found.tolist())
        order = np.argsort(np.concatenate([best_costs, found]), kind="stable")[:KEPT]
        best, best_costs = np.concatenate([best, tried])[order], np.concatenate([best_costs, found])[order]
        history.append(float(best_costs[0]))
        told(generation + 1, history[-1])
        if _settled(history, settings) or strategy.stop():
            break
    return Found(best, best_costs, len(history), np.array(history))


def cma_version() -> str:
    """The version of the library: another one may search another way."""
    return version("cma")


def _settled(history: list[float], settings: Settings) -> bool:
    """Whether the best cost came down by little within the patience."""
    patience = settings.patience
    if patience is None or len(history) <= patience:
        return False
    before, now = history[-1 - patience], history[-1]
    little = LITTLE * max(abs(now), (history[0] - now) / 3)
    return before - now <= max(little, settings.least_gain)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """The library warns of very unlikely steps, which it mends, and that it would rather have matplotlib."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _strategy(start: Array, settings: Settings, seed: int):
    with _quiet():
        import cma
    options = {
        "popsize": settings.population,
        # its own generator, so that nobody else's draws change
        "seed": float("nan"),
        "randn": np.random.RandomState(seed + 1).randn,
        "verbose": -9,
        "maxiter": settings.generations,
        "tolfun": 0,
        "tolfunhist": 0,
        "tolx": 1e-9,
        "tolstagnation": 0,
        "tolflatfitness": settings.generations,
        "CMA_diagonal": settings.covariance == "diagonal",
    }
    return cma.CMAEvolutionStrategy(start, settings.step, options)
