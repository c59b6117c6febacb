"""gambol's own format: exact, self-contained, suspicious of strangers."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

import gambol
from gambol.characters import build
from gambol.characters.mjcf import from_mjcf
from gambol.errors import InputError
from gambol.motion import Contacts, Motion, Source
from gambol.motion.formats import npz, read, write
from gambol.scenes import Scene, parse_objects
from test_characters import ROBOT


@pytest.fixture
def motion() -> Motion:
    objects, terrain = parse_objects({"armchair": {}, "ball": {"at": [1, 0]}, "mark": {"kind": "target"}})
    scene = Scene({"humanoid": build("humanoid")}, objects, terrain)
    model, rng = scene.model, np.random.default_rng(0)
    qpos = np.tile(model.qpos0, (6, 1))
    qpos[:, -5:] += 0.1 * rng.normal(size=(6, 5))
    contacts = Contacts(
        np.array([0, 0, 3]), np.array([[0, 1]] * 3), rng.normal(size=(3, 3)), np.ones(3), np.ones((3, 3))
    )
    mocap = np.tile([0, 0, 1, 1, 0, 0, 0.0], (6, 1, 1))
    source = Source.now(method="hand", task="t", seed=3, figures={"a": 1.5})
    return Motion(
        scene, 0.02, qpos, rng.normal(size=(6, model.nv)), rng.normal(size=(6, model.nu)), mocap, contacts, source
    )


def test_round_trip_is_exact(motion: Motion, tmp_path: Path) -> None:
    path = tmp_path / "m.npz"
    motion.save(path)
    again = gambol.load_motion(path)
    for name in ("qpos", "qvel", "ctrl", "mocap"):
        np.testing.assert_array_equal(getattr(again, name), getattr(motion, name))
    assert again.dt == motion.dt
    assert again.source == motion.source
    assert again.scene.describe() == motion.scene.describe()
    assert again.contacts is not None
    np.testing.assert_allclose(again.contacts.force, 1.0)
    assert list(tmp_path.iterdir()) == [path]


def test_bodies_known_only_by_their_mjcf_travel_along(tmp_path: Path) -> None:
    (tmp_path / "robot.xml").write_text(ROBOT)
    scene = Scene.alone(from_mjcf(tmp_path / "robot.xml"))
    motion = Motion(scene, 0.1, np.tile(scene.model.qpos0, (2, 1)))
    write(motion, tmp_path / "m.npz")
    (tmp_path / "robot.xml").unlink()
    again = read(tmp_path / "m.npz")
    assert again.scene.characters["robot"].bodies == ("trunk", "left_leg", "right_leg")


def test_half_precision_is_smaller(motion: Motion, tmp_path: Path) -> None:
    npz.write(motion, tmp_path / "a.npz")
    npz.write(motion, tmp_path / "b.npz", dtype="float32")
    assert (tmp_path / "b.npz").stat().st_size < (tmp_path / "a.npz").stat().st_size
    np.testing.assert_allclose(read(tmp_path / "b.npz").qpos, motion.qpos, atol=1e-6)


def rewritten(path: Path, target: Path, **changes) -> Path:
    """The same archive with some members replaced (None: removed); a dict changes keys of the header."""
    arrays = dict(np.load(path))
    for name, value in changes.items():
        if name == "header" and isinstance(value, dict):
            header = {**json.loads(arrays["header"].tobytes()), **value}
            arrays["header"] = np.frombuffer(json.dumps(header).encode(), np.uint8)
        elif value is None:
            del arrays[name]
        else:
            arrays[name] = value
    np.savez(target, **arrays)
    return target


WRONG = {
    "no header": ({"header": None}, "no header"),
    "other kind": ({"header": {"format": "x"}}, "another kind"),
    "future": ({"header": {"version": 99}}, "version"),
    "no positions": ({"qpos": None}, "qpos"),
    "wrong width": ({"qpos": np.zeros((6, 3))}, "qpos.*shape"),
    "not finite": ({"qpos": np.full((6, 42), np.nan)}, "qpos"),
    "wrong length": ({"ctrl": np.zeros((5, 21))}, "ctrl.*shape"),
    "words": ({"qvel": np.array(["a", "b"])}, "qvel.*numbers"),
    "dt": ({"header": {"dt": -1}}, "dt"),
    "dt word": ({"header": {"dt": "fast"}}, "dt"),
    "scene": ({"header": {"scene": {"characters": {"a": {"kind": "giant"}}}}}, "kind of character"),
    "scene list": ({"header": {"scene": [1]}}, "scene"),
    "source": ({"header": {"source": {"method": 3}}}, "source.method"),
    "geoms": ({"contact_geoms": np.array([[0, 999]] * 3)}, "contact_geoms"),
    "frames": ({"contact_frame": np.array([0, 9, 3])}, "contact_frame"),
}


@pytest.mark.parametrize(("changes", "said"), WRONG.values(), ids=WRONG.keys())
def test_wrong_files_are_refused_with_the_file_and_the_key(
    motion: Motion, tmp_path: Path, changes: dict, said: str
) -> None:
    path = tmp_path / "m.npz"
    motion.save(path)
    with pytest.raises(InputError, match=said) as caught:
        read(rewritten(path, tmp_path / "wrong.npz", **changes))
    assert "wrong.npz" in str(caught.value)


def test_truncated_files_and_bombs_are_refused(motion: Motion, tmp_path: Path) -> None:
    path = tmp_path / "m.npz"
    motion.save(path)
    whole = path.read_bytes()
    for cut in (0, 10, len(whole) // 2, len(whole) - 5):
        (tmp_path / "cut.npz").write_bytes(whole[:cut])
        with pytest.raises(InputError, match=r"cut\.npz"):
            read(tmp_path / "cut.npz")
    with zipfile.ZipFile(tmp_path / "bomb.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        header = io.BytesIO()
        np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (10**12,)})
        archive.writestr("header.npy", header.getvalue() + b"\0" * 1000)
    with pytest.raises(InputError, match="announces"):
        read(tmp_path / "bomb.npz")
    np.savez(tmp_path / "pickle.npz", header=np.array([{"a": 1}], dtype=object))
    with pytest.raises(InputError, match="Python objects"):
        read(tmp_path / "pickle.npz")


def test_extensions_decide(motion: Motion, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not known"):
        motion.save(tmp_path / "m.fbx")
    with pytest.raises(InputError, match="no extension"):
        motion.save(tmp_path / "m")
    with pytest.raises(InputError, match="written, not read"):
        read(tmp_path / "m.glb")


def test_unwritable_places_leave_nothing_behind(motion: Motion, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="cannot be written"):
        motion.save(tmp_path / "file" / "m.npz")
    (tmp_path / "folder.npz").mkdir()
    with pytest.raises(InputError, match="directory"):
        motion.save(tmp_path / "folder.npz")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "folder.npz"]


def test_slicing(motion: Motion) -> None:
    part = motion[2:5]
    assert len(part) == 3
    assert part.contacts is not None
    assert part.contacts.frame.tolist() == [1]
    assert motion[::2].dt == pytest.approx(0.04)
    assert len(motion.between(0.02, 0.06)) == 3
    with pytest.raises(InputError, match="hold nothing"):
        motion[5:2]
