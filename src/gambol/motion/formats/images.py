"""Pictures of a motion: a contact sheet (.png), an animation (.gif), a video (.mp4)."""

from __future__ import annotations

import itertools
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from gambol import files
from gambol.errors import InputError, MissingExtraError, unknown_name
from gambol.motion import drawing
from gambol.motion.canvas import Canvas, Picture, checked_size

if TYPE_CHECKING:
    from gambol.motion.motion import Motion

VIDEO_SIZE = (640, 480)
TILE_SIZE = (384, 288)
_GAP = 6  # pixels between the pictures of a contact sheet
_PALETTE_FRAMES = 12


def write(
    motion: Motion,
    path: str | Path,
    *,
    size: tuple[int, int] | None = None,
    fps: float = 30.0,
    count: int = 10,
    columns: int = 5,
    camera: drawing.Camera | None = None,
    follow: bool | None = None,
) -> None:
    """Write the kind of picture the extension names.

    ``size`` is the width and height in pixels of a video or of one picture of a contact sheet. A sheet shows ``count``
    moments in ``columns``, from a camera that stands still unless told to follow. For the rest see :func:`frames`.
    """
    kind = Path(path).suffix.lower()
    if kind == ".png":
        image = contact_sheet(
            motion, size=size or TILE_SIZE, count=count, columns=columns, camera=camera, follow=bool(follow)
        )
        with files.replacing(path) as temporary:
            image.save(temporary, "PNG", optimize=True)
    elif kind in _VIDEOS:
        pictures = frames(motion, size=size or VIDEO_SIZE, fps=fps, camera=camera, follow=follow)
        with files.replacing(path) as temporary:
            _VIDEOS[kind](temporary, pictures, fps)
    else:
        raise unknown_name("kind of picture", kind, [".png", *_VIDEOS], file=path)


def frames(
    motion: Motion,
    *,
    size: tuple[int, int] = VIDEO_SIZE,
    fps: float = 30.0,
    camera: drawing.Camera | None = None,
    follow: bool | None = None,
) -> Iterator[Picture]:
    """Pictures (height, width, 3) of the motion, ``fps`` to a second of it.

    The camera frames the characters unless one is given. It stands still, or goes with the first character when
    ``follow``; None lets it follow a character that goes far.
    """
    if not 0 < fps <= 1000:
        raise InputError(f"{fps} frames a second cannot be shown", key="fps", hint="give a number above 0, up to 1000")
    if len(motion) > 1 and not np.isclose(motion.dt * fps, 1.0):
        motion = motion.resampled(1 / fps)
    if follow is None:
        roots = drawing.characters(motion.scene.model)
        follow = bool(roots) and drawing.travel(motion.poses(), roots[0]) > drawing.FOLLOW_BEYOND
    shifts = drawing.track(motion) if follow else None
    return _drawn(motion, range(len(motion)), size, camera, shifts)


def contact_sheet(
    motion: Motion,
    *,
    size: tuple[int, int] = TILE_SIZE,
    count: int = 10,
    columns: int = 5,
    camera: drawing.Camera | None = None,
    follow: bool = False,
) -> Image.Image:
    """``count`` moments evenly spaced over the motion, in rows of ``columns``, each labelled with its time."""
    for key, value in (("count", count), ("columns", columns)):
        if not 1 <= value <= 1000:
            raise InputError(f"must be between 1 and 1000 (given: {value})", key=key)
    chosen = np.unique(np.linspace(0, len(motion) - 1, count).round().astype(int)).tolist()
    columns = min(columns, len(chosen))
    rows = -(-len(chosen) // columns)
    width, height = size
    sheet = Image.new("RGB", (columns * (width + _GAP) - _GAP, rows * (height + _GAP) - _GAP), "white")
    font = ImageFont.load_default(size=max(10, height // 18))
    pen = ImageDraw.Draw(sheet)
    pictures = _drawn(motion, chosen, size, camera, drawing.track(motion) if follow else None)
    for k, (frame, picture) in enumerate(zip(chosen, pictures, strict=True)):
        x, y = k % columns * (width + _GAP), k // columns * (height + _GAP)
        sheet.paste(Image.fromarray(picture), (x, y))
        pen.text((x + height // 28, y + height // 32), f"{frame * motion.dt:.2f} s", fill=(60, 72, 88), font=font)
    return sheet


def _drawn(
    motion: Motion,
    chosen: list[int] | range,
    size: tuple[int, int],
    camera: drawing.Camera | None,
    shifts: drawing.Array | None,
) -> Iterator[Picture]:
    width, height = checked_size(size)
    camera = camera or drawing.framed(motion, aspect=width / height, shifts=shifts)
    with Canvas(motion.scene.model, camera, size=size) as canvas:
        for frame in chosen:
            mocap = None if motion.mocap is None else motion.mocap[frame]
            yield canvas.picture(motion.qpos[frame], mocap, shift=None if shifts is None else shifts[frame])


def _write_gif(path: Path, pictures: Iterator[Picture], fps: float) -> None:
    """One palette for all frames, so that nothing flickers; its colours are those of the first second or so."""
    first = list(itertools.islice(pictures, _PALETTE_FRAMES))
    palette = Image.fromarray(np.concatenate(first)).quantize(256, dither=Image.Dither.NONE)
    images = [
        Image.fromarray(picture).quantize(palette=palette, dither=Image.Dither.NONE)
        for picture in itertools.chain(first, pictures)
    ]
    # GIF counts in hundredths of a second: each frame ends at the nearest one, so that the whole keeps its length.
    ends = np.round(100 * np.arange(1, len(images) + 1) / fps).astype(int)
    durations = np.maximum(10 * np.diff(ends, prepend=0), 20).tolist()
    images[0].save(path, "GIF", save_all=True, append_images=images[1:], duration=durations, loop=0, disposal=1)


def _write_mp4(path: Path, pictures: Iterator[Picture], fps: float) -> None:
    program = _ffmpeg()
    first = next(pictures)
    height, width, _ = first.shape
    command = [program, "-y", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}"]
    command += ["-r", f"{fps:g}", "-i", "-", "-an", "-c:v", "libx264", "-crf", "18", "-pix_fmt", "yuv420p"]
    command += ["-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2", "-movflags", "+faststart", "-f", "mp4", str(path)]
    with tempfile.TemporaryFile() as complaints:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=complaints)
        assert process.stdin is not None
        try:
            with process.stdin as pipe:
                for picture in itertools.chain([first], pictures):
                    pipe.write(np.ascontiguousarray(picture).data)
        except BrokenPipeError:
            pass  # it gave up; why is in what it wrote
        finally:
            code = process.wait()
        complaints.seek(0)
        lines = complaints.read().decode("utf-8", "replace").strip().splitlines()
    if code != 0:
        raise InputError(f"ffmpeg failed: {lines[-1] if lines else f'it ended with code {code}'}")


def _ffmpeg() -> str:
    try:
        from imageio_ffmpeg import get_ffmpeg_exe

        return get_ffmpeg_exe()
    except (ImportError, RuntimeError):  # not installed, or without a program for this machine
        found = shutil.which("ffmpeg")
        if found is None:
            raise MissingExtraError("ffmpeg", "video") from None
        return found


_VIDEOS = {".gif": _write_gif, ".mp4": _write_mp4}
