"""``gambol check``, ``info``, ``export``, ``import`` and ``view``."""

from __future__ import annotations

import functools
import http.server
import tempfile
import webbrowser
from pathlib import Path
from typing import Annotated, Any

import typer

from gambol.characters import build
from gambol.cli.output import print_figures, print_json, tell
from gambol.errors import InputError
from gambol.motion import Motion
from gambol.motion.formats import importer, read, write

_MOTION = "A motion file, or the name of a shipped motion (see `gambol list`)."
FileArgument = Annotated[Path, typer.Argument(help=_MOTION)]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")]


def check(file: FileArgument, json: JsonOption = False) -> None:
    """Measure a motion: foot skate, penetration, limits, jerk, momentum, energy, symmetry."""
    from gambol.motion.metrics import measure

    measured = measure(read(file))
    if json:
        told = {n: {"value": m.value, "unit": m.unit, "good": m.good, "reason": m.reason} for n, m in measured.items()}
        print_json(told)
        return
    table = {}
    for name, metric in measured.items():
        found = f"not measured: {metric.reason}" if metric.value is None else f"{metric.value:.4g} {metric.unit}"
        table[name] = (found, metric.good)
    print_figures(file.name, table)


def info(file: FileArgument, json: JsonOption = False) -> None:
    """Say what a motion file holds and where it came from."""
    told = facts(read(file))
    if json:
        print_json(told)
        return
    flat: dict[str, Any] = {}
    for name, value in told.items():
        if isinstance(value, dict):
            flat |= {f"{name}.{key}": held for key, held in value.items()}
        else:
            flat[name] = value
    print_figures(file.name, flat)


def facts(motion: Motion) -> dict[str, Any]:
    """What is worth knowing about a motion, as plain data."""
    source = motion.source
    known = [name for name in ("qvel", "ctrl", "mocap", "contacts") if getattr(motion, name) is not None]
    return {
        "frames": len(motion),
        "dt": motion.dt,
        "seconds": round(motion.duration, 6),
        "characters": {n: f"{c.mass:.2f} kg, {len(c.joints)} joints" for n, c in motion.scene.characters.items()},
        "objects": {name: thing.kind for name, thing in motion.scene.objects.items()},
        "terrain": motion.scene.terrain.shape,
        "also_known": known,
        "method": source.method,
        "task": source.task,
        "seed": source.seed,
        "notes": source.notes,
        "versions": dict(source.versions),
        "figures": dict(source.figures),
    }


def export(
    source: Annotated[Path, typer.Argument(metavar="IN", help=_MOTION)],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="The extension chooses the format.")],
) -> None:
    """Write a motion in another format: bvh, glb, usda, csv, html, mp4, gif, png, npz."""
    write(read(source), target)
    tell(f"wrote {target}")


def import_(
    source: Annotated[Path, typer.Argument(metavar="IN", help="A .bvh file, or a motion capture archive with --clip.")],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="A motion file.")],
    character: Annotated[
        str, typer.Option(help="Who should move: `rig` for the skeleton itself, or a character.")
    ] = "rig",
    clip: Annotated[str | None, typer.Option(help="Which clip of an archive.")] = None,
    ground: Annotated[
        bool, typer.Option("--ground", help="Put it on the floor: recorded floors are seldom at zero.")
    ] = False,
) -> None:
    """Bring in recorded motion, on its own skeleton or retargeted to a character."""
    wanted = None if character == "rig" else build(character)
    motion = importer(source, clip, ground=ground)
    if wanted is not None:
        from gambol.motion.retarget import retarget

        motion = retarget(motion, wanted)
    write(motion, target)
    tell(f"wrote {target}: {motion.duration:.2f} s, {len(motion)} frames")


def view(
    file: FileArgument,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on this machine; 0 takes a free one.")] = 0,
    browser: Annotated[bool, typer.Option(help="Open the default browser.")] = True,
) -> None:
    """Play a motion in the browser until Ctrl-C."""
    motion = read(file)
    with tempfile.TemporaryDirectory() as folder:
        write(motion, Path(folder) / "index.html")
        handler = functools.partial(_QuietHandler, directory=folder)
        try:
            server = http.server.ThreadingHTTPServer(("127.0.0.1", port), handler)
        except OSError as error:
            raise InputError(f"port {port} cannot be used: {error.strerror}", key="--port") from None
        with server:
            address = f"http://127.0.0.1:{server.server_port}/"
            tell(f"playing {file} at {address} (Ctrl-C ends)")
            if browser:
                webbrowser.open(address)
            try:
                server.serve_forever()
            except KeyboardInterrupt:
                tell("closed")


class _QuietHandler(http.server.SimpleHTTPRequestHandler):
    """Serves a folder without a line for each request."""

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""
