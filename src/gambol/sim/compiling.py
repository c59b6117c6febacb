"""The kernels of some work on a Warp device, compiled side by side before the first of them is needed.

Warp compiles a kernel when it is launched for the first time, one after the other, which takes minutes for the hundred
kernels of a step. Here the work is gone through once with launches that only note what they would start; what they
noted is then compiled on all cores.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from gambol.sim.cores import cores


def compile_ahead(wp: Any, device: Any, work: Callable[[], None]) -> int:
    """Compile what ``work`` launches on the device; returns how many modules that are. The work itself is not done."""
    wanted = _launched(wp, work)
    with ThreadPoolExecutor(cores()) as pool:
        for compiled in [
            pool.submit(wp.load_module, module, device=device, block_dim=block, max_workers=0)
            for module, block in wanted
        ]:
            compiled.result()
    return len(wanted)


def _launched(wp: Any, work: Callable[[], None]) -> list[tuple[Any, int | None]]:
    """The modules whose kernels the work launches, each with its block size, in order."""
    noted: dict[tuple[Any, int | None], None] = {}

    def note(kernel: Any, dim: Any, *_: Any, block_dim: int | None = None, **__: Any) -> None:
        # which form of a generic kernel is wanted shows only in a real launch, and one of no threads needs no kernel
        if not kernel.is_generic and np.all(dim):
            noted[kernel.module, block_dim] = None

    def once(_: Any, while_body: Callable[..., None], stream: Any = None, **given: Any) -> None:
        while_body(**given)

    def both(_: Any, on_true: Any = None, on_false: Any = None, stream: Any = None, **given: Any) -> None:
        for branch in (on_true, on_false):
            if branch is not None:
                branch(**given)

    with _replaced(wp, launch=note, launch_tiled=note, capture_while=once, capture_if=both):
        work()
    return list(noted)


@contextlib.contextmanager
def _replaced(owner: Any, **functions: Callable[..., None]) -> Iterator[None]:
    """Other functions in this thread; other threads go on with their own work."""
    here, kept = threading.get_ident(), {name: getattr(owner, name) for name in functions}

    def by_thread(ours: Callable[..., Any], theirs: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            return (ours if threading.get_ident() == here else theirs)(*given, **named)

        return call

    try:
        for name, function in functions.items():
            setattr(owner, name, by_thread(function, kept[name]))
        yield
    finally:
        for name, function in kept.items():
            setattr(owner, name, function)
