"""Reading and writing ``.npz`` archives safely: no pickle, nothing allocated before its size is known and sane."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import IO

import numpy as np

from gambol.errors import InputError
from gambol.files import replacing

MAX_MEMBERS = 20_000
MAX_BYTES = 2**30


def write_arrays(path: str | Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays, compressed, under their names; the file appears whole or not at all."""
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)  # type: ignore[arg-type]


class ArrayArchive:
    """An opened archive: names first, arrays on demand."""

    def __init__(self, path: str | Path):
        self.path = Path(path)
        if not self.path.is_file():
            raise InputError("is not a file" if self.path.exists() else "no such file", file=self.path)
        try:
            self._zip = zipfile.ZipFile(self.path)
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, EOFError) as error:
            raise InputError(f"is not an .npz archive: {error}", file=self.path) from None
        members = self._zip.infolist()
        if len(members) > MAX_MEMBERS or sum(m.file_size for m in members) > MAX_BYTES:
            self._zip.close()
            raise InputError(f"unpacks to more than {MAX_MEMBERS} arrays or {MAX_BYTES} bytes", file=self.path)
        self._members = {m.filename.removesuffix(".npy"): m for m in members}

    def __enter__(self) -> ArrayArchive:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    @property
    def names(self) -> Collection[str]:
        """The names of all arrays."""
        return self._members.keys()

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self._members:
            raise InputError(f"has no array {name!r}", file=self.path)
        member = self._members[name]
        try:
            with self._zip.open(member) as file:
                return _read(file, member.file_size)
        except (
            zipfile.BadZipFile,
            zlib.error,
            OSError,
            EOFError,
            ValueError,
            NotImplementedError,
            RuntimeError,
        ) as error:
            raise InputError(f"its array {name!r} cannot be read: {error}", file=self.path) from None


def _read(file: IO[bytes], member_bytes: int) -> np.ndarray:
    """One read-only array, its announced size checked against the bytes that are there before anything is allocated."""
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(file)
    elif version == (2, 0):
        shape, fortran, dtype = np.lib.format.read_array_header_2_0(file)
    else:
        raise ValueError(f"array format {version} is not read")
    if dtype.hasobject:
        raise ValueError("it holds Python objects")
    count = 1
    for extent in shape:
        count *= extent
    size = count * dtype.itemsize
    if size > member_bytes:
        raise ValueError(f"it announces {size} bytes and has {member_bytes}")
    data = file.read(size)
    if len(data) != size:
        raise ValueError("it is cut short")
    array = np.frombuffer(data, dtype)
    return array.reshape(shape[::-1]).T if fortran else array.reshape(shape)
