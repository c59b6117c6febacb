"""What a metric is: a small function with a unit and a word on what is good."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gambol.errors import GambolError
from gambol.motion.metrics.subject import Subject
from gambol.rotations import Array


class CannotMeasureError(GambolError):
    """What a metric needs is not there; the message says what."""


class DidNotHappenError(CannotMeasureError):
    """What a metric speaks of is not in this motion, and may be in another of the same scene."""


@dataclass(frozen=True)
class Reading:
    """What a measure found: one number, and where it makes sense its course over the frames."""

    value: float
    curve: Array | None = None
    """(T,) in the same unit; NaN at frames about which nothing can be said."""


@dataclass(frozen=True)
class Metric:
    """The answer of one measure about one motion."""

    name: str
    value: float | None
    """None where it cannot be measured; ``reason`` then says why."""
    unit: str
    good: str
    """Which values are good."""
    what: str
    """What exactly was measured."""
    curve: Array | None = None
    reason: str | None = None


@dataclass(frozen=True)
class Measure:
    """A named way to measure a character in motion."""

    name: str
    unit: str
    good: str
    what: str
    read: Callable[[Subject], Reading]

    def __call__(self, subject: Subject) -> Metric:
        """Measure, or say why that is not possible."""
        try:
            reading, reason = self.read(subject), None
        except CannotMeasureError as error:
            return Metric(self.name, None, self.unit, self.good, self.what, reason=str(error))
        return Metric(self.name, float(reading.value), self.unit, self.good, self.what, reading.curve, reason)


def measures(unit: str, good: str) -> Callable[[Callable[[Subject], Reading]], Measure]:
    """Make a measure of a function; its docstring says what it measures."""

    def made(read: Callable[[Subject], Reading]) -> Measure:
        return Measure(read.__name__, unit, good, inspect.cleandoc(read.__doc__ or ""), read)

    return made


def largest(curve: Array) -> Reading:
    """The worst frame."""
    return Reading(float(np.nanmax(curve)), curve)


def mean(curve: Array) -> Reading:
    """The mean over the frames."""
    return Reading(float(np.nanmean(curve)), curve)


def require_frames(subject: Subject, count: int, what: str) -> None:
    """An error unless the motion has so many frames."""
    if len(subject.motion) < count:
        raise CannotMeasureError(f"{what} needs at least {count} frames, this motion has {len(subject.motion)}")
