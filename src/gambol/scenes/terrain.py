"""The ground: flat, or a height field made from a seed."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Annotated, Literal

import mujoco
import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from gambol.rotations import Array

Shape = Literal["flat", "slope", "stairs", "rough", "hill", "pyramid", "stepping-stones"]
NAME = "floor"
"""What the ground is called in the compiled scene, whatever its shape."""


class Terrain(BaseModel):
    """Ground of a given shape; all but ``flat`` are height fields, level around the origin where people start."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    shape: Shape = "flat"
    friction: Annotated[float, Field(ge=0.0, le=10.0)] = 1.0
    seed: Annotated[int, Field(ge=0)] = 0
    size: Annotated[float, Field(ge=2.0, le=200.0)] = 20.0
    """Side of the square height field, metres."""
    cell: Annotated[float, Field(ge=0.01, le=1.0)] = 0.1
    """Distance between height samples, metres."""
    height: Annotated[float, Field(ge=0.0, le=20.0)] = 0.5
    """Rough: largest bump. Stairs: rise of all steps. Hill, pyramid: summit. Stepping stones: depth of the gaps."""
    angle: Annotated[float, Field(ge=-60.0, le=60.0)] = 10.0
    """Slope: degrees uphill along +x."""
    step: Annotated[float, Field(ge=0.1, le=5.0)] = 0.4
    """Stairs: tread. Pyramid: width of a tier. Stepping stones: spacing."""
    flat_radius: Annotated[float, Field(ge=0.0, le=20.0)] = 1.0
    """Metres around the origin that stay level."""
    flipped: bool = False
    """Reflected in the x-z plane."""

    @property
    def is_flat(self) -> bool:
        """A plane, not a height field."""
        return self.shape == "flat"

    def heights(self) -> Array:
        """Heights (rows along y, columns along x) in metres at the samples; the origin is at zero. Read-only."""
        return _field(self)  # pyright: ignore[reportArgumentType] (frozen models can be hashed)

    def _make_heights(self) -> Array:
        count = min(round(self.size / self.cell), 2000) + 1
        axis = np.linspace(-self.size / 2, self.size / 2, count)
        x, y = np.meshgrid(axis, axis)
        if self.is_flat:
            return np.zeros((count, count))
        field = _SHAPES[self.shape](self, x, y)
        return field[::-1] if self.flipped else field

    def height_at(self, x: float, y: float) -> float:
        """Height under a ground position, bilinear between samples; outside the field its edge goes on."""
        if self.is_flat:
            return 0.0
        field = self.heights()
        last = len(field) - 1
        column, row = (np.clip((c / self.size + 0.5) * last, 0, last) for c in (x, y))
        c0, r0 = min(int(column), last - 1), min(int(row), last - 1)
        fc, fr = column - c0, row - r0
        cell = field[r0 : r0 + 2, c0 : c0 + 2]
        return float(np.array([1 - fr, fr]) @ cell @ np.array([1 - fc, fc]))

    def stairs(self) -> Array:
        """Heights of the steps, the first beyond ``flat_radius``, each as long as ``step``."""
        count = max(int((self.size / 2 - self.flat_radius) / self.step), 1)
        return np.arange(1, count + 1) / count * self.height

    def mirrored(self) -> Terrain:
        """The ground reflected in the x-z plane; the same where left and right are alike."""
        if self.shape not in _LOPSIDED:
            return self
        return self.model_copy(update={"flipped": not self.flipped})

    def add_to(self, spec: mujoco.MjSpec) -> None:
        """Add the ground to a scene."""
        surface = {
            "name": NAME,
            "friction": [self.friction, 0.005, 0.0001],
            "condim": 3,
            "priority": 1,
            "material": "ground",
        }
        if self.is_flat:
            spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 0.05], **surface)
            return
        heights = self.heights()
        low, span = heights.min(), max(np.ptp(heights), 1e-3)
        spec.add_hfield(
            name=NAME,
            nrow=heights.shape[0],
            ncol=heights.shape[1],
            size=[self.size / 2, self.size / 2, span, 0.5],
            userdata=((heights - low) / span).ravel(),
        )
        spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_HFIELD, hfieldname=NAME, pos=[0, 0, low], **surface)


