"""What can be wished for, and the task files that say it."""

from __future__ import annotations

from gambol.goals.behaviour import Behaviour, Wish
from gambol.goals.keyframes import Keyframe, Pair, concatenate, mirror, repeat, reverse
from gambol.goals.mjpc import from_mjpc
from gambol.goals.overrides import GOALS
from gambol.goals.partial import JointGoal, Partial, PathPoint, TextGoal
from gambol.goals.styles import STYLES, Weights
from gambol.goals.task import Task, load_task, shipped_tasks
from gambol.goals.tracking import Push, Track
from gambol.goals.windows import Objective, Window

__all__ = [
    "GOALS",
    "STYLES",
    "Behaviour",
    "JointGoal",
    "Keyframe",
    "Objective",
    "Pair",
    "Partial",
    "PathPoint",
    "Push",
    "Task",
    "TextGoal",
    "Track",
    "Weights",
    "Window",
    "Wish",
    "concatenate",
    "from_mjpc",
    "load_task",
    "mirror",
    "repeat",
    "reverse",
    "shipped_tasks",
]
