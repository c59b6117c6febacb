"""How many cores this process may use."""

from __future__ import annotations

import os

_limit: int | None = None


def cores() -> int:
    """Cores this process may run on, or its share of them where it is one of several workers."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return usable if _limit is None else min(usable, _limit)


def limit_cores(share: int) -> None:
    """Let this process use at most that many; a worker calls it so that workers do not crowd each other out."""
    global _limit
    _limit = max(1, share)
