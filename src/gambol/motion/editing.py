"""Cutting, joining, mirroring and retiming motions. Everything returns a new motion."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

import mujoco
import numpy as np

from gambol.characters.blueprint import mirror_name
from gambol.errors import InputError
from gambol.motion.contacts import joined
from gambol.motion.motion import Motion, Source, checked_step
from gambol.rotations import (
    Array,
    conjugate,
    from_rotation_vector,
    from_yaw,
    multiply,
    rotate,
    slerp,
    to_rotation_vector,
)
from gambol.scenes import Scene

_JOINT = mujoco.mjtJoint
_OBJ = mujoco.mjtObj
_SAME_STEP = 1e-9
"""Time steps (seconds) that differ by less are equal."""
MAX_NUMBERS = 50_000_000
"""A motion is not made longer than this by repeating or resampling it: the work needs several times the memory."""


def resample(motion: Motion, dt: float) -> Motion:
    """The same motion at another time step, from its first frame to the last new frame within it.

    Positions go along the shortest way between frames, velocities linearly, controls hold. Contacts are those of the
    nearest old frame, so a shorter step repeats them and a longer one loses some.
    """
    count = int(np.floor(motion.duration / checked_step(dt) + 1e-9)) + 1
    _require_room(motion, count, "dt")
    place = np.minimum(np.arange(count) * (dt / motion.dt), len(motion) - 1)
    nearest = np.rint(place)
    # a frame that is hit but for rounding is taken as it is
    place = np.where(np.abs(place - nearest) < 1e-9, nearest, place)
    before = np.floor(place).astype(int)
    after, share = np.minimum(before + 1, len(motion) - 1), place - before
    qvel, mocap = motion.qvel, motion.mocap
    if mocap is not None:
        shift = share[:, None, None] * (mocap[after, :, :3] - mocap[before, :, :3])
        turn = slerp(mocap[before, :, 3:], mocap[after, :, 3:], share[:, None])
        mocap = np.concatenate([mocap[before, :, :3] + shift, turn], axis=-1)
    return replace(
        motion,
        dt=dt,
        qpos=_between(motion.scene.model, motion.qpos[before], motion.qpos[after], share),
        qvel=None if qvel is None else qvel[before] + share[:, None] * (qvel[after] - qvel[before]),
        ctrl=None if motion.ctrl is None else motion.ctrl[before],
        mocap=mocap,
        contacts=None if motion.contacts is None else motion.contacts.at_frames(nearest.astype(int)),
        source=noted(motion.source, f"resampled to {dt:g} s"),
    )


def mirror(motion: Motion) -> Motion:
    """Left and right exchanged, scene included; mirroring twice gives the same motion again.

    An error says so where a character has no left-right symmetry.
    """
    model, scene = motion.scene.model, motion.scene
    qpos = motion.qpos.copy()
    qvel = None if motion.qvel is None else motion.qvel.copy()
    ctrl = None if motion.ctrl is None else motion.ctrl.copy()
    for q, v in _free_joints(model):
        qpos[:, q : q + 7] *= [*_MIRRORED_POINT, *_MIRRORED_QUAT]
        if qvel is not None:
            qvel[:, v : v + 6] *= [*_MIRRORED_POINT, *-_MIRRORED_POINT]
    for name, span in scene.spans.items():
        symmetry = scene.characters[name].symmetry
        qpos[:, span.qpos] = symmetry.qpos(motion.qpos[:, span.qpos])
        if motion.qvel is not None and qvel is not None:
            qvel[:, span.qvel] = symmetry.qvel(motion.qvel[:, span.qvel])
        if motion.ctrl is not None and ctrl is not None:
            ctrl[:, span.ctrl] = symmetry.ctrl(motion.ctrl[:, span.ctrl])
    contacts = motion.contacts
    if contacts is not None:
        counterpart = _mirrored_geoms(model)
        contacts = replace(
            contacts,
            geoms=counterpart[contacts.geoms],
            position=contacts.position * _MIRRORED_POINT,
            force=contacts.force * _MIRRORED_POINT,
        )
    return replace(
        motion,
        scene=scene.mirrored(),
        qpos=qpos,
        qvel=qvel,
        ctrl=ctrl,
        mocap=None if motion.mocap is None else motion.mocap * [*_MIRRORED_POINT, *_MIRRORED_QUAT],
        contacts=contacts,
        source=noted(motion.source, "mirrored"),
    )


_MIRRORED_POINT = np.array([1.0, -1.0, 1.0])
_MIRRORED_QUAT = np.array([1.0, -1.0, 1.0, -1.0])


def reverse(motion: Motion) -> Motion:
    """The motion backwards. Contact forces stay, controls do not: what would drive it that way is not known."""
    frames = np.arange(len(motion))[::-1]
    return replace(
        motion,
        qpos=motion.qpos[::-1],
        qvel=None if motion.qvel is None else -motion.qvel[::-1],
        ctrl=None,
        mocap=None if motion.mocap is None else motion.mocap[::-1],
        contacts=None if motion.contacts is None else motion.contacts.at_frames(frames),
        source=noted(motion.source, "reversed"),
    )


def repeat(motion: Motion, times: int, *, blend: float = 0.2, align: bool = True) -> Motion:
    """The motion several times in a row, each time from where the last one ended."""
    if times < 1:
        raise InputError(f"must be at least 1 (given: {times!r})", key="times")
    _require_room(motion, times * len(motion), "times")
    whole = reduce(lambda done, each: concatenate(done, each, blend=blend, align=align), [motion] * times)
    return replace(whole, source=noted(motion.source, f"{times} times")) if times > 1 else motion


def concatenate(first: Motion, second: Motion, *, blend: float = 0.2, align: bool = True) -> Motion:
    """``first``, then ``second`` one time step later, in the same scene and at the first one's time step.

    ``align`` puts the main character, and everything with it, where ``first`` ends, by a turn and a shift on the
    ground; where something fixed stands (furniture, uneven ground, a marker nobody moves), ``second`` keeps its place.
    Over ``blend`` seconds what still differs fades out: positions and velocities are continuous and ``first`` is not
    touched. Controls and contacts are kept as they were, so they do not quite belong to the blended frames.
    """
    if not (np.isfinite(blend) and blend >= 0):
        raise InputError(f"must be a time in seconds, zero or more (given: {blend!r})", key="blend")
    _require_same_place(first.scene, second.scene)
    if abs(first.dt - second.dt) > _SAME_STEP:
        second = resample(second, first.dt)
    model, dt = first.scene.model, first.dt
    speed = first.velocities[-1]
    expected = first.qpos[-1].copy()
    mujoco.mj_integratePos(model, expected, speed, dt)
    if align and first.scene.characters and not _is_fixed(second):
        second = _brought(second, expected)
    frames = min(round(blend / dt), len(second) - 1)
    qpos, qvel = np.concatenate([first.qpos, second.qpos]), None
    blended = slice(len(first), len(first) + frames)
    qpos[blended] = _faded(model, expected, speed, second, frames)
    if first.qvel is not None and second.qvel is not None:
        qvel = np.concatenate([first.qvel, second.qvel])
        qvel[blended] = Motion(first.scene, dt, qpos).velocities[blended]
    contacts = None
    if first.contacts is not None and second.contacts is not None:
        contacts = joined([first.contacts, replace(second.contacts, frame=second.contacts.frame + len(first))])
    ctrl = np.concatenate([first.ctrl, second.ctrl]) if first.ctrl is not None and second.ctrl is not None else None
    return replace(
        first,
        qpos=qpos,
        qvel=qvel,
        ctrl=ctrl,
        mocap=_joined_mocap(first, second, frames),
        contacts=contacts,
        source=_joined_source(first.source, second.source),
    )


def _require_room(motion: Motion, frames: int, key: str) -> None:
    """An error where that many frames like the motion's would be longer than it and too many."""
    known = [a for a in (motion.qpos, motion.qvel, motion.ctrl, motion.mocap) if a is not None]
    numbers = sum(array.size for array in known) + (0 if motion.contacts is None else 9 * len(motion.contacts))
    most = MAX_NUMBERS // max(numbers // len(motion), 1)
    if frames > max(most, len(motion)):
        raise InputError(f"asks for {frames} frames; at most {most} like these can be made", key=key)


