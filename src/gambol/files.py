"""Reading and writing files safely: nothing half-written is ever left behind, no reader swallows an endless file."""

from __future__ import annotations

import contextlib
import json
import math
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gambol.errors import InputError

MAX_TEXT_BYTES = 256 * 2**20


@contextlib.contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path beside ``path``; on success it takes the place of ``path``, on any error it is removed.

    It ends as ``path`` does. Where ``path`` is a symbolic link, the link stays and what it points to is replaced.
    """
    path = Path(path)
    target = Path(os.path.realpath(path))  # the file itself, where the path is a link to it
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        # no longer than need be: the name of the file may already be as long as names can be
        handle, name = tempfile.mkstemp(prefix=".", suffix=path.suffix, dir=target.parent)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", file=path) from error
    os.close(handle)
    temporary = Path(name)
    try:
        if target.is_dir():
            raise InputError("cannot be written: it is a directory", file=path)
        if os.path.lexists(target) and not target.is_file():
            raise InputError("cannot be written: it is not a plain file", file=path)
        yield temporary
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(target)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", file=path) from error
    finally:
        temporary.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def read_bytes(path: str | Path, limit: int = MAX_TEXT_BYTES) -> bytes:
    """The bytes of a file, refusing what is missing, not a plain file, or larger than ``limit``."""
    path = Path(path)
    try:
        if not path.is_file():
            raise InputError("is not a file" if path.exists() else "no such file", file=path)
        size = path.stat().st_size
        if size > limit:
            raise InputError(f"has {size} bytes; at most {limit} are read", file=path)
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", file=path) from error


def read_text(path: str | Path, limit: int = MAX_TEXT_BYTES) -> str:
    """The text of a UTF-8 file, under the same guard as :func:`read_bytes`."""
    try:
        return read_bytes(path, limit).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"is not UTF-8 text (byte {error.start})", file=path) from error


def json_text(data: Any, indent: int | None = None) -> str:
    """Plain data as JSON; numbers that JSON has no word for become null."""
    return json.dumps(_finite(data), indent=indent, allow_nan=False)


def _finite(data: Any) -> Any:
    if isinstance(data, Mapping):
        return {str(key): _finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data
