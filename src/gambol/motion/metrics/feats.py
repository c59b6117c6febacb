"""What a character did, in numbers: where it got and how it ended. Tasks state their success in these.

Heights are above the ground plane, whatever the terrain.
"""

from __future__ import annotations

import numpy as np

from gambol.motion.metrics.handling import HANDLING
from gambol.motion.metrics.metric import CannotMeasureError, Reading, measures
from gambol.motion.metrics.subject import Subject
from gambol.rotations import Array, level_forward, rotate

_TOUCHING = 0.01
"""Metres within which a body counts as touching."""
_RISE = 0.1
"""Metres that count as going up, or down."""
_LIFTED = 0.02
"""Metres from which on a foot is off the ground."""
_FLIGHT, _LANDING = 0.3, 0.1
"""Seconds that a flight lasts at least, and its landing."""
_FEET = ("_foot", "_toes")
"""How the names of bodies end that are feet."""


@measures("m", "as the wish has it")
def com_height_at_end(subject: Subject) -> Reading:
    """Height of the centre of mass in the last frame."""
    return _last(subject.mechanics.com[:, 2])


@measures("m", "0; below 0.1 the feet carry it")
def com_off_feet_at_end(subject: Subject) -> Reading:
    """Distance on the ground between the centre of mass and the middle of the foot patches, in the last frame."""
    return _last(np.linalg.norm(subject.mechanics.com[:, :2] - _feet(subject)[:, :2], axis=1))


@measures("m", "0; below 0.05 both feet stand")
def feet_height_at_end(subject: Subject) -> Reading:
    """Height of the higher foot patch's middle in the last frame."""
    return _last(np.max([foot[:, 2] for foot in _each_patch(subject, "_foot")], axis=0))


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
def highest_foot(subject: Subject) -> Reading:
    """Greatest height that the middle of a foot patch comes to."""
    curve = np.max([foot[:, 2] for foot in _each_patch(subject, "_foot")], axis=0)
    return Reading(float(curve.max()), curve)


@measures("m", "as the wish has it")
def highest_hand(subject: Subject) -> Reading:
    """Greatest height that the middle of a hand patch comes to."""
    curve = np.max([hand[:, 2] for hand in _each_patch(subject, "_hand")], axis=0)
    return Reading(float(curve.max()), curve)


@measures("m", "as the wish has it")
def farthest_hand(subject: Subject) -> Reading:
    """How far ahead of where the root began a hand comes, along the direction the root faced then."""
    poses = subject.motion.poses()
    facing, origin = level_forward(poses.quats[0, subject.root]), poses.positions[0, subject.root, :2]
    curve = np.max([(hand[:, :2] - origin) @ facing for hand in _each_patch(subject, "_hand")], axis=0)
    return Reading(float(curve.max()), curve)


@measures("m", "as the wish has it")
def travelled(subject: Subject) -> Reading:
    """How far the centre of mass got from where it began, along the direction the root faced then."""
    return _last(_way(subject))


@measures("m", "as the wish has it")
def travelled_on_hands(subject: Subject) -> Reading:
    """How far the centre of mass got while hands touched the world and nothing else did, as ``travelled``."""
    way = _way(subject)
    return _last(np.cumsum(np.where(_alone(subject, "_hand"), np.diff(way, prepend=way[0]), 0.0)))


@measures("degrees", "as the wish has it")
def turned_back_in_air(subject: Subject) -> Reading:
    """How far the root turned backwards about its own left while nothing was touched (forwards: less than zero)."""
    rate = -np.degrees(_local_spin(subject)[:, 1]) * subject.motion.dt
    return _last(np.cumsum(np.where(_touched(subject).any(axis=1), 0.0, rate)))


@measures("times", "as the wish has it")
def rises(subject: Subject) -> Reading:
    """How many times the centre of mass went up by a hand's breadth (0.1 m) from its lowest point since the last."""
    counted, rising, turn = [0], False, np.inf
    for height in subject.mechanics.com[:, 2]:
        turn = max(turn, height) if rising else min(turn, height)
        back = abs(height - turn) > _RISE
        counted.append(counted[-1] + (back and not rising))
        rising, turn = (not rising, height) if back else (rising, turn)
    return _last(np.array(counted[1:], float))


@measures("s", "as the wish has it")
def longest_on_hands(subject: Subject) -> Reading:
    """Longest stretch of time in which hands touch the world and nothing else does."""
    return _longest(subject, "_hand")


@measures("s", "as the wish has it")
def longest_on_one_hand(subject: Subject) -> Reading:
    """Longest stretch of time in which a single hand touches the world and nothing else does."""
    return _longest(subject, "_hand", single=True)


@measures("s", "as the wish has it")
def longest_on_feet(subject: Subject) -> Reading:
    """Longest stretch of time in which feet or toes touch the world and nothing else does."""
    return _longest(subject, *_FEET)


@measures("times", "one for each flight")
def landings_on_feet(subject: Subject) -> Reading:
    """How many flights of 0.3 s or more ended on the feet: in the next 0.1 s nothing but feet and toes touched."""
    own, touched = _named(subject, *_FEET), _touched(subject)
    aloft, wrong = (np.asarray(rows) for rows in (~touched.any(axis=1), touched[:, ~own].any(axis=1)))
    dt = subject.motion.dt
    flown, landed = 0, np.zeros(len(aloft))
    for t, flying in enumerate(aloft):
        if not flying and flown * dt >= _FLIGHT:
            landed[t] = not wrong[t : t + max(round(_LANDING / dt), 1)].any()
        flown = flown + 1 if flying else 0
    return _last(np.cumsum(landed))


