"""BVH text and skeletons in motion, both ways.

Reading is tolerant of what programs really write (any white space, channel order and number, positions on any joint,
names with spaces or used twice) and strict about what would be a wrong motion: every error names the file and the line.
A position channel replaces that coordinate of the joint's OFFSET, as in Blender and MotionBuilder.
"""

from __future__ import annotations

import io
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from gambol.characters.skeleton import Skeleton, SkeletonClip, axes_turn, axis_vector
from gambol.characters.tables import Anatomy
from gambol.errors import InputError
from gambol.files import read_bytes
from gambol.rotations import IDENTITY, Array, conjugate, from_euler, to_euler, unwrap_euler

MAX_JOINTS = 2000
MAX_DEPTH = 200
MAX_ROTATIONS = 20_000_000
"""Frames × joints; a day of a 30-joint body at 8 frames a second."""
UNITS = (1.0, 0.01, 0.0254, 0.0254 / 0.45, 0.001)
"""Metres per unit that files use: metres, centimetres, inches, the CMU database's own, millimetres."""
HUMAN_HEIGHTS = (1.2, 2.2)
ORDERS = ("XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX")
_METRIC = (1.0, 0.01, 0.001)
_FRAME_TIMES = (1e-5, 10.0)
_MOTION = re.compile(r"^[\s}]*MOTION\b", re.MULTILINE | re.IGNORECASE)
_TIMING = re.compile(r"\s*Frames\s*:\s*(\S+)\s+Frame\s*Time\s*:\s*(\S+)", re.IGNORECASE)
_CHANNEL = re.compile(r"([XYZ])(position|rotation)", re.IGNORECASE)
_STANDS = 0.7
"""Cosine above which a body is said to stand along an axis."""


def load(path: str | Path, **options: Any) -> SkeletonClip:
    """The clip of a BVH file; options as in :func:`parse`."""
    data = read_bytes(path)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")  # joint names of older programs; numbers and keywords are ASCII in both
    return parse(text, file=path, **options)


