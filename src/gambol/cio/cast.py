"""Several characters and the things they move, as the bodies of one problem (Section 5).

Features come character by character, each with its trunk and end effectors, then one for every thing. Patches of
characters and the undersides of things may touch the world; end effectors may touch things, and other characters where
that is wanted. A contact between two bodies pushes both, in opposite directions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gambol.cio.features import Body, Contacts, FeatureModel, Patches
from gambol.cio.limbs import Limbs
from gambol.cio.surfaces import Surfaces
from gambol.cio.wishes import Row
from gambol.errors import InputError, unknown_name
from gambol.rotations import Array

_LEAST_SHARE = 0.02
"""Of the work: nobody can be asked to do nothing at all."""
_STEEPNESS = 3.0
"""The power of its share by which a character's forces become cheaper. Forces are a small part of the cost beside where
everybody can reach: in inverse proportion to the shares they change little."""
_ROUNDING = 1e-6


@dataclass(frozen=True)
class Thing:
    """A box that can be moved, upright in its own frame."""

    name: str
    mass: float
    """kg"""
    half_sizes: Array
    """(3,) metres."""

    @property
    def inertia(self) -> Array:
        """(3, 3) of an even box, kg m²."""
        squares = np.asarray(self.half_sizes, float) ** 2
        return np.diag(self.mass / 3.0 * (squares.sum() - squares))


@dataclass(frozen=True)
class Cast:
    """All bodies together; takes the place of a :class:`FeatureModel` in a problem."""

    body: Body
    surfaces: Surfaces
    """Of the world and of what can be touched of the cast."""
    patch_names: tuple[str, ...]
    contact_names: tuple[str, ...]
    """A patch touching the world, or ``a patch on a thing``."""
    limb_names: tuple[str, ...]
    features: dict[str, slice]
    """By the name of a character or thing."""
    characters: tuple[str, ...]
    contact_owners: tuple[str, ...]
    """Who each contact belongs to."""

    @staticmethod
    def of(
        characters: Mapping[str, FeatureModel], things: Sequence[Thing], world: Surfaces, climbers: Sequence[str] = ()
    ) -> Cast:
        """The cast in a world; ``climbers`` are the characters that may touch the trunks of others."""
        names = [*characters, *(thing.name for thing in things)]
        if len(set(names)) < len(names) or not characters:
            raise InputError("a cast needs characters, and every name once", key="scene")
        for k, name in enumerate(climbers):
            if name not in characters:
                raise unknown_name("character", name, characters, key=f"climbers.{k}")
            if len(characters) < 2:
                raise InputError("there is nobody to climb on", key="climbers")
        return _Gathering(characters, things, world, climbers).cast()

    def placed(self, starts: Mapping[str, Array]) -> Array:
        """The features (O, 6) of everybody at their own (1 + L, 6) or, for things, (6,)."""
        return np.concatenate([np.atleast_2d(starts[name]) for name in self.features])

    def rows(self, name: str, rows: Sequence[Row]) -> list[Row]:
        """Wishes about one character's features, or about a thing's, as wishes about the whole cast's."""
        if name not in self.features:
            raise unknown_name("character or thing", name, self.features, key="wishes")
        widened = []
        for row in rows:
            owners = np.zeros(sum(span.stop - span.start for span in self.features.values()))
            owners[self.features[name]] = row.owners
            widened.append(replace(row, owners=owners))
        return widened

    @property
    def on_things(self) -> np.ndarray:
        """(N,) whether each contact is one of a character with a thing."""
        return np.asarray(self.body.contacts.signs) @ self.body.are_things < 0.0

    def burdens(self, shares: Mapping[str, float]) -> Array:
        """How dear forces are (N,) so that characters do about these shares of the work, in equal parts unless told.

        Work is what is done to things: forces of feet must carry their character whatever they cost.
        """
        for name in shares:
            if name not in self.characters:
                raise unknown_name("character", name, self.characters, key="load_share")
        if not shares:
            return np.ones(len(self.contact_owners))
        if len(self.characters) < 2:
            raise InputError("there is nobody to share the work with", key="load_share")
        others = [name for name in self.characters if name not in shares]
        rest = 1.0 - sum(shares.values())
        if rest < -_ROUNDING or (rest > _ROUNDING and not others):
            raise InputError(f"the shares add up to {1.0 - rest:g}, not to 1", key="load_share")
        if not self.body.are_things.any():
            raise InputError("there is nothing to move together", key="load_share", hint="add a crate to the scene")
        every = {**shares, **{name: rest / len(others) for name in others}}
        dear = {name: (len(every) * max(share, _LEAST_SHARE)) ** -_STEEPNESS for name, share in every.items()}
        return np.where(self.on_things, [dear.get(owner, 1.0) for owner in self.contact_owners], 1.0)


