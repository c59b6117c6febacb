"""What the writers of glTF and USD share: a motion as skinned actors and plain things, all of them triangles.

An actor's joints are the bodies of the character; its skin is the character's solids in the pose the model rests in
(the bind pose), each vertex following one joint. Meshes are smooth where the solid is and sharp at its edges.
World axes stay gambol's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from gambol.errors import InputError
from gambol.motion import drawing
from gambol.motion.motion import Poses
from gambol.rotations import Array, conjugate, continuous, multiply, rotate

if TYPE_CHECKING:
    from gambol.motion.motion import Motion, Source

Colour = tuple[float, float, float, float]

_MARGIN = 20.0
"""Metres of ground shown beyond the farthest anything goes."""
_STILL = 1e-6
"""Metres, or units of a quaternion's component, below which nothing is said to change."""
SEGMENTS = 24
"""Sides of everything round."""
_ARCS = SEGMENTS // 4
"""Steps from the pole of a ball to its equator."""
_SHARP = 0.5
"""Cosine of the angle between a face and its vertex's normal beyond which there is an edge."""


@dataclass(frozen=True)
class Mesh:
    """Triangles with a normal at each vertex."""

    vertices: Array
    """(V, 3) metres."""
    normals: Array
    """(V, 3) unit, outward."""
    faces: NDArray[np.intp]
    """(F, 3) vertices, counter-clockwise seen from outside."""

    def placed(self, position: Array, quat: Array) -> Mesh:
        """The mesh turned, then moved."""
        return Mesh(rotate(quat, self.vertices) + position, rotate(quat, self.normals), self.faces)


def joined(meshes: Sequence[Mesh]) -> Mesh:
    """Several meshes as one, vertices in their order."""
    starts = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes[:-1])])
    return Mesh(
        np.concatenate([mesh.vertices for mesh in meshes]),
        np.concatenate([mesh.normals for mesh in meshes]),
        np.concatenate([mesh.faces + start for mesh, start in zip(meshes, starts, strict=True)]),
    )


def of_geom(model: mujoco.MjModel, geom: int, *, reach: float) -> Mesh:
    """A geom's surface in the frame of its body; no more of a ground than ``reach`` metres from its middle is shown."""
    kind = mujoco.mjtGeom(int(model.geom_type[geom]))
    mesh = _SHAPES[kind](model, int(model.geom_dataid[geom]), np.asarray(model.geom_size[geom], float), reach)
    return mesh.placed(np.asarray(model.geom_pos[geom], float), np.asarray(model.geom_quat[geom], float))


def box(half: Array) -> Mesh:
    """A box of half sizes (3,) with flat faces."""
    corners = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
    vertices, normals = [], []
    for axis in range(3):
        for side in (1.0, -1.0):
            face = np.empty((4, 3))
            face[:, axis] = side
            # seen against the axis, the other two in turn are right-handed; from the other side they are not
            face[:, [(axis + 1) % 3, (axis + 2) % 3]] = corners[:: int(side)]
            vertices.append(face * half)
            normals.append(np.tile(side * np.eye(3)[axis], (4, 1)))
    quads = 4 * np.arange(6)[:, None, None] + np.array([[0, 1, 2], [0, 2, 3]])
    return Mesh(np.concatenate(vertices), np.concatenate(normals), quads.reshape(-1, 3))


def ellipsoid(radii: Array) -> Mesh:
    """An ellipsoid of three radii (3,)."""
    ball = _turned(_half_circle(1.0, 0.0))
    normals = ball.normals / radii
    return Mesh(ball.vertices * radii, normals / np.linalg.norm(normals, axis=1, keepdims=True), ball.faces)


def capsule(radius: float, half_length: float) -> Mesh:
    """A capsule along z; ``half_length`` without the caps."""
    return _turned(_half_circle(radius, half_length))


def cylinder(radius: float, half_length: float) -> Mesh:
    """A cylinder along z with flat ends."""
    up, out, down = (0.0, 1.0), (1.0, 0.0), (0.0, -1.0)
    top, bottom = (radius, half_length), (radius, -half_length)
    outline = [
        [(0.0, half_length), up],
        [top, up],
        [top, out],
        [bottom, out],
        [bottom, down],
        [(0.0, -half_length), down],
    ]
    return _turned(np.array(outline).reshape(-1, 4))


def patch(half_x: float, half_y: float) -> Mesh:
    """A rectangle at z = 0 seen from above."""
    vertices = np.array([[half_x, half_y, 0], [-half_x, half_y, 0], [-half_x, -half_y, 0], [half_x, -half_y, 0]], float)
    return Mesh(vertices, np.tile([0.0, 0.0, 1.0], (4, 1)), np.array([[0, 1, 2], [0, 2, 3]]))


