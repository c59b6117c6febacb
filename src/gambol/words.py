"""Plain data in words, for people."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


def in_words(data: Any, each: Callable[[Any], str] = str) -> str:
    """Plain data for people: mappings as ``key value, key value``, lists without brackets, ``each`` tells the rest."""
    if isinstance(data, Mapping):
        return ", ".join(f"{key} {in_words(held, each)}" for key, held in data.items())
    if isinstance(data, list | tuple):
        return ", ".join(in_words(held, each) for held in data)
    return "-" if data is None else each(data)


def is_table(data: Any) -> bool:
    """Whether plain data is a list of mappings, one below the other, which is too much for words."""
    return isinstance(data, list) and bool(data) and all(isinstance(entry, Mapping) for entry in data)
