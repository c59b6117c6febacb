"""Joints, their offsets and their rotations over time: what a BVH file holds, before anything is simulated.

A skeleton has no masses and no limits; in its zero pose every joint frame is parallel to the world. Frames are ours
(Z up, X forward, Y left, metres) unless a caller says otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gambol.errors import InputError
from gambol.rotations import Array, conjugate, from_matrix, multiply, normalise, rotate

_AXES = {"x": 0, "y": 1, "z": 2}


@dataclass(frozen=True)
class Skeleton:
    """Joints, parents first: joint ``j`` hangs at ``offsets[j]`` (metres) in the frame of joint ``parents[j]``.

    The first joint is the root; its parent is -1 and its offset where it rests. ``tips`` holds the ends of bones that
    no joint follows (BVH's End Sites), by the name of their joint: (K, 3) in that joint's frame.
    """

    names: tuple[str, ...]
    parents: tuple[int, ...]
    offsets: Array
    tips: Mapping[str, Array] = field(default_factory=dict)

    def __post_init__(self) -> None:
        count = len(self.names)
        if count == 0:
            raise InputError("a skeleton has at least one joint", key="names")
        if not all(isinstance(name, str) and name for name in self.names) or len(set(self.names)) != count:
            raise InputError("must be different and not empty", key="names")
        if len(self.parents) != count:
            raise InputError(f"has {len(self.parents)} entries for {count} joints", key="parents")
        for joint, parent in enumerate(self.parents):
            if (parent < 0) != (joint == 0):
                raise InputError("the first joint, and no other, is the root", key=f"parents[{joint}]")
            if parent >= joint:
                raise InputError(f"{self.names[joint]!r} comes before its parent", key=f"parents[{joint}]")
        tips = {}
        for name, ends in self.tips.items():
            if name not in self.names:
                raise InputError(f"there is no joint {name!r}", key="tips")
            tips[name] = _frozen(np.atleast_2d(np.asarray(ends, float)), (None, 3), f"tips.{name}")
        object.__setattr__(self, "offsets", _frozen(self.offsets, (count, 3), "offsets"))
        object.__setattr__(self, "tips", tips)

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The joints that hang on each joint."""
        below: list[list[int]] = [[] for _ in self.names]
        for joint, parent in enumerate(self.parents[1:], start=1):
            below[parent].append(joint)
        return tuple(tuple(joints) for joints in below)

    @cached_property
    def rest_positions(self) -> Array:
        """Where the joints are in the zero pose (J, 3)."""
        positions = self.offsets.copy()
        for joint, parent in enumerate(self.parents[1:], start=1):
            positions[joint] += positions[parent]
        return positions

    def ancestors(self, joint: int) -> list[int]:
        """The joints from ``joint`` up to the root, itself first."""
        path = [joint]
        while self.parents[path[-1]] >= 0:
            path.append(self.parents[path[-1]])
        return path

    def bone_ends(self, joint: int) -> Array:
        """Where the bones of a joint lead (K, 3), in its frame: to its children, then to its tips."""
        ends = [self.offsets[child] for child in self.children[joint]]
        return np.array([*ends, *self.tips.get(self.names[joint], ())]).reshape(-1, 3)

    def scaled(self, factor: float) -> Skeleton:
        """The same skeleton, every length times ``factor``."""
        return replace(self, offsets=self.offsets * factor, tips={k: v * factor for k, v in self.tips.items()})

    def turned(self, turn: ArrayLike) -> Skeleton:
        """The zero pose turned as a whole; joint frames are parallel to the new world."""
        return replace(
            self, offsets=rotate(turn, self.offsets), tips={k: rotate(turn, v) for k, v in self.tips.items()}
        )

    def describe(self) -> dict[str, Any]:
        """Plain data from which :meth:`from_description` makes the same skeleton."""
        return {
            "names": list(self.names),
            "parents": list(self.parents),
            "offsets": self.offsets.tolist(),
            "tips": {name: ends.tolist() for name, ends in self.tips.items()},
        }

    @staticmethod
    def from_description(description: Mapping[str, Any]) -> Skeleton:
        """The skeleton that :meth:`describe` described."""
        try:
            names = tuple(str(name) for name in description["names"])
            parents = tuple(int(parent) for parent in description["parents"])
            offsets = np.array(description["offsets"], float)
            tips = {str(name): np.array(ends, float) for name, ends in dict(description.get("tips") or {}).items()}
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"is not a skeleton: {error!r}", hint="it has names, parents, offsets and tips") from None
        return Skeleton(names, parents, offsets, tips)


