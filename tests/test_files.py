"""Files are replaced whole or not at all, wherever and whatever they are called."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from gambol.errors import InputError
from gambol.files import read_bytes, read_text, replacing

needs_links = pytest.mark.skipif(os.name == "nt", reason="symbolic links need special rights on Windows")


def _write(path: Path, text: str) -> None:
    with replacing(path) as temporary:
        temporary.write_text(text)


def test_the_file_appears_whole_with_its_folders_and_ordinary_rights(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "er" / "a.txt"
    with replacing(path) as temporary:
        temporary.write_text("new")
        assert not path.exists()
        assert temporary.suffix == ".txt"
    assert path.read_text() == "new"
    assert list(path.parent.iterdir()) == [path]
    plain = tmp_path / "plain"
    plain.write_text("x")
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)


def test_after_an_error_the_old_file_is_still_there_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(TypeError), replacing(path) as temporary, temporary.open("w") as file:
        file.writelines(["half", 3])  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match=r"a\.txt"), replacing(path):
        raise OSError("the disk is full")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@needs_links
def test_a_link_stays_and_its_target_is_replaced(tmp_path: Path) -> None:
    target, link, second = tmp_path / "there" / "real.txt", tmp_path / "link.txt", tmp_path / "second.txt"
    target.parent.mkdir()
    target.write_text("old")
    link.symlink_to("there/real.txt")
    second.symlink_to(link)
    _write(second, "new")
    assert (second.is_symlink(), link.is_symlink(), target.is_symlink()) == (True, True, False)
    assert target.read_text() == "new"
    assert list(target.parent.iterdir()) == [target]


@needs_links
def test_a_link_to_nothing_yet_gets_its_target(tmp_path: Path) -> None:
    link = tmp_path / "link.txt"
    link.symlink_to("later.txt")
    _write(link, "new")
    assert link.is_symlink()
    assert (tmp_path / "later.txt").read_text() == "new"


@needs_links
def test_what_is_no_plain_file_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "to-folder").symlink_to("folder")
    before = sorted(tmp_path.iterdir())
    for name, told in (("a", ""), ("pipe", "plain file"), ("folder", "directory"), ("to-folder", "directory")):
        with pytest.raises(InputError, match=f"{name}: cannot be written.*{told}"):
            _write(tmp_path / name, "x")
    assert sorted(tmp_path.iterdir()) == before
    assert (tmp_path / "a").is_symlink()


@pytest.mark.parametrize("stem", ["n" * 248, "人" * 82])
def test_names_may_be_as_long_as_the_system_allows(tmp_path: Path, stem: str) -> None:
    path = tmp_path / f"{stem}.npz"
    try:
        path.touch()
    except OSError:
        pytest.skip("names are shorter here")
    _write(path, "new")
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_what_is_read_is_a_plain_file_of_a_sane_size(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbfabc")
    assert read_text(path) == "abc"
    assert read_bytes(path, limit=6) == path.read_bytes()
    with pytest.raises(InputError, match="at most 5"):
        read_bytes(path, limit=5)
    with pytest.raises(InputError, match="no such file"):
        read_bytes(tmp_path / "b.txt")
    with pytest.raises(InputError, match="not a file"):
        read_bytes(tmp_path)
    path.write_bytes(b"ab\xff")
    with pytest.raises(InputError, match="byte 2"):
        read_text(path)
