"""What a benchmark is: a request in, tables, charts and remarks out."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from string import Formatter
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table as RichTable

from gambol.errors import unknown_name
from gambol.evaluate.charts import Chart
from gambol.files import replacing
from gambol.results import ProgressListener, silent


@dataclass(frozen=True)
class Table:
    """Rows with the same columns."""

    title: str
    rows: Sequence[Mapping[str, Any]]
    shown: Mapping[str, str] = field(default_factory=dict[str, str])
    """What a terminal shows: headings and how a cell is put together, as in ``{"duration s": "{mean s} ± {sd s}"}``.

    Every column as it is unless given; a cell of which nothing is known stays empty.
    """

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
        table = RichTable(title=escape(self.title), title_justify="left", box=SIMPLE_HEAD)
        shown = self.shown or {column: f"{{{column}}}" for column in self.columns}
        for heading in shown:
            table.add_column(escape(heading), no_wrap=True)
        for row in self.rows:
            table.add_row(*(escape(_cell(template, row)) for template in shown.values()))
        return table


def _cell(template: str, row: Mapping[str, Any]) -> str:
    named = [name for _, name, _, _ in Formatter().parse(template) if name]
    if all(row.get(name, "") in ("", None) for name in named):
        return ""
    return template.format_map({name: "–" if row.get(name, "") in ("", None) else row[name] for name in named})


@dataclass(frozen=True)
class Findings:
    """What a benchmark found; tables and charts by the names of their files."""

    tables: Mapping[str, Table]
    charts: Mapping[str, Chart] = field(default_factory=dict[str, Chart])
    remarks: Sequence[str] = ()
    data: Mapping[str, Table] = field(default_factory=dict[str, Table])
    """Tables too long to be looked at."""

    def save(self, folder: Path) -> list[Path]:
        """Write every table as CSV and every chart as PNG; the files."""
        files: dict[Path, Table | Chart] = {
            folder / f"{n}.csv": table for n, table in {**self.tables, **self.data}.items()
        }
        files |= {folder / f"{n}.png": chart for n, chart in self.charts.items()}
        for path, thing in files.items():
            thing.save(path)
        return list(files)


@dataclass(frozen=True)
class Request:
    """How a benchmark is wanted."""

    trials: int
    folder: Path
    """Where finished trials are kept."""
    on: str = "local"
    rows: Sequence[str] = ()
    """Only the rows whose names contain one of these; all where there are none."""
    overrides: Sequence[str] = ()
    """``key=value`` for the task of every row, the last word after those of the benchmark."""
    fresh: bool = False
    """Whether to do again what was kept."""
    progress: ProgressListener = silent

    def chosen(self, names: Sequence[str]) -> list[str]:
        """The names of the rows wanted, in their order."""
        for wanted in self.rows:
            if not any(wanted in name for name in names):
                raise unknown_name("row", wanted, names, key="--rows")
        return [name for name in names if not self.rows or any(wanted in name for wanted in self.rows)]


@dataclass(frozen=True)
class Benchmark:
    """A protocol and its usual number of trials."""

    summary: str
    run: Callable[[Request], Findings]
    trials: int
