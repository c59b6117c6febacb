"""How good a solution is, in numbers that mean something: whether contacts are contacts and physics is physics.

Looked at where the cost is felt: several times in each phase, both its ends included.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from gambol.cio import contact, dynamics, limbs, obstacles, wishes
from gambol.cio.cast import Cast
from gambol.cio.compiling import compiled
from gambol.cio.features import Body
from gambol.cio.kinematics import Frames, frames
from gambol.cio.optimise import CONTACT
from gambol.cio.problem import Problem, Solution, Timing, knots_of, no_guess
from gambol.cio.surfaces import Surfaces, clearance, placed
from gambol.rotations import Array

GAP, SLIP = 0.02, 0.05
"""Metres that a patch in contact may be from the nearest surface, and metres a second that it may move."""
FORCE, MOMENT = 0.1, 0.1
"""Of the weight, and of the weight times a metre: what may be left unbalanced at any moment."""
STRETCH, DEPTH = 0.03, 0.03
"""Metres that a limb may be too long or too short, and that capsules may overlap (all of them together)."""
MISS = 0.05
"""Metres that an end effector of the whole body may be from where its feature is."""
WISHES = (("place", 0.1, "m"), ("speed", 0.5, "m/s"), ("direction", 0.35, "rad"))
"""How far from a wish the motion may stay, by its kind."""
FIRM = 0.5
"""Weight from which on a wish must be met; lighter ones are preferences."""


@dataclass(frozen=True)
class Residual:
    """The worst moment of one requirement."""

    term: str
    value: float
    bound: float
    unit: str
    time: float
    """Seconds."""
    who: str = ""
    """Which contact, limb, character or thing, where that can be said."""

    @property
    def share(self) -> float:
        """Of the bound: above 1 it is not met."""
        return self.value / self.bound

    def told(self) -> str:
        """In words."""
        who = f" of {self.who}" if self.who else ""
        return f"{self.term}{who} is {self.value:.3g} {self.unit} at {self.time:.2f} s (at most {self.bound:g})"


class _Felt(NamedTuple):
    """What is looked at, over the samples."""

    gaps: Any
    """(T, N) metres from the skin to the nearest surface, either way."""
    speeds: Any
    """(T, N) m/s."""
    residual: Any
    """(T, 6 R)"""
    pushes: Any
    """(T, N) forces, in weights of the heaviest."""
    stretch: Any
    """(T, L) metres."""
    depth: Any
    """(T,) metres."""
    missing: Any
    """(W,) of each wish, in its unit."""


@compiled
def _felt(problem: Problem, solution: Solution) -> _Felt:
    body, patches = problem.body, problem.body.patches
    knots = knots_of(problem, solution)
    moving = frames(problem.basis, knots)
    chains, moving = limbs.with_middles(body.limbs, moving)
    touch = contact.touching(body, moving, problem.surfaces)
    contacts = solution.contacts[problem.phases]
    given = contacts, problem.weights["friction"], problem.grabs, no_guess(problem).forces
    forces = dynamics.contact_forces(body, moving, touch, *given)
    radii = patches.radii[body.contacts.patches]
    centres = touch.points + radii[:, None] * touch.normals
    gaps = _distances(body, problem.surfaces, moving, centres) - radii
    long, short = chains.lengths - body.limbs.longest, body.limbs.shortest - chains.lengths
    return _Felt(
        jnp.abs(gaps),
        jnp.linalg.norm(touch.velocities, axis=-1),
        forces.residual,
        jnp.linalg.norm(forces.wrenches[..., :3], axis=-1),
        jnp.maximum(jnp.maximum(long, short), 0.0),
        obstacles.deepest(body, moving, chains, problem.surfaces),
        jnp.linalg.norm(wishes.missing(problem.wished, knots), axis=-1),
    )


def _distances(body: Body, surfaces: Surfaces, frames: Frames, centres: Any) -> Any:
    """How far (T, N) points (T, N, 3) are from what their contacts are with: the world, a thing or a trunk."""
    solids = placed(surfaces, frames.positions, frames.turns)
    partner = body.contacts.partners[:, None]
    touched = jnp.where(partner > 0, body.roots[partner - 1], -1)
    boxes = clearance(solids, centres[:, :, None])[:, :, 0]
    meant = jnp.concatenate([partner == 0, surfaces.box_owners == touched], axis=1)
    away = centres[:, :, None] - solids.centres
    along = jnp.einsum("tnfi,tnfi->tnf", away, jnp.broadcast_to(solids.axes[..., 0, :], away.shape))
    along = jnp.clip(along, -surfaces.halves[:, 0], surfaces.halves[:, 0])
    round_ones = jnp.linalg.norm(away - along[..., None] * solids.axes[..., 0, :], axis=-1) - surfaces.radii
    near = jnp.where(meant, boxes, jnp.inf).min(-1)
    return jnp.minimum(
        near, jnp.where((surfaces.partners == partner) & (surfaces.radii > 0.0), round_ones, jnp.inf).min(-1)
    )


def residuals(cast: Cast, problem: Problem, timing: Timing, solution: Solution) -> list[Residual]:
    """Every requirement at its worst moment, the one that is farthest from being met first."""
    with jax.enable_x64(True):
        felt = _Felt(*(np.asarray(part) for part in _felt(problem, solution)))
    holding = np.asarray(solution.contacts)[np.asarray(problem.phases)] >= CONTACT
    times = timing.samples
    contacts, nobody = cast.contact_names, ("",)
    bodies = tuple(cast.features) if len(cast.features) > 1 else nobody
    unbalanced = np.linalg.norm(felt.residual.reshape(len(times), -1, 2, 3), axis=-1)
    found = [
        _worst("gap", np.where(holding, felt.gaps, 0.0), GAP, "m", times, contacts),
        _worst("slip", np.where(holding, felt.speeds, 0.0), SLIP, "m/s", times, contacts),
        _worst("force", unbalanced[..., 0], FORCE, "weights", times, bodies),
        _worst("moment", unbalanced[..., 1], MOMENT, "weights times a metre", times, bodies),
        _worst("stretch", felt.stretch, STRETCH, "m", times, cast.limb_names),
        _worst("depth", felt.depth, DEPTH, "m", times, nobody),
    ]
    wished = problem.wished
    # the spline that passes the knots on time, at a second a second, tells when wishes count
    on_time = np.concatenate(
        [np.linspace(0.0, timing.spacing * (timing.knots - 1), timing.knots), np.ones(timing.knots)]
    )
    at = np.asarray(wished.basis.values) @ on_time
    for kind, (name, bound, unit) in enumerate(WISHES):
        counted = felt.missing * np.asarray(wished.kinds)[:, kind] * (np.asarray(wished.weights) >= FIRM)
        found.append(_worst(f"wished {name}", counted, bound, unit, at, nobody))
    return by_share(found)


def work_shares(cast: Cast, problem: Problem, solution: Solution) -> dict[str, float]:
    """What each of several characters gives of all the force on things, summed over time; nothing without things."""
    with jax.enable_x64(True):
        pushes = np.asarray(_felt(problem, solution).pushes).sum(0)
    given = {
        name: float(pushes[cast.on_things & (np.array(cast.contact_owners) == name)].sum()) for name in cast.characters
    }
    total = sum(given.values())
    return {name: force / total for name, force in given.items()} if len(given) > 1 and total else {}


def by_share(found: Iterable[Residual]) -> list[Residual]:
    """The one farthest from being met first."""
    return sorted(found, key=lambda each: -each.share)


def miss(cast: Cast, misses: Array, dt: float) -> Residual:
    """The worst miss of bodies, given all of them (T, L) at steps of ``dt`` seconds."""
    return _worst("miss", misses, MISS, "m", np.linspace(0.0, dt * (len(misses) - 1), len(misses)), cast.limb_names)


def _worst(term: str, values: Array, bound: float, unit: str, times: Array, names: Sequence[str]) -> Residual:
    values = values.reshape(len(times), -1)
    row, column = divmod(int(np.argmax(values)), values.shape[1])
    return Residual(term, float(values[row, column]), bound, unit, float(times[row]), names[column])
