"""Finished windows on disk: a clip that was interrupted goes on, and a changed window leaves those before it alone.

A window is known by everything that led to it: the scene, the start, the settings, the seed, and all windows up to and
including it. In the task it was found for, the windows it looked ahead to are no part of its name: changing window k
optimises again from k on, and the windows before keep what they had, unless k now has another number of variables.
Under its other name, with what it looked ahead to and without the task, any task finds it that would search for just
the same.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from gambol.arrays import ArrayArchive, write_arrays
from gambol.errors import InputError
from gambol.rotations import Array


@dataclass(frozen=True)
class Finished:
    """What is kept of a window."""

    values: Array
    """Variables of the window and of those it looked ahead to."""
    cost: float
    generations: int
    seconds: float
    """Wall seconds of the search."""


class Cache:
    """A folder of finished windows; without a folder, or when that cannot be written, it keeps nothing."""

    def __init__(self, folder: Path | None):
        self._folder = folder
        self.broken = ""
        """Why nothing is kept any more; a search goes on without."""

    def name(self, before: str, what: Any) -> str:
        """A name for what comes after ``before``."""
        text = json.dumps(what, sort_keys=True, default=str)
        return hashlib.sha256(f"{before}\n{text}".encode()).hexdigest()[:32]

    def find(self, name: str, variables: int) -> Finished | None:
        """The window of that name, if it is there and sound."""
        if self._folder is None:
            return None
        try:
            with ArrayArchive(self._folder / f"{name}.npz") as kept:
                arrays = [kept[field.name] for field in fields(Finished)]
        except (InputError, OSError):
            return None
        sound = [array.shape for array in arrays] == [(variables,), (), (), ()]
        if not sound or not all(array.dtype.kind in "if" and np.isfinite(array).all() for array in arrays):
            return None
        values, cost, generations, seconds = arrays
        return Finished(values.astype(float), float(cost), int(generations), float(seconds))

    def keep(self, name: str, window: Finished) -> None:
        """Write a finished window."""
        if self._folder is None:
            return
        try:
            write_arrays(self._folder / f"{name}.npz", {key: np.asarray(value) for key, value in vars(window).items()})
        except InputError as error:
            self._folder, self.broken = None, str(error)


class Trail:
    """The windows of one solution in the cache, one after the other."""

    def __init__(self, cache: Cache, task: str, led_to_it: Any):
        """``task`` is who it is, ``led_to_it`` everything but the windows that a search depends on."""
        self._cache = cache
        self._own, self._alike = cache.name(task, led_to_it), cache.name("", led_to_it)
        self.from_before_an_edit = 0
        """Windows so far that had looked ahead to others: a search from the beginning may find others for them."""

    @property
    def broken(self) -> str:
        """Why windows are not kept any more, where they cannot be."""
        return self._cache.broken

    def next(self, searched: Sequence[Any], variables: int) -> Finished | None:
        """The next window and those it looks ahead to, ``searched``, if it was found before; else :meth:`keep` it."""
        self._own, self._alike = self._cache.name(self._own, searched[0]), self._cache.name(self._alike, searched)
        own, alike = (self._cache.find(name, variables) for name in (self._own, self._alike))
        if own is not None:
            self.from_before_an_edit += alike is None or not np.array_equal(own.values, alike.values)
        elif alike is not None:
            self._cache.keep(self._own, alike)
        finished = own or alike
        if finished is not None:
            self._pass(finished)
        return finished

    def keep(self, finished: Finished) -> Finished:
        """What was found for the window that :meth:`next` did not know."""
        for name in (self._alike, self._own):
            self._cache.keep(name, finished)
        self._pass(finished)
        return finished

    def _pass(self, finished: Finished) -> None:
        """What comes next begins where this window ended."""
        values = finished.values.tolist()
        self._own, self._alike = (self._cache.name(name, values) for name in (self._own, self._alike))


def usual_folder() -> Path:
    """Where finished windows are kept: ``GAMBOL_CACHE``, or the user's cache folder."""
    chosen = os.environ.get("GAMBOL_CACHE")
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(chosen or f"{base}/gambol").expanduser() / "spacetime"
