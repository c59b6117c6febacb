"""Characters and objects in one world, compiled to one MuJoCo model with stable names.

Elements of a character are called ``character/element`` (``humanoid/pelvis``), solids of an object ``object/solid``
(``armchair/seat``), the ground ``floor``. Where a character's name may be left out without doubt, it may.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import mujoco
import numpy as np

from gambol.characters import NAMES, Character, build, describe
from gambol.errors import InputError, unknown_name
from gambol.scenes.objects import SceneObject
from gambol.scenes.parsing import parse_objects
from gambol.scenes.targets import Target
from gambol.scenes.terrain import NAME as GROUND
from gambol.scenes.terrain import Terrain

_OBJ = mujoco.mjtObj


@dataclass(frozen=True)
class Frame:
    """A named coordinate frame of a scene: the world, a body or a single solid."""

    name: str
    kind: str
    """``world``, ``body`` or ``geom``."""
    index: int

    @property
    def object_type(self) -> mujoco.mjtObj:
        """What MuJoCo's sensors call it; a body's own frame, not its inertial one."""
        return _OBJ.mjOBJ_GEOM if self.kind == "geom" else _OBJ.mjOBJ_XBODY


@dataclass(frozen=True)
class Span:
    """Where one character lies in the scene's state and control vectors."""

    qpos: slice
    qvel: slice
    ctrl: slice
    bodies: range


@dataclass(frozen=True)
class Scene:
    """Characters by name, objects by name and the ground."""

    characters: Mapping[str, Character]
    objects: Mapping[str, SceneObject] = field(default_factory=dict)
    terrain: Terrain = field(default_factory=Terrain)
    timestep: float = 0.005

    def __post_init__(self) -> None:
        taken: set[str] = {GROUND, "world"}
        for name in (*self.characters, *self.objects):
            if not name or "/" in name or not name.isprintable():
                hint = "names are not empty, can be printed and have no '/'"
                raise InputError(f"{name!r} cannot name a character or object", hint=hint)
            if name in taken:
                raise InputError(f"the name {name!r} is used twice in one scene")
            taken.add(name)

    def __getstate__(self) -> dict[str, Any]:
        """Compiled models stay behind when a scene travels to another process: they are rebuilt there."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @staticmethod
    def alone(character: Character) -> Scene:
        """One character on flat ground."""
        return Scene({character.name: character})

    @cached_property
    def spec(self) -> mujoco.MjSpec:
        """The whole scene as an editable MuJoCo specification."""
        spec = mujoco.MjSpec()
        spec.modelname = "scene"
        spec.option.timestep = self.timestep
        spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        _furnish_visuals(spec)
        self.terrain.add_to(spec)
        for name, thing in self.objects.items():
            thing.add_to(spec, name, self.terrain.height_at(*thing.at))
        for name, character in self.characters.items():
            child = character.spec()
            spec.attach(child, prefix=f"{name}/", frame=spec.worldbody.add_frame())
        return spec

    @cached_property
    def model(self) -> mujoco.MjModel:
        """The compiled scene."""
        try:
            return self.spec.copy().compile()
        except ValueError as error:
            raise InputError(f"the scene does not compile: {error}") from error

    @cached_property
    def spans(self) -> dict[str, Span]:
        """Where each character lies in states and controls."""
        return {name: self._span(name) for name in self.characters}

    def _span(self, name: str) -> Span:
        model, prefix = self.model, f"{name}/"

        def owned(kind: mujoco.mjtObj, count: int) -> list[int]:
            return [i for i in range(count) if (mujoco.mj_id2name(model, kind, i) or "").startswith(prefix)]

        bodies, actuators = owned(_OBJ.mjOBJ_BODY, model.nbody), owned(_OBJ.mjOBJ_ACTUATOR, model.nu)
        joints = [j for j in range(model.njnt) if model.jnt_bodyid[j] in set(bodies)]
        q, v = int(model.jnt_qposadr[joints[0]]), int(model.jnt_dofadr[joints[0]])
        character = self.characters[name].model
        first = actuators[0] if actuators else 0
        return Span(
            slice(q, q + character.nq),
            slice(v, v + character.nv),
            slice(first, first + len(actuators)),
            range(bodies[0], bodies[-1] + 1),
        )

    @property
    def main_character(self) -> str:
        """The only character, or the first of several."""
        if not self.characters:
            raise InputError("this scene has no character")
        return next(iter(self.characters))

    def frame(self, name: str) -> Frame:
        """The frame a name stands for: ``world`` or ``floor``, a body, or a solid."""
        if name in ("world", GROUND):
            return Frame(name, "world", 0)
        for full in (name, *(f"{character}/{name}" for character in self.characters)):
            for kind, obj in (("body", _OBJ.mjOBJ_BODY), ("geom", _OBJ.mjOBJ_GEOM)):
                index = mujoco.mj_name2id(self.model, obj, full)
                if index >= 0:
                    self._refuse_doubt(name, full, obj)
                    return Frame(full, kind, index)
        raise unknown_name("body, object or solid in this scene", name, self.frame_names)

    def body(self, name: str) -> Frame:
        """The frame of a body; anything else is an error."""
        frame = self.frame(name)
        if frame.kind != "body":
            raise InputError(f"{name!r} is not a body", hint=f"bodies: {', '.join(self._bodies_for_hint())}")
        return frame

    def _bodies_for_hint(self) -> list[str]:
        return [name for character in self.characters.values() for name in character.bodies]

    def _refuse_doubt(self, name: str, full: str, obj: mujoco.mjtObj) -> None:
        owners = [c for c in self.characters if mujoco.mj_name2id(self.model, obj, f"{c}/{name}") >= 0]
        if full != name and len(owners) > 1:
            raise InputError(f"{name!r} could be of {' or '.join(owners)}", hint=f"write {owners[0]}/{name}")

    @cached_property
    def frame_names(self) -> tuple[str, ...]:
        """Every name :meth:`frame` knows, in full."""
        model = self.model
        bodies = (model.body(i).name for i in range(1, model.nbody))
        geoms = (model.geom(i).name for i in range(model.ngeom))
        return (*dict.fromkeys(n for n in (GROUND, *bodies, *geoms) if n),)

    def mirrored(self) -> Scene:
        """The scene reflected in the x-z plane."""
        objects = {name: thing.mirrored() for name, thing in self.objects.items()}
        return replace(self, objects=objects, terrain=self.terrain.mirrored())

    def with_characters(self, characters: Mapping[str, Character]) -> Scene:
        """The same place with other people in it."""
        return replace(self, characters=dict(characters))

    def describe(self) -> dict[str, Any]:
        """Plain data from which :meth:`from_description` rebuilds this scene."""
        return {
            "characters": {name: describe(character) for name, character in self.characters.items()},
            "objects": {name: {"kind": o.kind, **o.model_dump(mode="json")} for name, o in self.objects.items()},
            "terrain": self.terrain.model_dump(mode="json"),
            "timestep": self.timestep,
        }

    @staticmethod
    def from_description(description: Mapping[str, Any], assets: Mapping[str, bytes] | None = None) -> Scene:
        """Rebuild a scene from what :meth:`describe` gave."""
        parts = {key: description.get(key, {}) for key in ("characters", "objects", "terrain")}
        for key, part in parts.items():
            if not isinstance(part, Mapping):
                raise InputError(f"must be a mapping, not {type(part).__name__}", key=key)
        objects, terrain = parse_objects({**parts["objects"], GROUND: parts["terrain"]})
        for name, recipe in parts["characters"].items():
            if (isinstance(recipe, str) and recipe not in NAMES) or (isinstance(recipe, Mapping) and "file" in recipe):
                raise InputError(
                    "a stored scene describes its characters itself, it names no files", key=f"characters.{name}"
                )
        characters = {name: build(recipe, name=name, assets=assets) for name, recipe in parts["characters"].items()}
        timestep = description.get("timestep", 0.005)
        if not isinstance(timestep, int | float) or not 1e-5 <= timestep <= 0.1:
            raise InputError(f"must be a time step between 1e-5 and 0.1 s (given: {timestep!r})", key="timestep")
        return Scene(characters, objects, terrain, float(timestep))

    def initial_qpos(self) -> np.ndarray:
        """The compiled reference state (nq,): every character in its zero pose, objects in place."""
        return self.model.qpos0.copy()

    @property
    def targets(self) -> tuple[str, ...]:
        """The objects that may be moved while a simulation runs."""
        return tuple(name for name, thing in self.objects.items() if isinstance(thing, Target))

    @property
    def moves(self) -> bool:
        """Whether a target follows a path of its own."""
        return bool(self._target_routes)

    def target_row(self, name: str) -> int:
        """Which row of :meth:`target_poses` is of a target."""
        if name not in self.targets:
            raise unknown_name("target in this scene", name, self.targets)
        return int(self.model.body(name).mocapid[0])

    def target_poses(self, seconds: float) -> np.ndarray:
        """Where MuJoCo's mocap bodies are (nmocap, 7: position, quaternion), targets where their paths lead them."""
        poses = self._resting_targets.copy()
        for row, (times, places) in self._target_routes.items():
            poses[row, :3] = [np.interp(seconds, times, axis) for axis in places.T]
        return poses

    @cached_property
    def _resting_targets(self) -> np.ndarray:
        data = mujoco.MjData(self.model)
        return np.concatenate([data.mocap_pos, data.mocap_quat], axis=1)

    @cached_property
    def _target_routes(self) -> dict[int, tuple[np.ndarray, np.ndarray]]:
        return {
            self.target_row(name): thing.route(self.terrain.height_at)
            for name, thing in self.objects.items()
            if isinstance(thing, Target) and thing.path
        }


