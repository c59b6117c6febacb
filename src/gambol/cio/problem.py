"""One optimisation problem: everything the cost depends on as arrays, and the cost itself (equation 1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from gambol.cio import contact, dynamics, limbs, obstacles, wishes
from gambol.cio.cast import Cast
from gambol.cio.features import Body, FeatureModel
from gambol.cio.kinematics import Basis, frames
from gambol.cio.settings import Settings
from gambol.cio.surfaces import Surfaces
from gambol.rotations import Array

_SCUFF_HEIGHT = 0.04
"""Metres above which a patch may move along a surface freely."""
_NEAR = 0.03
"""Metres from a surface at which a patch is taken to bear at the start."""


class Problem(NamedTuple):
    """Arrays only: problems of the same shapes share one compiled cost."""

    body: Body
    surfaces: Surfaces
    wished: wishes.Wishes
    basis: Basis
    paths: Basis
    """More moments than in ``basis``, at which the way through solids is looked at; none on a bare floor."""
    start: Any
    """(O, 6) features at the beginning, at rest."""
    phases: Any
    """(T,) the phase of each sample."""
    spacing: Any
    """Seconds between knots."""
    last: Any
    """(T,) which samples lie in the last two phases."""
    dt: Any
    """Seconds between samples."""
    path_dt: Any
    """Seconds between the moments of ``paths``."""
    grabs: Any
    """(N,) which contacts hold on."""
    burdens: Any
    """(N,) how much dearer the forces of contacts are than usual: of characters that should work less."""
    weights: Any
    """The settings' weights by name."""
    share: Any
    """Of what belongs to no moment: 1 for a whole problem."""

    def parts(self, count: int) -> list[Problem]:
        """Stretches of time of the same shapes, whose costs add up to those of all: ``count`` of them, or just this.

        Samples, ways through solids and wishes are dealt out evenly, wherever that is possible.
        """
        if len(self.phases) % count:
            return [self]
        samples, rows = len(self.phases) // count, len(self.wished.weights) // count
        ways = max(len(self.paths.values) - 1, 0) // count
        found = []
        for k in range(count):
            some, wished = slice(k * samples, (k + 1) * samples), slice(k * rows, (k + 1) * rows)
            # a way has two ends, so neighbours have one moment in common
            path = slice(k * ways, (k + 1) * ways + 1)
            part = self._replace(
                wished=jax.tree.map(lambda table, at=wished: table[at], self.wished),
                basis=Basis(*(table[some] for table in self.basis)),
                paths=Basis(*(table[path] for table in self.paths)),
                phases=self.phases[some],
                last=self.last[some],
                share=self.share / count,
            )
            found.append(part)
        return found


class Solution(NamedTuple):
    """What is optimised (equation 13); the first knot is the start and not part of it."""

    features: Any
    """(knots - 1, O, 6)"""
    velocities: Any
    """(knots - 1, O, 6) times the spacing of knots, which brings them to the scale of the features."""
    contacts: Any
    """(K, N) from 0 up."""


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


STAGES = (
    Stage(0.0, 0.0, 1.0, 0.0),
    Stage(1.0, 0.1, 1.0, 1.0),
    Stage(1.0, 1.0, 1.0, 0.0),
    Stage(40.0, 20.0, 1.0, 0.0),
)
"""Section 4.5: wishful thinking, cautious physics with hints, refinement. The last is not in the paper: it insists on
contacts and physics, which soft costs trade for a little smoothness, until what remains of them cannot be seen."""

GATHERING = STAGES[1]
"""Where there is something to hold or to climb on: after wishful thinking, with contacts as they began."""

