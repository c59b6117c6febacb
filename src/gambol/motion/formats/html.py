"""One self-contained web page that plays a motion: no network, no plug-in, a WebGL 2 renderer of its own.

The page is ``player/player.html`` with its style, its scripts and one JSON block filled in. Bodies that never move are
folded into still geoms; for the others the block holds one position and one rotation a frame, quantised to 16 bits.
"""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from gambol import files, rotations
from gambol.errors import InputError
from gambol.motion import drawing
from gambol.words import in_words, is_table

if TYPE_CHECKING:
    from gambol.motion.motion import Motion, Poses

Array = NDArray[np.float64]

MAX_FPS = 60.0
_SCRIPTS = ("maths.js", "shapes.js", "shaders.js", "renderer.js", "clip.js", "orbit.js", "player.js")
_POSITION_TOLERANCE = 2.5e-4  # metres
_ROTATION_TOLERANCE = 2e-5  # of a quaternion's component: 0.04 mm on a metre
_FORCE_TOLERANCE = 0.5  # newtons
_TERRAIN_SIDE = 800  # samples


def write(motion: Motion, path: str | Path, *, title: str | None = None, max_fps: float = MAX_FPS) -> None:
    """Write the player with the motion in it; ``title`` instead of the task's name."""
    text = page(motion, title=title, max_fps=max_fps)
    with files.replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def page(motion: Motion, *, title: str | None = None, max_fps: float = MAX_FPS) -> str:
    """The HTML of the player."""
    if not max_fps > 0:
        raise InputError(f"{max_fps} frames a second cannot be played", key="max_fps", hint="give a positive number")
    if motion.dt < (1 - 1e-6) / max_fps and len(motion) > 1:
        motion = motion.resampled(1 / max_fps)
    content = described(motion, title=title)
    parts = {
        "title": html.escape(content["title"]),
        "style": _part("player.css"),
        "data": _script_safe(json.dumps(content, separators=(",", ":"), allow_nan=False)),
        "script": "\n".join(_part(name) for name in _SCRIPTS),
    }
    # One pass, so that nothing that was filled in is ever taken for a place to fill.
    return re.sub(r"\{\{(\w+)\}\}", lambda place: parts[place[1]], _part("player.html"))


def described(motion: Motion, *, title: str | None = None) -> dict[str, Any]:
    """What the page's scripts read: the text, the camera, the shapes, and the moving bodies' frames, ready for JSON."""
    model, poses = motion.scene.model, motion.poses()
    moving = np.flatnonzero(drawing.moving(poses))
    shapes, geoms = _geometry(model, poses, moving)
    roots = drawing.characters(model)
    root = roots[0] if roots else 0
    camera = drawing.framed(motion)
    return {
        **_text(motion, title),
        "dt": motion.dt,
        "frames": len(motion),
        "positions": packed(poses.positions[:, moving], _POSITION_TOLERANCE),
        "quats": packed(rotations.continuous(poses.quats[:, moving]), _ROTATION_TOLERANCE),
        "subject": int(np.searchsorted(moving, root)) if root in moving else None,
        "camera": {
            "azimuth": camera.azimuth,
            "elevation": camera.elevation,
            "fieldOfView": camera.field_of_view,
            "lookat": _rounded(camera.lookat),
            "distance": camera.distance,
            "nearby": drawing.NEARBY,
            "follow": drawing.travel(poses, root) > drawing.FOLLOW_BEYOND,
        },
        "shapes": shapes,
        "geoms": geoms,
        "contacts": _contacts(motion),
    }


def packed(values: NDArray[Any], tolerance: float) -> dict[str, Any]:
    """Numbers (..., n) in base64, little-endian: 16 bits a number where that errs by less than ``tolerance``, else 32.

    A number is ``offset[k] + scale[k] * stored`` with k its place on the last axis.
    """
    values = np.asarray(values, float)
    columns = values.reshape(-1, values.shape[-1])
    low, high = (columns.min(axis=0), columns.max(axis=0)) if values.size else np.zeros((2, values.shape[-1]))
    scale = (high - low) / 65535
    if np.all(scale / 2 <= tolerance):
        return _stored("u16", np.round((values - low) / np.where(scale > 0, scale, 1.0)), low, scale)
    return _stored("f32", values, np.zeros_like(low), np.ones_like(scale))


def packed_indices(values: NDArray[Any]) -> dict[str, Any]:
    """Whole numbers from zero up, exactly, in the layout of :func:`packed`."""
    kind = "u16" if values.max(initial=0) < 65536 else "u32"
    return _stored(kind, values, np.zeros(1), np.ones(1))


def _stored(kind: str, values: NDArray[Any], offset: Array, scale: Array) -> dict[str, Any]:
    data = np.ascontiguousarray(values, {"u16": "<u2", "u32": "<u4", "f32": "<f4"}[kind]).tobytes()
    return {
        "kind": kind,
        "offset": offset.tolist(),
        "scale": scale.tolist(),
        "data": base64.b64encode(data).decode("ascii"),
    }


def _text(motion: Motion, title: str | None) -> dict[str, Any]:
    source = motion.source
    task, method, seed = (getattr(source, name, None) for name in ("task", "method", "seed"))
    parts = [str(method)] if method else []
    if seed is not None:
        parts.append(f"seed {seed}")
    figures: Mapping[str, Any] = getattr(source, "figures", None) or {}
    return {
        "title": title or str(task or "Motion"),
        "subtitle": " · ".join(parts),
        "figures": [[str(name), in_words(value, _figure)] for name, value in figures.items() if not is_table(value)],
    }


def _figure(value: Any) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (float, np.floating)):
        return f"{value:.4g}"
    return str(value)


