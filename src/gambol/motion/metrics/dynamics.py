"""Does what happened agree with gravity and contact forces, and what did it cost?"""

from __future__ import annotations

import numpy as np

from gambol.motion.contacts import Contacts
from gambol.motion.metrics.limits import actuator_limits, drives
from gambol.motion.metrics.metric import Reading, mean, measures, require_frames
from gambol.motion.metrics.subject import Subject
from gambol.motion.metrics.support import best_support
from gambol.rotations import Array


@measures("share of weight", "0; 1 is a body that hangs in the air")
def momentum_residual(subject: Subject) -> Reading:
    """Mean force that neither gravity nor contacts explain, as a share of the character's weight.

    With recorded contact forces: change of linear momentum from frame to frame, less gravity, less a force between the
    recorded ones of the two frames. Without: what the best forces leave that contacts within 2 cm could exert (pushing,
    within friction). Pushes from outside that left no contact count as unexplained.
    """
    return mean(np.linalg.norm(_unexplained(subject)[:, :3], axis=1) / subject.weight)


@measures("m", "0; a few centimetres are usual: the lever at which the weight would make the moment")
def angular_momentum_residual(subject: Subject) -> Reading:
    """Mean moment about the centre of mass that contacts do not explain, divided by the character's weight.

    From the same forces as the momentum residual.
    """
    return mean(np.linalg.norm(_unexplained(subject)[:, 3:], axis=1) / subject.weight)


def _unexplained(subject: Subject) -> Array:
    """(T, 6) force and moment that nothing explains, newtons and newton metres; NaN where that cannot be told."""
    require_frames(subject, 3, "a change of momentum")
    contacts = subject.motion.contacts
    if contacts is None or not contacts.has_forces:
        return subject.once(best_support).residual
    return _beyond_recorded(subject, contacts)


def _beyond_recorded(subject: Subject, contacts: Contacts) -> Array:
    """What recorded forces leave over, taken between each frame and the next.

    Forces are known at the frames only; what acted in between may be any mixture of the two, the best one is taken.
    """
    mechanics = subject.mechanics
    weights = np.repeat([1.0, 1.0 / mechanics.gyration], 3)
    external = subject.recorded_wrenches(contacts)
    external[:, :3] += subject.mass * subject.gravity
    left = (np.diff(mechanics.momentum, axis=0) / subject.motion.dt - external[:-1]) * weights
    way = np.diff(external, axis=0) * weights
    share = (left * way).sum(axis=1) / np.maximum((way**2).sum(axis=1), 1e-12)
    left -= np.clip(share, 0.0, 1.0)[:, None] * way
    return np.concatenate([left / weights, np.full((1, 6), np.nan)])


@measures("J", "depends on the motion; 0 in free flight without effort")
def energy_range(subject: Subject) -> Reading:
    """Difference of the greatest and the least mechanical energy: kinetic, gravity's and that of joint springs."""
    energy = subject.mechanics.energy
    return Reading(float(np.ptp(energy)), energy)


@measures("J", "lower for the same deed")
def actuator_work(subject: Subject) -> Reading:
    """Work of all actuators, pushing and braking both counted as positive; the curve is power in watts."""
    require_frames(subject, 2, "work")
    force, speed = subject.once(drives)
    low, high = actuator_limits(subject.model)[subject.span.ctrl].T
    power = np.abs(np.clip(force, low, high) * speed).sum(axis=1)
    return Reading(float(power[:-1].sum() * subject.motion.dt), power)
