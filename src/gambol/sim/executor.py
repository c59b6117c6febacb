"""Where independent jobs run: in this process, in local processes, or on a Ray cluster.

All executors keep the same promises. Results are in job order (or arrive with their index), none lost, none twice. A
job whose worker dies runs again on a fresh one, at most ``attempts`` times in all. A job that raises is not run again:
its exception is raised here, with notes that name the job and show the worker's traceback.
"""

from __future__ import annotations

import pickle
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from types import TracebackType
from typing import NoReturn, Self, TypeVar
from urllib.parse import urlsplit

from gambol.errors import GambolError, InputError, MissingExtraError
from gambol.sim.cores import cores

J = TypeVar("J")
R = TypeVar("R")

ALLOWED = "serial, local, ray, ray://HOST:PORT"


class JobError(GambolError):
    """A job could not be finished: its worker died at every attempt, or raised what cannot be sent back."""

    def __init__(self, index: int, problem: str):
        super().__init__(f"job {index} {problem}")
        self.index, self.problem = index, problem

    def __reduce__(self) -> tuple[type, tuple[int, str]]:
        return type(self), (self.index, self.problem)


@dataclass(frozen=True)
class Raised:
    """An exception on its way back from a worker."""

    error: BaseException | None  # None where it cannot be pickled
    summary: str
    trace: str

    def reraise(self, index: int) -> NoReturn:
        """Raise it here, telling which job it was and where it happened there."""
        error = self.error or JobError(index, f"raised {self.summary}")
        error.add_note(f"in job {index}; the worker's traceback:\n{self.trace}")
        raise error


def attempt(function: Callable[[J], R], job: J) -> R | Raised:
    """Run a job on a worker; whatever it raises is its result."""
    try:
        return function(job)
    except Exception as error:  # a job may raise anything, and all of it belongs to the caller
        summary, trace = "".join(traceback.format_exception_only(error)).strip(), traceback.format_exc()
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:  # nor is there a limit to what pickling an unknown exception may raise
            return Raised(None, summary, trace)
        return Raised(error, summary, trace)


class Executor(ABC):
    """Runs independent jobs. It holds workers until closed; use it as a context manager."""

    workers: int

    @abstractmethod
    def as_completed(self, function: Callable[[J], R], jobs: Sequence[J]) -> Iterator[tuple[int, R]]:
        """Each job's index and result, as they arrive. Leaving the loop early stops what still runs."""

    @abstractmethod
    def close(self) -> None:
        """End the workers; what still runs is stopped."""

    def run(
        self, function: Callable[[J], R], jobs: Sequence[J], *, progress: Callable[[int, int], None] | None = None
    ) -> list[R]:
        """The results in job order; ``progress(done, total)`` is called after each."""
        results: dict[int, R] = {}
        for index, result in self.as_completed(function, jobs):
            results[index] = result
            if progress is not None:
                progress(len(results), len(jobs))
        return [results[index] for index in range(len(jobs))]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class SerialExecutor(Executor):
    """One job after the other in this process; what kills a worker elsewhere kills this process here."""

    workers = 1

    def as_completed(self, function: Callable[[J], R], jobs: Sequence[J]) -> Iterator[tuple[int, R]]:
        """Each job's index and result, in order."""
        for index, job in enumerate(jobs):
            try:
                result = function(job)
            except Exception as error:
                error.add_note(f"in job {index}")
                raise
            yield index, result

    def close(self) -> None:
        """Nothing is held."""


def executor(on: str = "local", *, workers: int | None = None, attempts: int = 3) -> Executor:
    """An executor: ``serial``, ``local`` (processes), ``ray`` (a cluster started here) or ``ray://HOST:PORT``.

    ``workers`` is how many jobs run at once, one for each core unless given; a single local worker runs in this
    process.
    """
    for name, number in (("workers", workers), ("attempts", attempts)):
        if number is not None and number < 1:
            raise InputError(f"is {number}; at least 1 is needed", key=name)
    check_place(on)
    if on.startswith("ray"):
        from gambol.sim.ray import RayExecutor

        return RayExecutor(address=on if "://" in on else None, workers=workers, attempts=attempts)
    if on == "serial" or (on == "local" and (workers or cores()) == 1):
        return SerialExecutor()
    from gambol.sim.local import LocalExecutor

    return LocalExecutor(workers=workers or cores(), attempts=attempts)


def check_place(on: str, key: str = "on") -> None:
    """An error about ``key`` where ``on`` is no place that :func:`executor` knows, or needs what is not installed."""
    if on not in ("serial", "local", "ray") and not (on.startswith("ray://") and _is_address(on)):
        raise InputError(f"cannot run jobs on {on!r}", key=key, hint=f"allowed: {ALLOWED}")
    if on.startswith("ray") and find_spec("ray") is None:
        raise MissingExtraError("Ray", "ray")


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return bool(parts.hostname and parts.port) and not (parts.path or parts.query or parts.username)
    except ValueError:
        return False