@lru_cache(maxsize=16)
def _field(terrain: Terrain) -> Array:
    heights = terrain._make_heights()
    heights.flags.writeable = False
    return heights


def _from_start(terrain: Terrain, x: Array, y: Array) -> Array:
    """Metres beyond the level ground around the origin, never negative."""
    return np.maximum(np.hypot(x, y) - terrain.flat_radius, 0.0)


def _slope(terrain: Terrain, x: Array, y: Array) -> Array:
    return np.tan(np.deg2rad(terrain.angle)) * np.maximum(x - terrain.flat_radius, 0.0)


def _stairs(terrain: Terrain, x: Array, y: Array) -> Array:
    rises = np.append(0.0, terrain.stairs())
    index = np.clip(np.floor((x - terrain.flat_radius) / terrain.step) + 1, 0, len(rises) - 1)
    return rises[index.astype(int)]


def _rough(terrain: Terrain, x: Array, y: Array) -> Array:
    """Bumps of several sizes: random values on coarser and coarser lattices, smoothly interpolated."""
    rng = np.random.default_rng(terrain.seed)
    total = np.zeros_like(x)
    for octave, wavelength in enumerate((3.0, 1.5, 0.75, 0.4)):
        count = int(np.ceil(terrain.size / wavelength)) + 2
        lattice = rng.uniform(-1.0, 1.0, (count, count))
        u, v = ((c + terrain.size / 2) / wavelength for c in (x, y))
        i, j = u.astype(int), v.astype(int)
        fu, fv = (f * f * (3 - 2 * f) for f in (u - i, v - j))
        top = lattice[j, i] * (1 - fu) + lattice[j, i + 1] * fu
        bottom = lattice[j + 1, i] * (1 - fu) + lattice[j + 1, i + 1] * fu
        total += 0.5**octave * (top * (1 - fv) + bottom * fv)
    rise = np.clip(_from_start(terrain, x, y), 0.0, 1.0)
    return 0.5 * terrain.height * total / max(np.abs(total).max(), 1e-9) * rise


def _hill(terrain: Terrain, x: Array, y: Array) -> Array:
    centre = terrain.flat_radius + 4.0
    return terrain.height * np.exp(-((x - centre) ** 2 + y**2) / 5.0) * np.clip(_from_start(terrain, x, y), 0.0, 1.0)


def _pyramid(terrain: Terrain, x: Array, y: Array) -> Array:
    tiers = 5
    centre = terrain.flat_radius + tiers * terrain.step
    ring = np.maximum(np.abs(x - centre), np.abs(y))
    # a hair more, so that samples on an edge fall to the same side left and right
    return terrain.height * np.clip(tiers - np.floor(ring / terrain.step + 1e-9), 0, tiers) / tiers


def _stepping_stones(terrain: Terrain, x: Array, y: Array) -> Array:
    """Level stones, each shifted a little by the seed, with gaps between them."""
    rng = np.random.default_rng(terrain.seed)
    count = int(terrain.size / terrain.step) + 2
    shift = rng.uniform(-0.12, 0.12, (2, count, count)) * terrain.step
    i, j = (np.floor((c + terrain.size / 2) / terrain.step).astype(int) for c in (x, y))
    across = [
        (c + terrain.size / 2) - (k + 0.5) * terrain.step - s[j, i] for c, k, s in ((x, i, shift[0]), (y, j, shift[1]))
    ]
    stone = np.maximum(*np.abs(across)) < 0.36 * terrain.step
    return np.where(stone | (_from_start(terrain, x, y) <= 0), 0.0, -terrain.height)


_LOPSIDED = ("rough", "stepping-stones")
"""Shapes that are not their own mirror image."""

_SHAPES: dict[str, Callable[[Terrain, Array, Array], Array]] = {
    "slope": _slope,
    "stairs": _stairs,
    "rough": _rough,
    "hill": _hill,
    "pyramid": _pyramid,
    "stepping-stones": _stepping_stones,
}
