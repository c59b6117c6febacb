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


_CARRIED = {
    f"{side}_{joint}": segment.format(side)
    for side in SIDES
    for joint, segment in (("hip", "pelvis"), ("shoulder", "chest"), ("toe", "{}_foot"))
}
"""Landmarks that sit on a segment or nearly so, and that segment."""


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
        return self.character.landmarks[_origin(segment)].body

    def axes(self, segment: str, shared: tuple[str, ...]) -> Array | None:
        """Anatomical axes of a segment (forward, left, up) as columns, in the world (3, 3), if they can be told.

        Trunk and head: left along the hips or shoulders, up along the spine, or along the world's vertical for a body
        that is upright in its zero pose. Feet: up from the sole, forward to the toe.
        """
        if segment.endswith("foot"):
            return self._foot_axes(segment, shared)
        return self._trunk_axes("hip" if segment == "pelvis" else "shoulder", segment, shared)

    def axes_in_body(self, segment: str, axes: Array) -> Array:
        """Axes of the world (3, 3) as an orientation in the frame of the segment's body (4,)."""
        return from_matrix(self._zero.body(self.segment_body(segment)).xmat.reshape(3, 3).T @ axes)

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


def _origin(segment: str) -> str:
    """The landmark a segment is at: a foot is at its ankle, the others are called after theirs."""
    return segment.replace("foot", "ankle")


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
    bodies = {
        key: model.body(f"{name}/{mark.body}").id for key, mark in motion.scene.characters[name].landmarks.items()
    }
    return {
        key: poses.positions[:, bodies[key]] + rotate(poses.quats[:, bodies[key]], mark.offset)
        for key, mark in motion.scene.characters[name].landmarks.items()
    }


def goals_from(motion: Motion, name: str, target: Character, stride: float) -> Goals:
    """Where the target's landmarks belong and how its segments are turned, when ``name`` moves as it does in a motion.

    ``stride`` is the target's way over the ground as a share of the source's, both from the same start.
    """
    source, body = Body(motion.scene.characters[name]), Body(target)
    shared = shared_landmarks(source.character, target)
    seen, segments = landmark_paths(motion, name), _segments(motion, name, source, body, shared)
    parents = {end: start for start, end in bones_of(shared)}
    pelvis = seen["pelvis"].copy()
    pelvis[:, :2] = pelvis[0, :2] + stride * (pelvis[:, :2] - pelvis[0, :2])
    placed = {"pelvis": pelvis}

    def place(mark: str) -> Array:
        if mark not in placed:
            segment = segments.get(_CARRIED.get(mark, ""))
            parent = segment.origin if segment else parents.get(mark, "pelvis")
            way, theirs, ours = seen[mark] - seen[parent], source.way(parent, mark), body.way(parent, mark)
            share = float(np.linalg.norm(ours) / max(np.linalg.norm(theirs), 1e-6))
            placed[mark] = place(parent) + (segment.carry(way, theirs, ours, share) if segment else share * way)
        return placed[mark]

    return Goals(
        points=[target.landmarks[mark] for mark in shared],
        positions=np.stack([place(mark) for mark in shared], axis=1),
        bodies=[segment.body for segment in segments.values()],
        quats=np.array([segment.turn for segment in segments.values()]).reshape(-1, len(motion), 4).swapaxes(0, 1),
        turn_weights=np.array([_TURN_WEIGHTS[name] for name in segments]),
    )


@dataclass(frozen=True)
class _Segment:
    """A part of the trunk, the head or a foot that the target turns as the source does."""

    origin: str
    """The landmark it is at."""
    body: str
    """The target's body."""
    turn: Array
    """(T, 4) how that body should be turned."""
    frame: Array
    """(T, 4) the anatomical axes of both."""
    axes: tuple[Array, Array]
    """(3, 3) the anatomical axes of source and target in their zero poses."""

    def carry(self, way: Array, theirs: Array, ours: Array, share: float) -> Array:
        """(T, 3) from the origin to a landmark on the segment: as in the target's zero pose, moved as the source's is.

        ``way`` (T, 3) is where the source's landmark is from the origin, ``theirs`` and ``ours`` (3,) the same in the
        zero poses of source and target, ``share`` the target's size as a share of the source's.
        """
        moved = rotate(conjugate(self.frame), way) - theirs @ self.axes[0]
        return rotate(self.frame, ours @ self.axes[1] + share * moved)


def _segments(motion: Motion, name: str, source: Body, target: Body, shared: tuple[str, ...]) -> dict[str, _Segment]:
    """The segments whose anatomical axes can be told for both bodies."""
    found = {}
    for segment in _TURN_WEIGHTS:
        if _origin(segment) not in shared:
            continue
        theirs, ours = source.axes(segment, shared), target.axes(segment, shared)
        if theirs is not None and ours is not None:
            seen = motion.poses().quats[:, motion.scene.model.body(f"{name}/{source.segment_body(segment)}").id]
            frame = multiply(seen, source.axes_in_body(segment, theirs))
            turn = multiply(frame, conjugate(target.axes_in_body(segment, ours)))
            found[segment] = _Segment(_origin(segment), target.segment_body(segment), turn, frame, (theirs, ours))
    return found


def resting(target: Character, goals: Goals) -> Array:
    """A state (nq,) to start from: the standing or zero pose, with the pelvis where and how the goals begin."""
    state = target.pose_qpos("standing" if "standing" in target.poses else "zero")
    data = mujoco.MjData(target.model)
    data.qpos[:] = state
    mujoco.mj_kinematics(target.model, data)
    pelvis = target.landmarks["pelvis"]
    if pelvis.body in goals.bodies:
        wanted = goals.quats[0, list(goals.bodies).index(pelvis.body)]
        state[3:7] = multiply(multiply(wanted, conjugate(data.body(pelvis.body).xquat)), state[3:7])
        data.qpos[:] = state
        mujoco.mj_kinematics(target.model, data)
    at = data.body(pelvis.body).xpos + rotate(data.body(pelvis.body).xquat, pelvis.offset)
    state[:3] += goals.positions[0, list(goals.points).index(pelvis)] - at
    return state
