"""``gambol <verb>``: a thin layer over the library."""

from __future__ import annotations

import io
import sys

from gambol.errors import GambolError


def main() -> None:
    """Run the command line; wrong input is one clear message and exit code 2, never a traceback."""
    from gambol.cli.app import app
    from gambol.cli.output import complain

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # a terminal that cannot show a character shows its code instead of ending us
            stream.reconfigure(errors="backslashreplace")
    try:
        app(prog_name="gambol")
    except GambolError as error:
        complain(str(error))
        sys.exit(2)
    except KeyboardInterrupt:
        complain("interrupted")
        sys.exit(130)
