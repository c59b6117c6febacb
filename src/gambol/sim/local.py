"""Jobs in processes of this machine, each with a pipe of its own, so that the death of one touches no other."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.reduction import ForkingPickler
from typing import Any, TypeVar

from gambol.errors import InputError
from gambol.sim.cores import cores, limit_cores
from gambol.sim.executor import Executor, JobError, Raised, attempt

J = TypeVar("J")
R = TypeVar("R")


class LocalExecutor(Executor):
    """Spawned worker processes, started when first needed and kept between runs."""

    def __init__(self, *, workers: int, attempts: int = 3):
        self.workers, self.attempts = workers, attempts
        self._idle: list[_Worker] = []
        self._busy: dict[Any, _Worker] = {}

    def as_completed(self, function: Callable[[J], R], jobs: Sequence[J]) -> Iterator[tuple[int, R]]:
        """Each job's index and result, as they arrive."""
        if self._busy:
            raise InputError("the executor is already running jobs", hint="finish that loop first, or make another one")
        waiting = deque(range(len(jobs)))
        deaths = [0] * len(jobs)
        try:
            self._hand_out(waiting, function, jobs)
            while self._busy:
                for connection in wait(list(self._busy)):
                    worker = self._busy.pop(connection)
                    index = worker.job
                    try:
                        reply = worker.connection.recv_bytes()
                    except (EOFError, OSError):
                        deaths[index] += 1
                        how = worker.stop()
                        if deaths[index] == self.attempts:
                            raise JobError(index, f"ended its worker {deaths[index]} times, at last {how}") from None
                        waiting.appendleft(index)
                        self._hand_out(waiting, function, jobs)
                        continue
                    self._idle.append(worker)
                    result: Any = pickle.loads(reply)
                    if isinstance(result, Raised):
                        result.reraise(index)
                    # The next job goes out first, so that the worker is busy while the caller looks at this result.
                    self._hand_out(waiting, function, jobs)
                    yield index, result
        finally:
            # Something is still busy only after an error, an interrupt or an abandoned loop.
            for worker in self._busy.values():
                worker.stop()
            self._busy.clear()

    def close(self) -> None:
        """End all workers."""
        for worker in (*self._idle, *self._busy.values()):
            worker.stop()
        self._idle.clear()
        self._busy.clear()

    def _hand_out(self, waiting: deque[int], function: Callable[[J], R], jobs: Sequence[J]) -> None:
        """Give waiting jobs to workers that have none."""
        free = min(len(waiting), self.workers - len(self._busy))
        for worker in [worker for worker in self._idle if not worker.is_alive()]:
            worker.stop()
            self._idle.remove(worker)
        # All of them are started before any is given work, so that they start at the same time.
        self._idle += [_Worker(self.workers) for _ in range(free - len(self._idle))]
        for _ in range(free):
            index = waiting.popleft()
            message = _pickled_job(function, jobs[index], index)
            worker = self._idle.pop()
            self._busy[worker.connection] = worker
            worker.begin(index, message)


class _Worker:
    """A process and this side of its pipe."""

    def __init__(self, workers: int):
        context = multiprocessing.get_context("spawn")
        self.job = -1
        self.connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, max(1, cores() // workers)), daemon=True)
        with _interrupts_held():
            self._process.start()
        theirs.close()

    def is_alive(self) -> bool:
        return self._process.is_alive()

    def begin(self, job: int, message: bytes) -> None:
        self.job = job
        # A worker that died meanwhile is noticed, like any other death, when its reply is awaited.
        with contextlib.suppress(OSError):
            self.connection.send_bytes(message)

    def stop(self) -> str:
        """End the process, whatever it does, and say how it ended."""
        self.connection.close()
        self._process.kill()
        self._process.join()
        code = self._process.exitcode or 0
        self._process.close()
        return f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"


def _serve(connection: Connection, share_of_cores: int) -> None:
    """The life of a worker: jobs in, replies out, until the pipe closes or the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what Ctrl-C stops
    threading.Thread(target=_die_with_parent, daemon=True).start()
    limit_cores(share_of_cores)
    while True:
        try:
            message = connection.recv_bytes()
        except (EOFError, OSError):
            return
        reply = attempt(_answer, message)
        with contextlib.suppress(OSError):
            connection.send_bytes(ForkingPickler.dumps(reply) if isinstance(reply, Raised) else reply)


def _answer(message: bytes) -> bytes:
    # Pickling happens inside the attempt: what cannot be read or sent back is an error of the job.
    function, job = pickle.loads(message)
    return bytes(ForkingPickler.dumps(function(job)))


def _die_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _pickled_job(function: Callable[[J], R], job: J, index: int) -> bytes:
    try:
        return bytes(ForkingPickler.dumps((function, job)))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise InputError(
            f"job {index} cannot be sent to another process: {error}",
            hint="functions must be importable (no lambdas, no inner functions) and jobs plain data",
        ) from error


@contextlib.contextmanager
def _interrupts_held() -> Iterator[None]:
    """Start a process with Ctrl-C held back, so that one in its first moments does not spill a traceback."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # it would let interrupts through again when it starts
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
