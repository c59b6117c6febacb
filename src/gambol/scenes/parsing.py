"""From the mappings of a scene file to objects and ground, with errors that name the key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from gambol.errors import InputError, unknown_name
from gambol.scenes.furniture import KINDS
from gambol.scenes.objects import SceneObject
from gambol.scenes.terrain import NAME as GROUND
from gambol.scenes.terrain import Terrain
from gambol.validation import explained

MAX_OBJECTS = 200
Made = TypeVar("Made", bound=BaseModel)


def parse_objects(description: object) -> tuple[dict[str, SceneObject], Terrain]:
    """A scene as people write it: a name, or names with settings; ``floor`` describes the ground.

    ``armchair``, ``{armchair: {height: 0.12}}`` and ``{left: {kind: stool, at: [1, 0]}, floor: {shape: rough}}`` are
    all scenes. A key that is no kind of object needs a ``kind``.
    """
    if description is None or description == "empty":
        description = {}
    if isinstance(description, str):
        description = {description: {}}
    if not isinstance(description, Mapping):
        raise InputError(f"must be a name or a mapping of objects, not {type(description).__name__}", key="scene")
    if len(description) > MAX_OBJECTS:
        raise InputError(f"has {len(description)} objects; at most {MAX_OBJECTS} are allowed", key="scene")
    objects: dict[str, SceneObject] = {}
    terrain = Terrain()
    for name, settings in description.items():
        settings = {} if settings is None else settings
        key = f"scene.{name}"
        if not isinstance(settings, Mapping):
            raise InputError(f"must be a mapping of settings, not {type(settings).__name__}", key=key)
        if name == GROUND:
            terrain = _made(Terrain, settings, key)
        else:
            objects[str(name)] = _object(str(name), settings, key)
    return objects, terrain


def _object(name: str, settings: Mapping[str, Any], key: str) -> SceneObject:
    kind = settings.get("kind", name)
    if kind not in KINDS:
        raise unknown_name("kind of object", str(kind), KINDS, key=f"{key}.kind" if "kind" in settings else key)
    return _made(KINDS[kind], {k: v for k, v in settings.items() if k != "kind"}, key, known=("kind",))


def _made(model: type[Made], settings: Mapping[str, Any], key: str, known: Iterable[str] = ()) -> Made:
    try:
        return model(**settings)
    except ValidationError as error:
        raise explained(error, model, key=key, known=known) from None
    except TypeError as error:
        raise InputError(f"settings must have names: {error}", key=key) from None