def ground(x: Array, y: Array, heights: Array) -> Mesh:
    """The top of a height field (rows along y, columns along x), its cells cut as MuJoCo cuts them."""
    slope_y, slope_x = np.gradient(heights, y, x)
    normals = np.stack([-slope_x, -slope_y, np.ones_like(heights)], axis=-1).reshape(-1, 3)
    vertices = np.stack([*np.meshgrid(x, y), heights], axis=-1).reshape(-1, 3)
    number = np.arange(heights.size).reshape(heights.shape)
    here, right, above, across = (
        n.ravel() for n in (number[:-1, :-1], number[:-1, 1:], number[1:, :-1], number[1:, 1:])
    )
    faces = np.stack([here, right, across, here, across, above], axis=-1).reshape(-1, 3)
    return Mesh(vertices, normals / np.linalg.norm(normals, axis=1, keepdims=True), faces)


def _half_circle(radius: float, half_length: float) -> Array:
    """Outline of a ball whose halves are pulled ``half_length`` apart, for :func:`_turned`."""
    angle = np.linspace(0.0, np.pi / 2, _ARCS + 1)
    sine, cosine = np.sin(angle), np.cos(angle)
    upper = np.stack([radius * sine, radius * cosine + half_length, sine, cosine], axis=-1)
    lower = upper[::-1] * [1.0, -1.0, 1.0, -1.0]
    return np.concatenate([upper, lower if half_length > 0 else lower[1:]])


def _turned(outline: Array) -> Mesh:
    """The solid swept by an outline (K, 4: distance from z, height, and the same of the normal), top first, about z."""
    angle = np.linspace(0.0, 2 * np.pi, SEGMENTS, endpoint=False)
    spokes = np.stack([np.cos(angle), np.sin(angle)], axis=-1)

    def swept(out: Array, up: Array) -> Array:
        rings = np.empty((len(outline), SEGMENTS, 3))
        rings[..., :2], rings[..., 2] = out[:, None, None] * spokes, up[:, None]
        return rings.reshape(-1, 3)

    vertices, normals = swept(outline[:, 0], outline[:, 1]), swept(outline[:, 2], outline[:, 3])
    number = np.arange(len(vertices)).reshape(len(outline), SEGMENTS)
    beside = np.roll(number, -1, axis=1)
    a, b, c, d = (n.ravel() for n in (number[:-1], number[1:], beside[1:], beside[:-1]))
    faces = np.stack([a, b, c, a, c, d], axis=-1).reshape(-1, 3)
    p, q, r = (vertices[faces[:, k]] for k in range(3))
    # at the poles and at sharp edges rings have no width
    return Mesh(vertices, normals, faces[np.linalg.norm(np.cross(q - p, r - p), axis=1) > 0])


def _plane(_model: mujoco.MjModel, _asset: int, size: Array, reach: float) -> Mesh:
    # zero means endless
    return patch(*(float(half) if half > 0 else reach for half in size[:2]))


def _height_field(model: mujoco.MjModel, asset: int, _size: Array, reach: float) -> Mesh:
    rows, columns = int(model.hfield_nrow[asset]), int(model.hfield_ncol[asset])
    half_x, half_y, top, _base = map(float, model.hfield_size[asset])
    heights = top * np.asarray(model.hfield_data[model.hfield_adr[asset] :][: rows * columns], float)
    x, y = np.linspace(-half_x, half_x, columns), np.linspace(-half_y, half_y, rows)
    near_x, near_y = np.abs(x) <= reach, np.abs(y) <= reach
    return ground(x[near_x], y[near_y], heights.reshape(rows, columns)[np.ix_(near_y, near_x)])


def _mesh(model: mujoco.MjModel, asset: int, _size: Array, _reach: float) -> Mesh:
    """MuJoCo's normals are smooth even over sharp edges; there a face keeps its own, and a vertex of its own."""
    rows = slice(model.mesh_faceadr[asset], model.mesh_faceadr[asset] + model.mesh_facenum[asset])
    vertices = np.asarray(model.mesh_vert[model.mesh_vertadr[asset] :], float)[model.mesh_face[rows]]
    smooth = np.asarray(model.mesh_normal[model.mesh_normaladr[asset] :], float)[model.mesh_facenormal[rows]]
    flat = np.cross(vertices[:, 1] - vertices[:, 0], vertices[:, 2] - vertices[:, 0])
    flat /= np.maximum(np.linalg.norm(flat, axis=-1, keepdims=True), 1e-30)
    sharp = np.einsum("fki,fi->fk", smooth, flat) < _SHARP
    normals: Array = np.where(sharp[..., None], flat[:, None], smooth)
    corners = np.concatenate([vertices, normals.round(6)], axis=-1).reshape(-1, 6)
    pairs, numbers = np.unique(corners, axis=0, return_inverse=True)
    lengths = np.linalg.norm(pairs[:, 3:], axis=1, keepdims=True)
    # a face without area has no normal: any will do
    unit: Array = np.where(lengths > 0, pairs[:, 3:] / np.maximum(lengths, 1e-30), [0.0, 0.0, 1.0])
    return Mesh(pairs[:, :3], unit, numbers.reshape(-1, 3))


