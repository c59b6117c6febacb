"""The objectives of a window, each a small function with its equation's number (Sections 4 to 8).

Pure functions of arrays over (motions N, steps T) that give a number at each moment; a window takes the last of them or
their mean. The mean stands where the paper sums, so that weights do not depend on the time step. Torques count in units
of 100 N m, angular momentum in N m s.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic import ValidationError

from gambol.characters import Character
from gambol.errors import InputError, unknown_name
from gambol.goals import Objective, Window
from gambol.rotations import Array, namespace
from gambol.spacetime.observing import View
from gambol.spacetime.parameters import (
    At,
    Balance,
    Grounded,
    Heading,
    Joints,
    Level,
    Momentum,
    Nothing,
    Parameters,
    Plumbed,
    Range,
    Spin,
    Step,
    Still,
    Threshold,
)
from gambol.validation import explained

TORQUE_UNIT = 100.0


def balance(view: View, given: Balance) -> Array:
    """The centre of mass at a height over the middle of the feet (equation 5)."""
    return _beside(view, given.points) + (view.height("com") - given.height) ** 2


def plumb(view: View, given: Plumbed) -> Array:
    """The middle of some points over or under the centre of mass; not in the paper. For the head: stand upright."""
    return _beside(view, given.points)


def _beside(view: View, points: Sequence[str]) -> Array:
    """How far the centre of mass is from the middle of some points, on the ground plane, squared."""
    middle = sum(view.position(point)[..., :2] for point in points) / len(points)
    return ((view.position("com")[..., :2] - middle) ** 2).sum(-1)


def com_height(view: View, given: Level) -> Array:
    """The centre of mass at a height (equations 10, 31), free of cost within a threshold (28, 29)."""
    off = view.height("com") - given.height
    return off**2 * (abs(off) > given.within)


def ground(view: View, given: Grounded) -> Array:
    """Points on the ground (equations 6, 9, 13, 14, 17, 30)."""
    return sum(view.height(point) ** 2 for point in given.points)  # type: ignore[return-value]


def torque(view: View, _: Nothing) -> Array:
    """Squared torques (equation 7)."""
    return ((view.torque / TORQUE_UNIT) ** 2).sum(-1)


def rest_pose(view: View, given: Joints) -> Array:
    """Some joints at rest (equation 8)."""
    chosen, angles = given.wished(view.observer.character)
    return ((view.angles[..., chosen] - angles) ** 2).sum(-1)


def step(view: View, given: Step) -> Array:
    """The centre of mass gets as far as wished between start and end (equation 11)."""
    com = view.position("com")
    return ((com - com[:, :1] - np.array(given.by)) ** 2).sum(-1)


def heading(view: View, given: Heading) -> Array:
    """The pelvis faces a direction (equation 12); the angle to it, squared."""
    xp = namespace(view.sensors)
    wished = np.radians(given.degrees)
    forward = view.forward
    across = forward[..., 1] * np.cos(wished) - forward[..., 0] * np.sin(wished)
    along = forward[..., 0] * np.cos(wished) + forward[..., 1] * np.sin(wished)
    return xp.arctan2(across, along) ** 2


def hold(view: View, given: At) -> Array:
    """Points end where they began, on the ground plane (equations 32 to 34)."""
    moved = (view.position(point)[..., :2] for point in given.points)
    return sum(((place - place[:, :1]) ** 2).sum(-1) for place in moved)  # type: ignore[return-value]


def stay(view: View, _: Still) -> Array:
    """The centre of mass ends where it began, on the ground plane (equation 24)."""
    place = view.position("com")[..., :2]
    return ((place - place[:, :1]) ** 2).sum(-1)


def high(view: View, given: At) -> Array:
    """Points as high as possible (equations 18, 19)."""
    return -sum(view.height(point) for point in given.points)  # type: ignore[operator]


def keep(view: View, given: Threshold) -> Array:
    """One for each point on the wrong side of a height (equations 20 to 22); the weight is the paper's C."""
    wrong = 0.0 * view.height("com")
    for point in given.points:
        height = view.height(point)
        if given.above is not None:
            wrong = wrong + (height < given.above)
        if given.below is not None:
            wrong = wrong + (height > given.below)
    return wrong


