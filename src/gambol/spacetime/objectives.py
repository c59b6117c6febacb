"""The objectives of a window, each a small function with its equation's number (Sections 4 to 8).

Pure functions of arrays over (motions N, steps T) that give a number at each moment; a window takes the last of them or
their mean. The mean stands where the paper sums, so that weights do not depend on the time step. Torques count in units
of 100 N m, angular momentum in N m s.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from gambol.characters import Character
from gambol.characters.blueprint import mirror_name, mirror_position
from gambol.errors import InputError, unknown_name
from gambol.goals import Objective
from gambol.rotations import Array, namespace
from gambol.spacetime.observing import AXES, View, place_of
from gambol.validation import explained

TORQUE_UNIT = 100.0
Height = Annotated[float, Field(ge=-10.0, le=10.0)]
Metres = Annotated[float, Field(ge=-100.0, le=100.0)]
AngularMomentum = Annotated[float, Field(ge=-1e5, le=1e5)]
Points = Annotated[tuple[str, ...], Field(min_length=1, max_length=50)]


def _refuse_above(height: float, most: float, key: str, why: str) -> None:
    if height > most:
        raise InputError(f"{height:g} m cannot be reached: {why}", key=key, hint=f"at most {most:.2f} m")


class Parameters(BaseModel):
    """What an objective needs to know; each objective has its own."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @property
    def named(self) -> tuple[str, ...]:
        """The points it looks at."""
        return ()

    def mirrored(self) -> Self:
        """Left and right exchanged."""
        return self

    def check(self, character: Character, length: float, ground: float) -> None:
        """An error where it names what this character has not, or asks for what it cannot do.

        The character is of a length, on a ground of a height.
        """
        for point in self.named:
            place_of(character, point)


class Nothing(Parameters):
    """An objective without parameters."""


class Level(Parameters):
    """A height for the centre of mass, and how far off it may be at no cost."""

    height: Height
    within: Annotated[float, Field(ge=0.0, le=10.0)] = 0.0

    def check(self, character: Character, length: float, ground: float) -> None:
        """No jump is as high as a second body on top of the first."""
        _refuse_above(self.height - self.within, ground + 2 * length, "height", "no jump gets as high")


class At(Parameters):
    """Some points."""

    points: Points

    @property
    def named(self) -> tuple[str, ...]:
        """The points it looks at."""
        return self.points

    def mirrored(self) -> Self:
        """Left and right exchanged."""
        return self.model_copy(update={"points": tuple(map(mirror_name, self.points))})


class Balance(At):
    """A height for the centre of mass over the middle of the points that carry it."""

    points: Points = ("left_foot", "right_foot")
    height: Height

    def check(self, character: Character, length: float, ground: float) -> None:
        """Even with the arms up, the centre of mass lies well below the top of a stretched body."""
        super().check(character, length, ground)
        _refuse_above(self.height, ground + 0.7 * length, "height", "the body is not as tall")


class Threshold(At):
    """Some points and a height they should not be under, or over."""

    above: Height | None = None
    below: Height | None = None

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.above is None and self.below is None:
            raise ValueError("needs above, below or both")
        if self.above is not None and self.below is not None and self.above >= self.below:
            raise ValueError(f"above {self.above:g} and below {self.below:g} cannot both hold")
        return self

    def check(self, character: Character, length: float, ground: float) -> None:
        """Not even what is on top of a second body gets higher."""
        super().check(character, length, ground)
        if self.above is not None:
            _refuse_above(self.above, ground + 2 * length, "above", "no jump gets as high")


