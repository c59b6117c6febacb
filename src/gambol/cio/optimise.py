"""L-BFGS in three stages with a little noise between them (Section 4.5), and one more that insists."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import numpy as np
from jax.flatten_util import ravel_pytree
from scipy.optimize import minimize

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


def _whitened_total(problem: Problem, stage: Stage, metric: Metric, whitened: Solution, guess: Guess) -> Any:
    return total(problem, stage, metric.applied(whitened), guess)


_compiled_total = jax.jit(jax.value_and_grad(_whitened_total, argnums=3, has_aux=True))
CONTACT = 0.3
"""The contact variable from which on something is in contact: a third of the weight on it leaves 3 % of the weight
unbalanced by equation 7, below it soon ten times as much."""
_DECIDED = (1.0, 0.0), (np.inf, 0.0)
"""In the last stage the least and the largest contact variable, of what is in contact and of what is not."""
_LEAST_GAIN = 0.01
"""Share of the cost that beginning again must have gained to be tried once more."""
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
    seed: int = 0,
    told: Callable[[int, int, float], None] | None = None,
) -> Outcome:
    """Minimise equation 1 from contact variables of ``first_contact``; ``told`` hears stage, iteration and cost.

    Interrupted by Ctrl-C, it gives what it has got to. In double precision, whatever JAX is set to.
    """
    with jax.enable_x64(True):
        return _optimise(problem, timing, settings, first_contact, seed, told or (lambda *_: None))


def _optimise(
    problem: Problem,
    timing: Timing,
    settings: Settings,
    first_contact: float,
    seed: int,
    told: Callable[[int, int, float], None],
) -> Outcome:
    began = time.perf_counter()
    rng = np.random.default_rng(seed)
    problem = jax.device_put(problem)
    solution = at_rest(problem, timing, first_contact)
    search = _Search(problem, solution)
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
        solution, taken = search.minimised(stage, solution, (low, high), most, settings.memory, heard)
        if number == 0 and np.asarray(problem.body.contacts.partners).any() and not search.interrupted:
            # hands far from a thing, and feet from a back, would give it up before they have tried to get there
            most = settings.gathering
            solution, more = search.minimised(GATHERING, solution, (low, high), most, settings.memory, heard)
            taken += more
        iterations.append(taken)
        if search.interrupted:
            break
    costs = search.costs(solution)
    seconds = time.perf_counter() - began
    return Outcome(solution, costs, tuple(iterations), seconds, search.interrupted)


class _Search:
    """The cost as a function of one flat vector of whitened features, then contacts.

    It remembers the last forces, near which the next ones are.
    """

    def __init__(self, problem: Problem, like: Solution):
        self.problem = problem
        self.guess: Guess = no_guess(problem)
        self.interrupted = False
        self._unravel = ravel_pytree(jax.tree.map(np.asarray, like))[1]

    def costs(self, solution: Solution) -> dict[str, float]:
        """Every cost of a solution by name."""
        stage = STAGES[-1]
        metric = Metric.of(self.problem)
        (_, (_, costs)), _ = _compiled_total(self.problem, stage, metric, metric.undone(solution), self.guess)
        return {name: float(cost) for name, cost in costs.items()}

    def minimised(
        self,
        stage: Stage,
        solution: Solution,
        limits: tuple[Array, Array],
        most: int,
        memory: int,
        told: Callable[[int, float], None],
    ) -> tuple[Solution, int]:
        """The solution after at most so many iterations of a stage, contacts within ``limits``, and their number."""
        count = 0
        metric = Metric.of(self.problem, wishful=stage.physics == 0.0)

        def flat(solution: Solution) -> Array:
            return np.array(ravel_pytree(metric.undone(solution))[0], float)

        def cost(values: Array) -> tuple[float, Array]:
            given = self.problem, stage, metric, self._unravel(values), self.guess  # type: ignore[arg-type]
            (value, (guess, _)), gradient = _compiled_total(*given)
            slope = np.array(ravel_pytree(gradient)[0], float)
            if not (np.isfinite(value) and np.isfinite(slope).all()):
                return _TOO_FAR, np.zeros_like(values)
            self.guess = guess
            return float(value), slope

        def heard(intermediate_result: Any) -> None:
            nonlocal count, latest
            count += 1
            latest = np.array(intermediate_result.x)
            told(count, float(intermediate_result.fun))

        values, reached = flat(solution), np.inf
        latest = values
        bounds = np.tile([-np.inf, np.inf], (values.size, 1))
        ends = [flat(solution._replace(contacts=limit)) for limit in limits]
        bounds[-limits[0].size :] = np.stack(ends, axis=1)[-limits[0].size :]
        try:
            while count < most:
                # a line search that fails at a kink of the cost ends the search: begin again with an empty memory
                options = {"maxiter": most - count, "maxfun": 3 * most, "maxcor": memory, "ftol": 1e-8, "gtol": 1e-6}
                found = minimize(
                    cost, values, jac=True, method="L-BFGS-B", bounds=bounds, callback=heard, options=options
                )
                values, gained, reached = found.x, reached - found.fun, float(found.fun)
                if gained <= _LEAST_GAIN * reached:
                    break
        except KeyboardInterrupt:
            self.interrupted, values = True, latest
        return jax.tree.map(np.asarray, metric.applied(self._unravel(values))), count  # type: ignore[arg-type]
