"""A motion performed by another body, told by the anatomical landmarks both have.

The target's landmarks are placed by walking its own bone lengths along the source's bone directions from the pelvis;
trunk, head and feet are turned as the source's are. Inverse kinematics then finds the joint angles frame by frame, and
the body is put on the ground as the source was.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gambol.characters import Character
from gambol.errors import unknown_name
from gambol.motion.editing import noted
from gambol.motion.motion import Motion
from gambol.motion.retarget.grounding import clearance, grounded_like
from gambol.motion.retarget.landmarks import (
    Body,
    bones_of,
    goals_from,
    landmark_paths,
    leg_ratio,
    resting,
    shared_landmarks,
)
from gambol.motion.retarget.tracking import Goals, follow
from gambol.rotations import Array
from gambol.scenes import Scene

__all__ = ["Goals", "clearance", "direction_errors", "follow", "retarget"]


def retarget(
    motion: Motion, character: Character, *, name: str | None = None, source_character: str | None = None
) -> Motion:
    """The motion with ``character`` in the place of ``source_character`` (the main one unless named).

    ``name`` is what the newcomer is called in the scene. Alone on flat ground it covers ground by the length of its
    legs; among objects, other people or on uneven ground it keeps to the source's path. While the source is on the
    ground, so is the target, as closely. Velocities, controls and contacts are not known afterwards. The mean angle
    between the bones of the two is kept in the figures of the result's source as ``direction_error_deg``.
    """
    scene, old = motion.scene, source_character or motion.scene.main_character
    if old not in scene.characters:
        raise unknown_name("character in this motion", old, scene.characters)
    new = name or character.name
    character = character.named(new)
    shared = shared_landmarks(scene.characters[old], character)
    alone = len(scene.characters) == 1 and not scene.objects and scene.terrain.is_flat
    stride = leg_ratio(Body(scene.characters[old]), Body(character), shared) if alone else 1.0
    goals = goals_from(motion, old, character, stride)
    states = follow(character, goals, resting(character, goals))
    people = {new if key == old else key: character if key == old else other for key, other in scene.characters.items()}
    performed = _performed(motion, scene.with_characters(people), new, states)
    performed = grounded_like(performed, new, motion, old)
    error = float(direction_errors(motion, performed, source_character=old, character=new).mean())
    source = replace(noted(motion.source, f"retargeted from {old} to {new}"), figures={"direction_error_deg": error})
    return replace(performed, source=source)


def direction_errors(
    source: Motion, target: Motion, *, source_character: str | None = None, character: str | None = None
) -> Array:
    """Angles (T, bones) in degrees between the bones of two characters that perform the same motion.

    Toes are left out: their landmark is elsewhere on every foot, and feet are turned by their soles.
    """
    names = source_character or source.scene.main_character, character or target.scene.main_character
    shared = shared_landmarks(source.scene.characters[names[0]], target.scene.characters[names[1]])
    paths = [landmark_paths(motion, name) for motion, name in zip((source, target), names, strict=True)]
    errors = []
    for start, end in (bone for bone in bones_of(shared) if not bone[1].endswith("toe")):
        one, other = (path[end] - path[start] for path in paths)
        across, along = np.linalg.norm(np.cross(one, other), axis=1), (one * other).sum(axis=1)
        errors.append(np.rad2deg(np.arctan2(across, along)))
    return np.stack(errors, axis=1)


def _performed(motion: Motion, scene: Scene, name: str, states: Array) -> Motion:
    """A motion in the new scene: the newcomer's states, everything else as it was."""
    model, before = scene.model, motion.scene.model
    qpos = np.tile(model.qpos0, (len(motion), 1))
    qpos[:, scene.spans[name].qpos] = states
    for joint in range(model.njnt):
        if model.jnt_bodyid[joint] not in scene.spans[name].bodies:
            place, width = model.jnt_qposadr[joint], len(model.joint(joint).qpos0)
            old = before.joint(model.joint(joint).name).qposadr[0]
            qpos[:, place : place + width] = motion.qpos[:, old : old + width]
    return Motion(scene, motion.dt, qpos, mocap=motion.mocap)
