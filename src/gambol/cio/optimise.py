"""L-BFGS in three stages with a little noise between them (Section 4.5), and one more that insists."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import numpy as np
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

from gambol.cio.compiling import compiled
from gambol.cio.metric import Metric
from gambol.cio.problem import (
    GATHERING,
    STAGES,
    Guess,
    Problem,
    Solution,
    Stage,
    Timing,
    at_rest,
    no_guess,
    total,
)
from gambol.cio.settings import Settings
from gambol.rotations import Array


def _whitened_total(problem: Problem, stage: Stage, metric: Metric, values: Any, guess: Guess) -> Any:
    return total(problem, stage, metric.solution(values), guess)


_compiled_total = compiled(jax.value_and_grad(_whitened_total, argnums=3, has_aux=True))
_compiled_solution = compiled(Metric.solution)
_PARTS = 2
"""Stretches of time whose costs are computed side by side, the same on every machine: sums come in this order."""
CONTACT = 0.3
"""The contact variable from which on something is in contact: a third of the weight on it leaves 3 % of the weight
unbalanced by equation 7, below it soon ten times as much."""
_DECIDED = (1.0, 0.0), (np.inf, 0.0)
"""In the last stage the least and the largest contact variable, of what is in contact and of what is not."""
_LOOK_BACK = 100
"""Iterations over which what a stage gains is looked at."""
_TOO_FAR = 1e12
"""What a step costs that is so long that the numbers give out; the line search comes back from it."""


@dataclass(frozen=True)
class Outcome:
    """What was found, and how."""

    solution: Solution
    costs: dict[str, float]
    """By the name of the settings' weights, weighted."""
    iterations: tuple[int, ...]
    seconds: float
    interrupted: bool = False


def optimise(
    problem: Problem,
    timing: Timing,
    settings: Settings,
    first_contact: float,
    seed: int | Sequence[int] = 0,
    told: Callable[[int, int, float], None] | None = None,
) -> Outcome:
    """Minimise equation 1 from contact variables of ``first_contact``; ``told`` hears stage, iteration and cost.

    Interrupted by Ctrl-C, it gives what it has got to. In double precision, whatever JAX is set to.
    """
    began = time.perf_counter()
    # sums of libraries for linear algebra come in an order that depends on their threads
    with jax.enable_x64(True), threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(_PARTS) as threads:
        search = _Search(problem, threads)
        beginning, rng = at_rest(problem, timing, first_contact), np.random.default_rng(seed)
        solution, iterations = _in_stages(search, beginning, settings, rng, told or (lambda *_: None))
        costs = search.costs(solution)
    return Outcome(solution, costs, tuple(iterations), time.perf_counter() - began, search.interrupted)


def _in_stages(
    search: _Search,
    solution: Solution,
    settings: Settings,
    rng: np.random.Generator,
    told: Callable[[int, int, float], None],
) -> tuple[Solution, list[int]]:
    """The solution after all stages, or after those until an interruption, and their numbers of iterations."""
    iterations, budgets = [], (*settings.iterations, settings.insistence)
    for number, (stage, most) in enumerate(zip(STAGES, budgets, strict=True)):
        low, high = np.zeros_like(solution.contacts), np.full_like(solution.contacts, np.inf)
        if number == 0:
            # wishful thinking needs no contacts: left to it they would vanish, and from zero there is no way back, as
            # the forces change with the square of a contact variable
            low = high = solution.contacts
        elif number == len(settings.iterations):
            # now contacts are contacts or are not: a small variable would be a small insistence
            low, high = (np.where(solution.contacts >= CONTACT, *each) for each in _DECIDED)
        else:
            solution = jax.tree.map(lambda part: part + settings.noise * rng.normal(size=part.shape), solution)
        solution = solution._replace(contacts=np.clip(solution.contacts, low, high))
        heard = partial(told, number)
        solution, taken = search.minimised(stage, solution, (low, high), most, settings, heard)
        if number == 0 and np.asarray(search.problem.body.contacts.partners).any() and not search.interrupted:
            # hands far from a thing, and feet from a back, would give it up before they have tried to get there
            most = settings.gathering
            solution, more = search.minimised(GATHERING, solution, (low, high), most, settings, heard)
            taken += more
        iterations.append(taken)
        if search.interrupted:
            break
    return solution, iterations