def _require_same_place(first: Scene, second: Scene) -> None:
    """An error that names what differs; the simulation's time step may."""
    if first is second:
        return
    one, other = first.describe(), second.describe()
    different = [key for key in ("characters", "objects", "terrain") if one[key] != other[key]]
    if different:
        raise InputError(
            f"the two motions are not in the same scene: their {' and '.join(different)} differ",
            hint="retarget one onto the other's character first" if "characters" in different else None,
        )


def _is_fixed(motion: Motion) -> bool:
    """Whether the scene has something that cannot be shifted along with the characters."""
    scene, model = motion.scene, motion.scene.model
    moving = {int(model.jnt_bodyid[j]) for j in range(model.njnt)}
    if motion.mocap is not None:
        moving |= {b for b in range(model.nbody) if model.body_mocapid[b] >= 0}
    return not scene.terrain.is_flat or any(scene.body(name).index not in moving for name in scene.objects)


def _brought(motion: Motion, goal: Array) -> Motion:
    """The motion turned and shifted on the ground so that the main character starts as in the state ``goal`` (nq,)."""
    model = motion.scene.model
    root = motion.scene.spans[motion.scene.main_character].qpos.start
    turn_needed = multiply(goal[root + 3 : root + 7], conjugate(motion.qpos[0, root + 3 : root + 7]))
    # the turn about z that brings the two orientations nearest, however the body lies
    turn = from_yaw(2 * np.arctan2(turn_needed[3], turn_needed[0]))
    pivot, target = motion.qpos[0, root : root + 3], goal[root : root + 3]
    shift = np.array([*(target - rotate(turn, pivot))[:2], 0.0])
    qpos = motion.qpos.copy()
    qvel = None if motion.qvel is None else motion.qvel.copy()
    for q, v in _free_joints(model):
        qpos[:, q : q + 3] = rotate(turn, qpos[:, q : q + 3]) + shift
        qpos[:, q + 3 : q + 7] = multiply(turn, qpos[:, q + 3 : q + 7])
        if qvel is not None:
            qvel[:, v : v + 3] = rotate(turn, qvel[:, v : v + 3])
    mocap, contacts = motion.mocap, motion.contacts
    if mocap is not None:
        mocap = np.concatenate([rotate(turn, mocap[..., :3]) + shift, multiply(turn, mocap[..., 3:])], axis=-1)
    if contacts is not None:
        position, force = rotate(turn, contacts.position) + shift, rotate(turn, contacts.force)
        contacts = replace(contacts, position=position, force=force)
    return replace(motion, qpos=qpos, qvel=qvel, mocap=mocap, contacts=contacts)


