"""Finding out before long work, not after, whether its result could be written."""

from __future__ import annotations

from pathlib import Path

from gambol.errors import InputError
from gambol.files import replacing


def refuse_unwritable(target: Path) -> None:
    """An error where nothing could be written at ``target``."""
    if target.is_dir():
        raise InputError("cannot be written: it is a directory", file=target)
    probe = target.parent / ".gambol-probe"
    try:
        with replacing(probe):
            pass
    except InputError as error:
        raise InputError(error.problem, file=target) from None
    probe.unlink(missing_ok=True)
