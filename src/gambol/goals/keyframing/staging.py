"""The stage of a motion as a task file tells it: its objects, its characters, and how they start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from gambol.characters import NAMES, Character, build, describe
from gambol.errors import InputError
from gambol.motion import Motion
from gambol.scenes import Placement, Scene, Terrain, parse_objects, place
from gambol.scenes.terrain import NAME as GROUND

_SAME = 2e-3
"""Metres and radians by which a state may differ from a named pose that stands for it."""


def staged(motion: Motion) -> dict[str, Any]:
    """The keys ``scene``, ``character`` or ``characters``, and ``start`` of a task that begins as the motion does."""
    scene = motion.scene
    starts = {name: _start(motion, name) for name in scene.characters}
    told = {name: _character(character) for name, character in scene.characters.items()}
    stage: dict[str, Any] = {"scene": _objects(scene)} if _objects(scene) else {}
    if len(told) == 1:
        return {**stage, "character": told[scene.main_character], "start": starts[scene.main_character]}
    return {**stage, "characters": told, "start": starts}


def _objects(scene: Scene) -> dict[str, Any]:
    objects: dict[str, Any] = {
        name: {
            **({} if thing.kind == name else {"kind": thing.kind}),
            **thing.model_dump(mode="json", exclude_defaults=True),
        }
        for name, thing in scene.objects.items()
    }
    ground = scene.terrain.model_dump(mode="json", exclude_defaults=True)
    return {**objects, GROUND: ground} if scene.terrain != Terrain() else objects


def _character(character: Character) -> str | Mapping[str, Any]:
    recipe = describe(character)
    if character.assets:
        raise InputError(
            f"the character {character.name!r} needs files of its own ({', '.join(sorted(character.assets))})",
            hint="a task cannot hold them; perform it with another character (--character)",
        )
    kind = recipe.get("kind")
    return str(kind) if kind in NAMES and describe(build(str(kind))) == recipe else recipe


def _start(motion: Motion, name: str) -> str | Placement:
    """A pose's name where the scene puts the character as the motion's first frame has it, else the whole state."""
    scene, span = motion.scene, motion.scene.spans[name]
    state = motion.qpos[0, span.qpos]
    for pose in scene.characters[name].poses:
        if np.abs(place(scene, {name: Placement(pose=pose)})[span.qpos] - state).max() < _SAME:
            return pose
    return Placement(qpos=tuple(round(float(value), 4) + 0.0 for value in state))


def furnished(motion: Motion, objects: object) -> Motion:
    """The motion with more objects in its scene, as a task file tells them: what was there, but was not recorded.

    What physics knew about it is not known afterwards.
    """
    added, terrain = parse_objects(objects)
    scene = motion.scene
    for name in added:
        if name in scene.objects:
            raise InputError(f"the scene has an object {name!r} already", key="scene", hint="give it another name")
    ground = terrain if terrain != Terrain() else scene.terrain
    fuller = replace(scene, objects={**scene.objects, **added}, terrain=ground)
    if fuller.model.nmocap != scene.model.nmocap:
        raise InputError("targets carry nobody: they cannot be added to a motion", key="scene")
    qpos = np.tile(fuller.model.qpos0, (len(motion), 1))
    for joint in range(scene.model.njnt):
        old = scene.model.joint(joint)
        new = fuller.model.joint(old.name).qposadr[0]
        width = len(old.qpos0)
        qpos[:, new : new + width] = motion.qpos[:, old.qposadr[0] : old.qposadr[0] + width]
    return Motion(fuller, motion.dt, qpos, mocap=motion.mocap, source=motion.source)
