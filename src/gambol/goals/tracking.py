"""Tracking: follow a given motion, whatever the ground does and whoever pushes."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from gambol.goals.model import GoalModel, Name, Seconds, Vec3, require_later


class Push(GoalModel):
    """A force on a body for a while."""

    time: Seconds
    force: Vec3
    """Newtons, in the world's axes."""
    duration: Annotated[float, Field(gt=0.0, le=10.0)] = 0.2
    body: Name = "pelvis"


class Track(GoalModel):
    """The motion to follow and what may happen meanwhile."""

    motion: Name
    """A motion file; relative names count from the task file's folder."""
    start: Seconds = 0.0
    end: Seconds | None = None
    pushes: tuple[Push, ...] = ()

    @model_validator(mode="after")
    def _takes_time(self) -> Track:
        require_later(self.start, self.end)
        return self
