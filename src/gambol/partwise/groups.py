"""Which parts of a body are planned for together (Figure 3), as data.

Our reading of the figure: the groups are the five parts, core with legs, core with arms, both legs and both arms; the
partitions are the five parts apart, core with legs and each arm, core with arms and each leg, core with arms and both
legs, core with legs and both arms.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gambol.characters import Character

_LEGS, _ARMS = ("right_leg", "left_leg"), ("right_arm", "left_arm")
_HUMAN_GROUPS: tuple[tuple[str, ...], ...] = (
    ("core",),
    *((limb,) for limb in (*_LEGS, *_ARMS)),
    ("core", *_LEGS),
    ("core", *_ARMS),
    _LEGS,
    _ARMS,
)
_HUMAN_PARTITIONS: tuple[tuple[int, ...], ...] = ((0, 1, 2, 3, 4), (5, 3, 4), (6, 1, 2), (6, 7), (5, 8))


@dataclass(frozen=True)
class Grouping:
    """Groups of parts, and partitions of the body into groups.

    ``groups`` name their parts; each of ``partitions`` is a tuple of groups that together cover the body once.
    """

    groups: tuple[tuple[str, ...], ...]
    partitions: tuple[tuple[int, ...], ...]

    @staticmethod
    def of(character: Character) -> Grouping:
        """The paper's grouping for a body with its five parts; each part apart and all limbs together for another."""
        parts = tuple(character.parts)
        if set(parts) == {"core", *_LEGS, *_ARMS}:
            return Grouping(_HUMAN_GROUPS, _HUMAN_PARTITIONS)
        limbs = tuple(part for part in parts if part != "core")
        groups = tuple((part,) for part in parts)
        if len(limbs) < 2 or len(limbs) == len(parts):
            return Grouping(groups, (tuple(range(len(groups))),))
        together = len(groups)
        return Grouping((*groups, limbs), (tuple(range(len(parts))), (parts.index("core"), together)))

    def sees(self, parts: Iterable[str]) -> np.ndarray:
        """Which groups (G,) a cost that concerns these parts counts for."""
        concerned = set(parts)
        return np.array([bool(concerned & set(group)) for group in self.groups])

    def source_groups(self, part_of_actuator: Sequence[str]) -> np.ndarray:
        """The group (partitions, nu) each actuator belongs to in each partition."""
        return np.array(
            [
                [next(g for g in partition if part in self.groups[g]) for part in part_of_actuator]
                for partition in self.partitions
            ],
            dtype=int,
        )


def parts_of_actuators(character: Character) -> list[str]:
    """The part each actuator moves: the one of the body its joint turns."""
    model, part_of = character.model, character.part_of
    joints = model.actuator_trnid[:, 0]
    return [part_of[model.body(int(model.jnt_bodyid[joint])).name] for joint in joints]


def parts_of_joints(character: Character) -> list[str]:
    """The part each degree of freedom but the root's moves."""
    model, part_of = character.model, character.part_of
    return [part_of[model.body(int(body)).name] for body in model.dof_bodyid[6:]]


def parts_of_frame(frame: str, characters: Mapping[str, Character], main: str) -> set[str]:
    """The part of the main character a frame's name lies on; none for the world, furniture and other people."""
    owner, _, element = frame.rpartition("/")
    character = characters[main]
    if owner != main:
        return set()
    model = character.model
    bodies = set(character.bodies)
    body = element if element in bodies else model.body(int(model.geom(element).bodyid[0])).name
    return {character.part_of[body]}
