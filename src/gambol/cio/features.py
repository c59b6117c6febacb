"""The feature model of a character (Appendix A): a trunk with all the mass, two-link limbs, patches that may touch.

Everything is read off the character itself: limbs are its parts other than the core, how far they reach and bend is
found by trying joint angles within their ranges.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import mujoco
import numpy as np

from gambol.characters import Character, Patch
from gambol.cio.limbs import Limbs
from gambol.cio.reach import Reach, capsule_of, reach_of
from gambol.errors import InputError
from gambol.rotations import Array, from_matrix, to_rotation_vector


class Patches(NamedTuple):
    """Where forces may act (P), each fixed to a feature: the trunk or an end effector."""

    owners: Any
    """(P,) the features, as indices: in a body alone 0 is the trunk, 1 + l the end of limb l and 1 + L + l its middle
    joint (see :func:`gambol.cio.limbs.with_middles`)."""
    offsets: Any
    """(P, 3) of the centre in the owner's frame, metres."""
    radii: Any
    """(P,) distance from the centre to the skin; 0 for flat patches, whose centre lies on the skin."""
    axes: Any
    """(P, 3) along which the half sizes count first, in the owner's frame."""
    normals: Any
    """(P, 3) outwards, in the owner's frame; zero for round patches, which touch with any side."""
    half_sizes: Any
    """(P, 2) metres."""
    weak: Any
    """(P,) 1 for hands, elbows and the trunk, else 0: their forces are dearer. Without that for the trunk,
    sitting down on the way costs less than walking on, as the paper regrets."""


class Contacts(NamedTuple):
    """What may touch what (N): a patch and the world, or a patch and something that moves."""

    patches: Any
    """(N,)"""
    partners: Any
    """(N,) 0 for the world, 1 + r for the body r."""
    signs: Any
    """(N, R) 1 for the body that the patch belongs to, -1 for the one that is touched, else 0."""
    bearing: Any
    """(N, L) 1 for the limb that the patch is the end of, else 0."""


class Body(NamedTuple):
    """The arrays of a feature model, or of several together; R bodies with mass, L limbs, O features."""

    masses: Any
    """(R,) kg"""
    inertias: Any
    """(R, 3, 3) about their centres, kg m²; of a character, of all its mass as if it were spread as in the core."""
    roots: Any
    """(R,) the features where the mass is: trunks and objects."""
    limbs: Limbs
    patches: Patches
    contacts: Contacts
    solid_ends: Any
    """(C, 2, 3) ends of capsules that are fixed to features, in their frames: trunks, and edges of boxes and soles."""
    solid_radii: Any
    """(C,) 0 for edges."""
    solid_owners: Any
    """(C,) features."""
    overlaps: Any
    """(Q, 2) capsules that should not meet: counted from 0 for upper links, from L for lower ones, then solids."""

    @property
    def are_things(self) -> np.ndarray:
        """Which bodies (R,) are things and no characters."""
        return ~np.isin(self.roots, self.limbs.trunks)


@dataclass(frozen=True)
class Trunk:
    """The core as one rigid body, its frame at its centre of mass and parallel to the world in the zero pose."""

    centre: Array
    """(3,) in the zero pose."""
    inertia: Array
    bodies: tuple[int, ...]
    marks: Array
    """(M, 3) points of the core's bodies in the zero pose, from :func:`_marks`."""

    @staticmethod
    def of(character: Character) -> Trunk:
        """The trunk of a character with a core."""
        model, data = character.model, posed(character, character.pose_qpos("zero"))
        bodies = tuple(model.body(name).id for name in character.parts["core"])
        masses = model.body_mass[list(bodies)]
        centre = masses @ data.xipos[list(bodies)] / masses.sum()
        inertia = np.zeros((3, 3))
        for body, mass in zip(bodies, masses, strict=True):
            turn, away = data.ximat[body].reshape(3, 3), data.xipos[body] - centre
            inertia += turn @ np.diag(model.body_inertia[body]) @ turn.T
            inertia += mass * (away @ away * np.eye(3) - np.outer(away, away))
        return Trunk(centre, inertia * character.mass / masses.sum(), bodies, _marks(data, bodies))

    def fitted(self, character: Character, data: mujoco.MjData) -> tuple[Array, Array]:
        """The trunk's turn (3, 3) and position (3,) that fit the core's bodies best."""
        now = _marks(data, self.bodies)
        weights = np.repeat(character.model.body_mass[list(self.bodies)], 6)[:, None]
        middle, rest = ((weights * marks).sum(0) / weights.sum() for marks in (now, self.marks))
        left, _, right = np.linalg.svd((now - middle).T @ (weights * (self.marks - rest)))
        turn = left @ np.diag([1, 1, np.linalg.det(left @ right)]) @ right
        return turn, middle + turn @ (self.centre - rest)

    def capsules(self, character: Character) -> tuple[Array, Array]:
        """Ends (C, 2, 3) in the trunk's frame and radii (C,) of the core's solids."""
        model, data = character.model, posed(character, character.pose_qpos("zero"))
        solids = [geom for geom in range(model.ngeom) if model.geom_bodyid[geom] in self.bodies]
        ends, radii = [], []
        for geom in solids:
            axis, half, radius = capsule_of(model, geom)
            along = half * data.xmat[model.geom_bodyid[geom]].reshape(3, 3) @ axis
            middle = data.geom_xpos[geom] - self.centre
            ends.append((middle - along, middle + along))
            radii.append(radius)
        return np.array(ends), np.array(radii)