def _faded(model: mujoco.MjModel, expected: Array, speed: Array, motion: Motion, frames: int) -> Array:
    """The first ``frames`` states of a motion, led in from a state and its velocity."""
    offset, rate = np.zeros(model.nv), speed - motion.velocities[0]
    mujoco.mj_differentiatePos(model, offset, 1.0, motion.qpos[0], expected)
    return _moved(model, motion.qpos[:frames], _fading(offset, rate, frames, motion.dt))


def _fading(offset: Array, rate: Array, frames: int, dt: float) -> Array:
    """Offsets (frames, ...) along the quintic that starts with an offset and its rate and ends at rest in zero.

    Added to a motion they lead into it from elsewhere (inertialisation: only the offset is shaped, the motion under it
    stays alive).
    """
    s = (np.arange(frames) / max(frames, 1)).reshape(-1, *[1] * offset.ndim)
    fade = 1 - s**3 * (10 - 15 * s + 6 * s**2)
    glide = s - s**3 * (6 - 8 * s + 3 * s**2)
    return fade * offset + glide * rate * (frames * dt)


def _joined_mocap(first: Motion, second: Motion, frames: int) -> Array | None:
    """The markers of both; the first ``frames`` of the second's are led in as the states are."""
    if first.mocap is None and second.mocap is None:
        return None
    model, dt = first.scene.model, first.dt
    bodies = np.argsort(np.where(model.body_mocapid >= 0, model.body_mocapid, model.nbody))[: model.nmocap]
    still = np.concatenate([model.body_pos[bodies], model.body_quat[bodies]], axis=1)
    before, after = (np.tile(still, (len(m), 1, 1)) if m.mocap is None else m.mocap for m in (first, second))
    speed, own_speed = _final_speed(before, dt), -_final_speed(after[:3][::-1], dt)
    offset = _marker_step(after[0], _marker_moved(before[-1], speed * dt))
    led_in = _marker_moved(after[:frames], _fading(offset, speed - own_speed, frames, dt))
    return np.concatenate([before, led_in, after[frames:]])


