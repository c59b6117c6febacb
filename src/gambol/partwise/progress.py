"""Where a run stands in its sequence of keyframes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gambol.goals import Keyframe, Pair
from gambol.rotations import Array

ROUNDING = 1e-6
"""Seconds by which a sum of time steps may fall short of the time it stands for."""


@dataclass
class KeyframeProgress:
    """Advances through keyframes: one is reached once its distance has stayed within tolerance for its sustain time."""

    keyframes: Sequence[Keyframe]
    index: int = 0
    elapsed: float = 0.0
    """Seconds spent on the present keyframe."""
    held: float = 0.0
    """Seconds the present keyframe has been held without a break."""
    closest: float = np.inf
    """Smallest distance to the present keyframe so far, metres."""
    apart: Array | None = None
    """(P,) how far apart its pairs were at that moment, metres."""
    failed: bool = False

    @property
    def current(self) -> Keyframe:
        """The keyframe now aimed at (the last one once all are done)."""
        return self.keyframes[self.row]

    @property
    def row(self) -> int:
        """Its place in the sequence."""
        return min(self.index, len(self.keyframes) - 1)

    @property
    def finished(self) -> bool:
        """All reached."""
        return self.index >= len(self.keyframes)

    @property
    def farthest(self) -> tuple[Pair, float] | None:
        """The pair that was farthest apart at the closest moment, and its distance in metres."""
        if self.apart is None:
            return None
        worst = int(np.argmax(self.apart))
        return self.current.pairs[worst], float(self.apart[worst])

    @property
    def shortfall(self) -> str:
        """The farthest pair in words; empty where nothing has been seen yet."""
        if self.farthest is None:
            return ""
        pair, distance = self.farthest
        return f"farthest apart then: {pair_told(pair)}, {distance:.2f} m"

    def update(self, displacements: Array, dt: float) -> bool:
        """Account for ``dt`` seconds with pair displacements (P, 3); whether the present keyframe changed."""
        distance = float(np.linalg.norm(displacements))
        self.elapsed += dt
        if distance < self.closest:
            self.closest, self.apart = distance, np.linalg.norm(displacements, axis=-1)
        self.held = self.held + dt if distance <= self.current.tolerance else 0.0
        if self.held >= self.current.sustain - ROUNDING and distance <= self.current.tolerance:
            self.index += 1
            self.elapsed, self.held, self.closest, self.apart = 0.0, 0.0, np.inf, None
            return True
        self.failed = self.elapsed > self.current.limit
        return False


def pair_told(pair: Pair) -> str:
    """A pair as reports name it: ``right_hand -> target``."""
    return f"{pair.body} -> {pair.on}"