def _furnish_visuals(spec: mujoco.MjSpec) -> None:
    """Light, sky and a chequered floor, so that pictures look alike everywhere."""
    spec.visual.headlight.ambient = [0.35, 0.35, 0.38]
    spec.visual.headlight.diffuse = [0.35, 0.35, 0.35]
    spec.visual.headlight.specular = [0.0, 0.0, 0.0]
    spec.visual.global_.offwidth, spec.visual.global_.offheight = 1920, 1080
    spec.visual.quality.shadowsize = 4096
    spec.add_texture(
        name="sky",
        type=mujoco.mjtTexture.mjTEXTURE_SKYBOX,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_GRADIENT,
        rgb1=[0.93, 0.95, 0.97],
        rgb2=[0.62, 0.70, 0.80],
        width=256,
        height=1536,
    )
    spec.add_texture(
        name="ground",
        type=mujoco.mjtTexture.mjTEXTURE_2D,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_CHECKER,
        rgb1=[0.80, 0.82, 0.83],
        rgb2=[0.74, 0.76, 0.78],
        width=256,
        height=256,
    )
    material = spec.add_material(name="ground", texrepeat=[1, 1], texuniform=True, reflectance=0.05)
    textures = list(material.textures)
    textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = "ground"
    material.textures = textures
    spec.worldbody.add_light(
        name="sun",
        type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL,
        pos=[0, 0, 6],
        dir=[-0.35, 0.25, -1.0],
        diffuse=[0.6, 0.6, 0.58],
        castshadow=True,
    )
