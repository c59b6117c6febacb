"""Contact keyframes that nobody had to author: those of a motion.

A motion is cut into phases in which the same things are touched. Each phase gives a keyframe: the contacts, points that
say how the body stands over them, and the style that asks for such a posture. What was a matter of time in the motion
becomes an order of contacts, which sampling MPC performs at its own pace, with whichever body.
"""

from __future__ import annotations

from typing import Any

from gambol.characters import Character, describe
from gambol.goals.keyframes import Keyframe
from gambol.goals.keyframing.performance import Performance
from gambol.goals.keyframing.staging import furnished, staged
from gambol.goals.keyframing.stills import Choice, Still, stills_of
from gambol.goals.success import Criterion
from gambol.goals.task import Task
from gambol.motion import Motion
from gambol.motion.metrics.feats import FEATS
from gambol.motion.metrics.subject import Subject
from gambol.motion.phases import Touching
from gambol.motion.retarget import retarget
from gambol.motion.settling import require_support, settled, was_simulated

__all__ = ["Choice", "Still", "furnished", "stills", "task_from"]

_SETTINGS: dict[str, Any] = {"rollouts": 45, "horizon": 0.35, "replan_every": 1}
"""Of the planner: those of the shipped tasks that are about as hard."""
_UP = 0.85
"""Share of its height in the last frame that the head must have in the end, where the motion ends standing."""


def stills(motion: Motion, character: Character | None = None, choice: Choice | None = None) -> tuple[Still, ...]:
    """The keyframes of a motion's main character, or of ``character`` in its place."""
    return stills_of(_performed(motion, character), choice or Choice())


def task_from(
    motion: Motion, character: Character | None = None, choice: Choice | None = None, *, summary: str = ""
) -> tuple[Task, tuple[Still, ...]]:
    """A task that performs a motion by its keyframes, beginning as it does, in its scene; and those keyframes.

    ``character`` performs it in the place of the main character.
    """
    performance = _performed(motion, character)
    found = stills_of(performance, choice or Choice())
    task = Task(
        summary=summary,
        **staged(performance.motion),
        method="partwise",
        keyframes=tuple(still.keyframe for still in found),
        success=_success(performance, found[-1].keyframe),
        settings=_SETTINGS,
    )
    return task, found


def _success(performance: Performance, last: Keyframe) -> tuple[Criterion, ...]:
    """Who ends standing must not only come near it."""
    if last.style != "standing":
        return ()
    height = FEATS["head_height_at_end"](Subject(performance.motion, performance.name)).value
    return () if height is None else (Criterion(feat="head_height_at_end", at_least=round(_UP * height, 2)),)


def _performed(motion: Motion, character: Character | None) -> Performance:
    name = motion.scene.main_character
    if not was_simulated(motion):
        motion = settled(motion, name)
        require_support(motion, name)
    touching = Touching.of(motion)
    if character is None or describe(character) == describe(motion.scene.characters[name]):
        return Performance(motion, touching)
    return Performance(retarget(motion, character), touching)
