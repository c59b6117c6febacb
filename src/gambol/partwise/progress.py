"""Where a run stands in its sequence of keyframes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gambol.goals import Keyframe
from gambol.rotations import Array


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

    def update(self, displacements: Array, dt: float) -> bool:
        """Account for ``dt`` seconds with pair displacements (P, 3); whether the present keyframe changed."""
        distance = float(np.linalg.norm(displacements))
        self.elapsed += dt
        self.closest = min(self.closest, distance)
        self.held = self.held + dt if distance <= self.current.tolerance else 0.0
        if self.held >= self.current.sustain and distance <= self.current.tolerance:
            self.index += 1
            self.elapsed, self.held, self.closest = 0.0, 0.0, np.inf
            return True
        self.failed = self.elapsed > self.current.limit
        return False