_WEIGHTS = (
    *("ends_at_rest", "contact", "physics", "limb_length", "joint_limit", "penetration", "scuffing"),
    *("wish", "force", "effort", "acceleration", "limb_acceleration", "hint", "hint_margin", "friction"),
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
        """Seconds that a sample stands for."""
        return self.phase_duration / self.samples_per_phase

    @property
    def samples(self) -> Array:
        """Seconds at which costs are felt; both ends of every phase are, where feet touch down and leave."""
        share = np.linspace(1e-6, 1.0 - 1e-6, self.samples_per_phase)
        return (np.arange(self.phases)[:, None] + share).ravel() * self.phase_duration


def make_problem(
    model: FeatureModel | Cast,
    surfaces: Surfaces,
    start: Array,
    rows: Sequence[wishes.Row],
    timing: Timing,
    settings: Settings,
    grabbing: Sequence[str] = (),
    burdens: Array | None = None,
) -> Problem:
    """A problem for the character or cast ``model`` from the features ``start`` (O, 6).

    ``grabbing`` names patches, ``burdens`` (N,) are 1 unless given.
    """
    count = timing.phases * timing.samples_per_phase * settings.path_samples + 1
    path_times = np.linspace(0.0, timing.phases * timing.phase_duration, count if surfaces.has_solids else 0)
    phases = np.repeat(np.arange(timing.phases), timing.samples_per_phase)
    return Problem(
        model.body,
        surfaces,
        wishes.Wishes.of(rows, timing.knots, timing.spacing),
        Basis.at(timing.samples, timing.knots, timing.spacing),
        Basis.at(path_times, timing.knots, timing.spacing),
        start,
        phases,
        np.array(timing.spacing),
        phases >= timing.phases - 2,
        np.array(timing.dt),
        np.array(timing.dt / settings.path_samples),
        np.isin(model.patch_names, list(grabbing))[model.body.contacts.patches],
        np.ones(len(model.body.contacts.patches)) if burdens is None else burdens,
        {name: np.array(float(getattr(settings, name))) for name in _WEIGHTS},
        np.array(1.0),
    )


def at_rest(problem: Problem, timing: Timing, contacts: float) -> Solution:
    """The uninformative beginning: the start held all along.

    Feet, and knees that one lies or kneels on, begin with ``contacts`` and everything else with none: all at once would
    pull down the whole body before it is known who is needed, and once others bear the weight feet are not missed.
    What moves a thing begins with ``contacts`` and what it lies on with none: otherwise it would rather glide. Whoever
    is climbed on begins with all that touches, ready to bear.
    """
    body, features = problem.body, np.repeat(problem.start[None], timing.knots - 1, axis=0)
    patches, bearing = np.asarray(body.contacts.patches), np.asarray(body.contacts.bearing)
    weak = np.asarray(body.patches.weak)[patches] > 0.0
    feet = np.isin(body.patches.owners, body.limbs.effectors)[patches] & ~weak
    knees = (bearing @ (feet @ bearing) > 0.0) & ~feet & (np.asarray(body.contacts.partners) == 0)
    signs = np.asarray(body.contacts.signs)
    climbed = (signs > 0.0) @ ((signs < 0.0).any(0) & ~body.are_things)
    strong = feet | ((knees | climbed) & _touching_at_start(problem))
    things = np.asarray(body.contacts.signs) @ body.are_things
    begun = contacts * np.where(things != 0, things < 0, strong)
    return Solution(features, np.zeros_like(features), np.tile(begun, (timing.phases, 1)))


def _touching_at_start(problem: Problem) -> np.ndarray:
    """Which contacts (N,) exist already."""
    start = np.asarray(problem.start)
    with jax.enable_x64(True):
        still = frames(Basis.at(np.zeros(1), 2, 1.0), np.stack([start, start, 0.0 * start, 0.0 * start]))
        still = limbs.with_middles(problem.body.limbs, still)[1]
        gaps = contact.touching(problem.body, still, problem.surfaces).gaps[0]
        return np.asarray((gaps**2).sum(-1) < _NEAR**2)


def no_guess(problem: Problem) -> Guess:
    """What to begin with when nothing is known."""
    count, bodies = len(problem.phases), len(problem.body.roots)
    return Guess(np.zeros((count, 6 * bodies)), np.zeros((count * bodies, 3)))


def knots_of(problem: Problem, solution: Solution) -> Any:
    """All knots (2 knots, O, 6) of the splines: values, then velocities."""
    begin = jnp.asarray(problem.start)[None]
    velocities = solution.velocities / problem.spacing
    return jnp.concatenate([begin, solution.features, jnp.zeros_like(begin), velocities])


def terms(problem: Problem, solution: Solution, guess: Guess, hinted: Any = True) -> tuple[dict[str, Any], Guess]:
    """Every cost, weighted by the settings, by name; and a guess for the next evaluation."""
    weights, body = problem.weights, problem.body
    knots = knots_of(problem, solution)
    moving = frames(problem.basis, knots)
    found, moving = limbs.with_middles(body.limbs, moving)
    touch = contact.touching(body, moving, problem.surfaces)
    contacts = solution.contacts[problem.phases]
    forces = dynamics.contact_forces(body, moving, touch, contacts, weights["friction"], problem.grabs, guess.forces)
    borne = jnp.sqrt(problem.burdens)[:, None] * forces.wrenches
    rooted = jnp.zeros(len(problem.start)).at[body.roots].set(1.0)
    jerked = (moving.accelerations**2).sum(-1)
    felt = {
        "contact": (contacts * contact.violation(touch)).sum(-1),
        "physics": (forces.residual**2).sum(-1),
        "limb_length": limbs.length_cost(body.limbs, found),
        "joint_limit": limbs.limit_cost(body.limbs, found),
        "penetration": obstacles.overlap(body, moving, found) + obstacles.sunk(body, moving, found),
        "scuffing": contact.scuff(touch, _SCUFF_HEIGHT).sum(-1),
        "force": (borne**2).sum((-1, -2)),
        "effort": dynamics.effort(body, found, touch, borne).sum(-1),
        "acceleration": (rooted * jerked).sum(-1),
        "limb_acceleration": ((1.0 - rooted) * jerked).sum(-1),
    }
    costs = {name: weights[name] * problem.dt * values.sum() for name, values in felt.items()}
    if len(problem.paths.values):
        path = frames(problem.paths, knots)
        stretched = limbs.chains(body.limbs, path.positions, path.turns)
        through = obstacles.penetration(body, path, stretched, problem.surfaces, problem.path_dt)
        costs["penetration"] += weights["penetration"] * through
    costs["wish"] = weights["wish"] * wishes.cost(problem.wished, knots)
    # whoever arrives in the last moment has no phases left for the steps that turn out to be missing
    last = problem.last[:, None, None]
    speeds = ((last * moving.velocities**2).sum() + (last * moving.rates**2).sum()) * problem.dt
    costs["ends_at_rest"] = weights["ends_at_rest"] * (speeds + problem.share * (knots[-1] ** 2).sum())

    def unsupported() -> tuple[Any, Any]:
        distance, support = dynamics.support_distance(body, moving, touch, contacts, guess.support)
        beyond = jnp.maximum(distance - weights["hint_margin"], 0.0) ** 2
        return weights["hint"] * problem.dt * beyond.sum(), lax.stop_gradient(support)

    costs["hint"], support = lax.cond(hinted, unsupported, lambda: (jnp.zeros(()), guess.support))
    return costs, Guess(lax.stop_gradient(forces.residual), support)


_TASK = ("wish", "ends_at_rest", "force", "effort", "acceleration", "limb_acceleration")
_PHYSICS = ("physics", "limb_length", "joint_limit", "penetration", "scuffing")


def total(problem: Problem, stage: Stage, solution: Solution, guess: Guess) -> tuple[Any, tuple[Guess, dict[str, Any]]]:
    """Equation 1 with the weights of a stage; with it what :func:`terms` gives."""
    costs, guess = terms(problem, solution, guess, stage.hint > 0.0)
    task, physics = (sum(costs[name] for name in names) for names in (_TASK, _PHYSICS))
    whole = stage.contact * costs["contact"] + stage.physics * physics + stage.task * task + stage.hint * costs["hint"]
    return whole, (guess, costs)
