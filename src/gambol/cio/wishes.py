"""What a task wishes for, as rows of numbers: equation 10 for positions, velocities and directions of features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from gambol.cio.features import FeatureModel, posed
from gambol.cio.kinematics import Basis, spin, turn
from gambol.errors import InputError, unknown_name
from gambol.goals import Behaviour
from gambol.goals.behaviour import Wish
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


def cost(wishes: Wishes, knots: Any) -> Any:
    """Σ of equation 10 over all wishes for a motion given by its ``knots`` (2 knots, 1 + L, 6)."""
    values, first = (jnp.einsum("wk,k...->w...", table, knots) for table in wishes.basis[:2])
    turned = jnp.einsum("woij,wj->woi", turn(values[..., 3:]), wishes.vectors)
    places = values[..., :3] + turned
    speeds = first[..., :3] + jnp.cross(spin(values[..., 3:], first[..., 3:]), turned)
    felt = jnp.stack([places, speeds, turned], axis=1)
    found = jnp.einsum("wo,wk,wkoi->wi", wishes.owners, wishes.kinds, felt)
    return (wishes.weights * (wishes.masks * (found - wishes.values) ** 2).sum(-1)).sum()


def rows_of(behaviour: Behaviour, model: FeatureModel) -> list[Row]:
    """The rows of a behaviour's wishes; names that are no features are errors."""
    rows: list[Row] = []
    for index, wish in enumerate(behaviour.wishes):
        try:
            rows += _rows(wish, model)
        except InputError as error:
            raise error.within(key=f"behaviour.wishes.{index}") from None
    return rows


def standing(model: FeatureModel, at: float = 1.0, weight: float = 1.0) -> list[Row]:
    """ℓ_stand: the trunk upright, above the middle of the feet, as high over them as in the pose ``standing``.

    And the soles turned to the ground, which the paper does not mention.
    """
    features = model.features_of(model.character.pose_qpos("standing"))
    feet = 1 + np.flatnonzero(model.body.patches.weak[: len(model.limb_names)] == 0)
    height = features[0, 2] - features[feet, 2].mean()
    against = np.eye(len(features))[0]
    against[feet] = -1.0 / len(feet)
    up = np.array([0.0, 0.0, 1.0])
    each = np.eye(len(features))
    soles = [(foot, normal) for foot in feet if (normal := model.body.patches.normals[foot - 1]).any()]
    return [
        Row(against, _PLACES, np.zeros(3), height * up, np.ones(3), at, weight),
        Row(each[0], _DIRECTIONS, up, up, np.ones(3), at, weight),
        *(Row(each[foot], _DIRECTIONS, normal, -up, np.ones(3), at, weight) for foot, normal in soles),
    ]


def _rows(wish: Wish, model: FeatureModel) -> list[Row]:
    owner, offset = _place(model, "com" if wish.feature == "heading" else wish.feature)
    owners = np.eye(1 + len(model.limb_names))[owner]
    at = 1.0 if wish.at == "end" else wish.at
    scalar = isinstance(wish.value, float | int)
    quantity = "heading" if wish.feature == "heading" else wish.quantity
    if scalar != (quantity in ("height", "heading")):
        raise InputError(f"{quantity} wants {'three numbers' if scalar else 'a number'}", key="value")
    if quantity in ("position", "velocity", "height"):
        value = np.array([0.0, 0.0, wish.value]) if scalar else np.array(wish.value)
        mask = np.array([0.0, 0.0, 1.0]) if scalar else np.ones(3)
        kind = _SPEEDS if quantity == "velocity" else _PLACES
        return [Row(owners, kind, offset, value, mask, at, wish.weight)]
    if quantity == "heading":
        angle = np.deg2rad(float(np.asarray(wish.value)))
        ahead = np.array([np.cos(angle), np.sin(angle), 0.0])
        return [Row(owners, _DIRECTIONS, np.array([1.0, 0.0, 0.0]), ahead, np.array([1.0, 1.0, 0.0]), at, wish.weight)]
    # degrees about x, then y, then z of the world
    roll, pitch, yaw = np.deg2rad(np.array(wish.value))
    target = to_matrix(from_euler("ZYX", (yaw, pitch, roll)))
    return [Row(owners, _DIRECTIONS, axis, target @ axis, np.ones(3), at, wish.weight) for axis in np.eye(3)]


def _place(model: FeatureModel, name: str) -> tuple[int, Array]:
    """The owner of a landmark or body and where it is in the owner's frame."""
    character = model.character
    if name == "com":
        return 0, np.zeros(3)
    point = character.landmarks.get(name)
    body, offset = (point.body, np.array(point.offset)) if point else (name, np.zeros(3))
    if body in model.effectors:
        limb = model.effectors.index(body)
        return 1 + limb, offset - model.effector_offsets[limb]
    if body in character.parts["core"]:
        frame = posed(character, character.pose_qpos("zero")).body(body)
        return 0, frame.xpos + frame.xmat.reshape(3, 3) @ offset - model.trunk.centre
    known = {"com", "heading", *model.effectors, *character.parts["core"]}
    known |= {mark for mark, at in character.landmarks.items() if at.body in known}
    raise unknown_name("feature of the trunk or of an end effector", name, known, key="feature")