class Joints(Parameters):
    """Joints by a part of their names, and the angle each should have."""

    joints: Annotated[tuple[str, ...], Field(min_length=1)] = ("lumbar", "thorax", "shoulder", "elbow")
    angle: Annotated[float, Field(ge=-360.0, le=360.0)] = 0.0
    """Degrees."""
    other_side: ClassVar[bool] = False
    """Whether the joints on the other side of the body are meant."""

    def mirrored(self) -> Joints:
        """Left and right exchanged."""
        return OtherJoints(**self.model_dump())

    def check(self, character: Character, length: float, ground: float) -> None:
        """Every part of a name is in some name."""
        for wish in self.joints:
            if not any(wish in name for name in character.actuators):
                raise unknown_name(f"driven joint of {character.name!r}", wish, character.actuators, key="joints")

    def wished(self, character: Character) -> tuple[list[int], Array]:
        """Which of the character's actuators are meant, and the angle in radians of each."""
        meant = np.array([any(wish in name for wish in self.joints) for name in character.actuators])
        angles = np.full(len(meant), np.radians(self.angle))
        if self.other_side:
            meant, angles = meant[character.symmetry.ctrl_index], character.symmetry.ctrl(angles)
        return np.flatnonzero(meant).tolist(), angles[meant]


class OtherJoints(Joints):
    """The joints on the other side of the body."""

    other_side: ClassVar[bool] = True


class Step(Parameters):
    """How far the centre of mass should get during the window."""

    by: tuple[Metres, Metres, Metres]

    def mirrored(self) -> Self:
        """Left and right exchanged."""
        return self.model_copy(update={"by": mirror_position(self.by)})


class Heading(Parameters):
    """Where the pelvis should face, degrees counter-clockwise from the x axis."""

    degrees: Annotated[float, Field(ge=-3600.0, le=3600.0)]

    def mirrored(self) -> Self:
        """Left and right exchanged."""
        return self.model_copy(update={"degrees": -self.degrees})


class About(Parameters):
    """An axis as the character faces at the window's start (forward, left, up)."""

    axis: str = "up"

    @property
    def lateral(self) -> bool:
        """Whether turns about it are somersaults, which stay what they are when left and right are exchanged."""
        return self.axis == "left"


class Spin(About):
    """The momentum that counts."""

    least: AngularMomentum | None = None
    most: AngularMomentum | None = None

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.least is not None and self.most is not None and self.least >= self.most:
            raise ValueError(f"nothing lies between least {self.least:g} and most {self.most:g}")
        return self

    def mirrored(self) -> Self:
        """Left and right exchanged."""
        if self.lateral:
            return self
        return self.model_copy(update={"least": _negative(self.most), "most": _negative(self.least)})


def _negative(value: float | None) -> float | None:
    return None if value is None else -value


class Momentum(About):
    """A momentum to have."""

    value: AngularMomentum

    def mirrored(self) -> Self:
        """Left and right exchanged."""
        return self if self.lateral else self.model_copy(update={"value": -self.value})


def balance(view: View, given: Balance) -> Array:
    """The centre of mass at a height over the middle of the feet (equation 5)."""
    feet = sum(view.position(foot)[..., :2] for foot in given.points) / len(given.points)
    com = view.position("com")
    return ((com[..., :2] - feet) ** 2).sum(-1) + (com[..., 2] - given.height) ** 2


def com_height(view: View, given: Level) -> Array:
    """The centre of mass at a height (equations 10, 31), free of cost within a threshold (28, 29)."""
    off = view.height("com") - given.height
    return off**2 * (abs(off) > given.within)


def ground(view: View, given: At) -> Array:
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


def stay(view: View, _: Nothing) -> Array:
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
    least, most = (-np.inf if given.least is None else given.least), (np.inf if given.most is None else given.most)
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
    "com_height": Term(com_height, Level),
    "ground": Term(ground, At),
    "torque": Term(torque, Nothing),
    "rest_pose": Term(rest_pose, Joints),
    "step": Term(step, Step),
    "heading": Term(heading, Heading),
    "hold": Term(hold, At),
    "stay": Term(stay, Nothing),
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
            raise explained(error, known=term.parameters.model_fields).within(key=f"{key}.parameters") from None
        if isinstance(given, About) and given.axis not in AXES:
            raise unknown_name("axis", given.axis, AXES, key=f"{key}.parameters.axis")
        given = given.mirrored() if mirror else given
        return Weighed(objective.term, term, given, objective.weight, objective.when == "end")

    def cost(self, view: View) -> Array:
        """Weighted cost (N,) of a window."""
        moments = self.term.at_each_moment(view, self.given)
        return self.weight * (moments[:, -1] if self.at_end else moments.mean(-1))