def spin(view: View, given: Spin) -> Array:
    """As much angular momentum about an axis as possible (equation 23), within a range (25 to 27)."""
    about = _momentum_about(view, given.axis)
    least, most = given.counted
    return -(about**2) * (about > least) * (about < most)


def momentum(view: View, given: Momentum) -> Array:
    """A certain angular momentum about an axis; not in the paper.

    Who turns the wrong way, as a jump by itself does when it should become a front flip, is not helped by equation 27:
    there its cost is flat.
    """
    return (_momentum_about(view, given.axis) - given.value) ** 2


def _momentum_about(view: View, axis: str) -> Array:
    return (view.spin * view.axis(axis)).sum(-1)


@dataclass(frozen=True)
class Term:
    """An objective: what it computes at each moment, and what it must be told."""

    at_each_moment: Callable[[View, Any], Array]
    parameters: type[Parameters]


TERMS: Mapping[str, Term] = {
    "balance": Term(balance, Balance),
    "plumb": Term(plumb, Plumbed),
    "com_height": Term(com_height, Level),
    "ground": Term(ground, Grounded),
    "torque": Term(torque, Nothing),
    "rest_pose": Term(rest_pose, Joints),
    "step": Term(step, Step),
    "heading": Term(heading, Heading),
    "hold": Term(hold, At),
    "stay": Term(stay, Still),
    "high": Term(high, At),
    "keep": Term(keep, Threshold),
    "spin": Term(spin, Spin),
    "momentum": Term(momentum, Momentum),
}
"""Every objective by the name task files call it."""


@dataclass(frozen=True)
class Weighed:
    """An objective of a window, ready to be evaluated."""

    name: str
    term: Term
    given: Parameters
    weight: float
    at_end: bool

    @staticmethod
    def of(objective: Objective, key: str, *, mirror: bool = False) -> Weighed:
        """Checked against what the term knows; ``key`` is where it stands in the task."""
        if objective.term not in TERMS:
            raise unknown_name("objective", objective.term, TERMS, key=f"{key}.term")
        term = TERMS[objective.term]
        try:
            given = term.parameters(**objective.parameters)
        except ValidationError as error:
            raise explained(error, term.parameters, key=f"{key}.parameters") from None
        given = given.mirrored() if mirror else given
        return Weighed(objective.term, term, given, objective.weight, objective.when == "end")

    def cost(self, view: View) -> Array:
        """Weighted cost (N,) of a window."""
        moments = self.term.at_each_moment(view, self.given)
        return self.weight * (moments[:, -1] if self.at_end else moments.mean(-1))


def weighed_of(window: Window, character: Character, length: float, ground: Range) -> tuple[Weighed, ...]:
    """A window's objectives, possible one by one and together for a character of a length on ground of such heights."""
    row = tuple(Weighed.of(each, f"objectives.{i}", mirror=window.mirror) for i, each in enumerate(window.objectives))
    wished: dict[str, tuple[Range, str]] = {}
    for i, weighed in enumerate(row):
        try:
            weighed.given.check(character, length, ground)
            _narrow(wished, weighed, character)
        except InputError as error:
            raise error.within(key=f"objectives.{i}.parameters") from None
    return row


def _narrow(wished: dict[str, tuple[Range, str]], weighed: Weighed, character: Character) -> None:
    """What an objective leaves of the range of each quantity at the window's end; an error where that is nothing."""
    for quantity, (least, most) in weighed.given.ends(character).items():
        (low, high), other = wished.get(quantity, ((-math.inf, math.inf), ""))
        if max(low, least) > min(high, most):
            raise InputError(f"{quantity} {_told(least, most)} contradicts {other!r}, which wants {_told(low, high)}")
        wished[quantity] = (max(low, least), min(high, most)), weighed.name


def _told(least: float, most: float) -> str:
    if least == most:
        return f"{least:g}"
    return " and ".join([f"at least {least:g}"] * (least > -math.inf) + [f"at most {most:g}"] * (most < math.inf))
