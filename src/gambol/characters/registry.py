"""Characters by name or recipe: what task files and motion files say, and how it becomes a body again."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from gambol.characters.athlete import athlete
from gambol.characters.character import Character
from gambol.characters.creatures import quadruped, wide_biped
from gambol.characters.humanoid import GIRTHS, humanoid
from gambol.characters.mjcf import from_mjcf, text_recipe
from gambol.characters.mjcf import from_recipe as from_mjcf_recipe
from gambol.characters.rig import from_recipe as from_skeleton_recipe
from gambol.characters.rig import from_skeleton, mocap_humanoid
from gambol.errors import InputError, unknown_name

_BUILDERS: dict[str, Callable[..., Character]] = {
    **dict.fromkeys(GIRTHS, humanoid),
    "athlete": athlete,
    "mocap-humanoid": mocap_humanoid,
    "wide-biped": wide_biped,
    "quadruped": quadruped,
}

NAMES: tuple[str, ...] = tuple(_BUILDERS)
"""The characters that ship."""


def build(
    recipe: str | Mapping[str, Any] | Character, *, name: str | None = None, assets: Mapping[str, bytes] | None = None
) -> Character:
    """A character from its name, a file or a recipe.

    For instance ``"humanoid"``, ``"rig.bvh"``, ``"robot.xml"``, ``{"kind": "athlete", "torque": 400}``, or what
    :func:`describe` gave. ``name`` is what the character is called afterwards.
    """
    if isinstance(recipe, Character):
        built = recipe
    elif isinstance(recipe, str):
        built = _from_word(recipe)
    elif isinstance(recipe, Mapping):
        built = _from_mapping(recipe, assets or {})
    else:
        raise InputError(f"must be a name or a recipe, not {type(recipe).__name__}", key="character")
    return built if name is None or name == built.name else built.named(name)


def describe(character: Character) -> dict[str, Any]:
    """Plain data from which :func:`build` makes the same body again."""
    return dict(character.recipe) if character.recipe is not None else text_recipe(character)


def _from_word(word: str) -> Character:
    if word in _BUILDERS:
        return _BUILDERS[word](word)
    if word.endswith(".bvh"):
        return from_skeleton(word)
    if word.endswith((".xml", ".mjcf")):
        return from_mjcf(word)
    raise unknown_name("character", word, NAMES, key="character")


def _from_mapping(recipe: Mapping[str, Any], assets: Mapping[str, bytes]) -> Character:
    kind = recipe.get("kind")
    settings = {str(k): v for k, v in recipe.items() if k != "kind"}
    if kind == "skeleton":
        return from_skeleton_recipe(recipe)
    if kind == "mjcf":
        return from_mjcf_recipe(settings, assets)
    if not isinstance(kind, str) or kind not in _BUILDERS:
        raise unknown_name("kind of character", str(kind), (*NAMES, "skeleton", "mjcf"), key="character.kind")
    builder = _BUILDERS[kind]
    allowed = set(inspect.signature(builder).parameters) - {"name"}
    for key, value in settings.items():
        if key not in allowed:
            raise unknown_name(f"setting of {kind!r}", key, allowed, key="character")
        numbers = value.values() if isinstance(value, Mapping) else (value,)
        if not all(isinstance(n, (int, float)) and not isinstance(n, bool) and 0 < n <= 1000 for n in numbers):
            raise InputError(f"must be a number above 0 and at most 1000 (given: {value!r})", key=f"character.{key}")
    return builder(kind, **settings)
