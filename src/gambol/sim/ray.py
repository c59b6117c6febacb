"""Jobs as tasks of a Ray cluster, one started here or one to connect to."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from gambol.errors import InputError, MissingExtraError
from gambol.sim.cores import cores, limit_cores
from gambol.sim.executor import Executor, JobError, Raised, attempt

J = TypeVar("J")
R = TypeVar("R")


class RayExecutor(Executor):
    """Tasks of one core each. On a cluster elsewhere, gambol must be installed on its machines.

    Connects to ``address`` (``ray://HOST:PORT``), or uses the cluster this process is connected to, or starts one with
    ``workers`` cores; only what it opened is closed.
    """

    def __init__(self, *, address: str | None = None, workers: int | None = None, attempts: int = 3):
        try:
            import ray
        except ImportError as error:
            raise MissingExtraError("Ray", "ray") from error
        self._ray: Any = ray
        self._opened = address is not None or not ray.is_initialized()
        if self._opened:
            here = {"num_cpus": workers or cores(), "include_dashboard": False} if address is None else {}
            try:
                ray.init(address=address or "local", log_to_driver=False, logging_level=logging.ERROR, **here)
            except (ConnectionError, RuntimeError, ValueError) as error:
                hint = None if address is None else "a cluster with tokens wants RAY_AUTH_TOKEN set here as it is there"
                raise InputError(f"cannot connect to {address or 'local Ray'}: {error}", key="on", hint=hint) from error
        self.workers = workers or max(1, int(ray.cluster_resources().get("CPU", 1)))
        # Ray runs a task again where its worker died, and does not where the task raised.
        self._task = ray.remote(max_retries=attempts - 1, num_cpus=1)(_attempt_on_one_core)
        self._attempts = attempts

    def as_completed(self, function: Callable[[J], R], jobs: Sequence[J]) -> Iterator[tuple[int, R]]:
        """Each job's index and result, as they arrive."""
        ray = self._ray
        waiting = iter(enumerate(jobs))
        running: dict[Any, int] = {}

        def hand_out() -> None:
            while len(running) < self.workers and (entry := next(waiting, None)) is not None:
                index, job = entry
                try:
                    running[self._task.remote(function, job)] = index
                except TypeError as error:
                    raise InputError(f"job {index} cannot be sent to another process: {error}") from error

        try:
            hand_out()
            while running:
                (reference,), _ = ray.wait(list(running), num_returns=1)
                index = running.pop(reference)
                try:
                    result: Any = ray.get(reference)
                except ray.exceptions.RayTaskError as error:
                    # Not from the function, whose exceptions are results: it or its result could not be unpickled.
                    raise JobError(index, f"could not be run: {error}") from error
                except ray.exceptions.RayError as error:
                    raise JobError(index, f"ended its worker {self._attempts} times: {error}") from error
                if isinstance(result, Raised):
                    result.reraise(index)
                hand_out()
                yield index, result
        finally:
            for reference in running:
                ray.cancel(reference, force=True)

    def close(self) -> None:
        """Disconnect, and end the cluster if it was started here."""
        if self._opened and self._ray.is_initialized():
            self._ray.shutdown()


def _attempt_on_one_core(function: Callable[[J], R], job: J) -> R | Raised:
    limit_cores(1)
    return attempt(function, job)
