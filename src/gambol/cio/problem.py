"""One optimisation problem: everything the cost depends on as arrays, and the cost itself (equation 1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from gambol.cio import contact, dynamics, limbs, obstacles, wishes
from gambol.cio.features import Body, FeatureModel
from gambol.cio.kinematics import Basis, frames
from gambol.cio.settings import Settings
from gambol.cio.surfaces import Surfaces
from gambol.rotations import Array

_SCUFF_HEIGHT = 0.04
"""Metres above which a patch may move along a surface freely."""


class Problem(NamedTuple):
    """Arrays only: problems of the same shapes share one compiled cost."""

    body: Body
    surfaces: Surfaces
    wished: wishes.Wishes
    basis: Basis
    start: Any
    """(1 + L, 6) features at the beginning, at rest."""
    phases: Any
    """(T,) the phase of each sample."""
    spacing: Any
    """Seconds between knots."""
    dt: Any
    """Seconds between samples."""
    grabs: Any
    """(P,) which patches hold on."""
    weights: Any
    """The settings' weights by name."""


class Solution(NamedTuple):
    """What is optimised (equation 13); the first knot is the start and not part of it."""

    features: Any
    """(knots - 1, 1 + L, 6)"""
    velocities: Any
    """(knots - 1, 1 + L, 6) times the spacing of knots, which brings them to the scale of the features."""
    contacts: Any
    """(K, P) from 0 up."""


class Guess(NamedTuple):
    """Residuals of the last evaluation, near which those of the next one are."""

    forces: Any
    support: Any


class Stage(NamedTuple):
    """Weights of the four terms of equation 1."""

    contact: Any
    physics: Any
    task: Any
    hint: Any


STAGES = (Stage(0.0, 0.0, 1.0, 0.0), Stage(1.0, 0.1, 1.0, 1.0), Stage(1.0, 1.0, 1.0, 0.0))
"""Section 4.5: wishful thinking, cautious physics with hints, refinement."""

_WEIGHTS = (
    *("ends_at_rest", "contact", "physics", "limb_length", "joint_limit", "penetration", "scuffing"),
    *("wish", "force", "acceleration", "hint", "hint_margin", "friction"),
)


@dataclass(frozen=True)
class Timing:
    """How a motion is cut up."""

    phases: int
    phase_duration: float
    knots_per_phase: int
    samples_per_phase: int

    @property
    def knots(self) -> int:
        """Of the splines, both ends included."""
        return self.phases * self.knots_per_phase + 1

    @property
    def spacing(self) -> float:
        """Seconds between knots."""
        return self.phase_duration / self.knots_per_phase

    @property
    def dt(self) -> float:
        """Seconds between samples."""
        return self.phase_duration / self.samples_per_phase


def make_problem(
    model: FeatureModel,
    surfaces: Surfaces,
    start: Array,
    rows: Sequence[wishes.Row],
    timing: Timing,
    settings: Settings,
    grabbing: Sequence[str] = (),
) -> Problem:
    """A problem for the character of ``model`` from the features ``start`` (1 + L, 6)."""
    count = timing.phases * timing.samples_per_phase
    # samples lie in the middle of their steps: none is on the border of two phases, where contacts change
    times = np.linspace(0.5, count - 0.5, count) * timing.dt
    return Problem(
        model.body,
        surfaces,
        wishes.Wishes.of(rows, timing.knots, timing.spacing),
        Basis.at(times, timing.knots, timing.spacing),
        start,
        np.repeat(np.arange(timing.phases), timing.samples_per_phase),
        np.array(timing.spacing),
        np.array(timing.dt),
        np.isin(model.patch_names, list(grabbing)),
        {name: np.array(float(getattr(settings, name))) for name in _WEIGHTS},
    )


def at_rest(problem: Problem, timing: Timing, contacts: float) -> Solution:
    """The uninformative beginning: the start held all along."""
    features = np.repeat(problem.start[None], timing.knots - 1, axis=0)
    return Solution(features, np.zeros_like(features), np.full((timing.phases, len(problem.grabs)), contacts))


def no_guess(problem: Problem) -> Guess:
    """What to begin with when nothing is known."""
    zeros = np.zeros((len(problem.phases), 6))
    return Guess(zeros, zeros)


def knots_of(problem: Problem, solution: Solution) -> Any:
    """All knots (2 knots, 1 + L, 6) of the splines: values, then velocities."""
    begin = jnp.asarray(problem.start)[None]
    velocities = solution.velocities / problem.spacing
    return jnp.concatenate([begin, solution.features, jnp.zeros_like(begin), velocities])


def terms(problem: Problem, solution: Solution, guess: Guess) -> tuple[dict[str, Any], Guess]:
    """Every cost, weighted by the settings, by name; and a guess for the next evaluation."""
    weights, patches = problem.weights, problem.body.patches
    knots = knots_of(problem, solution)
    moving = frames(problem.basis, knots)
    touch = contact.touching(patches, moving, problem.surfaces)
    contacts = solution.contacts[problem.phases]
    forces = dynamics.contact_forces(
        problem.body, moving, touch, contacts, weights["friction"], problem.grabs, guess.forces
    )
    distance, support = dynamics.support_distance(problem.body, moving, touch, contacts, guess.support)
    found = limbs.chains(problem.body.limbs, moving.positions, moving.turns)
    felt = {
        "contact": (contacts * contact.violation(touch)).sum(-1),
        "physics": (forces.residual**2).sum(-1),
        "limb_length": limbs.length_cost(problem.body.limbs, found),
        "joint_limit": limbs.limit_cost(problem.body.limbs, found),
        "penetration": obstacles.penetration(problem.body, moving, found, problem.surfaces),
        "scuffing": contact.scuff(touch, _SCUFF_HEIGHT).sum(-1),
        "force": (forces.wrenches**2).sum((-1, -2)),
        "acceleration": (moving.accelerations**2).sum((-1, -2)),
        "hint": jnp.maximum(distance - weights["hint_margin"], 0.0) ** 2,
    }
    costs = {name: weights[name] * problem.dt * values.sum() for name, values in felt.items()}
    costs["wish"] = weights["wish"] * wishes.cost(problem.wished, knots)
    costs["ends_at_rest"] = weights["ends_at_rest"] * (knots[-1] ** 2).sum()
    return costs, Guess(forces.residual, support)


_TASK = ("wish", "ends_at_rest", "force", "acceleration")
_PHYSICS = ("physics", "limb_length", "joint_limit", "penetration", "scuffing")


def total(problem: Problem, stage: Stage, solution: Solution, guess: Guess) -> tuple[Any, tuple[Guess, dict[str, Any]]]:
    """Equation 1 with the weights of a stage; with it what :func:`terms` gives."""
    costs, guess = terms(problem, solution, guess)
    task, physics = (sum(costs[name] for name in names) for names in (_TASK, _PHYSICS))
    whole = stage.contact * costs["contact"] + stage.physics * physics + stage.task * task + stage.hint * costs["hint"]
    return whole, (guess, costs)
