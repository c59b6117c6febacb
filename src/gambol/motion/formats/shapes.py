"""Triangle meshes of MuJoCo's solids: smooth where the solid is, sharp at its edges."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from gambol.rotations import Array, rotate

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
