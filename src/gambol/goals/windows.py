"""Spacetime windows: short stretches of time, each with the objectives that should hold at its end or throughout."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from gambol.goals.model import GoalModel, Name, Weight


class Objective(GoalModel):
    """One weighted term of a window, by the name the spacetime method knows it under."""

    term: Name
    weight: Weight = 1.0
    when: Literal["end", "throughout"] = "end"
    parameters: dict[str, Any] = Field(default_factory=dict)
    """What the term needs to know: a target height, a threshold, a point's name. Checked by the method."""


class Window(GoalModel):
    """A stretch of time with its objectives."""

    name: Name = "window"
    duration: Annotated[float, Field(gt=0.0, le=10.0)] = 0.5
    """Seconds."""
    symmetric: Literal[False, True, "strictly"] = False
    """Limbs of both sides move alike; strictly: and the trunk neither bends nor turns to a side."""
    coupled_arms: bool = False
    """Arms swing with the legs."""
    mirror: bool = False
    """What the objectives say, with left and right exchanged."""
    objectives: Annotated[tuple[Objective, ...], Field(min_length=1, max_length=100)]

    @model_validator(mode="after")
    def _arms_swing(self) -> Self:
        if self.symmetric and self.coupled_arms:
            raise ValueError("symmetric and coupled_arms exclude each other: arms that swing with the legs alternate")
        return self

    def mirrored(self) -> Window:
        """Left and right exchanged."""
        return self.model_copy(update={"mirror": not self.mirror})

    def in_file(self) -> dict[str, Any]:
        """Plain data as a person would write it."""
        plain = self.model_dump(mode="json", exclude_defaults=True, exclude={"objectives"})
        return {
            **plain,
            "objectives": [each.model_dump(mode="json", exclude_defaults=True) for each in self.objectives],
        }
