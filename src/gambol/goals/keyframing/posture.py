"""How a body carries itself in a moment of a motion: the style that asks for it, and where it faces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from gambol.characters.anatomy import SIDES
from gambol.goals.keyframing.performance import Performance
from gambol.motion import Motion
from gambol.motion.metrics.subject import Subject
from gambol.rotations import Array
from gambol.scenes import Placement, Scene, place

_NEEDED = (
    "pelvis",
    "chest",
    "head",
    *(f"{side}_{joint}" for side in SIDES for joint in ("shoulder", "hip", "knee", "ankle")),
)
_UPRIGHT, _LEANING = np.cos(np.deg2rad(30.0)), np.cos(np.deg2rad(55.0))
_TALL = 0.85
"""Share of the standing pose's height over the feet that the head of a standing body has."""
_LEVEL = 0.06
"""Share of the body's size that its feet are above or below the floor, at most, for heights over the floor to count."""
_ELSEWHERE: Mapping[str, Mapping[str, float]] = {
    "standing": {"contact": 50.0, "com_velocity": 10.0, "head_height": 0.0},
    "sitting": {"torso_height": 0.0},
}
"""Heights of styles are those of who is on the floor: elsewhere the pairs must say how high."""
_OVER_FEET = 0.12
"""Share of the body's size that something over the feet is off their middle, at most."""
_BALANCED = {"contact": 30.0, "com_velocity": 5.0}
"""Where the feet alone carry the body, balance comes first."""
_CROUCHED = {
    "contact": 100.0,
    "com_velocity": 10.0,
    "com_feet": 100.0,
    "upright_left_foot": 1.0,
    "upright_right_foot": 1.0,
    "control": 0.025,
}
"""What standing asks for and crouching needs too; how high and how upright, only the pairs say."""
_ON_ONE_FOOT = {**_CROUCHED, "com_feet": 0.0}
"""Who is, or leans, over one foot would be pulled back between both."""
_AHEAD = 2.0
"""Metres from the chest to the point it faces."""
_TURNED = {"facing": 10.0}
_STILL = 0.4
"""Metres a second: a slower centre of mass rests."""


@dataclass(frozen=True)
class Posture:
    """A style, the weights it should have beside its own, and the point on the ground that the chest faces."""

    style: str
    weights: Mapping[str, float] = field(default_factory=dict)
    facing: tuple[float, float] | None = None
    on_feet: bool = False
    """Whether the feet alone carry the body, and it is over them."""


class Postures:
    """Tells the postures of a performance."""

    def __init__(self, performance: Performance):
        self._performance = performance
        subject = Subject(performance.motion, performance.name)
        marks = list(subject.character.landmarks)
        self._known = all(name in marks for name in _NEEDED)
        points = subject.points()
        self._paths = {name: points[:, k] for k, name in enumerate(marks)}
        self._head, self._ankles = _standing_heights(performance) if self._known else (0.0, 0.0)
        self._com = subject.mechanics.com
        self._speed = np.linalg.norm(subject.mechanics.momentum[:, :3], axis=1) / subject.mass

    def at(self, frame: int) -> Posture:
        """The posture of a frame; a body without the usual landmarks has none."""
        if not self._known:
            return Posture("free")
        at = {name: path[frame] for name, path in self._paths.items()}
        up = at["chest"] - at["pelvis"]
        upright = float(up[2] / np.linalg.norm(up))
        posture = self._carried(at, upright, frame)
        if abs(_ankle_height(at) - self._ankles) > _LEVEL * self._performance.character.size:
            posture = replace(posture, weights={**posture.weights, **_ELSEWHERE.get(posture.style, {})})
        if upright < _LEANING:
            return posture
        ahead = np.cross(at["left_shoulder"] - at["right_shoulder"], [0.0, 0.0, 1.0])[:2]
        x, y = at["chest"][:2] + _AHEAD * ahead / np.linalg.norm(ahead)
        return replace(posture, weights={**posture.weights, **_TURNED}, facing=(round(float(x), 2), round(float(y), 2)))

    def _carried(self, at: Mapping[str, Array], upright: float, frame: int) -> Posture:
        """By what carries the body, and how high and upright it is."""
        performance, part_of = self._performance, self._performance.character.part_of
        marks = performance.character.landmarks
        trunk, legs = part_of[marks["chest"].body], {part_of[marks[f"{side}_knee"].body] for side in SIDES}
        bodies = {t.body.removeprefix(f"{performance.name}/") for t in performance.touches_at(frame) if not t.itself}
        parts = {part_of[body] for body in bodies}
        seated = trunk in parts or bool(bodies & {marks[f"{side}_hip"].body for side in SIDES})
        knees, feet = ((at[f"right_{joint}"] + at[f"left_{joint}"])[:2] / 2 for joint in ("knee", "ankle"))
        near = _OVER_FEET * performance.character.size
        if not seated and parts <= legs:
            over = np.linalg.norm(self._com[frame, :2] - feet) < near
            tall = upright > _LEANING and at["head"][2] - _ankle_height(at) > _TALL * (self._head - self._ankles)
            if tall and over:
                return Posture("standing", _BALANCED, on_feet=True)
            return Posture("free", _CROUCHED if over and parts == legs else _ON_ONE_FOOT, on_feet=bool(over))
        if seated and upright > _LEANING:
            sits = upright > _UPRIGHT and legs <= parts and np.linalg.norm(knees - feet) < near
            return Posture("sitting" if sits else "relaxed")
        rests = self._speed[frame] < _STILL and (seated or len(parts) > 2)
        return Posture("lying" if rests else "free")


def _ankle_height(at: Mapping[str, Array]) -> float:
    """Metres: how high the ankles are on the average."""
    return float(np.mean([at[f"{side}_ankle"][2] for side in SIDES]))


def _standing_heights(performance: Performance) -> tuple[float, float]:
    """Heights of head and ankles of the standing body, metres."""
    alone = Scene({performance.name: performance.character})
    state = place(alone, Placement(pose="standing"))
    points = Subject(Motion(alone, 1.0, state[None]), performance.name).points()[0]
    at = dict(zip(performance.character.landmarks, points, strict=True))
    return float(at["head"][2]), _ankle_height(at)
