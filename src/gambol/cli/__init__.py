"""``gambol <verb>``: a thin layer over the library."""

from __future__ import annotations

import importlib
import io
import sys
from typing import NoReturn

from gambol.cli.interrupting import INTERRUPTED, ending_at_once, leave
from gambol.errors import GambolError, InputError


def main() -> NoReturn:
    """Run the command line; wrong input is one clear message and exit code 2, never a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # a terminal that cannot show a character shows its code instead of ending us
            stream.reconfigure(errors="backslashreplace")
    try:
        with ending_at_once():
            code = _run()
    except KeyboardInterrupt:
        code = INTERRUPTED
    leave(code)


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


def _load_mujoco() -> None:
    """Import MuJoCo, which refuses a MUJOCO_GL that it does not know."""
    try:
        importlib.import_module("mujoco")
    except RuntimeError as error:
        if "MUJOCO_GL" not in str(error):
            raise
        hint = "allowed: egl or osmesa (on Linux), glfw, disable; or leave it unset"
        raise InputError(str(error), key="MUJOCO_GL", hint=hint) from None