def parse(
    text: str,
    *,
    file: str | Path | None = None,
    scale: str | float = "auto",
    up: str = "auto",
    forward: str = "auto",
    skip_first: bool = False,
) -> SkeletonClip:
    """The clip of a BVH text, in metres, Z up and X forward.

    ``scale`` is metres per unit. ``auto`` takes the one of metres, centimetres, inches, the CMU database's unit and
    millimetres that makes a two-legged body between 1.2 and 2.2 m tall; where none does, the metric unit that comes
    closest to 1.7 m; and for other creatures centimetres if they are larger than 10 units, else metres.
    ``up`` and ``forward`` are axes of the file such as ``+y``. ``auto`` takes Y up, unless the body stands along Z in
    its frames and not along Y in its zero pose; forward is where the zero pose faces, told from left and right, else
    +Z (-Y when Z is up). ``skip_first`` leaves out an added T-pose frame.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    try:
        clip = _parse(text)
        if skip_first and len(clip) == 1:
            raise InputError("has one frame only, and skip_first leaves it out")
        clip = clip[1:] if skip_first else clip
        return clip.turned(_find_axes(clip, up, forward)).scaled(_find_scale(clip.skeleton, scale))
    except InputError as error:
        raise error.within(file=file) from None


def render(
    clip: SkeletonClip, *, order: str = "ZXY", unit: float = 0.01, up: str = "+y", forward: str = "+z", digits: int = 6
) -> str:
    """A clip as BVH text.

    Y up, Z forward and centimetres (``unit`` metres) are what MotionBuilder, Maya and the importers of Unreal and Unity
    assume; Blender's importer makes metres of them with its Scale set to 0.01, or write with ``unit=1``. Euler angles
    in the rotation ``order`` are continuous in time. White space in names becomes ``_``, which most readers need.
    """
    order = order.upper()
    if order not in ORDERS:
        raise InputError(f"{order!r} is not a rotation order", key="order", hint=f"allowed: {', '.join(ORDERS)}")
    if not (np.isfinite(unit) and unit > 0):
        raise InputError(f"must be metres above 0 (given: {unit!r})", key="unit")
    clip = clip.turned(conjugate(axes_turn(up, forward))).scaled(1 / unit)
    skeleton = clip.skeleton
    angles = np.rad2deg(unwrap_euler(to_euler(clip.rotations, order)))
    columns, lines = [], ["HIERARCHY"]
    names = _unique(["_".join(name.split()) or "joint" for name in skeleton.names])
    depths, open_depth = [0] * len(skeleton), -1
    for joint in _depth_first(skeleton):
        depth = 0 if joint == 0 else depths[skeleton.parents[joint]] + 1
        lines += [f"{'  ' * d}}}" for d in range(open_depth, depth - 1, -1)]
        depths[joint] = open_depth = depth
        track = clip.root if joint == 0 else clip.moving.get(skeleton.names[joint])
        rotation = " ".join(f"{axis}rotation" for axis in order)
        channels = f"3 {rotation}" if track is None else f"6 Xposition Yposition Zposition {rotation}"
        offset = np.zeros(3) if joint == 0 else skeleton.offsets[joint]
        space = "  " * depth
        lines += [f"{space}{'JOINT' if joint else 'ROOT'} {names[joint]}", f"{space}{{"]
        lines += [f"{space}  OFFSET {_numbers(offset, digits)}", f"{space}  CHANNELS {channels}"]
        tips = skeleton.tips.get(skeleton.names[joint], ())
        if not len(tips) and not skeleton.children[joint]:
            tips = np.zeros((1, 3))  # readers expect an end to every branch
        for tip in tips:
            lines += [
                f"{space}  End Site",
                f"{space}  {{",
                f"{space}    OFFSET {_numbers(tip, digits)}",
                f"{space}  }}",
            ]
        columns += [angles[:, joint]] if track is None else [track, angles[:, joint]]
    lines += [f"{'  ' * d}}}" for d in range(open_depth, -1, -1)]
    lines += ["MOTION", f"Frames: {len(clip)}", f"Frame Time: {clip.dt:.9g}"]
    table = io.StringIO()
    np.savetxt(table, np.concatenate(columns, axis=1), fmt=f"%.{digits}f")
    return "\n".join(lines) + "\n" + table.getvalue()


def _depth_first(skeleton: Skeleton) -> Iterator[int]:
    """Joints in the order a BVH nests them; each branch as a whole."""
    pending = [0]
    while pending:
        joint = pending.pop()
        yield joint
        pending += reversed(skeleton.children[joint])


def _numbers(vector: Array, digits: int) -> str:
    return " ".join(f"{value:.{digits}f}" for value in vector)


@dataclass
class _Joint:
    name: str
    parent: int
    line: int
    offset: list[float] | None = None
    channels: list[tuple[int, str]] = field(default_factory=list)
    """Axis 0-2 and ``position`` or ``rotation``, in the order of the values."""
    tips: list[list[float]] = field(default_factory=list)


def _error(problem: str, line: int, hint: str | None = None) -> InputError:
    return InputError(problem, key=f"line {line}", hint=hint)


class _Words:
    """The words of the hierarchy one by one, with the line they stand on; braces are words of their own."""

    def __init__(self, text: str) -> None:
        self.line = 0
        self._queue: deque[str] = deque()
        self._lines = iter(text.split("\n"))

    def next(self, wanted: str | None = None) -> str:
        """The next word; at the end an error, or nothing where nothing in particular is wanted."""
        while not self._queue:
            line = next(self._lines, None)
            if line is None:
                if wanted is None:
                    return ""
                raise _error(f"the hierarchy ends where {wanted} is expected", self.line)
            self.line += 1
            self._queue.extend(line.replace("{", " { ").replace("}", " } ").split())
        return self._queue.popleft()

    def rest_of_line(self) -> str:
        """What stands before a brace or the end of the line."""
        taken = []
        while self._queue and self._queue[0] not in "{}":
            taken.append(self._queue.popleft())
        return " ".join(taken)

    def expect(self, word: str) -> None:
        found = self.next(repr(word))
        if found != word:
            raise _error(f"{found!r} where {word!r} is expected", self.line)

    def vector(self) -> list[float]:
        return [_finite(self.next("a number of an OFFSET"), self.line) for _ in range(3)]


def _finite(word: str, line: int) -> float:
    try:
        value = float(word)
    except ValueError:
        hint = "decimals are written with a point" if "," in word else None
        raise _error(f"{_short(word)} is not a number", line, hint) from None
    if not np.isfinite(value):
        raise _error(f"{_short(word)} is not a finite number", line)
    return value


def _short(word: str) -> str:
    return repr(word if len(word) <= 40 else word[:37] + "...")


def _parse(text: str) -> SkeletonClip:
    if not re.match(r"\s*HIERARCHY\b", text, re.IGNORECASE):
        raise _error("is not a BVH file: it does not begin with HIERARCHY", 1)
    motion = _MOTION.search(text)
    joints = _hierarchy(_Words(text[: motion.end() - len("MOTION")] if motion else text))
    if not motion:
        raise _error("has no MOTION section", text.count("\n") + 1)
    names = _unique([joint.name for joint in joints])
    skeleton = Skeleton(
        names,
        tuple(joint.parent for joint in joints),
        np.array([joint.offset for joint in joints]),
        {name: np.array(joint.tips) for name, joint in zip(names, joints, strict=True) if joint.tips},
    )
    dt, values = _motion(text, motion.end(), sum(len(joint.channels) for joint in joints), len(joints))
    return _animated(skeleton, joints, dt, values)


def _hierarchy(words: _Words) -> list[_Joint]:
    """The joints in file order; nesting is followed with a list, not by recursion, so that depth cannot hurt."""
    joints: list[_Joint] = []
    open_joints: list[int] = []
    words.next()  # HIERARCHY
    while not joints or open_joints:
        word = words.next("ROOT" if not joints else "a joint or '}'")
        keyword = word.upper()
        if keyword in ("ROOT", "JOINT"):
            if (keyword == "ROOT") != (not joints):
                raise _error(f"{word} stands {'inside a joint' if joints else 'before ROOT'}", words.line)
            joints.append(_Joint(words.rest_of_line() or "joint", open_joints[-1] if open_joints else -1, words.line))
            open_joints.append(len(joints) - 1)
            if len(joints) > MAX_JOINTS or len(open_joints) > MAX_DEPTH:
                raise _error(f"more than {MAX_JOINTS} joints, or nested deeper than {MAX_DEPTH}", words.line)
            words.expect("{")
        elif not open_joints:
            raise _error(f"{_short(word)} where ROOT is expected", words.line)
        elif keyword == "END":
            words.rest_of_line()
            words.expect("{")
            words.expect("OFFSET")
            tip = words.vector()
            words.expect("}")
            if any(tip):
                joints[open_joints[-1]].tips.append(tip)
        elif keyword == "OFFSET":
            joints[open_joints[-1]].offset = words.vector()
        elif keyword == "CHANNELS":
            joints[open_joints[-1]].channels = _channels(words)
        elif keyword == "}":
            closed = joints[open_joints.pop()]
            if closed.offset is None:
                raise _error(f"joint {closed.name!r} has no OFFSET", closed.line)
        else:
            raise _error(f"{_short(word)} is not expected in a hierarchy", words.line)
    if extra := words.next():
        several = (
            "a second ROOT; a character has one" if extra.upper() == "ROOT" else f"{_short(extra)} after the hierarchy"
        )
        raise _error(several, words.line)
    return joints


def _channels(words: _Words) -> list[tuple[int, str]]:
    count = words.next("the number of channels")
    if not re.fullmatch(r"\d{1,2}", count):
        raise _error(f"{_short(count)} is not a number of channels", words.line)
    channels = []
    for _ in range(int(count)):
        word = words.next("a channel")
        match = _CHANNEL.fullmatch(word)
        if not match:
            raise _error(
                f"{_short(word)} is not a channel", words.line, "Xposition … Zrotation, as many as the number says"
            )
        channels.append(("XYZ".index(match[1].upper()), match[2].lower()))
    return channels


def _motion(text: str, start: int, width: int, joints: int) -> tuple[float, Array]:
    """The frame time and the values (T, width)."""
    line = text.count("\n", 0, start) + 1
    timing = _TIMING.match(text, start)
    if not timing:
        raise _error("MOTION is not followed by 'Frames:' and 'Frame Time:'", line)
    line += text.count("\n", start, timing.start(1))
    if not re.fullmatch(r"\d{1,18}", timing[1]) or int(timing[1]) == 0:
        raise _error(f"{_short(timing[1])} is not a number of frames above 0", line)
    frames = int(timing[1])
    line += text.count("\n", timing.start(1), timing.start(2))
    dt = _finite(timing[2], line)
    if not _FRAME_TIMES[0] <= dt <= _FRAME_TIMES[1]:
        raise _error(f"a frame time of {dt:g} s is not between {_FRAME_TIMES[0]:g} and {_FRAME_TIMES[1]:g}", line)
    if width == 0:
        raise InputError("no joint has channels, so nothing moves")
    body = text[timing.end() :]
    values = _values(body, line)
    if values.size != frames * width:
        raise _miscount(body, line, frames, width, values.size)
    if frames * joints > MAX_ROTATIONS:
        raise InputError(f"{frames} frames of {joints} joints are more than {MAX_ROTATIONS} rotations; cut the clip")
    return dt, values.reshape(frames, width)


def _values(body: str, line: int) -> Array:
    """All numbers of the motion; errors say which word on which line is none, counting from ``line``."""
    try:
        values = np.fromstring(body, sep=" ") if body.strip() else np.empty(0)
        if np.isfinite(values).all():
            return values
    except ValueError:
        pass  # the search below says where
    for number, row in enumerate(body.split("\n")):
        for word in row.split():
            _finite(word, line + number)
    raise _error("the motion holds something that is not a number", line)


def _miscount(body: str, line: int, frames: int, width: int, size: int) -> InputError:
    if size % width == 0:
        return _error(f"'Frames:' says {frames}, but {size // width} frames of {width} values follow", line)
    for number, row in enumerate(body.split("\n")):
        count = len(row.split())
        if count not in (0, width):
            return _error(f"{count} values where the hierarchy has {width} channels", line + number)
    return _error(f"{size} values are not {frames} frames of {width}", line)


def _animated(skeleton: Skeleton, joints: list[_Joint], dt: float, values: Array) -> SkeletonClip:
    frames = len(values)
    rotations = np.tile(IDENTITY, (frames, len(joints), 1))
    tracks: dict[int, Array] = {}
    by_order: dict[str, list[tuple[int, list[int]]]] = {}
    column = 0
    for index, joint in enumerate(joints):
        order, columns = "", []
        for axis, kind in joint.channels:
            if kind == "rotation":
                order += "XYZ"[axis]
                columns.append(column)
            else:
                tracks.setdefault(index, np.tile(skeleton.offsets[index], (frames, 1)))[:, axis] = values[:, column]
            column += 1
        by_order.setdefault(order, []).append((index, columns))
    # joints of one rotation order are turned together: Python loops over orders, not joints
    for order, members in by_order.items():
        if order:
            angles = np.deg2rad(values[:, [columns for _, columns in members]])
            rotations[:, [index for index, _ in members]] = from_euler(order, angles)
    root = tracks.pop(0, np.tile(skeleton.offsets[0], (frames, 1)))
    return SkeletonClip(skeleton, dt, root, rotations, {skeleton.names[j]: track for j, track in tracks.items()})


def _unique(names: list[str]) -> tuple[str, ...]:
    """The names, repeated ones numbered."""
    taken: set[str] = set()
    for index, name in enumerate(names):
        number, unique = 2, name
        while unique in taken:
            unique, number = f"{name}_{number}", number + 1
        taken.add(unique)
        names[index] = unique
    return tuple(names)


def _find_scale(skeleton: Skeleton, scale: str | float) -> float:
    if scale != "auto":
        if isinstance(scale, (str, bool)) or not (np.isfinite(scale) and scale > 0):
            raise InputError(f"must be 'auto' or metres per unit above 0 (given: {scale!r})", key="scale")
        return float(scale)
    anatomy = Anatomy.of(skeleton)
    if not anatomy.two_legged:
        return 0.01 if anatomy.stature > 10 else 1.0
    low, high = HUMAN_HEIGHTS
    human = [unit for unit in UNITS if low <= unit * anatomy.stature <= high]
    return human[0] if human else min(_METRIC, key=lambda unit: abs(np.log(unit * max(anatomy.stature, 1e-9) / 1.7)))


def _find_axes(clip: SkeletonClip, up: str, forward: str) -> Array:
    """The turn from the file's axes to ours."""
    anatomy = Anatomy.of(clip.skeleton)
    rest = clip.skeleton.rest_positions
    if up == "auto":
        sample = clip[:: max(1, len(clip) // 50)]
        in_rest, in_frames = _upright(anatomy, rest[None]), _upright(anatomy, sample.global_frames()[0])
        up = "+z" if in_frames[2] > _STANDS and in_rest[1] < _STANDS else "+y"
    if forward == "auto":
        sides = np.array(anatomy.sides)
        forward = "-y" if up.endswith("z") else "+z"
        if (sides == "left").any() and (sides == "right").any():
            left = rest[sides == "left"].mean(axis=0) - rest[sides == "right"].mean(axis=0)
            facing = np.cross(left, axis_vector(up, "up"))
            if np.linalg.norm(facing) > 0.02 * anatomy.stature:
                axis = int(np.argmax(np.abs(facing)))
                forward = "-+"[int(facing[axis] > 0)] + "xyz"[axis]
    return axes_turn(up, forward)


def _upright(anatomy: Anatomy, positions: Array) -> Array:
    """The mean unit direction from the feet to the head in poses (T, J, 3); zero where there is neither."""
    low = anatomy.find("foot") or anatomy.find("shin")
    high = anatomy.find("head") or anatomy.find("neck") or anatomy.find("spine")
    if not low or not high:
        return np.zeros(3)
    along = positions[:, high].mean(axis=1) - positions[:, low].mean(axis=1)
    return (along / np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-12)).mean(axis=0)
