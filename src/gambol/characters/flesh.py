"""Solids and masses around a skeleton: capsules along the bones, a ball for the head, flat feet to stand on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gambol.characters.blueprint import Geom, Vec3
from gambol.characters.hinges import bone_direction
from gambol.characters.tables import OTHER, SEGMENTS, Anatomy
from gambol.errors import InputError
from gambol.rotations import Array, unit

_DENSITY = 1000.0
_BODY_MASS_INDEX = 22.5
"""Kilograms per square metre of stature, for a mass nobody gave."""
_LEAST_MASS = 2e-4
"""No link is lighter than this share of the body: an almost massless link shakes a simulation."""
_SPLAYED = np.cos(np.deg2rad(12.0))
_HEEL, _HALF_WIDTH, _ANKLE = 0.035, 0.017, 0.02
"""Behind the ankle, beside the foot's middle line, least height above the sole's middle; shares of the stature."""


@dataclass(frozen=True)
class Sole:
    """The flat of a foot or of its toes in the joint's frame: a strip from ``back`` to ``front``, ``up`` is upwards."""

    back: Array
    front: Array
    side: Array
    """From the middle line to the left edge's capsule."""
    up: Array
    radius: float

    def geoms(self, name: str) -> tuple[Geom, ...]:
        """An inner and an outer capsule."""
        pairs = ((f"{name}_right_edge", -self.side), (f"{name}_left_edge", self.side))
        return tuple(Geom.capsule(vec3(self.back + s), vec3(self.front + s), self.radius, n) for n, s in pairs)

    def corners(self) -> tuple[Vec3, ...]:
        """The four corner points that touch the ground."""
        down = -self.radius * self.up
        return tuple(vec3(end + s + down) for end in (self.back, self.front) for s in (-self.side, self.side))


def soles_of(anatomy: Anatomy) -> dict[int, Sole]:
    """The soles of all feet and toes by joint.

    A foot is flat where the zero pose has it, unless the zero pose splays the legs by more than 12° (as CMU's does):
    then it is flat when the shin is vertical.
    """
    soles: dict[int, Sole] = {}
    skeleton, stature = anatomy.skeleton, anatomy.stature
    for joint, role in enumerate(anatomy.roles):
        if role not in ("foot", "toes"):
            continue
        parent = skeleton.parents[joint]
        above = soles.get(parent)
        radius = SEGMENTS[role].radius * stature
        if above is not None:
            up, forward = above.up, unit(above.front - above.back)
        else:
            shin = unit(skeleton.offsets[joint])
            up = -shin if 0 < -shin[2] < _SPLAYED else np.array([0.0, 0.0, 1.0])
            toe = bone_direction(anatomy, joint) if len(skeleton.bone_ends(joint)) else np.array([1.0, 0.0, 0.0])
            level = toe - (toe @ up) * up
            forward = unit(level) if np.linalg.norm(level) > 0.2 else np.array([1.0, 0.0, 0.0])
        ends = skeleton.bone_ends(joint)
        reach = max((float(end @ forward) for end in ends), default=0.0)
        reach = reach if reach > 0.01 * stature else SEGMENTS[role].tip * stature
        if role == "foot" and above is None:
            drop = max(max((-float(end @ up) for end in ends), default=0.0), _ANKLE * stature)
            back = -drop * up - _HEEL * stature * forward
            front = -drop * up + reach * forward
        else:
            # toes go on where the foot ends, at its level
            level = 0.0 if above is None else float((above.front - skeleton.offsets[joint]) @ up)
            back, front = level * up, level * up + reach * forward
        soles[joint] = Sole(back, front, _HALF_WIDTH * stature * np.cross(up, forward), up, radius)
    return soles


def geoms_of(anatomy: Anatomy, names: tuple[str, ...]) -> list[tuple[Geom, ...]]:
    """The solids of every joint's link, in its frame; ``names`` are those of the links. No link goes without."""
    soles = soles_of(anatomy)
    found = []
    for joint, name in enumerate(names):
        if joint in soles:
            found.append(soles[joint].geoms(name))
            continue
        capsules = _capsules(anatomy, joint)
        capsules = _with_bars(anatomy, joint, capsules)
        found.append(
            tuple(
                Geom.capsule(vec3(start), vec3(end), radius, f"{name}_{k}" if k else name)
                if np.linalg.norm(end - start) > 1e-4
                else Geom.sphere(vec3(start), radius, f"{name}_{k}" if k else name)
                for k, (start, end, radius) in enumerate(capsules)
            )
        )
    return found


