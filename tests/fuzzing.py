"""Strategies that damage good files the way transfers, editors and attackers do."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
from hypothesis import strategies as st

NUMBERS = [b"nan", b"-inf", b"1e308", b"-1", b"0", b"99999999999", b"1e-320", b"0x10", b"", b"1,5", b"--3", b"\xff\xfe"]


@st.composite
def damaged(draw: st.DrawFn, whole: bytes, words: tuple[bytes, ...]) -> bytes:
    """A few edits to a good file: cuts, repetitions, flipped bytes, foreign words and numbers."""
    data = bytearray(whole)
    for _ in range(draw(st.integers(1, 4))):
        if not data:
            break
        start = draw(st.integers(0, len(data) - 1))
        end = min(len(data), start + draw(st.sampled_from([1, 2, 5, 20, 100, 1000])))
        edit = draw(st.sampled_from(["cut", "repeat", "flip", "replace", "insert", "truncate", "move"]))
        if edit == "cut":
            del data[start:end]
        elif edit == "repeat":
            data[start:start] = data[start:end] * draw(st.sampled_from([1, 2, 50]))
        elif edit == "flip":
            data[start] ^= draw(st.integers(1, 255))
        elif edit == "replace":
            data[start:end] = draw(st.sampled_from((*words, *NUMBERS)))
        elif edit == "insert":
            data[start:start] = draw(st.sampled_from((*words, *NUMBERS)))
        elif edit == "truncate":
            del data[start:]
        else:
            piece = data[start:end]
            del data[start:end]
            data[len(data) // 2 : len(data) // 2] = piece
    return bytes(data)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**12), 10**12) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)


@st.composite
def damaged_json(draw: st.DrawFn, good: Any) -> Any:
    """Good data with one value somewhere inside replaced or removed."""
    data = json.loads(json.dumps(good))
    node = data
    for _ in range(draw(st.integers(0, 6))):
        keys = list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
        if not keys:
            break
        key = draw(st.sampled_from(list(keys)))
        if isinstance(node[key], (dict, list)) and node[key] and draw(st.booleans()):
            node = node[key]
            continue
        if isinstance(node, dict) and draw(st.booleans()):
            del node[key]
        else:
            node[key] = draw(JSON)
        break
    return data


@st.composite
def damaged_archive(draw: st.DrawFn, arrays: dict[str, np.ndarray]) -> bytes:
    """A well-formed archive whose arrays are wrong: other shapes, types, values, or missing."""
    changed = dict(arrays)
    for _ in range(draw(st.integers(1, 2))):
        name = draw(st.sampled_from(sorted(changed)))
        edit = draw(st.sampled_from(["drop", "shape", "type", "value", "header", "empty"]))
        array = changed[name]
        if edit == "header" and "header" in changed:
            header = draw(damaged_json(json.loads(arrays["header"].tobytes())))
            changed["header"] = np.frombuffer(json.dumps(header).encode(), np.uint8)
        elif edit == "drop" and len(changed) > 1:
            del changed[name]
        elif edit == "shape":
            changed[name] = array.reshape(-1)[: draw(st.integers(0, 30))]
        elif edit == "type" and array.dtype.kind in "fiu":
            changed[name] = array.astype(draw(st.sampled_from(["U5", "complex128", "bool", "int8", "float16"])))
        elif edit == "value" and array.size and array.dtype.kind in "fiu":
            changed[name] = array.copy()
            changed[name].reshape(-1)[draw(st.integers(0, array.size - 1))] = draw(st.sampled_from([0, 1, 100, 127]))
            if array.dtype.kind == "f" and draw(st.booleans()):
                changed[name].reshape(-1)[0] = draw(st.sampled_from([np.nan, np.inf, 1e300, -1e300]))
        elif edit == "empty":
            changed[name] = np.zeros(draw(st.sampled_from([(0,), (0, 3), (1, 1, 1, 1), ()])))
    file = io.BytesIO()
    np.savez(file, **changed)
    return file.getvalue()
