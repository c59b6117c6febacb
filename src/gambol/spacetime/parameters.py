"""What an objective must be told: heights, points, joints, directions; and what of it is wrong for a body.

Left and right can be exchanged in each.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Annotated, ClassVar, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from gambol.characters import Character
from gambol.characters.blueprint import mirror_name, mirror_position
from gambol.errors import InputError, unknown_name
from gambol.rotations import Array
from gambol.spacetime.observing import AXES, place_of

Height = Annotated[float, Field(ge=-10.0, le=10.0)]
Metres = Annotated[float, Field(ge=-100.0, le=100.0)]
AngularMomentum = Annotated[float, Field(ge=-1e5, le=1e5)]
Points = Annotated[tuple[str, ...], Field(min_length=1, max_length=50)]
Range = tuple[float, float]


def _refuse_above(height: float, most: float, key: str, why: str) -> None:
    if height > most:
        raise InputError(f"{height:g} m cannot be reached: {why}", key=key, hint=f"at most {most:.2f} m")


def _refuse_below(height: float, least: float, key: str) -> None:
    if height < least:
        raise InputError(f"{height:g} m is in the ground", key=key, hint=f"at least {least:.2f} m")


def _height_of(point: str) -> str:
    return f"height of {point}"


def _range(least: float | None, most: float | None) -> Range:
    return (-math.inf if least is None else least), (math.inf if most is None else most)


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

    def ends(self, character: Character) -> Mapping[str, Range]:
        """Within what a quantity should be at the window's end; two objectives that leave nothing contradict."""
        return {}

    def check(self, character: Character, length: float, ground: Range) -> None:
        """An error where it names what this character has not, or asks for what it cannot do.

        The character is of a length; the heights are those of the lowest ground and of the highest thing to stand on.
        """
        for point in self.named:
            place_of(character, point)


class Nothing(Parameters):
    """An objective without parameters."""


class Level(Parameters):
    """A height for the centre of mass, and how far off it may be at no cost."""

    height: Height
    within: Annotated[float, Field(ge=0.0, le=10.0)] = 0.0

    def ends(self, character: Character) -> Mapping[str, Range]:
        """A height of the centre of mass."""
        return {_height_of("com"): (self.height - self.within, self.height + self.within)}

    def check(self, character: Character, length: float, ground: Range) -> None:
        """No jump is as high as a second body on top of the first."""
        _refuse_above(self.height - self.within, ground[1] + 2 * length, "height", "no jump gets as high")
        _refuse_below(self.height + self.within, ground[0], "height")


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


class Grounded(At):
    """Some points that should be on the ground plane."""

    def ends(self, character: Character) -> Mapping[str, Range]:
        """A height of each point."""
        return dict.fromkeys(map(_height_of, self.points), (0.0, 0.0))


class Plumbed(At):
    """Some points that should be over or under the centre of mass."""

    @field_validator("points")
    @classmethod
    def _beside_the_body(cls, points: Points) -> Points:
        if "com" in points:
            raise ValueError("the centre of mass is always under itself: name points of the body")
        return points


class Balance(At):
    """A height for the centre of mass over the middle of the points that carry it."""

    points: Points = ("left_foot", "right_foot")
    height: Height

    def ends(self, character: Character) -> Mapping[str, Range]:
        """A height of the centre of mass."""
        return {_height_of("com"): (self.height, self.height)}

    def check(self, character: Character, length: float, ground: Range) -> None:
        """Even with the arms up, the centre of mass lies well below the top of a stretched body."""
        super().check(character, length, ground)
        _refuse_above(self.height, ground[1] + 0.7 * length, "height", "the body is not as tall")
        _refuse_below(self.height, ground[0], "height")


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

    def ends(self, character: Character) -> Mapping[str, Range]:
        """A height of each point."""
        return dict.fromkeys(map(_height_of, self.points), _range(self.above, self.below))

    def check(self, character: Character, length: float, ground: Range) -> None:
        """Not even what is on top of a second body gets higher."""
        super().check(character, length, ground)
        if self.above is not None:
            _refuse_above(self.above, ground[1] + 2 * length, "above", "no jump gets as high")
        if self.below is not None:
            _refuse_below(self.below, ground[0], "below")


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

    def check(self, character: Character, length: float, ground: Range) -> None:
        """Every part of a name is in some name."""
        for wish in self.joints:
            if not any(wish in name for name in character.actuators):
                raise unknown_name(f"driven joint of {character.name!r}", wish, character.actuators, key="joints")

    def ends(self, character: Character) -> Mapping[str, Range]:
        """An angle of each joint."""
        meant, angles = self.wished(character)
        degrees = np.round(np.degrees(angles), 6).tolist()
        names = [character.actuators[each] for each in meant]
        return {f"angle of {name}": (angle, angle) for name, angle in zip(names, degrees, strict=True)}

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


def _way(metres: Iterable[float]) -> dict[str, Range]:
    """A way to have gone along each axis."""
    return {f"metres to go along {axis}": (by, by) for axis, by in zip("xyz", metres, strict=False)}


class Still(Nothing):
    """The centre of mass should end where it began, on the ground plane."""

    def ends(self, character: Character) -> Mapping[str, Range]:
        """No way at all."""
        return _way((0.0, 0.0))


class Step(Parameters):
    """How far the centre of mass should get during the window."""

    by: tuple[Metres, Metres, Metres]

    def ends(self, character: Character) -> Mapping[str, Range]:
        """A way to have gone along each axis."""
        return _way(self.by)

    def mirrored(self) -> Self:
        """Left and right exchanged."""
        return self.model_copy(update={"by": mirror_position(self.by)})


class Heading(Parameters):
    """Where the pelvis should face, degrees counter-clockwise from the x axis."""

    degrees: Annotated[float, Field(ge=-3600.0, le=3600.0)]

    def ends(self, character: Character) -> Mapping[str, Range]:
        """A direction, whole turns aside."""
        return {"heading": (self.degrees % 360.0, self.degrees % 360.0)}

    def mirrored(self) -> Self:
        """Left and right exchanged."""
        return self.model_copy(update={"degrees": -self.degrees})


class About(Parameters):
    """An axis as the character faces at the window's start (forward, left, up)."""

    axis: str = "up"

    def check(self, character: Character, length: float, ground: Range) -> None:
        """There are three axes."""
        if self.axis not in AXES:
            raise unknown_name("axis", self.axis, AXES, key="axis")

    @property
    def lateral(self) -> bool:
        """Whether turns about it are somersaults, which stay what they are when left and right are exchanged."""
        return self.axis == "left"

    @property
    def _quantity(self) -> str:
        return f"momentum about {self.axis}"


class Spin(About):
    """The momentum that counts."""

    least: AngularMomentum | None = None
    most: AngularMomentum | None = None

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.least is not None and self.most is not None and self.least >= self.most:
            raise ValueError(f"nothing lies between least {self.least:g} and most {self.most:g}")
        return self

    @property
    def counted(self) -> Range:
        """Least and most that counts; infinite where nothing is said."""
        return _range(self.least, self.most)

    def ends(self, character: Character) -> Mapping[str, Range]:
        """A momentum."""
        return {self._quantity: self.counted}

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

    def ends(self, character: Character) -> Mapping[str, Range]:
        """A momentum."""
        return {self._quantity: (self.value, self.value)}

    def mirrored(self) -> Self:
        """Left and right exchanged."""
        return self if self.lateral else self.model_copy(update={"value": -self.value})
