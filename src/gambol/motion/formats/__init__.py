"""Formats motions come and go in, one file each; the extension chooses. Some motions come with gambol."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from gambol.errors import InputError, unknown_name
from gambol.motion.motion import Motion


@dataclass(frozen=True)
class Format:
    """A format: its extensions, the module that knows it, and which ways it goes."""

    extensions: tuple[str, ...]
    module: str
    summary: str
    reads: bool = False


FORMATS: tuple[Format, ...] = (
    Format((".npz",), "npz", "gambol's own: everything, exactly", reads=True),
    Format((".bvh",), "bvh", "skeletal animation for any animation tool", reads=True),
    Format((".glb",), "glb", "glTF: skinned character and furniture, animated"),
    Format((".usda", ".usd"), "usd", "Universal Scene Description with UsdSkel"),
    Format((".csv",), "csv", "a row a frame, for spreadsheets and plots"),
    Format((".html",), "html", "a page that plays the motion in any browser, without a network"),
    Format((".mp4", ".gif", ".png"), "images", "a film, or a contact sheet"),
)


def write(motion: Motion, path: str | Path, **options: Any) -> None:
    """Write a motion in the format of the extension."""
    _module(writable(path)).write(motion, path, **options)


def writable(path: str | Path) -> Format:
    """The format a path would be written in; an error where its extension is not known."""
    return _by_extension(path)


def shipped_motions() -> dict[str, Path]:
    """The files of the motions that come with gambol, by name."""
    folder = Path(str(resources.files("gambol"))) / "library" / "motions"
    return {path.relative_to(folder).with_suffix("").as_posix(): path for path in sorted(folder.rglob("*.npz"))}


def read(path: str | Path, **options: Any) -> Motion:
    """Read a motion in the format of the extension; without one, the shipped motion of that name."""
    if not Path(path).suffix and not Path(path).is_file():
        shipped, name = shipped_motions(), Path(path).as_posix()
        if name not in shipped:
            raise unknown_name("file with an extension or shipped motion", name, shipped)
        path = shipped[name]
    chosen = _by_extension(path)
    if not chosen.reads:
        readable = ", ".join(e for f in FORMATS if f.reads for e in f.extensions)
        raise InputError(f"{Path(path).suffix} files are written, not read", file=path, hint=f"read: {readable}")
    return _module(chosen).read(path, **options)


def importer(path: str | Path, clip: str | None = None, *, ground: bool = False) -> Motion:
    """Recorded motion on its own skeleton: a BVH file, or one clip of a motion capture archive.

    ``ground`` puts it on the floor by its lowest solids.
    """
    from gambol.motion.formats import archive, bvh

    if clip is not None:
        return archive.read(path, clip, ground=ground)
    if Path(path).suffix.lower() != ".bvh":
        raise InputError("recorded motion comes as .bvh, or as an archive with --clip", file=path)
    return bvh.read(path, ground=ground)


def _module(chosen: Format) -> Any:
    return importlib.import_module(f"{__name__}.{chosen.module}")


def _by_extension(path: str | Path) -> Format:
    extension = Path(path).suffix.lower()
    for known in FORMATS:
        if extension in known.extensions:
            return known
    extensions = ", ".join(e for f in FORMATS for e in f.extensions)
    told = f"the extension {extension!r} is not known" if extension else "the file name has no extension"
    raise InputError(told, file=path, hint=f"known: {extensions}")