class _Gathering:
    """The parts of a cast while they are put together."""

    def __init__(
        self, characters: Mapping[str, FeatureModel], things: Sequence[Thing], world: Surfaces, climbers: Sequence[str]
    ):
        self.characters, self.things, self.world, self.climbers = characters, things, world, climbers
        models = list(characters.values())
        self.limbs = sum(len(model.limb_names) for model in models)
        self.bodies = len(models) + len(things)
        self.features: dict[str, slice] = {}
        for name, count in [
            *((n, 1 + len(m.limb_names)) for n, m in characters.items()),
            *((t.name, 1) for t in things),
        ]:
            begin = max((span.stop for span in self.features.values()), default=0)
            self.features[name] = slice(begin, begin + count)
        self.count = max(span.stop for span in self.features.values())
        self.roots = np.array([span.start for span in self.features.values()])

    def cast(self) -> Cast:
        """Everything."""
        patches, names, bodies = self._patches()
        contacts, contact_names = self._contacts(patches, names, bodies)
        models = list(self.characters.values())
        ends, radii, owners, overlaps = self._solids()
        inertias = [model.body.inertias[0] for model in models] + [thing.inertia for thing in self.things]
        masses = [float(model.body.masses[0]) for model in models] + [thing.mass for thing in self.things]
        limbs = [
            model.body.limbs._replace(
                trunks=model.body.limbs.trunks + self.features[name].start,
                effectors=model.body.limbs.effectors + self.features[name].start,
            )
            for name, model in self.characters.items()
        ]
        body = Body(
            np.array(masses),
            np.stack(inertias),
            self.roots,
            Limbs(*(np.concatenate(column) for column in zip(*limbs, strict=True))),
            patches,
            contacts,
            ends,
            radii,
            owners,
            overlaps,
        )
        everybody = list(self.features)
        owned = tuple(everybody[int(bodies[patch])] for patch in contacts.patches)
        limb_names = tuple(self._full(n, limb) for n, model in self.characters.items() for limb in model.limb_names)
        given = tuple(names), tuple(contact_names), limb_names, self.features, tuple(self.characters), owned
        return Cast(body, self._surfaces(), *given)

    def _full(self, character: str, name: str) -> str:
        """A name of a character's, with whose it is where there are several."""
        return f"{character}/{name}" if len(self.characters) > 1 else name

    def _patches(self) -> tuple[Patches, list[str], Array]:
        """All patches, their names and the bodies (P,) they belong to."""
        parts, names, bodies, limb = [], [], [], 0
        for k, (name, model) in enumerate(self.characters.items()):
            own, limbs = model.body.patches, len(model.limb_names)
            # middle joints come after the features of everybody
            middles = self.count + limb + own.owners - (1 + limbs)
            owners = np.where(own.owners > limbs, middles, self.features[name].start + own.owners)
            parts.append(own._replace(owners=owners))
            names += [self._full(name, patch) for patch in model.patch_names]
            bodies += [k] * len(own.owners)
            limb += limbs
        for k, thing in enumerate(self.things, start=len(self.characters)):
            parts.append(_underside(thing, self.features[thing.name].start))
            names.append(thing.name)
            bodies.append(k)
        return Patches(*(np.concatenate(column) for column in zip(*parts, strict=True))), names, np.array(bodies)

    def _contacts(self, patches: Patches, names: list[str], bodies: Array) -> tuple[Contacts, list[str]]:
        """Everything against the world, then end effectors against things and characters."""
        pairs = [(patch, 0) for patch in range(len(names))]
        everybody = list(self.features)
        ends, first = [], 0
        for k, model in enumerate(self.characters.values()):
            own = np.arange(first, first + len(model.limb_names))
            hands = own[patches.weak[own] > 0]
            ends.append((k, own, hands if len(hands) else own))
            first += len(model.patch_names)
        for thing in range(len(self.characters), self.bodies):
            pairs += [(patch, 1 + thing) for _, _, hands in ends for patch in hands]
        climbing = [(i, own) for i, own, _ in ends if everybody[i] in self.climbers]
        pairs += [(patch, 1 + k) for i, own in climbing for k, _, _ in ends if i != k for patch in own]
        patch, partner = np.array(pairs).T
        signs = (bodies[patch][:, None] == np.arange(self.bodies)).astype(float)
        signs -= partner[:, None] == 1 + np.arange(self.bodies)
        effectors = np.concatenate(
            [span.start + 1 + np.arange(span.stop - span.start - 1) for span in self.features.values()]
        )
        owners = patches.owners[patch][:, None]
        bearing = (owners == effectors) | (owners == self.count + np.arange(self.limbs))
        told = [names[p] + (f" on {everybody[k - 1]}" if k else "") for p, k in pairs]
        return Contacts(patch, partner, signs, bearing.astype(float)), told

    def _solids(self) -> tuple[Array, Array, Array, Array]:
        """Ends, radii and owners of the capsules fixed to features, and which capsules should not meet."""
        ends, radii, owners, overlaps, groups = [], [], [], [], []
        limb, solid = 0, 2 * self.limbs
        for name, model in self.characters.items():
            body, limbs = model.body, len(model.limb_names)
            count = len(body.solid_radii)
            places = np.concatenate(
                [limb + np.arange(limbs), self.limbs + limb + np.arange(limbs), solid + np.arange(count)]
            )
            ends.append(body.solid_ends)
            radii.append(body.solid_radii)
            owners.append(body.solid_owners + self.features[name].start)
            overlaps.append(places[body.overlaps])
            groups.append(places[: 2 * limbs + int((body.solid_radii > 0).sum())])
            limb, solid = limb + limbs, solid + count
        for thing in self.things:
            corners = np.array([(x, y) for x in (1, -1) for y in (1, -1)]) * thing.half_sizes[:2]
            height = thing.half_sizes[2]
            ends.append(np.array([[(x, y, -height), (x, y, height)] for x, y in corners]))
            radii.append(np.zeros(4))
            owners.append(np.full(4, self.features[thing.name].start))
        overlaps += [
            np.stack(np.meshgrid(a, b), axis=-1).reshape(-1, 2) for k, a in enumerate(groups) for b in groups[k + 1 :]
        ]
        return tuple(np.concatenate(part) for part in (ends, radii, owners, overlaps))  # type: ignore[return-value]

    def _surfaces(self) -> Surfaces:
        moving = [
            Surfaces.of_thing(np.asarray(thing.half_sizes, float), self.features[thing.name].start, k)
            for k, thing in enumerate(self.things, start=len(self.characters))
        ]
        for k, (name, model) in enumerate(self.characters.items()):
            if any(climber != name for climber in self.climbers):
                own = model.body.solid_radii > 0
                given = model.body.solid_ends[own], model.body.solid_radii[own]
                moving.append(Surfaces.of_capsules(*given, self.features[name].start, k))
        return self.world.joined(moving)


def _underside(thing: Thing, owner: int) -> Patches:
    """What a thing stands on."""
    x, y, z = np.asarray(thing.half_sizes, float)
    down, along = np.array([[0.0, 0.0, -1.0]]), np.array([[1.0, 0.0, 0.0]])
    return Patches(np.array([owner]), z * down, np.zeros(1), along, down, np.array([[x, y]]), np.zeros(1))
