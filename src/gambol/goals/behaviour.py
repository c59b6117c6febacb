"""Behaviours: what should be true at some moment, with nothing said about contacts or how to get there."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from gambol.goals.model import GoalModel, Name, Vec3, Weight


class Wish(GoalModel):
    """A feature of the character or of an object that should take a value at a time."""

    feature: Name
    """What is wished about: a landmark, a body, an object, ``com``, ``heading`` …"""
    quantity: Literal["position", "height", "velocity", "orientation", "heading"] = "position"
    value: float | Vec3
    """Metres, metres a second, or degrees for orientation and heading."""
    at: Literal["end"] | Annotated[float, Field(ge=0.0, le=1.0)] = "end"
    """When, as a fraction of the whole duration."""
    weight: Weight = 1.0


class Behaviour(GoalModel):
    """Wishes over a number of contact phases."""

    wishes: Annotated[tuple[Wish, ...], Field(min_length=1, max_length=200)]
    phases: Annotated[int, Field(ge=1, le=100)] | Literal["auto"] = "auto"
    """How many times contacts may change."""
    phase_duration: Annotated[float, Field(gt=0.0, le=10.0)] = 0.5
    """Seconds."""
    grabbing: tuple[Name, ...] = ()
    """End effectors that hold on instead of only pushing."""
    load_share: dict[Name, Annotated[float, Field(ge=0.0, le=1.0)]] = Field(default_factory=dict)
    """Share of the work by character, where several work together."""
