"""What the writers of glTF and USD share: a motion as skinned actors and plain things.

An actor's joints are the bodies of the character; its skin is the character's solids in the pose the model rests in
(the bind pose), each vertex following one joint. World axes stay gambol's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from gambol.errors import InputError
from gambol.motion import drawing
from gambol.motion.formats.shapes import Mesh, joined, of_geom
from gambol.motion.motion import Poses
from gambol.rotations import Array, conjugate, continuous, multiply, rotate

if TYPE_CHECKING:
    from gambol.motion.motion import Motion, Source

Colour = tuple[float, float, float, float]

_MARGIN = 20.0
"""Metres of ground shown beyond the farthest anything goes."""
_STILL = 1e-6
"""Metres, or units of a quaternion's component, below which nothing is said to change."""


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
