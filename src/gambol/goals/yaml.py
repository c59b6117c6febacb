"""YAML as people write it, read strictly: no repeated keys, no bombs, errors with line numbers."""

from __future__ import annotations

import re
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml

from gambol.errors import InputError
from gambol.files import read_text

MAX_BYTES = 4 * 2**20
MAX_NODES = 200_000
MAX_DEPTH = 60
_TIMESTAMP = "tag:yaml.org,2002:timestamp"


class _StrictLoader(yaml.SafeLoader):
    """A safe loader that refuses a key given twice and reads only ``true`` and ``false`` as truth values.

    YAML 1.1 takes ``on`` for a truth value, and ``on: armchair/seat`` is what people write. It also takes ``1e3`` for a
    word, which people mean as a number.
    """

    yaml_implicit_resolvers = {  # pyright: ignore[reportIncompatibleVariableOverride]  # noqa: RUF012
        first: [(tag, pattern) for tag, pattern in rules if tag not in ("tag:yaml.org,2002:bool", _TIMESTAMP)]
        for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for place, (key, (key_node, _)) in enumerate(zip(keys, node.value, strict=True)):
            if isinstance(key, Hashable) and key in keys[:place]:
                second = key_node.start_mark
                raise yaml.constructor.ConstructorError(None, None, f"the key {key!r} is given twice", second)
        return super().construct_mapping(node, deep)


_StrictLoader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(?:true|True|false|False)$"), list("tTfF"))
_StrictLoader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?(?:\d+\.?\d*|\.\d+)[eE][-+]?\d+$"), list("-+.0123456789")
)


def read_yaml(path: str | Path) -> dict[str, Any]:
    """The mapping a YAML file holds."""
    return parse_yaml(read_text(path, MAX_BYTES), path)


def parse_value(text: str) -> Any:
    """A single value as it would stand in a file."""
    try:
        return yaml.load(text, _StrictLoader)
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError, TypeError) as error:
        raise InputError(f"{text!r} is not a value: {_told(error)}") from None


def parse_yaml(text: str, file: str | Path | None = None) -> dict[str, Any]:
    """The mapping a YAML text holds."""
    try:
        data = yaml.load(text, _StrictLoader)
    except yaml.YAMLError as error:
        raise InputError(f"is not valid YAML: {_told(error)}", file=file) from None
    except (RecursionError, ValueError, OverflowError, TypeError) as error:
        raise InputError(f"is not valid YAML: {type(error).__name__}: {error}", file=file) from None
    if not isinstance(data, dict):
        raise InputError(f"must hold a mapping of keys, not {type(data).__name__}", file=file)
    _refuse_bombs(data, file)
    return data


def _told(error: Exception) -> str:
    """On one line, with the place where it is wrong first."""
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        return " ".join(str(error).split())
    place = f"line {error.problem_mark.line + 1}, column {error.problem_mark.column + 1}"
    return f"{place}: {' '.join(filter(None, (error.context, error.problem)))}"


def _refuse_bombs(data: Any, file: str | Path | None) -> None:
    """Aliases can make a small file stand for endlessly much: walk it as the tree it stands for, and stop early."""
    waiting, count = [(data, 0)], 0
    while waiting:
        node, depth = waiting.pop()
        count += 1
        if count > MAX_NODES or depth > MAX_DEPTH:
            raise InputError(f"holds more than {MAX_NODES} values or nests deeper than {MAX_DEPTH}", file=file)
        children = node.values() if isinstance(node, dict) else node if isinstance(node, (list, tuple, set)) else ()
        waiting.extend((child, depth + 1) for child in children)