_GEOM = mujoco.mjtGeom
_SHAPES: dict[mujoco.mjtGeom, Callable[[mujoco.MjModel, int, Array, float], Mesh]] = {
    _GEOM.mjGEOM_PLANE: _plane,
    _GEOM.mjGEOM_HFIELD: _height_field,
    _GEOM.mjGEOM_MESH: _mesh,
    _GEOM.mjGEOM_SDF: _mesh,
    _GEOM.mjGEOM_BOX: lambda _model, _asset, size, _reach: box(size),
    _GEOM.mjGEOM_SPHERE: lambda _model, _asset, size, _reach: ellipsoid(np.full(3, size[0])),
    _GEOM.mjGEOM_ELLIPSOID: lambda _model, _asset, size, _reach: ellipsoid(size),
    _GEOM.mjGEOM_CAPSULE: lambda _model, _asset, size, _reach: capsule(*size[:2]),
    _GEOM.mjGEOM_CYLINDER: lambda _model, _asset, size, _reach: cylinder(*size[:2]),
}


@dataclass(frozen=True)
class Surface:
    """Triangles of one colour."""

    mesh: Mesh
    colour: Colour
    """Linear red, green, blue and opacity, as renderers count them."""
    joints: NDArray[np.intp]
    """(V,) which of the actor's joints each vertex follows; zeros for a thing."""


@dataclass(frozen=True)
class Actor:
    """A character as a skeleton with a skin."""

    name: str
    joints: tuple[str, ...]
    """Names without the character's, parents first."""
    parents: tuple[int, ...]
    """Of each joint, -1 for a root."""
    bind: Poses
    """(J, …) frames of the joints in the world, in the pose the skin is made in."""
    rest: Poses
    """(J, …) the same relative to their parents."""
    local: Poses
    """(T, J, …) frames relative to their parents; quaternions never jump to the other half, nor from those at rest."""
    skin: tuple[Surface, ...]
    """In the world, in the bind pose."""


@dataclass(frozen=True)
class Thing:
    """Furniture, a prop, a target or the ground."""

    name: str
    surfaces: tuple[Surface, ...]
    """In the thing's own frame."""
    frames: Poses
    """(T, …) in the world."""

    @property
    def moves(self) -> bool:
        """Whether it is ever anywhere else than in the first frame."""
        return bool(changes(self.frames.positions, self.frames.positions[0])) or bool(
            changes(self.frames.quats, self.frames.quats[0])
        )


@dataclass(frozen=True)
class Stage:
    """All actors and things over ``frames`` frames."""

    fps: float
    frames: int
    actors: tuple[Actor, ...]
    things: tuple[Thing, ...]


def staged(motion: Motion, fps: float) -> Stage:
    """The motion at ``fps`` frames a second."""
    if not 1e-3 <= fps <= 1e4:
        raise InputError(f"must be between 0.001 and 10000 frames a second (given: {fps!r})", key="fps")
    if len(motion) > 1 and abs(motion.dt * fps - 1) > 1e-6:
        motion = motion.resampled(1 / fps)
    scene, model, poses = motion.scene, motion.scene.model, motion.poses()
    colours = _linear_colours(model)
    reach = float(np.ceil(np.abs(poses.positions[..., :2]).max() + _MARGIN))
    geoms: dict[int, list[int]] = {}
    for geom in drawing.visible(model):
        geoms.setdefault(int(model.geom_bodyid[geom]), []).append(int(geom))

    def surfaces(owned: Iterable[tuple[int, int]]) -> tuple[Surface, ...]:
        """One surface a colour of geoms and the joint each belongs to, in the frames of their bodies."""
        parts: dict[Colour, list[tuple[Mesh, int]]] = {}
        for geom, joint in owned:
            parts.setdefault(colours[geom], []).append((of_geom(model, geom, reach=reach), joint))
        return tuple(
            Surface(
                joined([mesh for mesh, _ in meshes]),
                colour,
                np.repeat([joint for _, joint in meshes], [len(mesh.vertices) for mesh, _ in meshes]),
            )
            for colour, meshes in parts.items()
        )

    actors = []
    for name, span in scene.spans.items():
        bodies = list(span.bodies)
        owned = [(geom, joint) for joint, body in enumerate(bodies) for geom in geoms.pop(body, [])]
        actors.append(_actor(name, model, bodies, poses, surfaces(owned)))
    things = [
        Thing(
            name,
            surfaces((geom, 0) for geom in members),
            Poses(poses.positions[:, body], continuous(poses.quats[:, body])),
        )
        for body, owned in geoms.items()
        for name, members in _named_groups(model, body, owned).items()
    ]
    return Stage(fps, len(motion), tuple(actors), tuple(things))


