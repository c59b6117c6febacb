"""Tasks: a scene, characters, a goal and the defaults of a method, as a person writes them in YAML."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

from pydantic import Discriminator, Field, Tag, ValidationError, model_validator

from gambol.characters import build
from gambol.errors import InputError, unknown_name
from gambol.files import replacing
from gambol.goals.behaviour import Behaviour
from gambol.goals.keyframes import Keyframe, check_against
from gambol.goals.model import GoalModel, Name, Text
from gambol.goals.overrides import DEFAULT_CHARACTER, GOALS, apply_overrides
from gambol.goals.partial import Partial
from gambol.goals.reuse import SHARED_KEYS, Entry, Listed, expanded
from gambol.goals.success import Criterion
from gambol.goals.tracking import Track
from gambol.goals.windows import Window
from gambol.goals.writing import readable
from gambol.goals.yaml import read_yaml
from gambol.rotations import Array
from gambol.scenes import Placement, Scene, parse_objects, place
from gambol.validation import explained

Recipe = str | dict[str, Any]


def _kind_of_start(start: Any) -> str | None:
    """A mapping with any key of a placement is one; what other mappings name are characters."""
    if isinstance(start, Placement) or (isinstance(start, dict) and set(start) & set(Placement.model_fields)):
        return "placement"
    if isinstance(start, dict):
        return "by character"
    return "pose" if isinstance(start, str) else None


Start = Annotated[
    Annotated[str, Tag("pose")]
    | Annotated[Placement, Tag("placement")]
    | Annotated[dict[Name, str | Placement], Tag("by character")],
    Discriminator(
        _kind_of_start,
        custom_error_type="start",
        custom_error_message="should be a pose, a placement, or one of them for each character by name",
    ),
]


class Task(GoalModel):
    """Everything ``gambol.solve`` needs."""

    name: Name = "task"
    summary: Text = ""
    scene: str | dict[str, Any] | None = None
    """Objects by name with their settings; ``floor`` describes the ground."""
    character: Recipe = DEFAULT_CHARACTER
    characters: Annotated[dict[Name, Recipe] | None, Field(max_length=20)] = None
    """Several characters by name, in place of ``character``."""
    start: Start = "standing"
    method: str | None = None
    keyframes: Annotated[tuple[Keyframe, ...] | None, Field(min_length=1, max_length=1000)] = None
    windows: Annotated[tuple[Window, ...] | None, Field(min_length=1, max_length=1000)] = None
    behaviour: Behaviour | None = None
    partial: Partial | None = None
    track: Track | None = None
    success: Annotated[tuple[Criterion, ...], Field(max_length=50)] = ()
    """What must be true of the motion for the task to have succeeded, beside what the method itself demands."""
    settings: dict[str, Any] = Field(default_factory=dict)
    """Settings of the method; each method says which it knows."""
    file: Annotated[str | None, Field(exclude=True)] = None

    @model_validator(mode="after")
    def _one_goal(self) -> Task:
        given = [key for key in GOALS if getattr(self, key) is not None]
        if len(given) != 1:
            found = "none" if not given else " and ".join(given)
            raise ValueError(f"a task has exactly one goal out of {', '.join(GOALS)} (given: {found})")
        return self

    @model_validator(mode="after")
    def _one_cast(self) -> Task:
        if self.characters is not None and "character" in self.model_fields_set:
            raise ValueError("a task has either character or characters (given: both)")
        return self

    @property
    def goal_kind(self) -> str:
        """Which of :data:`GOALS` this task wishes for."""
        return next(key for key in GOALS if getattr(self, key) is not None)

    @property
    def goal(self) -> Any:
        """The wish itself."""
        return getattr(self, self.goal_kind)

    @cached_property
    def world(self) -> Scene:
        """The scene with its characters, ready to be compiled; names in the goal are checked against it."""
        try:
            objects, terrain = parse_objects(self.scene)
            wanted = self.characters or {_word(self.character): self.character}
            characters = {name: build(self._located(recipe), name=name) for name, recipe in wanted.items()}
            scene = Scene(characters, objects, terrain)
            self._check_names(scene)
            return scene
        except InputError as error:
            raise error.within(file=self.file) from None

    @property
    def identity(self) -> str:
        """What stays when the task is edited: its file, or the name it was given; without either it is another task."""
        if self.file is not None:
            return _same(self.file)
        return self.name if "name" in self.model_fields_set else self.model_dump_json()

    def beside(self, file: str) -> str:
        """A file named in this task: relative names count from the task file's folder."""
        return beside(self.file, file)

    def _located(self, recipe: Recipe) -> Recipe:
        if isinstance(recipe, str):
            return self.beside(recipe) if recipe.endswith((".bvh", ".xml", ".mjcf")) else recipe
        return {**recipe, "file": self.beside(recipe["file"])} if isinstance(recipe.get("file"), str) else recipe

    def _check_names(self, scene: Scene) -> None:
        """Whatever the goal names must be in the scene."""
        if self.keyframes is not None:
            check_against(self.keyframes, scene)
        marks = {name for character in scene.characters.values() for name in character.landmarks}
        known = {*marks, *scene.frame_names, *(n.rpartition("/")[2] for n in scene.frame_names)}
        named: list[tuple[str, str]] = []
        if self.partial is not None:
            named += [(f"partial.joints.{i}.joint", goal.joint) for i, goal in enumerate(self.partial.joints)]
            named += [("partial.use", self.partial.use)] if self.partial.use else []
        if self.behaviour is not None:
            known |= {"com", "heading"}
            named += [(f"behaviour.wishes.{i}.feature", wish.feature) for i, wish in enumerate(self.behaviour.wishes)]
        if self.track is not None:
            named += [(f"track.pushes.{i}.body", push.body) for i, push in enumerate(self.track.pushes)]
        for key, name in named:
            if name not in known:
                raise unknown_name("landmark, body or object", name, known, key=key)
        for i, criterion in enumerate(self.success):
            if criterion.of is not None and criterion.of not in scene.characters:
                raise unknown_name("character", criterion.of, scene.characters, key=f"success.{i}.of")

    def initial_qpos(self) -> Array:
        """The scene's state at the start (nq,)."""
        try:
            return place(self.world, self.start)
        except InputError as error:
            raise error.within(file=self.file) from None

    def in_file(self) -> dict[str, Any]:
        """Plain data as a person would write it."""
        plain = self.model_dump(mode="json", exclude_defaults=True, exclude={"keyframes", "name"})
        if self.keyframes is not None:
            plain["keyframes"] = [keyframe.in_file() for keyframe in self.keyframes]
        return plain

    @property
    def text(self) -> str:
        """The task as a file holds it, with the defaults that a reader need not know."""
        told = self.in_file()
        if self.characters is None:
            told = {"character": self.character, "start": self.start, **told}
        if self.keyframes is not None:
            told["keyframes"] = [
                {**entry, "pairs": [pair.model_dump(mode="json") for pair in keyframe.pairs]}
                for entry, keyframe in zip(told["keyframes"], self.keyframes, strict=True)
            ]
        return readable({key: told[key] for key in Task.model_fields if key in told})

    def save(self, path: str | Path) -> None:
        """Write the task as YAML."""
        with replacing(path) as temporary:
            temporary.write_text(self.text, encoding="utf-8")


