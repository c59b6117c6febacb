"""Finding out before long work, not after, whether its result could be written."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from gambol.errors import InputError


def refuse_unwritable(target: Path) -> None:
    """An error where nothing could be written at ``target``. Nothing is made, not even its folder."""
    if target.is_dir():
        raise InputError("cannot be written: it is a directory", file=target)
    nearest = next(folder for folder in Path(os.path.realpath(target)).parents if os.path.lexists(folder))
    try:
        with tempfile.TemporaryFile(dir=nearest):
            pass
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", file=target) from None