def changes(values: Array, rest: Array) -> NDArray[np.bool_]:
    """Which of the values (T, ..., n) are at some frame not those at rest (..., n)."""
    return np.any(np.abs(values - rest) > _STILL, axis=(0, -1))


def metadata(source: Source) -> dict[str, Any]:
    """Where a motion came from, as JSON can say it; what is unknown is left out."""
    known = {field.name: _plain(getattr(source, field.name)) for field in fields(source)}
    return {name: value for name, value in known.items() if value not in (None, "", {})}


class UniqueNames:
    """Gives every name once, numbering repetitions."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def __call__(self, wish: str) -> str:
        """The name wished for, or the first of ``wish_2``, ``wish_3`` … that is free."""
        name, count = wish, 1
        while name in self._taken:
            count += 1
            name = f"{wish}_{count}"
        self._taken.add(name)
        return name


def _actor(name: str, model: mujoco.MjModel, bodies: list[int], poses: Poses, skin: tuple[Surface, ...]) -> Actor:
    unique = UniqueNames()
    names = tuple(unique(model.body(body).name.removeprefix(f"{name}/") or f"body_{body}") for body in bodies)
    place = {body: joint for joint, body in enumerate(bodies)}
    parents = tuple(place.get(int(model.body_parentid[body]), -1) for body in bodies)
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    bind = Poses(data.xpos[bodies].copy(), data.xquat[bodies].copy())
    rest = _relative(bind, parents)
    local = _relative(Poses(poses.positions[:, bodies], poses.quats[:, bodies]), parents)
    quats = continuous(np.concatenate([rest.quats[None], local.quats]))[1:]
    bound = tuple(
        Surface(
            surface.mesh.placed(bind.positions[surface.joints], bind.quats[surface.joints]),
            surface.colour,
            surface.joints,
        )
        for surface in skin
    )
    return Actor(name, names, parents, bind, rest, Poses(local.positions, quats), bound)


def _relative(world: Poses, parents: tuple[int, ...]) -> Poses:
    """Frames (..., J) relative to their parents; those of roots stay as they are."""
    positions, quats = world.positions.copy(), world.quats.copy()
    for joint, parent in enumerate(parents):
        if parent >= 0:
            back = conjugate(world.quats[..., parent, :])
            offset = world.positions[..., joint, :] - world.positions[..., parent, :]
            positions[..., joint, :] = rotate(back, offset)
            quats[..., joint, :] = multiply(back, world.quats[..., joint, :])
    return Poses(positions, quats)


def _named_groups(model: mujoco.MjModel, body: int, geoms: list[int]) -> dict[str, list[int]]:
    """The geoms of a body under its name; those fixed to the world each under its own."""
    if body > 0:
        return {model.body(body).name or f"body_{body}": geoms}
    return {model.geom(geom).name or f"geom_{geom}": [geom] for geom in geoms}


def _linear_colours(model: mujoco.MjModel) -> list[Colour]:
    """Colours of the geoms in linear light; a textured one has its texture's mean."""
    rgba = drawing.colours(model)
    for geom in np.flatnonzero(model.geom_matid >= 0):
        texture = int(model.mat_texid[model.geom_matid[geom], mujoco.mjtTextureRole.mjTEXROLE_RGB])
        if texture >= 0:
            channels = int(model.tex_nchannel[texture])
            count = int(model.tex_width[texture]) * int(model.tex_height[texture]) * channels
            texels = model.tex_data[model.tex_adr[texture] :][:count].reshape(-1, channels)
            rgba[geom, :3] *= texels.mean(axis=0)[:3] / 255
    rgba = np.clip(rgba, 0.0, 1.0)
    rgb = rgba[:, :3]
    rgba[:, :3] = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return [(r, g, b, a) for r, g, b, a in np.round(rgba, 4).tolist()]


def _plain(value: Any) -> Any:
    """The nearest thing JSON has."""
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(each) for each in value]
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if np.isfinite(value) else str(value)
    return str(value)
