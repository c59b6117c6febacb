"""Small charts as images: bars with names beside them, curves over time."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from gambol.files import replacing

COLOURS = ("#1f5fa8", "#e08a1e", "#4a9c5d", "#8a5fb0")
INK, GREY, PAPER = "#222222", "#c0c0c0", "#ffffff"
_LINE = 22
"""Height of a line of text, pixels."""
_MARGIN = 20

Numbers = Sequence[float | None]


class Panel(ABC):
    """One picture of a chart, with its own title and key."""

    title: str

    @abstractmethod
    def names(self) -> list[str]:
        """What its colours stand for."""

    @abstractmethod
    def size(self) -> tuple[int, int]:
        """Width and height of what :meth:`paint` paints, pixels."""

    @abstractmethod
    def paint(self, pen: ImageDraw.ImageDraw, left: int, top: int) -> None:
        """Paint it with its corner at that place."""


@dataclass(frozen=True)
class Bars(Panel):
    """Horizontal bars: for each label one of each series, with its number behind it."""

    title: str
    labels: Sequence[str]
    series: Mapping[str, Numbers]
    highest: float | None = None
    """Value at the right edge; the largest there is unless given."""
    spreads: Mapping[str, Numbers] = field(default_factory=dict[str, Numbers])
    """How far the values of a series spread to either side."""

    WIDTH, BAR, GAP = 330, 14, 10

    def names(self) -> list[str]:
        """The series."""
        return list(self.series)

    def _row(self) -> int:
        return self.BAR * len(self.series) + self.GAP

    def _label_width(self) -> int:
        return int(max((_font().getlength(label) for label in self.labels), default=0)) + 10

    def size(self) -> tuple[int, int]:
        """Labels, bars and room for the numbers."""
        return self._label_width() + self.WIDTH + 90, self._row() * len(self.labels)

    def paint(self, pen: ImageDraw.ImageDraw, left: int, top: int) -> None:
        """Paint labels, bars, spreads and numbers."""
        start = left + self._label_width()
        scale = self.WIDTH / (self.highest or self._largest() or 1.0)
        for place, label in enumerate(self.labels):
            y = top + place * self._row()
            middle = y + self.BAR * len(self.series) / 2
            pen.text((start - 8, middle), label, INK, _font(), anchor="rm")
            for which, (name, values) in enumerate(self.series.items()):
                spread = self.spreads[name][place] if name in self.spreads else None
                self._bar(pen, (start, y + which * self.BAR), values[place], spread, scale, COLOURS[which])
        pen.line((start, top, start, top + self.size()[1] - self.GAP), INK)

    def _bar(
        self,
        pen: ImageDraw.ImageDraw,
        corner: tuple[int, int],
        value: float | None,
        spread: float | None,
        scale: float,
        colour: str,
    ) -> None:
        x, y = corner
        if value is None:
            pen.text((x + 5, y + self.BAR / 2 - 1), "none", GREY, _font(12), anchor="lm")
            return
        end = x + scale * value
        pen.rectangle((x, y, max(end, x), y + self.BAR - 2), colour)
        if spread:
            middle = y + self.BAR / 2 - 1
            pen.line((max(x, end - scale * spread), middle, end + scale * spread, middle), INK)
            end += scale * spread
        pen.text((end + 5, y + self.BAR / 2 - 1), f"{value:.4g}", INK, _font(12), anchor="lm")

    def _largest(self) -> float:
        return max(
            (
                value + ((self.spreads[name][place] or 0.0) if name in self.spreads else 0.0)
                for name, values in self.series.items()
                for place, value in enumerate(values)
                if value is not None
            ),
            default=0.0,
        )


@dataclass(frozen=True)
class Curves(Panel):
    """Lines over a common horizontal axis, both axes from zero."""

    title: str
    across: str
    lines: Mapping[str, tuple[Sequence[float], Sequence[float]]]
    """Horizontal and vertical values by name."""

    WIDTH, HEIGHT, LEFT = 340, 240, 60

    def names(self) -> list[str]:
        """The lines."""
        return list(self.lines)

    def size(self) -> tuple[int, int]:
        """The field and the numbers at its axes."""
        return self.LEFT + self.WIDTH + _MARGIN, self.HEIGHT + 3 * _LINE

    def paint(self, pen: ImageDraw.ImageDraw, left: int, top: int) -> None:
        """Paint grid, numbers and lines."""
        right = max((x for xs, _ in self.lines.values() for x in xs), default=0.0) or 1.0
        high = max((y for _, ys in self.lines.values() for y in ys), default=0.0) or 1.0
        start, floor = left + self.LEFT, top + self.HEIGHT
        for tick in _ticks(high):
            y = floor - self.HEIGHT * tick / high
            pen.line((start, y, start + self.WIDTH, y), GREY)
            pen.text((start - 6, y), f"{tick:.4g}", INK, _font(12), anchor="rm")
        for tick in _ticks(right):
            pen.text((start + self.WIDTH * tick / right, floor + 6), f"{tick:.4g}", INK, _font(12), anchor="mt")
        for (xs, ys), colour in zip(self.lines.values(), COLOURS, strict=False):
            points = [
                (start + self.WIDTH * x / right, floor - self.HEIGHT * y / high) for x, y in zip(xs, ys, strict=True)
            ]
            pen.line(points, colour, width=2)
        pen.text((start + self.WIDTH / 2, floor + 1.5 * _LINE), self.across, INK, _font(), anchor="mt")


@dataclass(frozen=True)
class Chart:
    """Panels side by side under a heading."""

    panels: Sequence[Panel]
    heading: str = ""

    def image(self) -> Image.Image:
        """The whole picture."""
        sizes = [panel.size() for panel in self.panels]
        head = _MARGIN + (_LINE + 8 if self.heading else 0)
        heights = [
            height + _LINE * (2 + len(panel.names())) for panel, (_, height) in zip(self.panels, sizes, strict=True)
        ]
        width = _MARGIN + sum(width + _MARGIN for width, _ in sizes)
        picture = Image.new("RGB", (width, head + max(heights, default=0) + _MARGIN), PAPER)
        pen = ImageDraw.Draw(picture)
        pen.text((_MARGIN, _MARGIN), self.heading, INK, _font(18))
        left = _MARGIN
        for panel, (width, _) in zip(self.panels, sizes, strict=True):
            y = head
            pen.text((left, y), panel.title, INK, _font(16))
            for name, colour in zip(panel.names(), COLOURS, strict=False):
                y += _LINE
                pen.rectangle((left, y + 3, left + 12, y + 13), colour)
                pen.text((left + 18, y), name, INK, _font())
            panel.paint(pen, left, y + int(1.5 * _LINE))
            left += width + _MARGIN
        return picture

    def save(self, path: str | Path) -> None:
        """Write it as PNG."""
        with replacing(path) as temporary:
            self.image().save(temporary, format="PNG")


def _ticks(highest: float) -> list[float]:
    """Round numbers from zero to at most ``highest``, five or so."""
    power = 10.0 ** math.floor(math.log10(highest / 4))
    step = next(round_one * power for round_one in (1, 2, 2.5, 5, 10) if round_one * power >= 0.999 * highest / 4)
    return [step * count for count in range(int(highest / step + 1e-9) + 1)]


def _font(size: int = 14) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)
