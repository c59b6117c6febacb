"""Covariance matrix adaptation on one problem, with an end when nothing gets better."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from gambol.rotations import Array
from gambol.spacetime.settings import Settings

KEPT = 16
"""How many of the best are told of."""
LITTLE = 0.01
"""Share of the cost, or of a third of the whole improvement so far, that is too little to go on for."""
HEAT = 30
"""Generations each of several searches gets before the best goes on."""
GRID = 2.0**-14
"""What is tried lies on a grid this fine, so that one seed gives one motion: linear algebra differs in its last bits
from processor to processor and with the number of cores, and a motion in contact makes much of little."""


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

    With a ``basis`` (variables, variables), of columns at right angles, it varies the coordinates in that. Several
    searches may set out; the one that is ahead after a while goes on alone.
    """
    turn = np.eye(len(start)) if basis is None else basis
    searches = [_Search(costs, start, settings, seed + k, turn) for k in range(settings.starts)]
    history: list[float] = []

    def advance(search: _Search) -> None:
        search.advance()
        history.append(min([*history[-1:], search.history[-1]]))
        told(len(history), history[-1])

    if len(searches) > 1:
        for search in searches:
            for _ in range(min(HEAT, settings.generations // len(searches))):
                advance(search)
    ahead = min(searches, key=lambda search: search.history[-1:])
    while len(history) < settings.generations and not ahead.settled:
        advance(ahead)
    return Found(ahead.best, ahead.best_costs, len(history), np.array(history))


class _Search:
    """One CMA-ES and the best it has found."""

    def __init__(self, costs: Callable[[Array], Array], start: Array, settings: Settings, seed: int, turn: Array):
        self._costs, self._start, self._settings, self._turn = costs, start, settings, turn
        self._in_basis = start @ turn / (turn**2).sum(0)
        self._strategy = _strategy(self._in_basis, settings, seed)
        self.best, self.best_costs = np.empty((0, len(start))), np.empty(0)
        self.history: list[float] = []

    def advance(self) -> None:
        """One generation; ``start`` itself is among the first."""
        asked = np.array(self._strategy.ask())
        tried = np.round(asked @ self._turn.T / GRID) * GRID
        if not self.history:
            tried[0], asked[0] = self._start, self._in_basis
        found = self._costs(tried)
        with _quiet():
            self._strategy.tell(list(asked), found.tolist())
        order = np.argsort(np.concatenate([self.best_costs, found]), kind="stable")[:KEPT]
        self.best = np.concatenate([self.best, tried])[order]
        self.best_costs = np.concatenate([self.best_costs, found])[order]
        self.history.append(float(self.best_costs[0]))

    @property
    def settled(self) -> bool:
        """Whether the best cost came down by little within the patience, or the search cannot go on."""
        return bool(self.history) and (_settled(self.history, self._settings) or bool(self._strategy.stop()))


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
