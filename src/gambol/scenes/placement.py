"""Putting characters into a scene: a pose, a place on the ground, and up until they are free of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import mujoco
import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from gambol.characters import Character
from gambol.errors import InputError, unknown_name
from gambol.rotations import Array, from_yaw, multiply
from gambol.scenes.objects import Angle, Coordinate
from gambol.scenes.scene import Scene

_TOUCH = 0.001
"""Overlap (metres) that is still called free."""
_RISE = 0.02
_HIGHEST = 100.0


class Placement(BaseModel):
    """Where and how a character starts. Without ``at``, the spot that the scene's objects keep for the pose."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
    pose: str = "standing"
    at: tuple[Coordinate, Coordinate] | None = None
    yaw: Angle | None = None
    """Degrees counter-clockwise; by default as the spot says."""
    on: str | None = None
    """The object whose spot is meant, where several have one."""
    lift: Annotated[float, Field(ge=0.0, le=10.0)] = 0.0
    """Metres above the resting place."""
    qpos: tuple[float, ...] | None = None
    """A complete state of the character, in place of everything above."""


def place(scene: Scene, placements: Mapping[str, Placement | str] | Placement | str | None = None) -> Array:
    """The scene's state (nq,) with every character where its placement says."""
    key = "start.{}" if isinstance(placements, Mapping) else "start"
    if not isinstance(placements, Mapping):
        placements = {scene.main_character: placements or "standing"}
    for name in placements:
        if name not in scene.characters:
            known = [*scene.characters, *Placement.model_fields]
            raise unknown_name("character or key of a placement", name, known, key=key.format(name))
    qpos = scene.initial_qpos()
    for order, (name, character) in enumerate(scene.characters.items()):
        wish = placements.get(name, Placement(at=(0.0, 1.2 * order)) if order else "standing")
        try:
            qpos[scene.spans[name].qpos] = _placed(scene, name, character, wish, qpos)
        except InputError as error:
            raise error.within(key=key.format(name)) from None
    return qpos


def _placed(scene: Scene, name: str, character: Character, told: Placement | str, others: Array) -> Array:
    wish = Placement(pose=told) if isinstance(told, str) else told
    if wish.qpos is not None:
        given = np.array(wish.qpos)
        if given.shape != (character.model.nq,) or not np.isfinite(given).all():
            raise InputError(f"needs {character.model.nq} finite numbers (given: {len(given)})", key="qpos")
        if np.linalg.norm(given[3:7]) < 1e-6:
            raise InputError("has no orientation: its quaternion is zero", key="qpos")
        return given
    pose = wish.pose if wish.pose in character.poses or wish.pose != "standing" else "zero"
    try:
        state = character.pose_qpos(pose)
    except InputError as error:
        raise error.within(key=None if isinstance(told, str) else "pose") from None
    x, y, heading = _ground_position(scene, wish)
    turn = from_yaw(np.deg2rad(heading))
    state[3:7] = multiply(turn, state[3:7])
    anchor = _anchor(character, state)
    state[:2] = np.array([x, y]) - anchor[:2]
    state[2] = _resting_height(scene, name, state, others) + wish.lift
    return state


def _ground_position(scene: Scene, wish: Placement) -> tuple[float, float, float]:
    if wish.on is not None and wish.on not in scene.objects:
        raise unknown_name("object to start on", wish.on, scene.objects, key="on")
    candidates = {wish.on: scene.objects[wish.on]} if wish.on else scene.objects
    x, y, heading = 0.0, 0.0, 0.0
    for thing in candidates.values():
        spot = thing.spots().get(wish.pose)
        if spot is not None:
            x, y, heading = thing.spot_in_world(spot)
            break
    if wish.at is not None:
        x, y = wish.at
    return x, y, heading if wish.yaw is None else wish.yaw


def _anchor(character: Character, state: Array) -> Array:
    """The point of the body that is put over the spot: the pelvis where there is one, else the root."""
    model = character.model
    data = mujoco.MjData(model)
    data.qpos[:] = state
    mujoco.mj_kinematics(model, data)
    landmark = character.landmarks.get("pelvis")
    return data.body(landmark.body).xpos.copy() if landmark else state[:3].copy()


def _resting_height(scene: Scene, name: str, state: Array, others: Array) -> float:
    """Root height at which the character, raised from below the ground, is first free of everything."""
    model, span = scene.model, scene.spans[name]
    data = mujoco.MjData(model)
    data.qpos[:] = others
    data.qpos[span.qpos] = state
    own = np.isin(model.geom_bodyid, list(span.bodies))
    # characters are placed one after the other: those still to come are not in the way
    order = list(scene.characters)
    waiting = {body for later in order[order.index(name) + 1 :] for body in scene.spans[later].bodies}
    absent = np.isin(model.geom_bodyid, list(waiting))

    def is_free(height: float) -> bool:
        data.qpos[span.qpos.start + 2] = height
        mujoco.mj_kinematics(model, data)
        mujoco.mj_collision(model, data)
        return not any(c.dist < -_TOUCH and own[c.geom].sum() == 1 and not absent[c.geom].any() for c in data.contact)

    is_free(0.0)
    # the middle of the lowest solid starts in the ground
    low = scene.terrain.height_at(*state[:2]) - float(data.geom_xpos[own, 2].min()) - _RISE
    high = low + _RISE
    while not is_free(high):
        low, high = high, high + _RISE
        if high > _HIGHEST:
            raise InputError(f"finds no free place for {name!r} below {_HIGHEST} m")
    for _ in range(8):
        middle = (low + high) / 2
        low, high = (low, middle) if is_free(middle) else (middle, high)
    return high
