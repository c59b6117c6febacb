"""MuJoCo prints its warnings and writes them to a file; code that counts them needs neither."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

import mujoco

_lock = threading.Lock()
_users: list[mujoco.MjLogConfig] = []


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep MuJoCo from printing and logging its warnings, for those who look at their counters."""
    with _lock:
        _users.append(mujoco.MjLogConfig.get())
        silent = mujoco.MjLogConfig.get()
        silent.logto_console = silent.logto_file = False
        mujoco.MjLogConfig.set(silent)
    try:
        yield
    finally:
        with _lock:
            # The setting is one for all threads: what the first user found is put back when the last one leaves.
            found = _users.pop()
            if not _users:
                mujoco.MjLogConfig.set(found)
