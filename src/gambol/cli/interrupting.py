"""Ctrl-C while a method runs: what runs may take a while to end, but it is said at once."""

from __future__ import annotations

import contextlib
import signal
import socket
import threading
from collections.abc import Iterator

from gambol.cli.output import tell


@contextlib.contextmanager
def interruption_told() -> Iterator[None]:
    """Say that Ctrl-C was heard, even while compiled code keeps Python from handling it."""
    heard, sent = socket.socketpair()
    sent.setblocking(False)
    before = signal.set_wakeup_fd(sent.fileno())
    threading.Thread(target=_tell_once, args=(heard,), daemon=True).start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        sent.close()


def _tell_once(heard: socket.socket) -> None:
    with heard:
        while numbers := heard.recv(1):
            if numbers[0] == signal.SIGINT:
                tell("interrupted, the run is being ended")
                return
