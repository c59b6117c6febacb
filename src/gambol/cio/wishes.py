"""What a task wishes for, as rows of numbers: equation 10 for positions, velocities and directions of features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from gambol.cio.features import FeatureModel, posed
from gambol.cio.kinematics import Basis, spin, turn
from gambol.cio.limbs import swing
from gambol.errors import InputError, unknown_name
from gambol.goals.behaviour import POSTURES, Wish
from gambol.rotations import Array, from_euler, to_matrix

_PLACES, _SPEEDS, _DIRECTIONS = range(3)
_ROOM = 16
"""Rows are padded to a multiple of this, so that another task needs no new compilation."""


@dataclass(frozen=True)
class Row:
    """One wish about a weighted sum of owners (trunk, then end effectors) at a share of the duration."""

    owners: Array
    """(1 + L,) weights: a lone 1 for one feature, +1 and -1/2 for the trunk against two feet."""
    kind: int
    vector: Array
    """(3,) in the owners' frames: the point meant, or the direction."""
    value: Array
    """(3,) in the world: metres, metres a second, or a unit direction."""
    mask: Array
    """(3,) which components count."""
    at: float
    weight: float


class Wishes(NamedTuple):
    """Rows as arrays (W, …); those with weight 0 are padding."""

    owners: Any
    kinds: Any
    """(W, 3): place, speed, direction."""
    vectors: Any
    values: Any
    masks: Any
    weights: Any
    basis: Any
    """Of the splines at the rows' times."""

    @staticmethod
    def of(rows: Sequence[Row], knots: int, spacing: float) -> Wishes:
        """Rows over a motion of ``knots`` that are ``spacing`` seconds apart."""
        count = -(-len(rows) // _ROOM) * _ROOM
        none = Row(np.zeros_like(rows[0].owners), _PLACES, np.zeros(3), np.zeros(3), np.zeros(3), 1.0, 0.0)
        padded = [*rows, *[none] * (count - len(rows))]
        times = np.array([row.at for row in padded]) * (knots - 1) * spacing

        def column(name: str) -> Array:
            return np.stack([getattr(row, name) for row in padded])

        return Wishes(
            column("owners"),
            np.eye(3)[[row.kind for row in padded]],
            column("vector"),
            column("value"),
            column("mask"),
            column("weight"),
            Basis.at(times, knots, spacing),
        )


def missing(wishes: Wishes, knots: Any) -> Any:
    """What wishes ask for less what a motion given by its ``knots`` (2 knots, 1 + L, 6) has (W, 3), where it counts."""
    values, first = (jnp.einsum("wk,k...->w...", table, knots) for table in wishes.basis[:2])
    turned = jnp.einsum("woij,wj->woi", turn(values[..., 3:]), wishes.vectors)
    places = values[..., :3] + turned
    speeds = first[..., :3] + jnp.cross(spin(values[..., 3:], first[..., 3:]), turned)
    felt = jnp.stack([places, speeds, turned], axis=1)
    found = jnp.einsum("wo,wk,wkoi->wi", wishes.owners, wishes.kinds, felt)
    return wishes.masks * (wishes.values - found)


def cost(wishes: Wishes, knots: Any) -> Any:
    """Σ of equation 10 over all wishes for a motion given by its ``knots`` (2 knots, 1 + L, 6)."""
    return (wishes.weights * (missing(wishes, knots) ** 2).sum(-1)).sum()


def rows_of(wish: Wish, model: FeatureModel | None) -> list[Row]:
    """The rows of a wish about a character, or about a thing, of which no model is needed.

    They are about the features of the character or thing alone; names that are no features are errors.
    """
    if wish.what in POSTURES:
        if model is None or "standing" not in model.character.poses:
            who = "a thing" if model is None else repr(model.character.name)
            raise InputError(f"{who} has no pose named standing", key="quantity")
        posture = standing if wish.what == "standing" else handstand
        return posture(model, wish.time, wish.weight)
    owners, offset = _place(model, "com" if wish.feature == "heading" else wish.feature)
    given = np.atleast_1d(np.array(wish.value, float))
    if wish.what in ("position", "velocity", "height"):
        counted = slice(2, 3) if wish.what == "height" else slice(0, len(given))
        value, mask = np.zeros((2, 3))
        value[counted], mask[counted] = given, 1.0
        kind = _SPEEDS if wish.what == "velocity" else _PLACES
        return [Row(owners, kind, offset, value, mask, wish.time, wish.weight)]
    if wish.what == "heading":
        angle = np.deg2rad(given[0])
        ahead, level = np.array([np.cos(angle), np.sin(angle), 0.0]), np.array([1.0, 1.0, 0.0])
        return [Row(owners, _DIRECTIONS, np.array([1.0, 0.0, 0.0]), ahead, level, wish.time, wish.weight)]
    # degrees about x, then y, then z of the world
    roll, pitch, yaw = np.deg2rad(given)
    target = to_matrix(from_euler("ZYX", (yaw, pitch, roll)))
    return [Row(owners, _DIRECTIONS, axis, target @ axis, np.ones(3), wish.time, wish.weight) for axis in np.eye(3)]


def standing(model: FeatureModel, at: float = 1.0, weight: float = 1.0) -> list[Row]:
    """ℓ_stand: the trunk upright, above the middle of the feet, as high over each as in the pose ``standing``.

    And the soles turned to the ground, which the paper does not mention.
    """
    feet = _limbs(model, weak=False)
    trunk, *each = np.eye(1 + len(model.limb_names))
    none, high = np.zeros(3), _standing_height(model, feet) * _UP
    return [
        Row(trunk - np.mean([each[foot - 1] for foot in feet], axis=0), _PLACES, none, none, 1.0 - _UP, at, weight),
        *(Row(trunk - each[foot - 1], _PLACES, none, high, _UP, at, weight) for foot in feet),
        _directed(model, 0, _UP, _UP, at, weight),
        *_soles(model, feet, -_UP, at, weight),
    ]


def handstand(model: FeatureModel, at: float = 1.0, weight: float = 1.0) -> list[Row]:
    """ℓ_handstand: the trunk upside down, above the middle of the hands and as far above each as the arms reach over
    the head, the feet as far above it as they are below when standing, their soles to the sky.
    """
    hands, feet = _limbs(model, weak=True), _limbs(model, weak=False)
    if not len(hands):
        raise InputError(f"{model.character.name!r} has no arms", key="quantity")
    trunk, *each = np.eye(1 + len(model.limb_names))
    middles = [np.mean([each[limb - 1] for limb in limbs], axis=0) for limbs in (hands, feet)]
    level, none = 1.0 - _UP, np.zeros(3)
    return [
        Row(trunk - middles[0], _PLACES, none, none, level, at, weight),
        *(
            Row(trunk - each[hand - 1], _PLACES, none, _overhead(model, hand - 1) * _UP, _UP, at, weight / len(hands))
            for hand in hands
        ),
        _directed(model, 0, _UP, -_UP, at, weight),
        Row(middles[1] - trunk, _PLACES, none, _standing_height(model, feet) * _UP, np.ones(3), at, weight),
        *_soles(model, feet, _UP, at, weight),
    ]


_UP = np.array([0.0, 0.0, 1.0])
_STRETCHED = 0.95
"""Share of the arms' length at which one stands on the hands."""


def _overhead(model: FeatureModel, limb: int) -> float:
    """How far a limb, nearly stretched, reaches above the trunk's centre, by the ranges of its base joint."""
    own = jax.tree.map(lambda part: np.asarray(part)[limb], model.body.limbs)
    directions = np.random.default_rng(0).normal(size=(2000, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    swings = np.asarray(swing(own, directions))
    allowed = ((swings >= own.swing_low) & (swings <= own.swing_high)).all(axis=1)
    return float(own.bases[2] + _STRETCHED * own.longest * directions[allowed, 2].max(initial=-1.0))


def _limbs(model: FeatureModel, *, weak: bool) -> np.ndarray:
    """Owners that are hands (weak), or feet."""
    return 1 + np.flatnonzero(np.asarray(model.body.patches.weak)[: len(model.limb_names)] == weak)


def _standing_height(model: FeatureModel, feet: np.ndarray) -> float:
    """How high the trunk is over the feet in the pose ``standing``."""
    features = model.features_of(model.character.pose_qpos("standing"))
    return float(features[0, 2] - features[feet, 2].mean())


def _directed(model: FeatureModel, owner: int, local: Array, world: Array, at: float, weight: float) -> Row:
    """A direction of an owner as one of the world."""
    return Row(np.eye(1 + len(model.limb_names))[owner], _DIRECTIONS, local, world, np.ones(3), at, weight)


def _soles(model: FeatureModel, feet: np.ndarray, world: Array, at: float, weight: float) -> list[Row]:
    """The outward normals of flat soles as a direction of the world."""
    normals = [(foot, np.asarray(model.body.patches.normals[foot - 1])) for foot in feet]
    return [_directed(model, foot, normal, world, at, weight) for foot, normal in normals if normal.any()]


def _place(model: FeatureModel | None, name: str) -> tuple[Array, Array]:
    """The owner of a landmark or body, as weights of the features, and where it is in the owner's frame."""
    if model is None:
        if name != "com":
            raise unknown_name("feature of a thing", name, ("com", "heading"), key="feature")
        return np.ones(1), np.zeros(3)
    character, each = model.character, np.eye(1 + len(model.limb_names))
    if name == "com":
        return each[0], np.zeros(3)
    point = character.landmarks.get(name)
    body, offset = (point.body, np.array(point.offset)) if point else (name, np.zeros(3))
    if body in model.effectors:
        limb = model.effectors.index(body)
        return each[1 + limb], offset - model.effector_offsets[limb]
    if body in character.parts["core"]:
        frame = posed(character, character.pose_qpos("zero")).body(body)
        return each[0], frame.xpos + frame.xmat.reshape(3, 3) @ offset - model.trunk.centre
    known = {"com", "heading", *model.effectors, *character.parts["core"]}
    known |= {mark for mark, at in character.landmarks.items() if at.body in known}
    raise unknown_name("feature of the trunk or of an end effector", name, known, key="feature")
