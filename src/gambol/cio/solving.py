"""From a task to a result: how many phases, which beginnings are tried, the motion and what is told about it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any

import jax
import numpy as np

from gambol.cio.compiling import compiled
from gambol.cio.judging import Residual, by_share, miss, residuals, work_shares
from gambol.cio.kinematics import Basis, Frames, frames
from gambol.cio.method import NAME
from gambol.cio.optimise import CONTACT, Outcome, optimise
from gambol.cio.preparing import Prepared, thing_span
from gambol.cio.problem import Problem, Solution, Timing, knots_of
from gambol.cio.settings import Settings
from gambol.cio.skeleton import embodied
from gambol.goals import Task
from gambol.goals.success import judged
from gambol.motion import Motion, Source
from gambol.results import Progress, ProgressListener, Report, Result, Status
from gambol.rotations import Array, from_matrix

_FRAME = 0.02
"""Seconds between the frames of a motion, or a little less or more so that phases end on frames."""
_STAGES = ("wishful thinking", "cautious physics", "refinement", "insistence")


_compiled_frames = compiled(frames)


@dataclass(frozen=True)
class Found:
    """One solution, performed; it is judged when first asked, which takes compilation."""

    prepared: Prepared
    problem: Problem
    timing: Timing
    outcome: Outcome
    motion: Motion
    """Of the whole body."""
    off: Residual
    """How far it is from the features."""

    @staticmethod
    def of(prepared: Prepared, problem: Problem, timing: Timing, outcome: Outcome) -> Found:
        """A solution, performed."""
        return Found(prepared, problem, timing, outcome, *motion_of(prepared, problem, timing, outcome.solution))

    @cached_property
    def residuals(self) -> Sequence[Residual]:
        """The one farthest from being met first."""
        felt = residuals(self.prepared.cast, self.problem, self.timing, self.outcome.solution)
        return by_share([*felt, self.off])

    @cached_property
    def missed(self) -> str:
        """What of the task's success the motion misses; empty if nothing."""
        return judged(self.prepared.task.success, self.motion)[1]

    @property
    def converged(self) -> bool:
        """Whether contacts are contacts and physics is physics."""
        return self.residuals[0].share <= 1.0

    @property
    def good(self) -> bool:
        """Whether it converged to what the task calls success."""
        return self.converged and not self.missed

    @property
    def order(self) -> tuple[bool, bool, float]:
        """The smaller, the better: good ones first, then by cost, without hints; what did not converge by how far."""
        costs = self.outcome.costs
        cost = sum(costs.values()) - costs["hint"]
        return not self.good, not self.converged, cost if self.converged else self.residuals[0].share


def solved(task: Task, settings: Settings, seed: int, progress: ProgressListener) -> Result:
    """The best motion of a task, or its start if interrupted earlier; see :func:`gambol.cio.method.solve`."""
    began = time.perf_counter()
    tried: list[Found] = []
    interrupted = False
    try:
        for found in search(Prepared.of(task), settings, seed, progress):
            tried.append(found)
            interrupted = found.outcome.interrupted
    except KeyboardInterrupt:
        interrupted = True
    best = _best(tried)
    figures = figures_of(best, settings, sum(found.outcome.seconds for found in tried)) if best else {}
    motion = best.motion if best else _held(task)
    motion = replace(motion, source=Source.now(method=NAME, task=task.name, seed=seed, figures=figures))
    status, advice = _ended(best, interrupted)
    wall = time.perf_counter() - began
    return Result(motion, Report(status, task.name, NAME, seed, figures, motion.duration, wall, advice))


def search(prepared: Prepared, settings: Settings, seed: int, progress: ProgressListener) -> Iterator[Found]:
    """Solutions as they are found: from every beginning, for every number of phases until one is good.

    If none is, all of it again with other noise.
    """
    counts, firsts = prepared.phase_counts, settings.first_contacts
    tries = settings.tries if settings.noise else 1
    parts = tries * len(counts) * len(firsts)
    for k, (attempt, phases) in enumerate(product(range(tries), counts)):
        problem, timing = prepared.problem(phases, settings)
        noise = (seed, attempt) if attempt else seed
        good = False
        for i, first in enumerate(firsts):
            budgets = (*settings.iterations, settings.insistence)
            told = _listener(progress, phases, budgets, k * len(firsts) + i, parts)
            found = Found.of(prepared, problem, timing, optimise(problem, timing, settings, first, noise, told))
            yield found
            if found.outcome.interrupted:
                return
            good = good or found.good
        if good:
            return


def _listener(
    progress: ProgressListener, phases: int, iterations: Sequence[int], part: int, parts: int
) -> Callable[[int, int, float], None]:
    """Tells the progress of one of several optimisations, each counted as if it took all its iterations."""

    def told(stage: int, iteration: int, cost: float) -> None:
        done = min((sum(iterations[:stage]) + iteration) / sum(iterations), 1.0)
        figures = {"iteration": f"{iteration}", "cost": f"{cost:.4g}"}
        progress(Progress((part + done) / parts, f"{phases} phases, {_STAGES[stage]}", figures))

    return told