@dataclass(frozen=True)
class SkeletonClip:
    """A skeleton in motion, at equal steps of ``dt`` seconds.

    ``root`` (T, 3) is where the root joint is, ``rotations`` (T, J, 4) are local, relative to the parent joint, wxyz.
    ``moving`` holds joints other than the root that also slide: where they are in their parent's frame (T, 3), instead
    of their offset.
    """

    skeleton: Skeleton
    dt: float
    root: Array
    rotations: Array
    moving: Mapping[str, Array] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not (np.isfinite(self.dt) and self.dt > 0):
            raise InputError(f"must be above 0 seconds (given: {self.dt!r})", key="dt")
        root = _frozen(self.root, (None, 3), "root")
        frames = len(root)
        if frames == 0:
            raise InputError("a clip has at least one frame", key="root")
        rotations = _frozen(self.rotations, (frames, len(self.skeleton), 4), "rotations")
        object.__setattr__(self, "root", root)
        object.__setattr__(self, "rotations", _frozen(normalise(rotations), rotations.shape, "rotations"))
        for name in self.moving:
            if name not in self.skeleton.names[1:]:
                raise InputError(f"there is no joint {name!r} below the root", key="moving")
        moving = {name: _frozen(track, (frames, 3), f"moving.{name}") for name, track in self.moving.items()}
        object.__setattr__(self, "moving", moving)

    def __len__(self) -> int:
        return len(self.root)

    def global_frames(self) -> tuple[Array, Array]:
        """Positions (T, J, 3) and orientations (T, J, 4) of all joints in the world."""
        skeleton, frames = self.skeleton, len(self)
        positions, quats = np.empty((frames, len(skeleton), 3)), np.empty((frames, len(skeleton), 4))
        positions[:, 0], quats[:, 0] = self.root, self.rotations[:, 0]
        for joint, parent in enumerate(skeleton.parents[1:], start=1):
            local = self.moving.get(skeleton.names[joint], skeleton.offsets[joint])
            positions[:, joint] = positions[:, parent] + rotate(quats[:, parent], local)
            quats[:, joint] = multiply(quats[:, parent], self.rotations[:, joint])
        return positions, normalise(quats)

    def __getitem__(self, frames: slice) -> SkeletonClip:
        """A stretch of frames; a step keeps every n-th."""
        if not isinstance(frames, slice):
            raise TypeError("a clip is cut with a slice of frames, clip[a:b]")
        step = frames.indices(len(self))[2]
        if step <= 0 or not range(*frames.indices(len(self))):
            raise InputError(f"the cut holds no frames; this clip has {len(self)}")
        moving = {name: track[frames] for name, track in self.moving.items()}
        return replace(self, dt=self.dt * step, root=self.root[frames], rotations=self.rotations[frames], moving=moving)

    def scaled(self, factor: float) -> SkeletonClip:
        """The same motion, every length times ``factor``."""
        moving = {name: track * factor for name, track in self.moving.items()}
        return replace(self, skeleton=self.skeleton.scaled(factor), root=self.root * factor, moving=moving)

    def turned(self, turn: ArrayLike) -> SkeletonClip:
        """The same motion seen in turned axes; in the zero pose joint frames are parallel to the new world."""
        turn = np.asarray(turn, float)
        return replace(
            self,
            skeleton=self.skeleton.turned(turn),
            root=rotate(turn, self.root),
            rotations=multiply(multiply(turn, self.rotations), conjugate(turn)),
            moving={name: rotate(turn, track) for name, track in self.moving.items()},
        )

    def rigid(self) -> tuple[SkeletonClip, float]:
        """The clip with joints that slide held at their median place, and how far (metres) any strayed from it."""
        if not self.moving:
            return self, 0.0
        offsets, strayed = self.skeleton.offsets.copy(), 0.0
        for name, track in self.moving.items():
            place = np.median(track, axis=0)
            offsets[self.skeleton.names.index(name)] = place
            strayed = max(strayed, float(np.linalg.norm(track - place, axis=1).max()))
        return replace(self, skeleton=replace(self.skeleton, offsets=offsets), moving={}), strayed


def axes_turn(up: str, forward: str) -> Array:
    """The rotation from a convention such as ``up="+y", forward="+z"`` to ours (Z up, X forward), wxyz."""
    up_vector, forward_vector = axis_vector(up, "up"), axis_vector(forward, "forward")
    if up_vector @ forward_vector != 0:
        raise InputError(f"up {up!r} and forward {forward!r} lie on one line", key="forward")
    return from_matrix(np.array([forward_vector, np.cross(up_vector, forward_vector), up_vector]))


def axis_vector(name: str, key: str) -> Array:
    """The unit vector of ``"+y"``, ``"y"``, ``"-z"`` …"""
    letter = name.strip().lower().lstrip("+-") if isinstance(name, str) else ""
    if letter not in _AXES or len(name.strip()) > 2:
        raise InputError(f"{name!r} is not an axis", key=key, hint="allowed: +x, -x, +y, -y, +z, -z")
    return np.eye(3)[_AXES[letter]] * (-1.0 if name.strip().startswith("-") else 1.0)


def _frozen(values: ArrayLike, shape: tuple[int | None, ...], key: str) -> Array:
    """A read-only float array of the given shape (None: any length); an error where it is another or not finite."""
    try:
        given = np.asarray(values)
        array = np.array(given, float) if given.dtype.kind in "fiu" else None
    except (TypeError, ValueError):
        array = None
    if array is None:
        raise InputError("is not an array of numbers", key=key)
    if array.ndim != len(shape) or any(n is not None and n != m for n, m in zip(shape, array.shape, strict=True)):
        raise InputError(f"has shape {array.shape}, expected {tuple(n or '?' for n in shape)}", key=key)
    if not np.isfinite(array).all():
        raise InputError(f"is not finite at {tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])}", key=key)
    array.flags.writeable = False
    return array