class _Search:
    """The cost as a function of one flat vector of whitened features, then contacts.

    It remembers the last forces, near which the next ones are.
    """

    def __init__(self, problem: Problem, threads: ThreadPoolExecutor):
        self.problem = problem
        self.interrupted = False
        self._threads = threads
        self._parts = [jax.device_put(part) for part in problem.parts(_PARTS)]
        self._guesses = [no_guess(part) for part in self._parts]
        self._compiled = False
        """Until then parts are evaluated one after the other, lest every thread compile the same."""

    def costs(self, solution: Solution) -> dict[str, float]:
        """Every cost of a solution by name."""
        metric = Metric.of(self.problem)
        found = [costs for (_, (_, costs)), _ in self._evaluated(STAGES[-1], metric, metric.flat(solution))]
        return {name: sum(float(costs[name]) for costs in found) for name in found[0]}

    def _evaluated(self, stage: Stage, metric: Metric, values: Array) -> list[Any]:
        """Costs and gradients of all parts."""

        def evaluated(part: Problem, guess: Guess) -> Any:
            with jax.enable_x64(True):
                return jax.block_until_ready(_compiled_total(part, stage, metric, values, guess))

        abreast = self._threads.map if self._compiled else map
        found = list(abreast(evaluated, self._parts, self._guesses))
        self._compiled = True
        return found

    def minimised(
        self,
        stage: Stage,
        solution: Solution,
        limits: tuple[Array, Array],
        most: int,
        settings: Settings,
        told: Callable[[int, float], None],
    ) -> tuple[Solution, int]:
        """The solution after at most so many iterations of a stage, contacts within ``limits``, and their number."""
        costs: list[float] = []
        metric = jax.device_put(Metric.of(self.problem, wishful=stage.physics == 0.0))

        def cost(values: Array) -> tuple[float, Array]:
            found = self._evaluated(stage, metric, values)
            value = sum(float(value) for (value, _), _ in found)
            slope = np.sum([gradient for _, gradient in found], axis=0)
            if not (np.isfinite(value) and np.isfinite(slope).all()):
                return _TOO_FAR, np.zeros_like(values)
            self._guesses = [guess for (_, (guess, _)), _ in found]
            return value, slope

        def heard(intermediate_result: Any) -> None:
            nonlocal latest
            costs.append(float(intermediate_result.fun))
            latest = np.array(intermediate_result.x)
            told(len(costs), costs[-1])
            if gains_little(costs, settings.least_gain):
                raise StopIteration

        values, reached = metric.flat(solution), np.inf
        latest = values
        bounds = np.tile([-np.inf, np.inf], (values.size, 1))
        ends = [metric.flat(solution._replace(contacts=limit)) for limit in limits]
        bounds[-limits[0].size :] = np.stack(ends, axis=1)[-limits[0].size :]
        try:
            while len(costs) < most and not gains_little(costs, settings.least_gain):
                # a line search that fails at a kink of the cost ends the search: begin again with an empty memory
                options = {"maxiter": most - len(costs), "maxfun": 3 * most, "ftol": 1e-8, "gtol": 1e-6}
                options["maxcor"] = settings.memory
                found = minimize(
                    cost, values, jac=True, method="L-BFGS-B", bounds=bounds, callback=heard, options=options
                )
                values, gained, reached = found.x, reached - found.fun, float(found.fun)
                if gained <= settings.least_gain * reached:
                    break
        except KeyboardInterrupt:
            if not self._compiled:  # nothing was evaluated, and what is compiled next would take as long again
                raise
            self.interrupted, values = True, latest
        return jax.tree.map(np.asarray, _compiled_solution(metric, values)), len(costs)


def gains_little(costs: Sequence[float], least_gain: float) -> bool:
    """Whether the last iterations of many have lowered the cost by less than a share of it."""
    return len(costs) > _LOOK_BACK and costs[-1 - _LOOK_BACK] - costs[-1] < least_gain * costs[-1]