def motion_of(prepared: Prepared, problem: Problem, timing: Timing, solution: Solution) -> tuple[Motion, Residual]:
    """The motion of everybody and everything for a solution, and how far end effectors are from their features."""
    per_phase = max(round(timing.phase_duration / _FRAME), 1)
    count = timing.phases * per_phase + 1
    dt = timing.phase_duration / per_phase
    scene, phase = prepared.task.world, np.minimum(np.arange(count) // per_phase, timing.phases - 1)
    qpos, misses = np.tile(prepared.state, (count, 1)), []
    with jax.enable_x64(True):
        basis = Basis.at(np.linspace(0.0, timing.phases * timing.phase_duration, count), timing.knots, timing.spacing)
        moving = Frames(*(np.asarray(part) for part in _compiled_frames(basis, knots_of(problem, solution))))
        for name, features in prepared.cast.features.items():
            own = Frames(*(part[:, features] for part in moving))
            if name in prepared.models:
                span, holding = scene.spans[name].qpos, _holding(prepared, name, solution)[phase]
                body = embodied(prepared.models[name], own, prepared.state[span], per_phase, holding)
                qpos[:, span] = body.qpos
                misses.append(body.misses)
            else:
                pose = np.concatenate([own.positions[:, 0], from_matrix(own.turns[:, 0])], axis=1)
                qpos[1:, thing_span(scene, name)] = pose[1:]
    return Motion(scene, dt, qpos), miss(prepared.cast, np.concatenate(misses, axis=1), dt)


def _holding(prepared: Prepared, name: str, solution: Solution) -> np.ndarray:
    """Which end effectors of a character, then which middle joints, are in contact in each phase (K, 2 L)."""
    body, span = prepared.cast.body, prepared.cast.features[name]
    owners = np.asarray(body.patches.owners)[np.asarray(body.contacts.patches)]
    ends = np.arange(span.start + 1, span.stop)
    # middle joints come after the features of everybody, in the order of the limbs
    middles = len(prepared.start) + np.flatnonzero(np.isin(body.limbs.effectors, ends))
    large = np.asarray(solution.contacts) >= CONTACT
    return np.stack([large[:, owners == owner].any(axis=1) for owner in (*ends, *middles)], axis=1)


def figures_of(found: Found, settings: Settings, seconds: float) -> dict[str, Any]:
    """What a report says about a solution, and about the ``seconds`` of all that was tried."""
    prepared, outcome, timing = found.prepared, found.outcome, found.timing
    costs = {name: float(f"{cost:.3g}") for name, cost in outcome.costs.items() if name != "hint"}
    return {
        "phases": timing.phases,
        "L_Physics": _unweighted(outcome.costs["physics"], settings.physics),
        "L_CI": _unweighted(outcome.costs["contact"], settings.contact),
        "costs": costs,
        "iterations": list(outcome.iterations),
        "optimising_seconds": round(seconds, 1),
        **({} if outcome.interrupted else _judgement(found)),
        "contacts": _contact_table(prepared, timing, np.asarray(outcome.solution.contacts)),
    }


def _judgement(found: Found) -> dict[str, Any]:
    shares = work_shares(found.prepared.cast, found.problem, found.outcome.solution)
    return {
        "worst": {each.term: f"{each.value:.2g} {each.unit}" for each in found.residuals},
        **({"work": {name: round(share, 2) for name, share in shares.items()}} if shares else {}),
    }


def _unweighted(cost: float, weight: float) -> float | None:
    """A cost by itself; without a weight it was not measured."""
    return float(f"{cost / weight:.3g}") if weight else None


def _contact_table(prepared: Prepared, timing: Timing, contacts: Array) -> list[dict[str, Any]]:
    """A row of contact variables for every phase, without those that are never in contact."""
    used = [(k, name) for k, name in enumerate(prepared.cast.contact_names) if contacts[:, k].max() >= CONTACT]
    return [
        {
            "phase": f"{k * timing.phase_duration:g}-{(k + 1) * timing.phase_duration:g} s",
            **{name: round(float(row[column]), 2) for column, name in used},
        }
        for k, row in enumerate(contacts)
    ]


def _best(tried: Sequence[Found]) -> Found | None:
    """The best that was finished; else what an interruption has left, which is not judged."""
    finished = [found for found in tried if not found.outcome.interrupted]
    if finished:
        return min(finished, key=lambda found: found.order)
    return tried[0] if tried else None


def _held(task: Task) -> Motion:
    """The start: what there is before anything was found."""
    return Motion(task.world, _FRAME, np.tile(task.initial_qpos(), (2, 1)))


def _ended(best: Found | None, interrupted: bool) -> tuple[Status, str]:
    """How it ended, with advice."""
    if best is None:
        return Status.INTERRUPTED, "interrupted before anything was found; the motion is the start"
    if interrupted:
        return Status.INTERRUPTED, "interrupted; the motion is the best so far, finished or not"
    if best.converged:
        return Status.SUCCESS, ""
    missed = "; ".join(each.told() for each in best.residuals if each.share > 1.0)
    return Status.FAILED, f"did not converge: {missed}. Try another --seed, more phases or more iterations"
