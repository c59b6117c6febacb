"""Ctrl-C: it is heard while modules load, said at once while a method runs, and ends the process in the end.

Nothing heavy is imported here, since this is what comes first.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from types import FrameType
from typing import NoReturn

INTERRUPTED = 130
"""The exit code."""
_heard = threading.Event()
"""Whether there was a Ctrl-C."""


@contextlib.contextmanager
def ending_at_once() -> Iterator[None]:
    """Handle Ctrl-C in here such that no module that is being loaded makes another error of it."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def leave(code: int) -> NoReturn:
    """End the process; after Ctrl-C there and then, since a compiler that still runs would hold it up, and crash."""
    if not _heard.is_set():
        sys.exit(code)
    if code == INTERRUPTED:
        sys.stderr.write("interrupted\n")
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


def _interrupt(_signal: int, frame: FrameType | None) -> NoReturn:
    """While a module is loaded, end the process: modules written in C do not survive a KeyboardInterrupt."""
    _heard.set()
    if any(each.f_code.co_filename.startswith("<frozen importlib") for each, _ in traceback.walk_stack(frame)):
        leave(INTERRUPTED)
    raise KeyboardInterrupt


@contextlib.contextmanager
def interruption_told(tell: Callable[[str], None]) -> Iterator[None]:
    """Say that Ctrl-C was heard, even while compiled code keeps Python from handling it."""
    heard, sent = socket.socketpair()
    sent.setblocking(False)
    before = signal.set_wakeup_fd(sent.fileno())
    threading.Thread(target=_tell_once, args=(heard, tell), daemon=True).start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        sent.close()


def _tell_once(heard: socket.socket, tell: Callable[[str], None]) -> None:
    with heard:
        while numbers := heard.recv(1):
            if numbers[0] == signal.SIGINT:
                tell("interrupted, the run is being ended")
                return
