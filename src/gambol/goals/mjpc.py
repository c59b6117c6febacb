"""Reading contact keyframes in the shape of the published strategy files."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from gambol.errors import InputError, unknown_name
from gambol.files import read_text
from gambol.goals.keyframes import Keyframe, Pair
from gambol.goals.model import Vec3
from gambol.goals.styles import Weights
from gambol.validation import explained

_TERMS = {
    "Contact": "contact",
    "Torso Up": "upright_torso",
    "Pelvis Up": "upright_pelvis",
    "LFoot Up": "upright_left_foot",
    "RFoot Up": "upright_right_foot",
    "Head Height": "head_height",
    "Torso Height": "torso_height",
    "Knee Feet XY": "knee_feet",
    "COM Feet XY": "com_feet",
    "Facing Dir": "facing",
    "CoM Vel.": "com_velocity",
    "Joint Vel.": "joint_velocity",
    "Control": "control",
}


_UNUSED = ("control", "Torse Target")
"""Left in the published files without effect: a second spelling of Control, and a term that is always off."""


def _same(point: Vec3) -> Vec3:
    return point


def _upside_down(point: Vec3) -> Vec3:
    """The published desk is built upside down: its frame is turned half a turn about y."""
    x, y, z = point
    return (-x, y, -z)


_FRAMES: dict[str, tuple[str, Callable[[Vec3], Vec3]]] = {
    "world": ("floor", _same),
    "chair": ("armchair", _same),
    # the number this chair's body has in the scene that holds both a desk and a chair
    "body23": ("armchair", _same),
    "desk": ("table", _upside_down),
    "left_arm": ("bench/left_arm", _same),
    "right_arm": ("bench/right_arm", _same),
}
"""Published names that are not ours, with the change of frame between them."""


def from_mjpc(source: str | Path | Mapping[str, Any], strategy: str | None = None) -> tuple[Keyframe, ...]:
    """The keyframes of one published strategy, in our names and frames.

    ``source`` is a file that holds strategies by name, or the data of one; ``strategy`` chooses from several. Pairs
    without a target (the published editor's empty slots) are left out.
    """
    file = None if isinstance(source, Mapping) else Path(source)
    try:
        data = source if isinstance(source, Mapping) else json.loads(read_text(source))
        if "keyframes" not in data:
            if strategy is None and len(data) == 1:
                strategy = next(iter(data))
            if strategy is None or strategy not in data:
                raise unknown_name("strategy", str(strategy), data)
            data = data[strategy]
        return tuple(_keyframe(number, entry) for number, entry in enumerate(data["keyframes"]))
    except InputError as error:
        raise error.within(file=file) from None
    except ValidationError as error:
        raise explained(error, Keyframe, file=file) from None
    except json.JSONDecodeError as error:
        raise InputError(f"is not JSON: {error}", file=file) from None
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise InputError(f"does not have the shape of a strategy file: {error!r}", file=file) from None


def _keyframe(number: int, entry: Mapping[str, Any]) -> Keyframe:
    given = entry["weights"]
    for name, weight in given.items():
        if name not in (*_TERMS, *_UNUSED) and weight:
            raise unknown_name("published weight", name, _TERMS, key=f"keyframes.{number} ({entry['name']}).weights")
    weights = {ours: given[theirs] for theirs, ours in _TERMS.items() if theirs in given}
    pairs = tuple(_pair(pair) for pair in entry["pairs"] if pair["target"] != "none")
    if not pairs:
        raise InputError("has no pair with a target", key=f"keyframes.{number} ({entry['name']})")
    facing = tuple(entry.get("facing") or ())[:2]
    return Keyframe(
        name=entry["name"],
        weights=Weights(**weights),
        pairs=pairs,
        tolerance=entry["tolerance"],
        sustain=entry["sustain"],
        limit=entry["time_limit"],
        facing=facing if facing and weights.get("facing") else None,  # type: ignore[arg-type]
    )


def _pair(pair: Mapping[str, Any]) -> Pair:
    body, point_to_ours = _FRAMES.get(pair["body"], (pair["body"], _same))
    target, at_to_ours = _FRAMES.get(pair["target"], (pair["target"], _same))
    return Pair(body=body, point=point_to_ours(pair["point"]), on=target, at=at_to_ours(pair["target_point"]))
