"""Docstrings name things with Sphinx roles (``:func:`solve` ``); on these pages they become plain code."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

_ROLE = re.compile(r":(?:attr|class|data|func|meth|mod):`~?([^`]+)`")


class Roles(Extension):
    """Rewrites the roles of every docstring."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Called once for each module, class, function and attribute."""
        if obj.docstring is not None:
            obj.docstring.value = _ROLE.sub(r"`\1`", obj.docstring.value)