@dataclass(frozen=True)
class FeatureModel:
    """A character as features, and how to read them off its states."""

    character: Character
    body: Body
    limb_names: tuple[str, ...]
    patch_names: tuple[str, ...]
    effectors: tuple[str, ...]
    """The body at the end of each limb."""
    effector_offsets: Array
    """(L, 3) of the end effectors' origins in the frames of those bodies."""
    trunk: Trunk

    @staticmethod
    def of(character: Character) -> FeatureModel:
        """The feature model of a character with a core and at least one limb that has a patch."""
        if "core" not in character.parts:
            raise InputError(f"{character.name!r} has no part called core", key="character")
        limbs = {name: bodies for name, bodies in character.parts.items() if name != "core"}
        chosen = {name: found for name, bodies in limbs.items() if (found := _patch_of(character, bodies))}
        if not chosen:
            raise InputError(f"{character.name!r} has no limb with a patch to stand on", key="character")
        trunk = Trunk.of(character)
        reaches = [reach_of(character, limbs[name], patch, trunk.centre) for name, (_, patch) in chosen.items()]
        bearers = _bearers(character, (limbs[name] for name in chosen))
        rows = [
            _limb_patch(k, "arm" in name, reach) for k, (name, reach) in enumerate(zip(chosen, reaches, strict=True))
        ]
        trunk_ends, trunk_radii = trunk.capsules(character)
        on_trunk = {name: row for body in bearers for name, row in _trunk_patches(character, body, trunk).items()}
        on_trunk |= {
            limbs[name][0]: _haunch(reach)
            for name, reach in zip(chosen, reaches, strict=True)
            if "arm" not in name and _outside(reach.limb.bases, trunk_ends, trunk_radii)
        }
        rows += on_trunk.values()
        rows += [
            _middle_patch(1 + len(chosen) + k, "arm" in name, reach)
            for k, (name, reach) in enumerate(zip(chosen, reaches, strict=True))
        ]
        limb_rows = [reach.limb._replace(effectors=np.array(1 + k)) for k, reach in enumerate(reaches)]
        patches = Patches(*(np.stack(column) for column in zip(*rows, strict=True)))
        edges, edge_owners = _edges(patches)
        body = Body(
            np.array([character.mass]),
            trunk.inertia[None],
            np.array([0]),
            Limbs(*(np.stack(column) for column in zip(*limb_rows, strict=True))),
            patches,
            with_world(patches.owners, len(chosen)),
            np.concatenate([trunk_ends, edges]),
            np.concatenate([trunk_radii, np.zeros(len(edges))]),
            np.concatenate([np.zeros(len(trunk_radii), int), edge_owners]),
            _overlaps(len(chosen), len(trunk_radii)),
        )
        return FeatureModel(
            character,
            body,
            tuple(chosen),
            (*(patch for patch, _ in chosen.values()), *on_trunk, *(reach.middle for reach in reaches)),
            tuple(reach.effector for reach in reaches),
            np.stack([reach.origin for reach in reaches]),
            trunk,
        )

    def features_of(self, qpos: Array) -> Array:
        """The features (1 + L, 6) of a state (nq,) of the character alone."""
        data = posed(self.character, qpos)
        features = np.zeros((1 + len(self.effectors), 6))
        turn, features[0, :3] = self.trunk.fitted(self.character, data)
        features[0, 3:] = to_rotation_vector(from_matrix(turn))
        for k, (name, offset) in enumerate(zip(self.effectors, self.effector_offsets, strict=True), start=1):
            frame = data.body(name).xmat.reshape(3, 3)
            features[k, :3] = data.body(name).xpos + frame @ offset
            features[k, 3:] = to_rotation_vector(from_matrix(frame))
        return features


def posed(character: Character, qpos: Array) -> mujoco.MjData:
    """The character alone in a state (nq,), its bodies in place."""
    data = mujoco.MjData(character.model)
    data.qpos[:] = qpos
    mujoco.mj_kinematics(character.model, data)
    return data


def _marks(data: mujoco.MjData, bodies: Sequence[int]) -> Array:
    """Points (6 bodies, 3) around the centres of bodies: where they are tells how the bodies are turned."""
    marks = []
    for body in bodies:
        frame = 0.1 * data.xmat[body].reshape(3, 3).T
        marks += [data.xipos[body] + sign * row for row in frame for sign in (1, -1)]
    return np.array(marks)


def _patch_of(character: Character, bodies: Sequence[str]) -> tuple[str, Patch] | None:
    """A limb's end effector: of its patches the one with most corners, the first of several."""
    found = [(name, patch) for name, patch in character.patches.items() if patch.body in bodies]
    return max(found, key=lambda each: len(each[1].points), default=None)


