"""gambol: sparse wishes in, physically simulated character motion out.

    import gambol
    result = gambol.solve("armchair/stand-sit-stand", seed=3)
    result.motion.save("sit.glb")

Everything here is loaded on first use, so that importing gambol costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gambol.characters import Character
    from gambol.errors import GambolError, InputError
    from gambol.front import METHODS, controller, solve
    from gambol.goals import Keyframe, Pair, Task, load_task
    from gambol.motion import Motion
    from gambol.motion.formats import read as load_motion
    from gambol.results import Report, Result, Status
    from gambol.scenes import Scene
    from gambol.version import __version__

_HOMES = {
    "Character": "characters",
    "GambolError": "errors",
    "InputError": "errors",
    "Keyframe": "goals",
    "METHODS": "front",
    "Motion": "motion",
    "Pair": "goals",
    "Report": "results",
    "Result": "results",
    "Scene": "scenes",
    "Status": "results",
    "Task": "goals",
    "__version__": "version",
    "controller": "front",
    "load_motion": "motion.formats:read",
    "load_task": "goals",
    "solve": "front",
}

__all__ = [
    "METHODS",
    "Character",
    "GambolError",
    "InputError",
    "Keyframe",
    "Motion",
    "Pair",
    "Report",
    "Result",
    "Scene",
    "Status",
    "Task",
    "__version__",
    "controller",
    "load_motion",
    "load_task",
    "solve",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'gambol' has no attribute {name!r}")
    home, _, original = _HOMES[name].partition(":")
    value = getattr(importlib.import_module(f"gambol.{home}"), original or name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
