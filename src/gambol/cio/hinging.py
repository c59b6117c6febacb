"""Closed-form joint angles of a limb: what its hinges must do for its links to lie where two-link kinematics has them.

The joints of a limb are taken from the trunk outwards, three groups at most: those that turn the upper link, the lower
link and the end effector. Each group makes the rotation that is still missing as well as its hinges can.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import mujoco
import numpy as np

from gambol.characters import Character
from gambol.characters.hinges import hinge_angles
from gambol.cio.features import FeatureModel, posed
from gambol.cio.reach import jointed_bodies
from gambol.rotations import Array, from_matrix, unit

_BENT = 0.1
"""Sine of the angle between two links from which on the side is clear to which they are bent."""
_STAYING = 0.3
"""What a radian of change counts for against a radian outside the ranges."""
_ANY = 2 * np.pi
"""Radians either way that a hinge without a range may turn."""


@dataclass(frozen=True)
class HingeGroup:
    """The hinges by which one body turns against its parent, in turning order."""

    body: int
    axes: Array
    """(hinges, 3) in the body's frame."""
    places: np.ndarray
    """(hinges,) of their angles in the state."""
    low: Array
    high: Array
    """(hinges,) radians."""

    @staticmethod
    def of(model: mujoco.MjModel, body: str) -> HingeGroup:
        """The hinges of a body."""
        first, count = int(model.body(body).jntadr[0]), int(model.body(body).jntnum[0])
        joints = np.arange(first, first + count)
        limited = model.jnt_limited[joints] > 0
        ranges = np.where(limited[:, None], model.jnt_range[joints], [-_ANY, _ANY])
        return HingeGroup(model.body(body).id, model.jnt_axis[joints], model.jnt_qposadr[joints], *ranges.T)

    def angles(self, turn: Array, near: Array) -> Array:
        """Angles (hinges,) within their ranges whose joint rotation is ``turn`` (3, 3), or as near as hinges come.

        One hinge takes the part of the rotation about its axis. Two or three are the first of three angles about
        perpendicular axes, which make any rotation in two ways: that which leaves the ranges least is taken, and of
        two such the one closer to the angles ``near`` (hinges,), so that a limb does not jump from one to the other.
        """
        quat = from_matrix(turn)
        if len(self.axes) == 1:
            ways = [np.array([2.0 * np.arctan2(quat[1:] @ self.axes[0], quat[0])])]
        else:
            first = self.axes[0]
            second = self.axes[1] - (self.axes[1] @ first) * first
            second /= np.linalg.norm(second)
            third = np.cross(first, second)
            if len(self.axes) > 2:
                third *= np.sign(third @ self.axes[2])
            plain = hinge_angles(quat, (first, second, third))
            other = np.array([plain[0] + np.pi, np.pi - plain[1], plain[2] + np.pi])
            ways = [way[: len(self.axes)] for way in (plain, other)]
        middle = (self.low + self.high) / 2
        ways = [way - 2 * np.pi * np.round((way - middle) / (2 * np.pi)) for way in ways]
        kept = [np.clip(way, self.low, self.high) for way in ways]
        off = [
            np.abs(way - within).sum() + _STAYING * np.abs(within - near).sum()
            for way, within in zip(ways, kept, strict=True)
        ]
        return kept[int(np.argmin(off))]


@dataclass(frozen=True)
class LimbHinges:
    """A limb's hinges and how its links lie in their bodies' frames."""

    groups: tuple[HingeGroup, ...]
    """Of the upper link, the lower link and, where it has any, the end effector."""
    links: tuple[Array, Array]
    """Each (3, 3), in the frames of the two links' bodies: rows along the link, at right angles to the limb's plane,
    and across both."""

    @staticmethod
    def of(model: FeatureModel, limb: int) -> LimbHinges:
        """The hinges of a limb of a feature model."""
        character = model.character
        physics = character.model
        bodies = jointed_bodies(physics, character.parts[model.limb_names[limb]])
        groups = tuple(HingeGroup.of(physics, body) for body in bodies[:3])
        seen = [_links(model, limb, groups, state) for state in _bent_ways(character, groups[1])]
        _, links = next((each for each in seen if each[0] > _BENT), seen[-1])
        return LimbHinges(groups, links)


def _links(
    model: FeatureModel, limb: int, groups: Sequence[HingeGroup], state: Array
) -> tuple[float, tuple[Array, Array]]:
    """How bent a limb is in a state (a sine), and how its links then lie in their bodies' frames."""
    data = posed(model.character, state)
    base, middle = (data.xanchor[model.character.model.body_jntadr[group.body]] for group in groups[:2])
    effector = data.body(model.effectors[limb])
    end = effector.xpos + effector.xmat.reshape(3, 3) @ (model.effector_offsets[limb] + model.body.limbs.ends[limb])
    ways = unit(middle - base), unit(end - middle)
    normal = np.cross(*ways)
    upper, lower = (
        frame(way, normal) @ data.xmat[group.body].reshape(3, 3) for way, group in zip(ways, groups[:2], strict=True)
    )
    return float(np.linalg.norm(normal)), (upper, lower)


def frame(along: Array, normal: Array) -> Array:
    """Rows (3, 3): a unit vector ``along``, one next to ``normal`` at right angles to it, and across both."""
    first = unit(along)
    second = unit(normal - (normal @ first) * first)
    return np.stack([first, second, np.cross(first, second)])


def _bent_ways(character: Character, middle: HingeGroup) -> list[Array]:
    """States in which to look to which side a limb bends: its middle joint half bent, and the way it stands."""
    half = character.pose_qpos("zero")
    half[middle.places] = (middle.low + middle.high) / 2
    return [half, character.pose_qpos("standing")] if "standing" in character.poses else [half]
