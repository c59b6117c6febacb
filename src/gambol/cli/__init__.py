"""``gambol <verb>``: a thin layer over the library."""

from __future__ import annotations

import importlib
import io
import os
import signal
import sys
import threading
import traceback
from types import FrameType
from typing import NoReturn

from gambol.errors import GambolError, InputError

_INTERRUPTED = 130
_heard = threading.Event()
"""Whether there was a Ctrl-C."""


def main() -> NoReturn:
    """Run the command line; wrong input is one clear message and exit code 2, never a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # a terminal that cannot show a character shows its code instead of ending us
            stream.reconfigure(errors="backslashreplace")
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)
    try:
        code = _run()
    except KeyboardInterrupt:
        code = _INTERRUPTED
    finally:
        signal.signal(signal.SIGINT, before)
    if _heard.is_set():
        _end(code)
    sys.exit(code)


def _run() -> int:
    """The exit code of the command; its modules are loaded here, lest an error of theirs be a traceback."""
    try:
        _load_mujoco()
        from gambol.cli.app import app

        return app(prog_name="gambol")
    except SystemExit as ended:
        return int(ended.code or 0)
    except GambolError as error:
        from gambol.cli.output import complain

        complain(str(error))
        return 2


def _interrupt(_signal: int, frame: FrameType | None) -> NoReturn:
    """Ctrl-C. While a module is loaded it ends the process: modules written in C do not survive a KeyboardInterrupt."""
    _heard.set()
    if any(each.f_code.co_filename.startswith("<frozen importlib") for each, _ in traceback.walk_stack(frame)):
        _end(_INTERRUPTED)
    raise KeyboardInterrupt


def _end(code: int) -> NoReturn:
    """End the process after Ctrl-C there and then: a compiler that still runs would hold it up, and then crash."""
    if code == _INTERRUPTED:
        sys.stderr.write("interrupted\n")
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


def _load_mujoco() -> None:
    """Import MuJoCo, which refuses a MUJOCO_GL that it does not know."""
    try:
        importlib.import_module("mujoco")
    except RuntimeError as error:
        if "MUJOCO_GL" not in str(error):
            raise
        hint = "allowed: egl or osmesa (on Linux), glfw, disable; or leave it unset"
        raise InputError(str(error), key="MUJOCO_GL", hint=hint) from None