def _bearers(character: Character, limbs: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """The core's bodies that one lies and sits on: those that carry limbs, and those that carry nothing (the head)."""
    model = character.model
    parents = [model.body(int(model.body(bodies[0]).parentid[0])).name for bodies in limbs]
    ends = [body for body in character.parts["core"] if model.body(body).id not in model.body_parentid]
    return tuple(dict.fromkeys([*parents, *ends]))


def with_world(owners: Array, limbs: int) -> Contacts:
    """Every patch of a character that is alone, of which ``owners`` (P,) are known, against the world."""
    count = len(owners)
    bearing = ((owners[:, None] - 1) % limbs == np.arange(limbs)) & (owners[:, None] > 0)
    return Contacts(np.arange(count), np.zeros(count, int), np.ones((count, 1)), bearing.astype(float))


def _edges(patches: Patches) -> tuple[Array, Array]:
    """The longer edges (C, 2, 3) of flat patches, patches that are edges themselves, and their owners."""
    edges, owners = [np.zeros((0, 2, 3))], []
    for owner, offset, radius, axis, normal, (half, width) in zip(*patches[:6], strict=True):
        sides = (width, -width) if normal.any() else (0.0,) if radius == 0.0 else ()
        for across in sides:
            middle = offset + across * np.cross(normal, axis)
            edges.append(np.stack([middle - half * axis, middle + half * axis])[None])
            owners.append(int(owner))
    return np.concatenate(edges), np.array(owners, int)


def _overlaps(limbs: int, trunk: int) -> Array:
    """The links of different limbs, and lower links with the trunk's capsules."""
    links = [(limb, limb + part * limbs) for part in (0, 1) for limb in range(limbs)]
    pairs = [(i, j) for a, i in links for b, j in links if a < b]
    return np.array(pairs + [(limb + limbs, 2 * limbs + solid) for limb in range(limbs) for solid in range(trunk)])


def _limb_patch(limb: int, hand: bool, reach: Reach) -> tuple[Any, ...]:
    zero = np.zeros(3)
    return 1 + limb, zero, reach.radius, reach.axis, reach.normal, reach.half_sizes, float(hand)


def _middle_patch(owner: int, elbow: bool, reach: Reach) -> tuple[Any, ...]:
    """A round patch around a middle joint: one kneels and leans on elbows, which the paper's characters cannot.

    Knees are strong above soles, which are of no use before one is nearly up; paws can be stood on at once.
    """
    radius = float(max(reach.limb.upper_radii, reach.limb.lower_radii))
    weak = float(elbow or not reach.normal.any())
    return owner, np.zeros(3), radius, np.array([1.0, 0.0, 0.0]), np.zeros(3), np.zeros(2), weak


def _trunk_patches(character: Character, body: str, trunk: Trunk) -> dict[str, tuple[Any, ...]]:
    """By name the largest solid of a body of the core: a round patch, or the four longest edges of a box.

    A box rests on its edges and tips over them: turning as something round, it would sink with its corners.
    """
    model, data = character.model, posed(character, character.pose_qpos("zero"))
    start, count = model.body(body).geomadr[0], model.body(body).geomnum[0]
    geom = max(range(start, start + count), key=lambda each: model.geom_rbound[each])
    axis, half, radius = capsule_of(model, geom)
    along = data.body(body).xmat.reshape(3, 3) @ axis
    offset = data.geom_xpos[geom] - trunk.centre
    if model.geom_type[geom] != mujoco.mjtGeom.mjGEOM_BOX:
        return {body: (0, offset, radius, along, np.zeros(3), np.array([half, 0.0]), 1.0)}
    half = float(model.geom_size[geom].max())
    corners = np.array(list(product((1, -1), repeat=3))) * model.geom_size[geom] @ data.geom_xmat[geom].reshape(3, 3).T
    edges = corners[corners @ along > 0.0] - half * along
    return {
        f"{body} edge {k}": (0, offset + edge, 0.0, along, np.zeros(3), np.array([half, 0.0]), 1.0)
        for k, edge in enumerate(edges, start=1)
    }


def _haunch(reach: Reach) -> tuple[Any, ...]:
    """A round patch where a leg begins that sticks out of the trunk: one rolls over it."""
    radius = float(reach.limb.upper_radii)
    return 0, reach.limb.bases, radius, np.array([1.0, 0.0, 0.0]), np.zeros(3), np.zeros(2), 1.0


def _outside(point: Array, ends: Array, radii: Array) -> bool:
    """Whether a point lies in none of the capsules with ``ends`` (C, 2, 3) and ``radii`` (C,)."""
    ways = ends[:, 1] - ends[:, 0]
    shares = ((point - ends[:, 0]) * ways).sum(1) / np.maximum((ways**2).sum(1), 1e-9)
    nearest = ends[:, 0] + np.clip(shares, 0.0, 1.0)[:, None] * ways
    return bool((np.linalg.norm(point - nearest, axis=1) > radii).all())
