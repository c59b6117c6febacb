"""What the joints of a rig are by their names, and the usual proportions of a human body.

Names of Mixamo, CMU, Unreal, 3ds Max, VRM, Poser and plain ones are understood: sides, then what the bone is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gambol.characters.skeleton import Skeleton

Range = tuple[float, float]


@dataclass(frozen=True)
class Segment:
    """A usual body segment: shares of the whole body, and how far its joint turns (degrees, on the right side).

    ``mass`` is of the body mass (both sides and all joints of a role together), ``radius`` and ``tip`` (the length
    of a last bone whose end is not given) of the stature, ``gain`` of mass × gravity × stature in N m per rad.
    ``bend``, ``side`` and ``twist`` are about the axes :mod:`gambol.characters.hinges` calls by these names, measured
    from standing.
    """

    mass: float
    radius: float
    tip: float
    gain: float
    bend: Range
    side: Range
    twist: Range


SEGMENTS: dict[str, Segment] = {
    "pelvis": Segment(0.142, 0.060, 0.05, 0.90, (-45, 45), (-35, 35), (-45, 45)),
    "spine": Segment(0.315, 0.062, 0.08, 0.90, (-45, 65), (-40, 40), (-50, 50)),
    "neck": Segment(0.020, 0.032, 0.05, 0.15, (-60, 60), (-50, 50), (-80, 80)),
    "head": Segment(0.061, 0.060, 0.10, 0.12, (-60, 60), (-50, 50), (-80, 80)),
    "clavicle": Segment(0.040, 0.032, 0.08, 0.40, (-45, 45), (-45, 45), (-30, 30)),
    "upper_arm": Segment(0.056, 0.029, 0.17, 0.35, (-175, 175), (-175, 175), (-110, 110)),
    "forearm": Segment(0.032, 0.024, 0.15, 0.25, (-160, 160), (-90, 90), (-110, 110)),
    "hand": Segment(0.010, 0.020, 0.07, 0.10, (-90, 90), (-60, 60), (-100, 100)),
    "finger": Segment(0.002, 0.007, 0.02, 0.005, (-110, 110), (-40, 40), (-50, 50)),
    "thigh": Segment(0.200, 0.042, 0.24, 0.80, (-145, 50), (-60, 45), (-60, 60)),
    "shin": Segment(0.093, 0.030, 0.24, 0.80, (-8, 165), (-20, 20), (-45, 45)),
    "foot": Segment(0.023, 0.018, 0.08, 0.80, (-60, 60), (-40, 40), (-45, 45)),
    "toes": Segment(0.006, 0.018, 0.04, 0.10, (-75, 60), (-25, 25), (-30, 30)),
}
"""Shares after the usual anthropometric tables; a body without some of the roles shares out what is missing."""

OTHER = Segment(0.0, 0.0, 0.0, 0.0, (-120, 120), (-85, 85), (-120, 120))
"""A bone that is none of these (a tail, a wing): its proportions follow from its own length."""

LEG_ROLES = ("thigh", "shin", "foot", "toes")
ARM_ROLES = ("upper_arm", "forearm", "hand", "finger")
JOINTS_TO_STATURE = 1.17
"""From the ankles over the hips to the head's joint is so much shorter than from the ground to the crown."""

_PATTERNS: tuple[tuple[str, str], ...] = (
    (r"twist|roll|nub|virtual|^ik|ik$|end$|eye|jaw|tooth|teeth|tongue|hair|ear$|heel|breast|tail|wing|weapon|prop", ""),
    (r"thumb|finger|index|pinky|metacarp|(hand|^)(in)?(hand)?(ring|middle|little)", "finger"),
    (r"toe|^ball", "toes"),
    (r"thigh|upleg|upperleg|femur", "thigh"),
    (r"shin|shank|calf|knee|lowerleg|lowleg|tibia", "shin"),
    (r"foot|ankle", "foot"),
    (r"leg", "leg"),
    (r"hand|wrist|palm", "hand"),
    (r"forearm|lowerarm|lowarm|elbow|radius", "forearm"),
    (r"shldr|arm(?!ature)|humerus", "upper_arm"),
    (r"clavicle|collar|scapula", "clavicle"),
    (r"shoulder", "shoulder"),
    (r"head|skull", "head"),
    (r"neck", "neck"),
    (r"pelvis|hips|sacrum", "pelvis"),
    (r"hip", "hip"),
    (r"spine|back|waist|abdomen|lumbar|chest|thorax|torso|belly|stomach|trunk|rib", "spine"),
)
"""The first that matches the name, in lower case and without its side, wins. Three words depend on their neighbours."""