def _capsules(anatomy: Anatomy, joint: int) -> list[tuple[Array, Array, float]]:
    """Start, end and radius along each bone of a joint; a single ball where there is no bone."""
    role, stature = anatomy.roles[joint], anatomy.stature
    segment = SEGMENTS.get(role, OTHER)
    ends = [end for end in anatomy.skeleton.bone_ends(joint) if np.linalg.norm(end) > 0.01 * stature]
    longest = max((float(np.linalg.norm(end)) for end in ends), default=0.0)
    radius = segment.radius * stature or float(np.clip(0.12 * longest, 0.006 * stature, 0.06 * stature))
    origin = np.zeros(3)
    if role == "head":
        way = bone_direction(anatomy, joint)
        crown = max(longest, segment.tip * stature)
        return [(way * max(crown - radius, 0.5 * radius), way * max(crown - radius, 0.5 * radius), radius)]
    if not ends and not anatomy.skeleton.children[joint] and segment.tip:
        ends = [bone_direction(anatomy, joint) * segment.tip * stature]
    if role in ("upper_arm", "forearm", "thigh", "shin", "finger") and longest:
        radius = min(radius, 0.4 * longest)
    return [(origin, end, radius) for end in ends] or [(origin, origin, radius)]


def _with_bars(
    anatomy: Anatomy, joint: int, capsules: list[tuple[Array, Array, float]]
) -> list[tuple[Array, Array, float]]:
    """The pelvis as one bar between the hip sockets if both thighs hang on it, the chest with one at the shoulders."""
    skeleton = anatomy.skeleton
    below = skeleton.children[joint]
    if anatomy.roles[joint] == "pelvis":
        sockets = [skeleton.offsets[c] for c in below if anatomy.roles[c] == "thigh"]
        return [(0.7 * sockets[0], 0.7 * sockets[1], capsules[0][2])] if len(sockets) == 2 else capsules
    collars = [c for c in below if anatomy.roles[c] == "clavicle"]
    if anatomy.roles[joint] == "spine" and len(collars) == 2:
        ends = [skeleton.offsets[c] + skeleton.bone_ends(c).sum(axis=0) for c in collars]
        return [*capsules, (0.4 * ends[0], 0.4 * ends[1], capsules[0][2])]
    return capsules


def masses_of(anatomy: Anatomy, geoms: list[tuple[Geom, ...]], mass: float | None) -> Array:
    """Kilograms of every link.

    A two-legged body has the usual share in each role, divided among the joints of the role by volume; bones that are
    none of them have the density of water. Other creatures have it throughout. ``mass`` is the whole, by default that
    of a body mass index of 22.5 (other creatures: of their volume).
    """
    volumes = np.array([sum(geom.volume for geom in solids) for solids in geoms])
    by_volume = _DENSITY * volumes
    if mass is not None and not (np.isfinite(mass) and 0.1 <= mass <= 10_000):
        raise InputError(f"must be between 0.1 and 10000 kg (given: {mass!r})", key="mass")
    if anatomy.two_legged:
        total = mass if mass is not None else _BODY_MASS_INDEX * anatomy.stature**2
        roles = np.array(anatomy.roles)
        shares = np.zeros(len(roles))
        for role, segment in SEGMENTS.items():
            here = roles == role
            shares[here] = segment.mass * volumes[here] / max(volumes[here].sum(), 1e-12)
        others = np.where(roles == "", np.minimum(by_volume, 0.05 * total), 0.0)
        others *= min(1.0, 0.3 * total / max(others.sum(), 1e-12))
        masses = others + shares / shares.sum() * (total - others.sum())
    else:
        total = mass if mass is not None else float(by_volume.sum())
        masses = by_volume * total / by_volume.sum()
    masses = np.maximum(masses, _LEAST_MASS * total)
    return masses * total / masses.sum()


def centre(solids: tuple[Geom, ...]) -> Array:
    """The centre of mass of a link's solids, in its frame."""
    weights = np.array([geom.volume for geom in solids])
    middles = np.array([np.add(geom.start, geom.start if geom.end is None else geom.end) / 2 for geom in solids])
    return weights @ middles / weights.sum()


def lowest(solids: tuple[Geom, ...]) -> float:
    """The height of the lowest point of a link's solids in its own axes."""
    return min(min(g.start[2], g.start[2] if g.end is None else g.end[2]) - g.size[0] for g in solids)


def vec3(vector: Array) -> Vec3:
    """A plain tuple of an array of three."""
    x, y, z = (float(v) for v in vector)
    return (x, y, z)
