"""YAML that people like to read: what is small stands on one line."""

from __future__ import annotations

from collections.abc import Mapping
from io import StringIO
from typing import Any

import yaml

_WIDTH = 130
_SMALL = 120
"""Characters that a mapping or a list on one line may have."""


class _Dumper(yaml.SafeDumper):
    """Words are quoted only where gambol's own reader would not take them for words (``on`` is one)."""

    yaml_implicit_resolvers = {  # pyright: ignore[reportIncompatibleVariableOverride]  # noqa: RUF012
        first: [(tag, pattern) for tag, pattern in rules if tag != "tag:yaml.org,2002:bool" or first in "tTfF"]
        for first, rules in yaml.SafeDumper.yaml_implicit_resolvers.items()
    }

    def ignore_aliases(self, data: Any) -> bool:
        """Everything is written where it stands."""
        return True


def readable(data: Mapping[str, Any]) -> str:
    """Plain data as YAML in its order: a line for each small mapping and for each list of numbers."""
    node = _Dumper(StringIO(), sort_keys=False).represent_data(_plain(dict(data)))
    for _, value in node.value:
        _shape(value)
    node.flow_style = False
    return yaml.serialize(node, Dumper=_Dumper, allow_unicode=True, width=_WIDTH)


def _plain(data: Any) -> Any:
    """Whole numbers without a point."""
    if isinstance(data, dict):
        return {key: _plain(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_plain(value) for value in data]
    return int(data) if isinstance(data, float) and data.is_integer() else data


def _shape(node: yaml.Node) -> int:
    """Choose how a node is written; the number of characters it takes on one line."""
    if isinstance(node, yaml.ScalarNode):
        return len(node.value)
    children: list[yaml.Node] = []
    if isinstance(node, yaml.MappingNode):
        children = [child for entry in node.value for child in entry]
    elif isinstance(node, yaml.SequenceNode):
        children = list(node.value)
    length = sum(_shape(child) + 2 for child in children)
    plain = isinstance(node, yaml.SequenceNode) and all(isinstance(child, yaml.ScalarNode) for child in children)
    if isinstance(node, yaml.CollectionNode):
        node.flow_style = plain or length <= _SMALL
    return length
