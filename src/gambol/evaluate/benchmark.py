"""What a benchmark is: a function of a number of trials that returns a table."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table as RichTable

from gambol.files import replacing
from gambol.results import ProgressListener


@dataclass(frozen=True)
class Table:
    """Rows with the same columns."""

    title: str
    rows: Sequence[Mapping[str, Any]]

    @property
    def columns(self) -> list[str]:
        """Column names in the order they first appear."""
        return list(dict.fromkeys(name for row in self.rows for name in row))

    def save(self, path: str | Path) -> None:
        """Write it as CSV."""
        with replacing(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, self.columns)
            writer.writeheader()
            writer.writerows(self.rows)

    def as_json(self) -> list[dict[str, Any]]:
        """Plain data."""
        return [dict(row) for row in self.rows]

    def as_rich(self) -> RichTable:
        """For the terminal."""
        table = RichTable(title=escape(self.title), title_justify="left")
        for column in self.columns:
            table.add_column(escape(column))
        for row in self.rows:
            table.add_row(*(escape(str(row.get(column, ""))) for column in self.columns))
        return table


@dataclass(frozen=True)
class Benchmark:
    """A protocol and its usual number of trials."""

    summary: str
    run: Callable[[int, str, ProgressListener], Table]
    trials: int
