"""What solving gives back, and what a method tells while it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, Protocol

from gambol.motion import Motion
from gambol.rotations import Array


class Status(Enum):
    """How a run ended."""

    SUCCESS = "success"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class Report:
    """The outcome in words and numbers. ``advice`` says what to try when it did not succeed."""

    status: Status
    task: str
    method: str
    seed: int
    figures: Mapping[str, Any] = field(default_factory=dict[str, Any])
    sim_seconds: float = 0.0
    wall_seconds: float = 0.0
    advice: str = ""

    @property
    def succeeded(self) -> bool:
        """Whether the wish was fulfilled."""
        return self.status is Status.SUCCESS

    def as_json(self) -> dict[str, Any]:
        """Plain data, as ``gambol solve --json`` prints it."""
        return {
            "status": self.status.value,
            "task": self.task,
            "method": self.method,
            "seed": self.seed,
            "sim_seconds": round(self.sim_seconds, 4),
            "wall_seconds": round(self.wall_seconds, 3),
            "figures": dict(self.figures),
            **({"advice": self.advice} if self.advice else {}),
        }


class Incident(Protocol):
    """The moment at which physics went wrong, in a form that can be kept and played again."""

    def save(self, path: str | Path) -> None:
        """Write it as ``.npz``."""

    def how_to_replay(self, path: str | Path) -> str:
        """A command that plays what was saved there."""
        ...


@dataclass(frozen=True)
class Result:
    """A motion and how it came about; after a failure, the motion so far."""

    motion: Motion
    report: Report
    incident: Incident | None = None
    """What is known about the moment at which the simulation became unstable, if it did."""

    @property
    def succeeded(self) -> bool:
        """Whether the wish was fulfilled."""
        return self.report.succeeded


@dataclass(frozen=True)
class Progress:
    """A moment of a run: how far along (0 to 1), doing what, with which figures."""

    fraction: float
    what: str
    figures: Mapping[str, Any] = field(default_factory=dict[str, Any])


class ProgressListener(Protocol):
    """Anything that wants to know how a run is going."""

    def __call__(self, progress: Progress, /) -> None:
        """Called every now and then while a method runs."""


def silent(progress: Progress, /) -> None:
    """A listener that does not listen."""


class Controller(Protocol):
    """An online method as a thing that drives a simulation: reset it, then ask for controls step by step."""

    def reset(self, state: Array) -> None:
        """Begin anew from a full physics state (nstate,)."""

    def step(self, state: Array) -> Array:
        """The control (nu,) to apply now, given the full physics state (nstate,)."""
        ...
