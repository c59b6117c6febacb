"""Limbs of two links between the trunk and the end effectors: where their middle joints are, how far they may go.

The middle joint lies in a plane that turns with the limb's direction: the knee's side at rest, carried along by the
shortest rotation from the direction at rest to the present one. The ranges of directions and of the end effector's
rotation against the lower link are those that the character's joints allow (see :mod:`gambol.cio.reach`).
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from gambol.cio.kinematics import Frames

_STRETCHED = 2e-3
"""Twice the squared sine of the angle that a stretched limb keeps at its base."""


class Limbs(NamedTuple):
    """What is known of each limb; leading axis (L) in a body, none for a single limb."""

    trunks: Any
    effectors: Any
    """The features at its two ends, as indices."""
    bases: Any
    """(3,) where it is attached, in the trunk's frame."""
    ends: Any
    """(3,) the joint that carries the end effector, in the effector's frame."""
    uppers: Any
    lowers: Any
    """Lengths of the two links, metres."""
    shortest: Any
    longest: Any
    """Distance from base to end, metres."""
    rests: Any
    """(3,) unit middle direction from base to end, in the trunk's frame."""
    poles: Any
    """(3,) unit direction at right angles to it in which the middle joint sticks out."""
    swing_axes: Any
    """(2, 3) unit directions at right angles to ``rests`` along which swings are counted."""
    swing_low: Any
    swing_high: Any
    """(2,) range of :func:`swing`."""
    bend_rests: Any
    """(3, 3) middle rotation of the effector in the lower link's frame."""
    bend_cosines: Any
    """Cosine of the largest rotation from there; below -1 where any is allowed."""
    upper_radii: Any
    lower_radii: Any
    """Of the links' capsules, metres."""


class Chains(NamedTuple):
    """Limbs in a pose; leading axes (T, L)."""

    bases: Any
    middles: Any
    ends: Any
    """(…, 3) in the world."""
    lengths: Any
    """From base to end, metres."""
    directions: Any
    """(…, 3) unit, from base to end in the trunk's frame."""
    bends: Any
    """(…, 3, 3) of the effectors in their lower links' frames."""


def chains(limbs: Limbs, positions: Any, turns: Any) -> Chains:
    """The limbs between trunks and end effectors at ``positions`` (…, O, 3) with ``turns`` (…, O, 3, 3)."""
    trunk, effector = turns[..., limbs.trunks, :, :], turns[..., limbs.effectors, :, :]
    bases = positions[..., limbs.trunks, :] + jnp.einsum("...lij,lj->...li", trunk, limbs.bases)
    ends = positions[..., limbs.effectors, :] + jnp.einsum("...lij,lj->...li", effector, limbs.ends)
    away = jnp.einsum("...lji,...lj->...li", trunk, ends - bases)
    lengths = jnp.sqrt((away**2).sum(-1) + 1e-8)
    directions = away / lengths[..., None]
    poles = carried(limbs.rests, directions, limbs.poles)
    # the middle joint of a stretched limb stays a little bent and that of an overstretched one on the line: at full
    # stretch it would leave the line infinitely fast
    cosine = jnp.maximum((limbs.uppers**2 + lengths**2 - limbs.lowers**2) / (2 * limbs.uppers * lengths), -1.0)
    square = 1.0 - cosine**2
    sine = jnp.sqrt(0.5 * (square + jnp.sqrt(square**2 + _STRETCHED**2)))
    scale = 1.0 / jnp.sqrt(cosine**2 + sine**2)
    cosine, sine = scale * cosine, scale * sine
    local = limbs.uppers[..., None] * (cosine[..., None] * directions + sine[..., None] * poles)
    shin = away - local
    up = -shin / jnp.sqrt((shin**2).sum(-1, keepdims=True) + 1e-8)
    side = jnp.cross(poles, directions)
    front = jnp.cross(side, up)
    front = front / jnp.sqrt((front**2).sum(-1, keepdims=True) + 1e-8)
    lower = jnp.stack([front, jnp.cross(up, front), up], axis=-1)
    effectors = jnp.swapaxes(trunk, -1, -2) @ effector
    middles = bases + jnp.einsum("...lij,...lj->...li", trunk, local)
    return Chains(bases, middles, ends, lengths, directions, jnp.swapaxes(lower, -1, -2) @ effectors)


def with_middles(limbs: Limbs, frames: Frames) -> tuple[Chains, Frames]:
    """The limbs, and the frames with middle joints as further features (T, O + L): knees and elbows touch things too.

    They are points that do not turn; where features have derivatives by themselves, they have none.
    """
    rates = jnp.cross(frames.spins[..., None, :], frames.turns, axisa=-1, axisb=-2, axisc=-2)
    found, moved = jax.jvp(partial(chains, limbs), (frames.positions, frames.turns), (frames.velocities, rates))
    still = jnp.zeros_like(found.middles)
    more = frames._replace(
        positions=jnp.concatenate([frames.positions, found.middles], axis=-2),
        turns=jnp.concatenate([frames.turns, jnp.broadcast_to(jnp.eye(3), (*still.shape, 3))], axis=-3),
        velocities=jnp.concatenate([frames.velocities, moved.middles], axis=-2),
        spins=jnp.concatenate([frames.spins, still], axis=-2),
    )
    return found, more


def carried(rests: Any, directions: Any, vectors: Any) -> Any:
    """``vectors`` at right angles to ``rests``, turned as the shortest rotation turns ``rests`` to ``directions``."""
    closeness = jnp.maximum(1.0 + (rests * directions).sum(-1, keepdims=True), 0.05)
    return vectors - (directions * vectors).sum(-1, keepdims=True) / closeness * (rests + directions)


def swing(limbs: Limbs, directions: Any) -> Any:
    """How far directions (…, 3) are from the middle one along the two swing axes (…, 2); about radians when small."""
    closeness = jnp.maximum(1.0 + (limbs.rests * directions).sum(-1), 0.05)
    return 2.0 * jnp.einsum("...ki,...i->...k", limbs.swing_axes, directions) / closeness[..., None]


def effector_bend(limbs: Limbs, bends: Any) -> Any:
    """Cosine of the angle between the effector's rotation against the lower link and the middle of its range."""
    return (jnp.einsum("...ij,...ij->...", limbs.bend_rests, bends) - 1.0) / 2.0


def length_cost(limbs: Limbs, found: Chains) -> Any:
    """Squared metres that limbs are too long or too short (…)."""
    long = jnp.maximum(found.lengths - limbs.longest, 0.0)
    short = jnp.maximum(limbs.shortest - found.lengths, 0.0)
    return (long**2 + short**2).sum(-1)


def limit_cost(limbs: Limbs, found: Chains) -> Any:
    """Squared excess of the swing and bend of each limb over its joints' ranges (…)."""
    swings = swing(limbs, found.directions)
    beyond = jnp.maximum(swings - limbs.swing_high, 0.0) + jnp.maximum(limbs.swing_low - swings, 0.0)
    bent = jnp.maximum(limbs.bend_cosines - effector_bend(limbs, found.bends), 0.0)
    return (beyond**2).sum((-1, -2)) + (bent**2).sum(-1)
