"""``--set key=value``: changing single values of a task before it is checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gambol.errors import InputError
from gambol.goals.yaml import parse_value
from gambol.scenes.furniture import KINDS
from gambol.scenes.terrain import NAME as GROUND

_TOP = ("name", "summary", "scene", "character", "characters", "start", "method", "success", "settings")
_SHARED = ("each_keyframe", "each_window")
DEFAULT_CHARACTER = "humanoid"
GOALS = ("keyframes", "windows", "behaviour", "partial", "track")
"""The keys under which a task may say what is wished for; each task has exactly one."""


def apply_overrides(data: Mapping[str, Any], overrides: Sequence[str]) -> dict[str, Any]:
    """Task data with each ``key=value`` put in its place.

    Keys are paths with dots; numbers index lists (``keyframes.0.tolerance``). ``scene.height`` means the only object of
    the scene; a key that no task has (``rollouts``) is a setting of the method.
    """
    changed: dict[str, Any] = _own(dict(data))
    for override in overrides:
        key, equals, text = override.partition("=")
        if not equals or not key.strip():
            raise InputError(f"{override!r} is not of the form key=value", key="--set")
        try:
            value = parse_value(text)
        except InputError as error:
            raise error.within(key=f"--set {key}") from None
        _put(changed, _path(changed, key.strip().split(".")), value, key)
    return changed


def _own(value: Any) -> Any:
    """A copy in which nothing stands in two places at once, so that a change in one does not show in the other."""
    if isinstance(value, dict):
        return {key: _own(part) for key, part in value.items()}
    return [_own(part) for part in value] if isinstance(value, list) else value


def _path(data: dict[str, Any], path: list[str]) -> list[str]:
    if path[0] not in (*_TOP, *GOALS, *_SHARED):
        return ["settings", *path]
    if path[0] == "character" and len(path) > 1:
        data.setdefault("character", DEFAULT_CHARACTER)
    if path[0] == "scene" and len(path) > 1:
        scene = data.get("scene")
        if isinstance(scene, str):
            data["scene"] = scene = {scene: {}}
        objects = [name for name in scene or {} if name != GROUND]
        if path[1] not in (*objects, GROUND) and path[2:] != ["kind"]:
            if path[1] in KINDS:
                known = ", ".join(objects) or "none"
                hint = f"to add one: --set scene.{path[1]}.kind={path[1]}"
                raise InputError(
                    f"the scene has no {path[1]} (its objects: {known})", key=f"--set {'.'.join(path)}", hint=hint
                )
            if len(objects) != 1:
                known = ", ".join(objects) or "none"
                raise InputError(f"which object of the scene is meant? ({known})", key=f"--set {'.'.join(path)}")
            return ["scene", objects[0], *path[1:]]
    return path


def _put(node: Any, path: list[str], value: Any, key: str) -> None:
    for place, step in enumerate(path):
        last = place == len(path) - 1
        if isinstance(node, list):
            if not step.isdigit() or int(step) >= len(node):
                raise InputError(f"{step!r} is not one of the {len(node)} entries", key=f"--set {key}")
            index: Any = int(step)
        elif isinstance(node, dict):
            index = step
            if not last and not isinstance(node.get(step), (dict, list)):
                # ``character: humanoid`` becomes ``{kind: humanoid}`` when one of its settings is given
                word = "pose" if step == "start" else "kind"
                node[step] = {word: node[step]} if isinstance(node.get(step), str) else {}
        else:
            raise InputError("goes deeper than the task does", key=f"--set {key}")
        if last:
            node[index] = value
        else:
            node = node[index]