def _final_speed(mocap: Array, dt: float) -> Array:
    """Velocities (nmocap, 6) of markers (T, nmocap, 7) at the last frame, from its last two steps."""
    last = mocap[-3:]
    steps = _marker_step(last[:-1], last[1:]) / dt
    return 1.5 * steps[-1] - 0.5 * steps[0] if len(steps) == 2 else steps.sum(axis=0)


def _marker_step(start: Array, end: Array) -> Array:
    """The way from poses (..., 7) to others: shifts in the world and turns in the markers' own axes (..., 6)."""
    turn = to_rotation_vector(multiply(conjugate(start[..., 3:]), end[..., 3:]))
    return np.concatenate([end[..., :3] - start[..., :3], turn], axis=-1)


def _marker_moved(pose: Array, step: Array) -> Array:
    """Poses (..., 7) displaced by steps (..., 6)."""
    turned = multiply(pose[..., 3:], from_rotation_vector(step[..., 3:]))
    return np.concatenate([pose[..., :3] + step[..., :3], turned], axis=-1)


def _free_joints(model: mujoco.MjModel) -> list[tuple[int, int]]:
    """Where each free joint starts in positions and in velocities."""
    return [
        (int(model.jnt_qposadr[j]), int(model.jnt_dofadr[j]))
        for j in range(model.njnt)
        if model.jnt_type[j] == _JOINT.mjJNT_FREE
    ]


def _turning_joints(model: mujoco.MjModel) -> list[tuple[int, int]]:
    """Where each quaternion starts in positions, and its angular velocity in velocities."""
    balls = [
        (int(model.jnt_qposadr[j]), int(model.jnt_dofadr[j]))
        for j in range(model.njnt)
        if model.jnt_type[j] == _JOINT.mjJNT_BALL
    ]
    return [(q + 3, v + 3) for q, v in _free_joints(model)] + balls


def _between(model: mujoco.MjModel, start: Array, end: Array, share: Array) -> Array:
    """States (T, nq) a share (T,) of the way from the starts to the ends."""
    qpos = start + share[:, None] * (end - start)
    for q, _ in _turning_joints(model):
        here = slice(q, q + 4)
        qpos[:, here] = slerp(start[:, here], end[:, here], share)
    return qpos


def _moved(model: mujoco.MjModel, qpos: Array, step: Array) -> Array:
    """States (T, nq) displaced by tangent vectors (T, nv), as ``mj_integratePos`` does it one by one."""
    moved = qpos.copy()
    for t in range(len(qpos)):
        mujoco.mj_integratePos(model, moved[t], step[t], 1.0)
    return moved


def _mirrored_geoms(model: mujoco.MjModel) -> np.ndarray:
    """The counterpart of every solid (ngeom,): by name, else the one in the same place on the mirrored body."""

    def counterpart(kind: mujoco.mjtObj, index: int) -> int:
        owner, slash, own = (mujoco.mj_id2name(model, kind, index) or "").rpartition("/")
        return mujoco.mj_name2id(model, kind, f"{owner}{slash}{mirror_name(own)}") if own else -1

    found = np.arange(model.ngeom)
    for geom in range(model.ngeom):
        other = counterpart(_OBJ.mjOBJ_GEOM, geom)
        if other < 0:
            body = int(model.geom_bodyid[geom])
            twin = counterpart(_OBJ.mjOBJ_BODY, body)
            if twin >= 0 and model.body_geomnum[twin] == model.body_geomnum[body]:
                other = int(model.body_geomadr[twin] + geom - model.body_geomadr[body])
        found[geom] = other if other >= 0 else geom
    return found


def noted(source: Source, note: str) -> Source:
    """The source, with what was done since; mirroring again takes the word back."""
    notes = source.notes.split("; ") if source.notes else []
    notes = notes[:-1] if note == "mirrored" and notes[-1:] == [note] else [*notes, note]
    return replace(source, notes="; ".join(notes))


def _joined_source(first: Source, second: Source) -> Source:
    """What two sources agree on; figures of the parts say nothing about the whole."""
    parts = [
        " ".join(filter(None, (s.method, s.task, s.notes and f"({s.notes})"))) or "unknown" for s in (first, second)
    ]
    return Source(
        method=first.method if first.method == second.method else None,
        task=first.task if first.task == second.task else None,
        seed=first.seed if first.seed == second.seed else None,
        versions=first.versions,
        notes=" then ".join(parts),
    )
