"""What the world offers to touch: rectangles of floor and furniture, and solids to stay out of.

Everything is padded to a few sizes, so that another scene needs no new compilation.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from gambol.errors import InputError
from gambol.rotations import Array, from_axis_angle, multiply, rotate, to_matrix
from gambol.scenes import Scene
from gambol.scenes.objects import Movable

SHARPNESS = 1e4
"""The k of equation 3."""
_HUGE = 1e3
"""Half size of the floor, metres."""
_AWAY = 1e3
"""How far below the world padding lies, metres."""


class Surfaces(NamedTuple):
    """Rectangles (F) with outward normals, and boxes (B) standing on or over a flat floor."""

    centres: Any
    """(F, 3)"""
    axes: Any
    """(F, 3, 3): rows along, across and normal."""
    halves: Any
    """(F, 2) half sizes along and across."""
    box_centres: Any
    """(B, 3)"""
    box_turns: Any
    """(B, 3, 3) to the world."""
    box_halves: Any
    """(B, 3)"""

    @staticmethod
    def of(scene: Scene) -> Surfaces:
        """The floor and everything fixed that consists of boxes; what moves by itself is left out."""
        if not scene.terrain.is_flat:
            hint = "contact-invariant optimisation knows flat ground and furniture made of boxes"
            raise InputError(f"{scene.terrain.shape!r} ground is a height field", key="scene.floor.shape", hint=hint)
        boxes = []
        for name, thing in scene.objects.items():
            if isinstance(thing, Movable) or name in scene.targets:
                continue
            place = np.array([*thing.at, thing.elevation()])
            for solid in thing.solids():
                if solid.shape != "box":
                    raise InputError(f"{name}/{solid.name} is a {solid.shape}, not a box", key="scene")
                pitch = from_axis_angle([0, 1, 0], np.deg2rad(solid.pitch_deg))
                turn = to_matrix(multiply(thing.quat(), pitch))
                boxes.append((place + rotate(thing.quat(), solid.position), turn, np.array(solid.size)))
        return Surfaces.of_boxes(boxes)

    @staticmethod
    def of_boxes(boxes: list[tuple[Array, Array, Array]]) -> Surfaces:
        """The floor and boxes given by centre (3,), axes to the world (3, 3) and half sizes (3,)."""
        faces = [(np.zeros(3), np.eye(3), np.array([_HUGE, _HUGE]))]
        for centre, turn, half in boxes:
            faces += [face for face in _faces(centre, turn, half) if face[1][2, 2] > -0.9 or face[0][2] > 0.05]
        nowhere = np.array([0.0, 0.0, -_AWAY])
        faces += [(nowhere, np.eye(3), np.full(2, 1e-3))] * (_padded(len(faces)) - len(faces))
        solids = boxes + [(nowhere, np.eye(3), np.full(3, 1e-3))] * (_padded(max(len(boxes), 1)) - len(boxes))
        return Surfaces(*(np.stack(part) for part in (*zip(*faces, strict=True), *zip(*solids, strict=True))))


def nearest(surfaces: Surfaces, points: Any, radii: Any) -> tuple[Any, Any]:
    """The virtual nearest points (…, 3) of ``points`` (…, 3) by equation 3, and the unit normals (…, 3) there.

    Surfaces count as moved outwards by ``radii`` (…): the centre of a ball that touches a surface has no distance.
    """
    away = points[..., None, :] - surfaces.centres
    along = jnp.einsum("...fi,fki->...fk", away, surfaces.axes[:, :2])
    held = jnp.clip(along, -surfaces.halves, surfaces.halves)
    on_face = surfaces.centres + jnp.einsum("...fk,fki->...fi", held, surfaces.axes[:, :2])
    on_face = on_face + radii[..., None, None] * surfaces.axes[:, 2]
    gaps = ((points[..., None, :] - on_face) ** 2).sum(-1)
    shares = 1.0 / (1.0 + SHARPNESS * gaps)
    shares = shares / shares.sum(-1, keepdims=True)
    point = (shares[..., None] * on_face).sum(-2)
    normal = jnp.einsum("...f,fi->...i", shares, surfaces.axes[:, 2])
    # opposite faces of a thin wall may cancel out; up is as good as anything there
    normal = normal + jnp.asarray([0.0, 0.0, 1e-3])
    return point, normal / jnp.linalg.norm(normal, axis=-1, keepdims=True)


def clearance(surfaces: Surfaces, points: Any) -> Any:
    """Signed distances (…, 1 + B) of points (…, 3) from the floor and from each box, negative inside."""
    local = jnp.einsum("...bi,bij->...bj", points[..., None, :] - surfaces.box_centres, surfaces.box_turns)
    beyond = jnp.abs(local) - surfaces.box_halves
    outside = jnp.sqrt((jnp.maximum(beyond, 0.0) ** 2).sum(-1) + 1e-12)
    inside = jnp.minimum(beyond.max(-1), 0.0)
    return jnp.concatenate([points[..., 2:3], outside + inside], axis=-1)


def _faces(centre: Array, turn: Array, half: Array) -> list[tuple[Array, Array, Array]]:
    """The six faces of a box: centre, rows along, across and outwards, half sizes."""
    faces = []
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        for sign in (1.0, -1.0):
            rows = np.stack([turn[:, i], sign * turn[:, j], sign * turn[:, k]])
            faces.append((centre + sign * half[k] * turn[:, k], rows, half[[i, j]]))
    return faces


def _padded(count: int) -> int:
    """The next of 2, 8, 32, 128 …"""
    size = 2
    while size < count:
        size *= 4
    return size
