"""``gambol keyframes``."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import ValidationError

from gambol.characters import build
from gambol.cli.output import print_figures, print_json, tell
from gambol.cli.targets import refuse_unwritable
from gambol.errors import InputError
from gambol.goals import Pair
from gambol.goals.keyframing import Choice, Still, furnished, task_from
from gambol.goals.yaml import parse_value
from gambol.motion import Motion
from gambol.motion.formats import importer, read
from gambol.motion.skeletal import grounded
from gambol.validation import explained


def keyframes(
    source: Annotated[Path, typer.Argument(metavar="FROM", help="A motion file, or the name of a shipped motion.")],
    target: Annotated[
        Path | None, typer.Argument(metavar="[TASK]", help="A .yaml file; by default called after the motion.")
    ] = None,
    character: Annotated[str | None, typer.Option(help="Who performs it; by default who moves in the motion.")] = None,
    at: Annotated[
        list[float] | None, typer.Option(metavar="SECONDS", help="Choose a moment by hand; may be repeated.")
    ] = None,
    every: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="A keyframe each time so much has passed.")
    ] = None,
    contacts_only: Annotated[
        bool, typer.Option("--contacts-only", help="No points in the air, which say how the body stands over contacts.")
    ] = False,
    start: Annotated[float | None, typer.Option(metavar="SECONDS", help="Where to begin in the motion.")] = None,
    end: Annotated[float | None, typer.Option(metavar="SECONDS", help="Where to end in the motion.")] = None,
    scene: Annotated[
        str | None, typer.Option(metavar="OBJECTS", help="What was there but not recorded, as in a task file.")
    ] = None,
    clip: Annotated[str | None, typer.Option(help="Which clip of an archive.")] = None,
    ground: Annotated[
        bool, typer.Option("--ground", help="Put it on the floor: recorded floors are seldom at zero.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
) -> None:
    """Write a task that performs a motion by its contacts: keyframes nobody had to author."""
    wanted = Path(f"{source.stem}.yaml") if target is None else target
    if wanted.suffix not in (".yaml", ".yml"):
        raise InputError("task files end in .yaml", file=wanted)
    if target is None and wanted.exists():
        raise InputError("is already there", file=wanted, hint="name the task file to replace it")
    refuse_unwritable(wanted)
    performer = None if character is None else build(character)
    choice = _choice(at=tuple(at or ()), every=every, contacts_only=contacts_only)
    try:
        motion = _motion(source, clip, ground, start, end)
        motion = motion if scene is None else furnished(motion, parse_value(scene))
        summary = f"Perform {source.stem if clip is None else clip} by its contacts."
        task, found = task_from(motion, performer, choice, summary=summary)
    except InputError as error:
        raise error.within(file=source) from None
    task.save(wanted)
    _report(source.name, found, json)
    tell(f"wrote {wanted}; to perform it: gambol solve {shlex.quote(str(wanted))}")


def _choice(**given: Any) -> Choice:
    try:
        return Choice(**given)
    except ValidationError as error:
        raise explained(error, Choice) from None


def _motion(source: Path, clip: str | None, ground: bool, start: float | None, end: float | None) -> Motion:
    if clip is not None:
        motion = importer(source, clip, ground=ground)
    else:
        motion = grounded(read(source)) if ground else read(source)
    if start is None and end is None:
        return motion
    return motion.between(start or 0.0, motion.duration if end is None else end)


def _report(title: str, found: tuple[Still, ...], json: bool) -> None:
    if json:
        told = [{"time": round(still.time, 4), **still.keyframe.in_file()} for still in found]
        print_json({"keyframes": told})
        return
    rows = [
        {
            "keyframe": still.keyframe.name,
            "style": still.keyframe.style,
            "touching": _grouped(still.keyframe.pairs[: still.contacts]),
            "in the air": ", ".join(pair.body for pair in still.keyframe.pairs[still.contacts :]),
            "tolerance": f"{still.keyframe.tolerance:g} m",
            "hold": f"{still.keyframe.sustain:g} s",
        }
        for still in found
    ]
    print_figures(title, {"keyframes": rows})


def _grouped(pairs: Sequence[Pair]) -> str:
    """Contacts by what is touched: ``right_foot, left_foot on floor; pelvis on armchair/seat``."""
    touched = dict.fromkeys(pair.on for pair in pairs)
    return "; ".join(f"{', '.join(pair.body for pair in pairs if pair.on == on)} on {on}" for on in touched)
