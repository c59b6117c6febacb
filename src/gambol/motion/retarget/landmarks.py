"""What two bodies have in common, and where the target's landmarks belong when the source's are known."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import mujoco
import numpy as np

from gambol.characters import Character
from gambol.characters.anatomy import LANDMARK_BONES, SIDES
from gambol.errors import InputError
from gambol.motion.motion import Motion
from gambol.motion.retarget.tracking import Goals
from gambol.rotations import Array, conjugate, from_matrix, multiply, rotate

_FEWEST = 3
"""Landmarks that two bodies must share, the pelvis among them."""
_UPRIGHT = 0.85
"""Cosine of the steepest lean at which a spine in the zero pose still counts as upright."""
_TURN_WEIGHTS = {"pelvis": 0.3, "chest": 0.2, "head": 0.05, "right_foot": 0.2, "left_foot": 0.2}
"""Metres that a radian of wrong orientation of each segment counts as."""


def shared_landmarks(source: Character, target: Character) -> tuple[str, ...]:
    """The landmarks both bodies have; an error that lists what each has where they are too few to go by."""
    shared = tuple(name for name in target.landmarks if name in source.landmarks)
    if "pelvis" not in shared or len(shared) < _FEWEST:
        have = [f"{c.name}: {', '.join(sorted(c.landmarks)) or 'none'}" for c in (source, target)]
        raise InputError(
            f"{source.name!r} and {target.name!r} share too few landmarks to retarget"
            f" ({', '.join(shared) or 'none'}); the pelvis and {_FEWEST - 1} others are needed",
            hint="\n  ".join(have),
        )
    return shared


def bones_of(shared: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """The bones between shared landmarks, from the trunk outwards; lone landmarks hang on the pelvis."""
    bones = [bone for bone in LANDMARK_BONES if bone[0] in shared and bone[1] in shared]
    reached = {"pelvis", *(end for _, end in bones), *_CARRIED}
    return (*bones, *(("pelvis", name) for name in shared if name not in reached))


_CARRIED = {f"{side}_{joint}": segment for side in SIDES for joint, segment in (("hip", "pelvis"), ("shoulder", "chest"))}
"""Landmarks that sit firmly on a segment, and that segment."""


@dataclass(frozen=True)
class Body:
    """A character in its zero pose."""

    character: Character

    @cached_property
    def _zero(self) -> mujoco.MjData:
        data = mujoco.MjData(self.character.model)
        data.qpos[:] = self.character.pose_qpos("zero")
        mujoco.mj_kinematics(self.character.model, data)
        return data

    def point(self, landmark: str) -> Array:
        """Where a landmark is (3,)."""
        mark = self.character.landmarks[landmark]
        return self._zero.body(mark.body).xpos + rotate(self._zero.body(mark.body).xquat, mark.offset)

    def way(self, start: str, end: str) -> Array:
        """From one landmark to another (3,)."""
        return self.point(end) - self.point(start)

    def segment_body(self, segment: str) -> str:
        """The body a segment's orientation is read from."""
        return self.character.landmarks[segment.replace("foot", "ankle")].body

    def axes(self, segment: str, shared: tuple[str, ...]) -> Array | None:
        """Anatomical axes of a segment (forward, left, up) as columns in its body's frame (3, 3), if they can be told.

        Trunk and head: left along the hips or shoulders, up along the spine, or along the world's vertical for a body
        that is upright in its zero pose. Feet: up from the sole, forward to the toe.
        """
        if segment.endswith("foot"):
            axes = self._foot_axes(segment, shared)
        else:
            axes = self._trunk_axes("hip" if segment == "pelvis" else "shoulder", segment, shared)
        if axes is None:
            return None
        return self._zero.body(self.segment_body(segment)).xmat.reshape(3, 3).T @ axes

    def _trunk_axes(self, ends: str, segment: str, shared: tuple[str, ...]) -> Array | None:
        right, left = (f"{side}_{ends}" for side in SIDES)
        if not {right, left, segment} <= set(shared):
            return None
        up = np.array([0.0, 0.0, 1.0])
        if "chest" in shared:
            spine = self.way("pelvis", "chest")
            spine /= np.linalg.norm(spine)
            up = up if spine[2] > _UPRIGHT else spine
        return _right_handed(up=up, left=self.way(right, left))

    def _foot_axes(self, segment: str, shared: tuple[str, ...]) -> Array | None:
        ankle, toe = (segment.replace("foot", joint) for joint in ("ankle", "toe"))
        patch = self.character.patches.get(segment)
        if not {ankle, toe} <= set(shared) or patch is None or patch.body != self.character.landmarks[ankle].body:
            return None
        corners = np.array(patch.points) - np.mean(patch.points, axis=0)
        _, spread, directions = np.linalg.svd(corners, full_matrices=True)
        if len(corners) < 3 or spread[1] < 1e-3:
            return None
        body = self._zero.body(patch.body)
        up = rotate(body.xquat, directions[2])
        up *= np.sign(up @ (self.point(ankle) - body.xpos - rotate(body.xquat, np.mean(patch.points, axis=0)))) or 1.0
        return _right_handed(up=up, forward=self.way(ankle, toe))


