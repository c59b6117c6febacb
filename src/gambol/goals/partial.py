"""Partial goals over time: some joints at some moments, a sentence, a path, an object to use; the rest is free."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from gambol.goals.model import GoalModel, Name, Seconds, Vec2, Vec3, require_later


class JointGoal(GoalModel):
    """Where a joint or landmark should be, or how it should be turned, at a time."""

    joint: Name
    time: Seconds
    position: Vec3 | None = None
    """Metres, in the world."""
    euler: Vec3 | None = None
    """Degrees about the world's x, y and z axes, applied in that order."""

    @model_validator(mode="after")
    def _wishes_something(self) -> JointGoal:
        if self.position is None and self.euler is None:
            raise ValueError("needs a position, an euler orientation, or both")
        return self


class TextGoal(GoalModel):
    """What the motion should look like, in words."""

    text: Annotated[str, Field(min_length=1, max_length=1000)]
    start: Seconds = 0.0
    end: Seconds | None = None

    @model_validator(mode="after")
    def _takes_time(self) -> TextGoal:
        require_later(self.start, self.end)
        return self


class PathPoint(GoalModel):
    """A point to pass, with the height of the head or pelvis where it matters."""

    time: Seconds
    at: Vec2
    height: Annotated[float, Field(gt=0.0, le=5.0)] | None = None


class Partial(GoalModel):
    """A set of partial goals that hold together."""

    duration: Annotated[float, Field(gt=0.0, le=3600.0)]
    joints: tuple[JointGoal, ...] = ()
    texts: tuple[TextGoal, ...] = ()
    path: tuple[PathPoint, ...] = ()
    use: Name | None = None
    """An object of the scene to interact with."""

    @model_validator(mode="after")
    def _has_goals_in_time(self) -> Partial:
        if not (self.joints or self.texts or self.path or self.use):
            raise ValueError("needs at least one of joints, texts, path, use")
        times = [(f"joints.{i}.time", goal.time) for i, goal in enumerate(self.joints)]
        times += [(f"texts.{i}.start", goal.start) for i, goal in enumerate(self.texts)]
        times += [(f"texts.{i}.end", goal.end) for i, goal in enumerate(self.texts) if goal.end is not None]
        times += [(f"path.{i}.time", point.time) for i, point in enumerate(self.path)]
        for key, time in times:
            if time > self.duration:
                raise ValueError(f"{key} is {time:g} s, after the end at {self.duration:g} s")
        if any(b.time <= a.time for a, b in zip(self.path, self.path[1:], strict=False)):
            raise ValueError("the times along the path must increase")
        return self
