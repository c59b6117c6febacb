"""How good a motion is, in numbers: feet, overlaps, limits, smoothness and whether physics agrees.

Every metric looks at one character. What it measures exactly is said in its docstring, and in :attr:`Metric.what`.
"""

from __future__ import annotations

from collections.abc import Iterable

from gambol.errors import unknown_name
from gambol.motion.metrics.dynamics import actuator_work, angular_momentum_residual, energy_range, momentum_residual
from gambol.motion.metrics.limits import joint_limit_excess, joint_limit_excess_mean, torque_excess
from gambol.motion.metrics.metric import Measure, Metric
from gambol.motion.metrics.smoothness import asymmetry, control_roughness, jerk
from gambol.motion.metrics.subject import Subject
from gambol.motion.metrics.touch import (
    floating,
    floating_longest,
    foot_skate,
    penetration,
    penetration_mean,
    self_penetration,
    self_penetration_mean,
)
from gambol.motion.motion import Motion

__all__ = ["METRICS", "Measure", "Metric", "measure"]

METRICS: dict[str, Measure] = {
    each.name: each
    for each in (
        foot_skate,
        penetration,
        penetration_mean,
        self_penetration,
        self_penetration_mean,
        floating,
        floating_longest,
        joint_limit_excess,
        joint_limit_excess_mean,
        torque_excess,
        jerk,
        control_roughness,
        asymmetry,
        momentum_residual,
        angular_momentum_residual,
        energy_range,
        actuator_work,
    )
}
"""Every metric by name."""


def measure(motion: Motion, names: Iterable[str] | None = None, *, character: str | None = None) -> dict[str, Metric]:
    """Metrics of one character (the main one unless named), all of them or those named."""
    names = list(METRICS) if names is None else list(names)
    for name in names:
        if name not in METRICS:
            raise unknown_name("metric", name, METRICS)
    character = character or motion.scene.main_character
    if character not in motion.scene.characters:
        raise unknown_name("character in this motion", character, motion.scene.characters)
    subject = Subject(motion, character)
    return {name: METRICS[name](subject) for name in names}