def _right_handed(up: Array, left: Array | None = None, forward: Array | None = None) -> Array | None:
    """Orthonormal columns forward, left, up from up and one of the others; None where they are parallel."""
    side = left if left is not None else np.cross(up, forward if forward is not None else up)
    side = side - up * (side @ up)
    if np.linalg.norm(side) < 1e-6:
        return None
    side = side / np.linalg.norm(side)
    return np.stack([np.cross(side, up), side, up], axis=1)


def leg_ratio(source: Body, target: Body, shared: tuple[str, ...]) -> float:
    """How much longer the target's legs are; of all bones where they share no legs."""
    bones = bones_of(shared)
    legs = [bone for bone in bones if bone[0].endswith(("hip", "knee")) and bone[1].endswith(("knee", "ankle"))]
    lengths = [sum(float(np.linalg.norm(body.way(*bone))) for bone in legs or bones) for body in (target, source)]
    return lengths[0] / lengths[1]


def landmark_paths(motion: Motion, name: str) -> dict[str, Array]:
    """Where the landmarks of a character are over time, each (T, 3)."""
    model, poses = motion.scene.model, motion.poses()
    bodies = {key: model.body(f"{name}/{mark.body}").id for key, mark in motion.scene.characters[name].landmarks.items()}
    return {
        key: poses.positions[:, bodies[key]] + rotate(poses.quats[:, bodies[key]], mark.offset)
        for key, mark in motion.scene.characters[name].landmarks.items()
    }


def goals_from(motion: Motion, name: str, target: Character, stride: float) -> Goals:
    """Where the target's landmarks belong and how its segments are turned, when ``name`` moves as it does in a motion.

    ``stride`` is the target's way over the ground as a share of the source's, both from the same start.
    """
    shared = shared_landmarks(motion.scene.characters[name], target)
    source, body = Body(motion.scene.characters[name]), Body(target)
    seen = landmark_paths(motion, name)
    turns = _segment_turns(motion, name, source, body, shared)
    pelvis = seen["pelvis"].copy()
    pelvis[:, :2] = pelvis[0, :2] + stride * (pelvis[:, :2] - pelvis[0, :2])
    placed = {"pelvis": pelvis}

    def along(start: str, end: str) -> Array:
        share = np.linalg.norm(body.way(start, end)) / max(np.linalg.norm(source.way(start, end)), 1e-6)
        return placed[start] + share * (seen[end] - seen[start])

    bones = dict(reversed(bone) for bone in bones_of(shared))
    # parents first: the trunk, what sits on it, then the limbs
    for end in sorted(shared, key=lambda mark: (mark in _CARRIED) + 2 * (mark not in ("chest", "head", *_CARRIED))):
        pass
    return Goals([], np.zeros(0), [], np.zeros(0), np.zeros(0))