@measures("share", "1 for a trot")
def diagonals_together(subject: Subject) -> Reading:
    """Share of the time in which diagonal legs, a front and a hind one, are both lifted (by 2 cm) or both not."""
    ends = [
        f"{end}_{side}_" for end, side in (("front", "right"), ("hind", "left"), ("front", "left"), ("hind", "right"))
    ]
    legs = [np.mean(_each_patch(subject, start=start), axis=0)[:, 2] > _LIFTED for start in ends]
    curve = np.mean([legs[0] == legs[1], legs[2] == legs[3]], axis=0)
    return Reading(float(curve.mean()), curve)


@measures("degrees", "as the wish has it")
def turned_on_head(subject: Subject) -> Reading:
    """How far the body turned about the vertical, either way, while the head touched and no foot did."""
    touched, names = _touched(subject), list(subject.character.bodies)
    if "head" not in names:
        raise CannotMeasureError(f"{subject.name!r} has no body named head")
    spinning = touched[:, names.index("head")] & ~touched[:, _named(subject, *_FEET)].any(axis=1)
    turned = np.cumsum(np.where(spinning, _upright_turns(subject), 0.0))
    return Reading(abs(float(turned[-1])), np.abs(turned))


@measures("degrees", "as the wish has it")
def turned(subject: Subject) -> Reading:
    """How far the root turned about the vertical, counter-clockwise, every turn counted."""
    return _last(np.cumsum(_upright_turns(subject)))


FEATS = {
    each.name: each
    for each in (
        com_height_at_end,
        com_off_feet_at_end,
        feet_height_at_end,
        com_speed_at_end,
        head_height_at_end,
        highest_foot,
        highest_hand,
        farthest_hand,
        travelled,
        travelled_on_hands,
        turned,
        turned_back_in_air,
        turned_on_head,
        rises,
        longest_on_hands,
        longest_on_one_hand,
        longest_on_feet,
        landings_on_feet,
        diagonals_together,
        *HANDLING,
    )
}
"""Every feat by name."""


def _way(subject: Subject) -> Array:
    """How far the centre of mass is from where it began (T,), along the direction the root faced then."""
    facing = level_forward(subject.motion.poses().quats[0, subject.root])
    com = subject.mechanics.com[:, :2]
    return (com - com[0]) @ facing


def _last(curve: Array) -> Reading:
    return Reading(float(curve[-1]), curve)


def _longest(subject: Subject, *endings: str, single: bool = False) -> Reading:
    """The longest stretch in which bodies (or a single one) with such names touch and no others do, and its course."""
    alone = _alone(subject, *endings, single=single)
    lasting = np.zeros(len(alone))
    for t in range(len(alone)):
        lasting[t] = (lasting[t - 1] if t else 0.0) + subject.motion.dt if alone[t] else 0.0
    return Reading(float(lasting.max()), lasting)


def _alone(subject: Subject, *endings: str, single: bool = False) -> np.ndarray:
    """(T,) whether bodies (or a single one) with such names touch and no others do."""
    own, touched = _named(subject, *endings), _touched(subject)
    count = touched[:, own].sum(axis=1)
    return np.asarray((count == 1 if single else count > 0) & ~touched[:, ~own].any(axis=1))


def _named(subject: Subject, *endings: str) -> np.ndarray:
    """(bodies of the character,) whether the name of each ends so; an error if none does."""
    own = np.array([name.endswith(endings) for name in subject.character.bodies])
    if not own.any():
        raise CannotMeasureError(f"{subject.name!r} has no bodies named …{' or …'.join(endings)}")
    return own


def _touched(subject: Subject) -> np.ndarray:
    """(T, bodies of the character) whether each is within a centimetre of something that is not the character."""
    touches = subject.touches
    close = touches.contacts.depth >= -_TOUCHING
    found = np.zeros((len(subject.motion), len(subject.character.bodies)), bool)
    found[touches.contacts.frame[close], touches.body[close] - subject.root] = True
    return found


def _upright_turns(subject: Subject) -> Array:
    """How far the root turns about the vertical in each frame (T,), degrees."""
    spin = rotate(subject.motion.poses().quats[:, subject.root], _local_spin(subject))
    return np.degrees(spin[:, 2]) * subject.motion.dt


def _local_spin(subject: Subject) -> Array:
    """Angular velocity (T, 3) of the root in its own frame, radians a second."""
    first = subject.span.qvel.start
    return subject.motion.velocities[:, first + 3 : first + 6]


def _points(subject: Subject, body: str, offsets: Array) -> Array:
    """Mean world position (T, 3) of points (P, 3) of a body."""
    poses, index = subject.motion.poses(), subject.model.body(f"{subject.name}/{body}").id
    return poses.positions[:, index] + rotate(poses.quats[:, index], offsets.mean(0))


def _feet(subject: Subject) -> Array:
    """Mean world position (T, 3) of the foot patches."""
    return np.mean(_each_patch(subject, "_foot"), axis=0)


def _each_patch(subject: Subject, ending: str = "", *, start: str = "") -> list[Array]:
    """World positions (T, 3) of the middles of the patches whose names begin and end so."""
    named = subject.character.patches.items()
    chosen = [patch for name, patch in named if name.startswith(start) and name.endswith(ending)]
    if not chosen:
        raise CannotMeasureError(f"{subject.name!r} has no {(ending or start).strip('_')} patches")
    return [_points(subject, patch.body, np.array(patch.points)) for patch in chosen]
