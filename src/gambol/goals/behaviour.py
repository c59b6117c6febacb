"""Behaviours: what should be true at some moment, with nothing said about contacts or how to get there."""

from __future__ import annotations

from itertools import combinations
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from gambol.goals.model import GoalModel, Name, Vec2, Vec3, Weight

POSTURES = ("standing", "handstand")
"""Quantities that are wishes by themselves: no value, no feature."""
_COUNTS = {
    "position": ("Vec2", "Vec3"),
    "height": ("number",),
    "velocity": ("Vec3",),
    "orientation": ("Vec3",),
    "heading": ("number",),
}
_WORDS = {"number": "a number", "Vec2": "two numbers", "Vec3": "three numbers"}


class Wish(GoalModel):
    """A feature of a character or thing that should take a value at a time, or a posture to be in then."""

    of: Name | None = None
    """The character or thing that is meant; the first character unless told otherwise."""
    feature: Name = "com"
    """What is wished about: a landmark or body of the trunk or of an end effector, ``com``, ``heading``. Of things the
    latter two."""
    quantity: Literal["position", "height", "velocity", "orientation", "heading", "standing", "handstand"] = "position"
    value: float | Vec2 | Vec3 | None = None
    """Metres, metres a second, or degrees for orientation and heading; a position of two numbers leaves the height
    open. Postures have none."""
    at: Literal["end"] | Annotated[float, Field(ge=0.0, le=1.0)] = "end"
    """When, as a fraction of the whole duration."""
    weight: Weight = 1.0

    @property
    def what(self) -> str:
        """The quantity, which ``feature: heading`` is by itself."""
        return "heading" if self.feature == "heading" else self.quantity

    @property
    def time(self) -> float:
        """When, as a number."""
        return 1.0 if self.at == "end" else self.at

    @property
    def told(self) -> str:
        """What is wished for, in a few words."""
        numbers = ", ".join(f"{number:g}" for number in self._numbers)
        return self.what if self.what in POSTURES else f"{self.what} {numbers} of {self._subject[0]}"

    def contradicts(self, other: Wish) -> bool:
        """Whether it asks for something else than another wish about the same thing at the same time."""
        if (self.of, self.time) != (other.of, other.time):
            return False
        if self.what in POSTURES and other.what in POSTURES:
            return self.what != other.what
        if self._subject != other._subject:
            return False
        apart = (one - another for one, another in zip(self._numbers, other._numbers, strict=False))
        return any(by % 360.0 if self.what == "heading" else by for by in apart)

    @property
    def _subject(self) -> tuple[str, str]:
        return "com" if self.feature == "heading" else self.feature, self.what

    @property
    def _numbers(self) -> tuple[float, ...]:
        return self.value if isinstance(self.value, tuple) else (self.value or 0.0,)

    @model_validator(mode="after")
    def _fitting_value(self) -> Wish:
        if self.what in POSTURES:
            if self.value is not None or self.feature != "com":
                raise ValueError(f"{self.what} is of the whole body: it takes neither feature nor value")
            return self
        given = f"Vec{len(self.value)}" if isinstance(self.value, tuple) else "number"
        if self.value is None or given not in _COUNTS[self.what]:
            raise ValueError(f"{self.what} wants {' or '.join(_WORDS[kind] for kind in _COUNTS[self.what])} as value")
        return self


class Behaviour(GoalModel):
    """Wishes over a number of contact phases."""

    wishes: Annotated[tuple[Wish, ...], Field(min_length=1, max_length=200)]
    phases: Annotated[int, Field(ge=1, le=100)] | Literal["auto"] = "auto"
    """How many stretches of time there are in which contacts stay as they are."""
    phase_duration: Annotated[float, Field(gt=0.0, le=10.0)] = 0.5
    """Seconds."""
    grabbing: tuple[Name, ...] = ()
    """Patches that hold on instead of only pushing."""
    climbers: tuple[Name, ...] = ()
    """Characters that may step on the trunks of others, and hold on to them."""
    load_share: dict[Name, Annotated[float, Field(ge=0.0, le=1.0)]] = Field(default_factory=dict)
    """Share of the work by character, where several work together; those not named do the rest in equal parts."""

    @field_validator("wishes")
    @classmethod
    def _agreeing(cls, wishes: tuple[Wish, ...]) -> tuple[Wish, ...]:
        for (i, one), (k, other) in combinations(enumerate(wishes), 2):
            if one.contradicts(other):
                raise ValueError(f"{k} ({other.told}) contradicts {i} ({one.told}): both are meant for the same time")
        return wishes