def _geometry(model: mujoco.MjModel, poses: Poses, moving: NDArray[np.intp]) -> tuple[list[Any], list[Any]]:
    """Distinct shapes, and geoms as {shape, body among the moving or -1, position, quat, colour or null for a plain
    ground, of: "character", "thing" or null}; a still geom's frame is the world's, a moving one's is its body's.
    """
    place = {int(body): k for k, body in enumerate(moving)}
    colours, undeclared = drawing.colours(model), drawing.undeclared(model)
    owners = dict.fromkeys(drawing.things(model), "thing") | dict.fromkeys(drawing.characters(model), "character")
    shapes: dict[str, dict[str, Any]] = {}
    numbers: dict[str, int] = {}
    geoms = []
    for geom in drawing.visible(model):
        kind, body = mujoco.mjtGeom(int(model.geom_type[geom])), int(model.geom_bodyid[geom])
        if kind not in _SHAPES:
            continue
        name, describe = _SHAPES[kind]
        size = _rounded(model.geom_size[geom])
        asset = int(model.geom_dataid[geom])
        key = f"{name} {asset}" if asset >= 0 else f"{name} {size}"
        if key not in shapes:
            numbers[key] = len(shapes)
            shapes[key] = {"kind": name, **describe(model, asset, size)}
        position, quat = model.geom_pos[geom], model.geom_quat[geom]
        if body not in place:
            position = poses.positions[0, body] + rotations.rotate(poses.quats[0, body], position)
            quat = rotations.multiply(poses.quats[0, body], quat)
        plain_ground = kind == mujoco.mjtGeom.mjGEOM_PLANE and undeclared[geom]
        geoms.append(
            {
                "shape": numbers[key],
                "body": place.get(body, -1),
                "position": _rounded(position),
                "quat": _rounded(quat),
                "colour": None if plain_ground else _rounded(colours[geom], 3),
                "of": owners.get(int(model.body_rootid[body])),
            }
        )
    return list(shapes.values()), geoms


def _sized(_model: mujoco.MjModel, _asset: int, size: list[float]) -> dict[str, Any]:
    return {"size": size}


def _mesh(model: mujoco.MjModel, asset: int, _size: list[float]) -> dict[str, Any]:
    vertices = model.mesh_vert[model.mesh_vertadr[asset] :][: model.mesh_vertnum[asset]]
    faces = model.mesh_face[model.mesh_faceadr[asset] :][: model.mesh_facenum[asset]]
    return {"vertices": packed(vertices, _POSITION_TOLERANCE), "faces": packed_indices(faces)}


def _terrain(model: mujoco.MjModel, asset: int, _size: list[float]) -> dict[str, Any]:
    rows, columns = int(model.hfield_nrow[asset]), int(model.hfield_ncol[asset])
    half_x, half_y, top, base = map(float, model.hfield_size[asset])
    heights = top * model.hfield_data[model.hfield_adr[asset] :][: rows * columns].reshape(rows, columns)
    for _ in range(2):  # first along the rows, then along the columns
        heights = _thinned(heights).T
    return {
        "rows": len(heights),
        "columns": len(heights[0]),
        "half": [half_x, half_y],
        "base": base,
        "heights": packed(heights.reshape(-1, 1), _POSITION_TOLERANCE),
    }


def _thinned(heights: Array) -> Array:
    """No more columns than a browser draws with ease, at equal distances from the first to the last."""
    count = heights.shape[1]
    if count <= _TERRAIN_SIDE:
        return heights
    before, fraction = np.divmod(np.linspace(0, count - 1, _TERRAIN_SIDE), 1)
    left = np.minimum(before.astype(int), count - 2)
    fraction = fraction + (before - left)
    return (1 - fraction) * heights[:, left] + fraction * heights[:, left + 1]


_SHAPES = {
    mujoco.mjtGeom.mjGEOM_PLANE: ("plane", lambda *_: {}),
    mujoco.mjtGeom.mjGEOM_BOX: ("box", _sized),
    mujoco.mjtGeom.mjGEOM_SPHERE: ("sphere", _sized),
    mujoco.mjtGeom.mjGEOM_CAPSULE: ("capsule", _sized),
    mujoco.mjtGeom.mjGEOM_CYLINDER: ("cylinder", _sized),
    mujoco.mjtGeom.mjGEOM_ELLIPSOID: ("ellipsoid", _sized),
    mujoco.mjtGeom.mjGEOM_HFIELD: ("terrain", _terrain),
    mujoco.mjtGeom.mjGEOM_MESH: ("mesh", _mesh),
}


def _contacts(motion: Motion) -> dict[str, Any] | None:
    """Contact points, the forces on what moves there, and where each frame's begin (T + 1,)."""
    contacts = motion.contacts
    if contacts is None or not len(contacts):
        return None
    moves = drawing.moving(motion.poses())[motion.scene.model.geom_bodyid[contacts.geoms]]  # (K, 2)
    on_second = moves[:, 1] & ~moves[:, 0]
    forces = np.where(on_second[:, None], -contacts.force, contacts.force)
    return {
        "starts": packed_indices(np.searchsorted(contacts.frame, np.arange(len(motion) + 1))),
        "positions": packed(contacts.position, _POSITION_TOLERANCE),
        "forces": packed(forces, _FORCE_TOLERANCE),
    }


def _rounded(values: Any, digits: int = 6) -> list[float]:
    return np.round(np.asarray(values, float), digits).tolist()


def _script_safe(text: str) -> str:
    """JSON that cannot end the element it stands in: the same document, with the markup characters escaped."""
    escapes = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
    return re.sub("[<>&\u2028\u2029]", lambda found: escapes[found[0]], text)


def _part(name: str) -> str:
    return resources.files("gambol.motion.formats").joinpath("player", name).read_text(encoding="utf-8")
