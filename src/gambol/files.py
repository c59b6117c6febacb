"""Reading and writing files safely: nothing half-written is ever left behind, no reader swallows an endless file."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from gambol.errors import InputError

MAX_TEXT_BYTES = 256 * 2**20


@contextlib.contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path beside ``path``; on success it takes the place of ``path``, on any error it is removed."""
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.stem}.", suffix=path.suffix, dir=path.parent)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", file=path) from error
    os.close(handle)
    temporary = Path(name)
    try:
        if path.is_dir():
            raise InputError("cannot be written: it is a directory", file=path)
        yield temporary
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
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
