"""What can be touched: rectangles of floor, furniture and moving things, and solids to stay out of.

Everything is padded to a few sizes, so that another scene needs no new compilation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from gambol.errors import InputError
from gambol.rotations import Array, from_axis_angle, multiply, rotate, to_matrix
from gambol.scenes import Scene
from gambol.scenes.objects import Movable
from gambol.scenes.terrain import Terrain

SHARPNESS = 1e4
"""The k of equation 3."""
_HUGE = 1e3
"""Half size of the floor, metres."""
_AWAY = 1e3
"""How far below the world padding lies, metres."""
_ROOT_DEPTH = 10.0
"""How far solids that stand on the floor go on below it, metres."""
_SLOPE_DEPTH = 2.0
"""How thick the body of a slope is, metres."""
_STANDING = 0.05
"""Below this height, in metres, the underside of a solid is out of reach."""

Box = tuple[Array, Array, Array]
"""Centre (3,), axes to the world or to the owner (3, 3), half sizes (3,)."""


class Surfaces(NamedTuple):
    """Rectangles (F) with outward normals and boxes (B), each in the frame of the world or of what it moves with.

    Over everything lies a flat floor.
    """

    centres: Any
    """(F, 3)"""
    axes: Any
    """(F, 3, 3): rows along, across and normal."""
    halves: Any
    """(F, 2) half sizes along and across."""
    radii: Any
    """(F,) 0 for flat ones; else the rectangle is the inside of something round, which is touched from any side."""
    owners: Any
    """(F,) the feature that it moves with, -1 for the world."""
    partners: Any
    """(F,) whose surface it is: 0 for the world, 1 + r for the body r, -1 for padding."""
    box_centres: Any
    """(B, 3)"""
    box_turns: Any
    """(B, 3, 3) to the world or the owner."""
    box_halves: Any
    """(B, 3)"""
    box_owners: Any
    """(B,) as ``owners``."""

    @property
    def has_solids(self) -> bool:
        """Whether there is more than a floor."""
        return bool((np.asarray(self.box_centres)[:, 2] > -_AWAY).any())

    @staticmethod
    def of(scene: Scene) -> Surfaces:
        """The floor and everything fixed, which must consist of boxes; markers and things that move are left out."""
        boxes = _ground(scene.terrain)
        for name, thing in scene.objects.items():
            if name in scene.targets or isinstance(thing, Movable):
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
    def of_boxes(boxes: Sequence[Box]) -> Surfaces:
        """The floor and boxes of the world."""
        faces = [_face(np.zeros(3), np.eye(3), np.full(2, _HUGE))]
        for box in boxes:
            faces += [_face(*face) for face in _faces(*box) if face[1][2, 2] > -0.9 or face[0][2] > _STANDING]
        return _stacked(faces, [(*_rooted(box), -1) for box in boxes])

    def joined(self, moving: Sequence[Surfaces]) -> Surfaces:
        """These and what moves, from :meth:`of_thing` and :meth:`of_capsules`."""
        every = (self, *moving)
        faces = [face for each in every for face in zip(*each[:6], strict=True) if face[5] >= 0]
        boxes = [box for each in every for box in zip(*each[6:], strict=True) if box[0][2] > -_AWAY]
        return _stacked(faces, boxes)

    @staticmethod
    def of_thing(half: Array, owner: int, body: int) -> Surfaces:
        """The faces of a box around the origin of the feature ``owner``, and the box itself."""
        faces = [_face(*face, 0.0, owner, 1 + body) for face in _faces(np.zeros(3), np.eye(3), half)]
        return _stacked(faces, [(np.zeros(3), np.eye(3), half, owner)])

    @staticmethod
    def of_capsules(ends: Array, radii: Array, owner: int, body: int) -> Surfaces:
        """Capsules with ends (C, 2, 3) in the frame of the feature ``owner``, to be touched from all sides."""
        faces = []
        for (start, end), radius in zip(ends, radii, strict=True):
            along = end - start
            length = float(np.linalg.norm(along))
            axis = along / length if length > 1e-6 else np.array([1.0, 0.0, 0.0])
            across = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
            across = across / np.linalg.norm(across)
            rows = np.stack([axis, across, np.cross(axis, across)])
            faces.append(_face((start + end) / 2, rows, np.array([length / 2, 0.0]), float(radius), owner, 1 + body))
        return _stacked(faces, [])


def placed(surfaces: Surfaces, positions: Any, turns: Any) -> Surfaces:
    """The surfaces in the world, with axes (T, 1) before their own, for features (T, O, 3) and (T, O, 3, 3)."""
    # one more feature, the last, that stays where the world is
    positions = jnp.concatenate([positions, jnp.zeros_like(positions[:, :1])], axis=1)
    turns = jnp.concatenate([turns, jnp.broadcast_to(jnp.eye(3), turns[:, :1].shape)], axis=1)
    face_turns, box_turns = (turns[:, owners] for owners in (surfaces.owners, surfaces.box_owners))
    centres = positions[:, surfaces.owners] + jnp.einsum("tfij,fj->tfi", face_turns, surfaces.centres)
    box_centres = positions[:, surfaces.box_owners] + jnp.einsum("tbij,bj->tbi", box_turns, surfaces.box_centres)
    return surfaces._replace(
        centres=centres[:, None],
        axes=jnp.einsum("tfij,fkj->tfki", face_turns, surfaces.axes)[:, None],
        box_centres=box_centres[:, None, None],
        box_turns=(box_turns @ surfaces.box_turns)[:, None, None],
    )


def nearest(surfaces: Surfaces, points: Any, radii: Any, partners: Any) -> tuple[Any, Any]:
    """The virtual nearest points (…, 3) of ``points`` (…, 3) by equation 3, and the unit normals (…, 3) there.

    Only surfaces of ``partners`` (…) count. They count as moved outwards by ``radii`` (…): the centre of a ball that
    touches a surface has no distance.
    """
    away = points[..., None, :] - surfaces.centres
    sides = surfaces.axes[..., :2, :]
    held = jnp.clip(jnp.einsum("...fi,...fki->...fk", away, sides), -surfaces.halves, surfaces.halves)
    inner = surfaces.centres + jnp.einsum("...fk,...fki->...fi", held, sides)
    outwards = points[..., None, :] - inner
    outwards = outwards / jnp.sqrt((outwards**2).sum(-1, keepdims=True) + 1e-8)
    normals = jnp.where((surfaces.radii > 0.0)[:, None], outwards, surfaces.axes[..., 2, :])
    on_face = inner + (radii[..., None] + surfaces.radii)[..., None] * normals
    gaps = ((points[..., None, :] - on_face) ** 2).sum(-1)
    shares = (surfaces.partners == partners[..., None]) / (1.0 + SHARPNESS * gaps)
    shares = shares / shares.sum(-1, keepdims=True)
    point = (shares[..., None] * on_face).sum(-2)
    normal = (shares[..., None] * normals).sum(-2)
    # opposite faces of a thin wall may cancel out; up is as good as anything there
    normal = normal + jnp.asarray([0.0, 0.0, 1e-3])
    # compilers would work out the derivatives by these anew for every face
    return lax.optimization_barrier((point, normal / jnp.linalg.norm(normal, axis=-1, keepdims=True)))


def clearance(surfaces: Surfaces, points: Any) -> Any:
    """Signed distances (…, 1 + B) of points (…, 3) from the floor and from each box, negative inside."""
    _, beyond = _in_boxes(surfaces, points)
    outside = jnp.sqrt((jnp.maximum(beyond, 0.0) ** 2).sum(-1) + 1e-12)
    return jnp.concatenate([points[..., 2:3], outside + jnp.minimum(beyond.max(-1), 0.0)], axis=-1)


def soft_clearance(surfaces: Surfaces, points: Any) -> Any:
    """As :func:`clearance`, but every face of a box tells the way out, near ones most.

    The nearest face alone would send a foot on the ground within a step back or on, never up.
    """
    local, beyond = _in_boxes(surfaces, points)
    outside = jnp.sqrt((jnp.maximum(beyond, 0.0) ** 2).sum(-1) + 1e-12)
    near, far = jnp.maximum(-beyond, 1e-6), surfaces.box_halves + jnp.abs(local)
    inside = jnp.where(beyond.max(-1) < 0.0, 1.0 / jnp.sqrt((1.0 / near**2 + 1.0 / far**2).sum(-1)), 0.0)
    return jnp.concatenate([points[..., 2:3], outside - inside], axis=-1)


def _in_boxes(surfaces: Surfaces, points: Any) -> tuple[Any, Any]:
    """Points (…, B, 3) in the frames of the boxes, and how far they lie beyond the faces."""
    local = jnp.einsum("...bi,...bij->...bj", points[..., None, :] - surfaces.box_centres, surfaces.box_turns)
    return local, jnp.abs(local) - surfaces.box_halves


def _ground(terrain: Terrain) -> list[Box]:
    """What rises from the flat floor."""
    first, end = terrain.flat_radius, terrain.size / 2
    if terrain.shape == "slope" and terrain.angle >= 0.0 and first < end:
        angle = np.deg2rad(terrain.angle)
        turn = to_matrix(from_axis_angle([0, 1, 0], -angle))
        half = np.array([(end - first) / np.cos(angle) / 2, end, _SLOPE_DEPTH / 2])
        return [(np.array([first, 0.0, 0.0]) + turn @ (half * [1.0, 0.0, -1.0]), turn, half)]
    if terrain.shape == "stairs":
        rises = terrain.stairs()
        half = [np.array([terrain.step / 2, end, rise / 2]) for rise in rises]
        return [(np.array([first + (k + 0.5) * terrain.step, 0.0, h[2]]), np.eye(3), h) for k, h in enumerate(half)]
    if terrain.is_flat:
        return []
    hint = "contact-invariant optimisation knows flat ground, slopes up, stairs and furniture made of boxes"
    problem = f"{terrain.shape!r} ground is not made of flat faces above the floor"
    raise InputError(problem, key="scene.floor.shape", hint=hint)


def _faces(centre: Array, turn: Array, half: Array) -> list[Box]:
    """The six faces of a box: centre, rows along, across and outwards, half sizes."""
    faces = []
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        for sign in (1.0, -1.0):
            rows = np.stack([turn[:, i], sign * turn[:, j], sign * turn[:, k]])
            faces.append((centre + sign * half[k] * turn[:, k], rows, half[[i, j]]))
    return faces


def _face(centre: Array, rows: Array, half: Array, radius: float = 0.0, owner: int = -1, partner: int = 0) -> tuple:
    return centre, rows, half, radius, owner, partner


def _rooted(box: Box) -> Box:
    """An upright box on the floor, continued below it: through the ground there is no way out of it."""
    centre, turn, half = box
    if turn[2, 2] < 0.99 or centre[2] - half[2] > _STANDING:
        return box
    down = _ROOT_DEPTH / 2
    return centre - [0.0, 0.0, down], turn, half + [0.0, 0.0, down]


def _stacked(faces: Sequence[tuple], boxes: Sequence[tuple]) -> Surfaces:
    nowhere = np.array([0.0, 0.0, -2 * _AWAY])
    no_face = _face(nowhere, np.eye(3), np.full(2, 1e-3), 0.0, -1, -1)
    no_box = nowhere, np.eye(3), np.full(3, 1e-3), -1
    faces = [*faces, *[no_face] * (_padded(len(faces)) - len(faces))]
    boxes = [*boxes, *[no_box] * (_padded(len(boxes), least=1) - len(boxes))]
    return Surfaces(*(np.stack(part) for part in (*zip(*faces, strict=True), *zip(*boxes, strict=True))))


def _padded(count: int, least: int = 2) -> int:
    """``least``, or the next multiple of four times that."""
    return least if count <= least else -(-count // (4 * least)) * 4 * least
