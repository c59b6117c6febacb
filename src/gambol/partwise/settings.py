"""Settings of the sampling planner."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gambol.validation import explained


class Settings(BaseModel):
    """How sampling MPC plans; the same fields serve Python, task files and ``--set``."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    rollouts: Annotated[int, Field(ge=2, le=100_000)] = 45
    """Candidates tried in each plan, the unperturbed and the recombined ones included."""
    horizon: Annotated[float, Field(gt=0.0, le=5.0)] = 0.35
    """Seconds looked ahead."""
    knots: Annotated[int, Field(ge=1, le=50)] = 3
    """Knots of the control splines."""
    noise: Annotated[float, Field(gt=0.0, le=2.0)] = 0.15
    """Standard deviation of the knots' noise, as a share of half the control range."""
    spread: Annotated[float, Field(ge=1.0, le=100.0)] = 2.0
    """The noise of the candidates ranges from this much narrower to this much wider; 1: all alike, as published."""
    focus: Annotated[float, Field(gt=0.0, le=1.0)] = 0.5
    """Share of the actuators that a candidate varies, drawn anew for each; 1: all, as published."""
    strides: tuple[Annotated[float, Field(gt=0.0, le=100.0)], ...] = (2.0, 4.0)
    """Candidates that go on where the better half of the last round went, this many times as far; (): none."""
    smoothing: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.3
    """Share of the last plan that is mixed into the best candidate: calmer controls, slower answers; 0 as published."""
    own_joints: bool = True
    """Each part is chosen by the velocities and controls of its own joints; otherwise by those of all joints."""
    planning_step: Annotated[float, Field(ge=0.001, le=0.05)] = 0.015
    """Seconds of a physics step while planning."""
    replan_every: Annotated[int, Field(ge=1, le=1000)] = 2
    """Simulation steps between plans."""
    rounds: Annotated[int, Field(ge=1, le=100)] = 1
    """Plans made each time, one upon the other."""
    threads: Annotated[int, Field(ge=1, le=1024)] | None = None
    """Threads for rollouts; all cores by default. The motion does not depend on it."""


def checked_settings(given: Mapping[str, Any], file: str | None = None) -> Settings:
    """Settings from plain data; an error that names the wrong key."""
    try:
        return Settings(**given)
    except ValidationError as error:
        raise explained(error, Settings, file=file, key="settings") from None
