"""The standing pose of a two-legged rig, told from its anatomy: legs straight, soles flat, arms hanging, balanced."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gambol.characters.blueprint import Geom
from gambol.characters.flesh import centre, soles_of
from gambol.characters.hinges import bone_direction, least_turn
from gambol.characters.skeleton import SkeletonClip
from gambol.characters.tables import Anatomy
from gambol.rotations import IDENTITY, Array, conjugate, multiply, rotate

_ARM_OUT = np.deg2rad(14.0)
_UPRIGHT = 0.7
"""Cosine between the zero pose's trunk and the vertical below which no standing pose is told."""
_MOST_LEAN, _MOST_BEND = np.deg2rad(15.0), np.deg2rad(45.0)
_UP = np.array([0.0, 0.0, 1.0])


def standing_rotations(anatomy: Anatomy, geoms: list[tuple[Geom, ...]], masses: Array) -> Array | None:
    """Local rotations (J, 4) of the standing pose; None for a body whose zero pose is not that of an upright biped.

    The legs lean as a whole until the centre of mass is above the middle of the feet, and the longer leg bends at the
    knee until both soles are on the ground.
    """
    if not _is_upright(anatomy):
        return None
    body = _Body(anatomy, masses, np.array([centre(solids) for solids in geoms]))
    lean, bends = 0.0, {"right": 0.0, "left": 0.0}
    for _ in range(3):
        longer = "right" if body.step_height(body.pose(lean, {"right": 0.0, "left": 0.0})) > 0 else "left"
        bends = {"right": 0.0, "left": 0.0}

        def step(bend: float, side: str = longer, lean: float = lean) -> float:
            return body.step_height(body.pose(lean, {"right": 0.0, "left": 0.0, side: bend}))

        bends[longer] = _root(step, 0.0, _MOST_BEND)
        lean = _root(lambda angle, bends=bends: body.overhang(body.pose(angle, bends)), -_MOST_LEAN, _MOST_LEAN)
    return body.pose(lean, bends)


def _is_upright(anatomy: Anatomy) -> bool:
    rest = anatomy.skeleton.rest_positions
    tops = anatomy.find("head") or anatomy.find("neck") or anatomy.find("spine")
    feet = anatomy.find("foot")
    if not (anatomy.two_legged and tops and {anatomy.sides[f] for f in feet} == {"right", "left"}):
        return False
    along = rest[tops].mean(axis=0) - rest[feet].mean(axis=0)
    return bool(along[2] > _UPRIGHT * np.linalg.norm(along))


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a monotone function crosses zero (regula falsi, Illinois); the better end where it does not."""
    at_low, at_high = function(low), function(high)
    if at_low * at_high > 0:
        return low if abs(at_low) < abs(at_high) else high
    middle = low
    for _ in range(12):
        middle = (low * at_high - high * at_low) / (at_high - at_low) if at_high != at_low else low
        value = function(middle)
        if abs(value) < 1e-5:
            break
        if value * at_high < 0:
            low, at_low = high, at_high
        else:
            at_low /= 2
        high, at_high = middle, value
    return middle


@dataclass(frozen=True)
class _Body:
    anatomy: Anatomy
    masses: Array
    centres: Array
    """(J, 3) centres of mass in the joints' frames."""

    def pose(self, lean: float, bends: dict[str, float]) -> Array:
        """Local rotations: legs at an angle ``lean`` ahead of the vertical, each knee bent by twice its ``bends``."""
        skeleton, soles = self.anatomy.skeleton, soles_of(self.anatomy)
        turned = np.tile(IDENTITY, (len(skeleton), 1))
        for joint, role in enumerate(self.anatomy.roles):
            parent, side = skeleton.parents[joint], self.anatomy.sides[joint]
            if parent < 0:
                continue
            out = _ARM_OUT if side == "left" else -_ARM_OUT
            if role in ("thigh", "shin"):
                angle = lean + bends[side] * (1.0 if role == "thigh" else -1.0)
                down = np.array([np.sin(angle), 0.0, -np.cos(angle)])
                turned[joint] = least_turn(bone_direction(self.anatomy, joint), down)
            elif role in ("upper_arm", "forearm"):
                down = np.array([0.0, np.sin(out), -np.cos(out)])
                turned[joint] = least_turn(bone_direction(self.anatomy, joint), down)
            elif role == "foot" and self.anatomy.roles[parent] != "foot":
                turned[joint] = least_turn(soles[joint].up, _UP)
            else:
                turned[joint] = turned[parent]
        local = turned.copy()
        parents = list(skeleton.parents[1:])
        local[1:] = multiply(conjugate(turned[parents]), turned[1:])
        return local

    def frames(self, local: Array) -> tuple[Array, Array]:
        """World positions (J, 3) and orientations (J, 4), the root at the origin."""
        positions, quats = SkeletonClip(self.anatomy.skeleton, 1.0, np.zeros((1, 3)), local[None]).global_frames()
        return positions[0], quats[0]

    def feet(self, local: Array) -> dict[str, list[Array]]:
        """The middles of the soles in the world, by side."""
        positions, quats = self.frames(local)
        found: dict[str, list[Array]] = {"right": [], "left": []}
        for joint, sole in soles_of(self.anatomy).items():
            if self.anatomy.roles[joint] == "foot":
                middle = (sole.back + sole.front) / 2
                found[self.anatomy.sides[joint]].append(positions[joint] + rotate(quats[joint], middle))
        return found

    def overhang(self, local: Array) -> float:
        """How far (metres) the centre of mass is ahead of the middle of the feet."""
        positions, quats = self.frames(local)
        centre_of_mass = self.masses @ (positions + rotate(quats, self.centres)) / self.masses.sum()
        return float(centre_of_mass[0] - np.mean([p[0] for side in self.feet(local).values() for p in side]))

    def step_height(self, local: Array) -> float:
        """How much higher (metres) the left sole is than the right."""
        heights = {side: min(float(p[2]) for p in points) for side, points in self.feet(local).items()}
        return heights["left"] - heights["right"]