def _word(recipe: Recipe) -> str:
    """What a lone character is called in its scene: its kind, or the stem of its file."""
    word = recipe if isinstance(recipe, str) else str(recipe.get("file", recipe.get("kind", "character")))
    return Path(word).stem or "character"


def load_task(source: str | Path | Mapping[str, Any], overrides: Sequence[str] = ()) -> Task:
    """A task from a shipped name, a YAML file or plain data, with ``key=value`` overrides applied."""
    return _loaded(source, overrides, ())


def _loaded(source: str | Path | Mapping[str, Any], overrides: Sequence[str], users: tuple[str, ...]) -> Task:
    """``users`` are the tasks that use this one's keyframes, and for which it is loaded."""
    file: str | None = None
    if isinstance(source, Mapping):
        data = dict(source)
    else:
        path = task_path(source)
        shipped = not str(source).endswith((".yaml", ".yml"))
        file = str(source) if shipped else str(path)
        data = {"name": str(source) if shipped else path.stem, **read_yaml(path)}
    if "file" in data:
        raise InputError("unknown key", file=file, key="file")
    if file is not None and _same(file) in map(_same, users):
        raise InputError(f"uses itself: {' -> '.join((*users, file))}", key="use")

    def entries_of(name: str, listed: Listed) -> Sequence[Entry]:
        named = beside(file, name) if name.endswith((".yaml", ".yml")) else name
        found = getattr(_loaded(named, (), (*users, file or "this task")), listed)
        if found is None:
            raise InputError(f"{name} has no {listed}", key="use")
        return found

    try:
        shared = [override for override in overrides if override.partition(".")[0] in SHARED_KEYS]
        others = [override for override in overrides if override not in shared]
        entries = expanded(apply_overrides(data, shared), entries_of)
        return Task(**{**apply_overrides(entries, others), "file": file})
    except ValidationError as error:
        raise explained(error, Task, file=file, known=SHARED_KEYS) from None
    except TypeError as error:
        raise InputError(f"keys must be names: {error}", file=file) from None
    except InputError as error:
        raise error.within(file=file) from None


def _same(file: str) -> str:
    """One spelling for every way to name a task file; shipped names stay as they are."""
    return os.path.realpath(file) if file.endswith((".yaml", ".yml")) else file


def beside(task_file: str | None, file: str) -> str:
    """A file named in a task: relative names count from the task file's folder."""
    is_file = task_file is not None and task_file.endswith((".yaml", ".yml"))
    return str(Path(str(task_file)).parent / file) if is_file else file


def task_path(source: str | Path) -> Path:
    """The file behind a shipped name or a path."""
    if str(source).endswith((".yaml", ".yml")):
        return Path(source)
    folder = _shipped_folder()
    names = list(shipped_tasks())
    if str(source) not in names:
        if Path(source).exists():
            raise InputError("is not a task file", file=source, hint="task files end in .yaml")
        raise unknown_name("task", str(source), names)
    return folder / f"{source}.yaml"


def shipped_tasks() -> Iterator[str]:
    """Names of the tasks that come with gambol."""
    folder = _shipped_folder()
    yield from sorted(path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.yaml"))


def _shipped_folder() -> Path:
    return Path(str(resources.files("gambol"))) / "library" / "tasks"
