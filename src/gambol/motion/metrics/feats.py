"""What a character did, in numbers: where it got and how it ended. Tasks state their success in these."""

from __future__ import annotations

import numpy as np

from gambol.motion.metrics.metric import CannotMeasureError, Reading, measures
from gambol.motion.metrics.subject import Subject
from gambol.rotations import Array, rotate


@measures("m", "as the wish has it")
def com_height_at_end(subject: Subject) -> Reading:
    """Height of the centre of mass in the last frame."""
    return Reading(float(subject.mechanics.com[-1, 2]), subject.mechanics.com[:, 2])


@measures("m", "0; below 0.1 the feet carry it")
def com_off_feet_at_end(subject: Subject) -> Reading:
    """Distance on the ground between the centre of mass and the middle of the foot patches, in the last frame."""
    return _last(np.linalg.norm(subject.mechanics.com[:, :2] - _feet(subject)[:, :2], axis=1))


@measures("m", "0; below 0.05 both feet stand")
def feet_height_at_end(subject: Subject) -> Reading:
    """Mean height of the foot patches in the last frame."""
    return _last(_feet(subject)[:, 2])


@measures("m/s", "0; below 0.2 it stands still")
def com_speed_at_end(subject: Subject) -> Reading:
    """Speed of the centre of mass in the last frame."""
    return _last(np.linalg.norm(subject.mechanics.momentum[:, :3], axis=1) / subject.mass)


@measures("m", "as the wish has it")
def head_height_at_end(subject: Subject) -> Reading:
    """Height of the head landmark in the last frame."""
    if "head" not in subject.character.landmarks:
        raise CannotMeasureError(f"{subject.name!r} has no landmark named head")
    point = subject.character.landmarks["head"]
    return _last(_points(subject, point.body, np.array([point.offset]))[:, 2])


@measures("m", "as the wish has it")
def travelled(subject: Subject) -> Reading:
    """How far the centre of mass got from where it began, along the direction the root faced then."""
    facing = rotate(subject.motion.poses().quats[0, subject.root], np.array([1.0, 0.0, 0.0]))[:2]
    facing = facing / max(float(np.linalg.norm(facing)), 1e-9)
    com = subject.mechanics.com[:, :2]
    return _last((com - com[0]) @ facing)


FEATS = {
    each.name: each
    for each in (
        com_height_at_end,
        com_off_feet_at_end,
        feet_height_at_end,
        com_speed_at_end,
        head_height_at_end,
        travelled,
    )
}
"""Every feat by name."""


def _last(curve: Array) -> Reading:
    return Reading(float(curve[-1]), curve)


def _points(subject: Subject, body: str, offsets: Array) -> Array:
    """Mean world position (T, 3) of points (P, 3) of a body."""
    poses, index = subject.motion.poses(), subject.model.body(f"{subject.name}/{body}").id
    return poses.positions[:, index] + rotate(poses.quats[:, index], offsets.mean(0))


def _feet(subject: Subject) -> Array:
    """Mean world position (T, 3) of the foot patches."""
    feet = [patch for name, patch in subject.character.patches.items() if name.endswith("_foot")]
    if not feet:
        raise CannotMeasureError(f"{subject.name!r} has no foot patches")
    return np.mean([_points(subject, foot.body, np.array(foot.points)) for foot in feet], axis=0)