@dataclass(frozen=True)
class Anatomy:
    """What each joint of a skeleton is.

    ``roles`` are keys of :data:`SEGMENTS` or empty, ``sides`` are right, left or empty.
    """

    skeleton: Skeleton
    roles: tuple[str, ...]
    sides: tuple[str, ...]

    @staticmethod
    def of(skeleton: Skeleton) -> Anatomy:
        """The anatomy that names and, where names leave doubt, neighbours tell."""
        read = [_read(name) for name in skeleton.names]
        roles, sides = [role for role, _ in read], [side for _, side in read]
        below = _descendants(skeleton)
        for joint, role in enumerate(roles):
            above = {roles[a] for a in skeleton.ancestors(joint)[1:]}
            under = {roles[d] for d in below[joint]}
            if role == "leg":
                roles[joint] = "shin" if "thigh" in above else "thigh"
            elif role == "shoulder":
                roles[joint] = "clavicle" if "upper_arm" in under else "upper_arm"
            elif role == "hip":
                roles[joint] = "pelvis" if not sides[joint] or under & {"thigh", "leg"} else "thigh"
        if not roles[0] and "pelvis" not in roles and "thigh" in roles:
            roles[0] = "pelvis"
        for joint, role in enumerate(roles):
            lateral = skeleton.rest_positions[joint, 1] - skeleton.rest_positions[0, 1]
            if not sides[joint] and role in (*LEG_ROLES, *ARM_ROLES, "clavicle"):
                parent = skeleton.parents[joint]
                sides[joint] = sides[parent] if parent >= 0 and sides[parent] else "left" if lateral > 0 else "right"
        return Anatomy(skeleton, tuple(roles), tuple(sides))

    def find(self, role: str, side: str = "") -> list[int]:
        """The joints of a role, parents first."""
        return [j for j, r in enumerate(self.roles) if r == role and (not side or self.sides[j] == side)]

    def first(self, roles: Iterable[str], side: str = "") -> int | None:
        """The first joint that has one of the roles, tried in turn."""
        return next((found[0] for role in roles if (found := self.find(role, side))), None)

    @property
    def two_legged(self) -> bool:
        """Whether there are a right and a left thigh and shin."""
        return all(self.find(role, side) for role in ("thigh", "shin") for side in ("right", "left"))

    @cached_property
    def leg_length(self) -> float:
        """Along the bones from the root to the ankles, the mean of all legs; 0 without legs."""
        feet = self.find("foot") or self.find("shin")
        return float(np.mean([self._reach(foot) for foot in feet])) if feet else 0.0

    @cached_property
    def stature(self) -> float:
        """From the ground to the crown, standing (in the skeleton's unit); of other creatures, their largest extent."""
        tops = self.find("head") or self.find("neck") or self.find("spine")
        if self.two_legged and tops:
            return JOINTS_TO_STATURE * (self.leg_length + min(self._reach(top) for top in tops))
        ends = [self.skeleton.rest_positions]
        for name, tips in self.skeleton.tips.items():
            ends.append(self.skeleton.rest_positions[self.skeleton.names.index(name)] + tips)
        return float(np.ptp(np.concatenate(ends), axis=0).max())

    def _reach(self, joint: int) -> float:
        path = self.skeleton.ancestors(joint)[:-1]
        return float(np.linalg.norm(self.skeleton.offsets[path], axis=1).sum())


def _read(name: str) -> tuple[str, str]:
    """The role and side a name tells on its own."""
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name.rpartition(":")[2])
    words = [word.lower() for word in words]
    side = next((s for s in ("left", "right") for w in words if w in (s, s[0])), "")
    bare = "".join(word for word in words if word not in ("left", "right", "l", "r"))
    for word in ("left", "right"):
        if not side and (bare.startswith(word) or bare.endswith(word)):
            side, bare = word, bare.replace(word, "")
    role = next((role for pattern, role in _PATTERNS if re.search(pattern, bare)), "")
    return role, side


def _descendants(skeleton: Skeleton) -> list[list[int]]:
    below: list[list[int]] = [[] for _ in skeleton.names]
    for joint in range(len(skeleton) - 1, 0, -1):
        below[skeleton.parents[joint]] += [joint, *below[joint]]
    return below
