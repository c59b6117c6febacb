"""gambol's own format: exact, self-contained, suspicious of strangers."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import replace
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
from samples import ROBOT


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
    "not finite": ({"qpos": np.full((6, 35), np.nan)}, "qpos.*finite"),
    "wrong length": ({"ctrl": np.zeros((5, 21))}, "ctrl.*shape"),
    "words": ({"qvel": np.array(["a", "b"])}, "qvel.*numbers"),
    "dt": ({"header": {"dt": -1}}, "dt"),
    "dt word": ({"header": {"dt": "fast"}}, "dt"),
    "scene": ({"header": {"scene": {"characters": {"a": {"kind": "giant"}}}}}, "kind of character"),
    "scene list": ({"header": {"scene": [1]}}, "scene"),
    "source": ({"header": {"source": {"method": 3}}}, "source.method"),
    "seed": ({"header": {"source": {"seed": True}}}, "source.seed"),
    "huge": ({"qpos": np.full((6, 35), 1e11)}, "qpos.*beyond"),
    "geoms": ({"contact_geoms": np.array([[0, 999]] * 3)}, r"contacts\.geoms"),
    "geoms below": ({"contact_geoms": np.array([[0, -1]] * 3)}, r"contacts\.geoms"),
    "geoms apart": ({"contact_geoms": np.zeros((3, 2))}, r"contacts\.geoms.*whole"),
    "frames": ({"contact_frame": np.array([0, 9, 3])}, r"contacts\.frame"),
    "frames beyond": ({"contact_frame": np.array([0, 3, 9])}, r"contacts\.frame"),
    "nowhere": ({"contact_position": np.full((3, 3), np.nan)}, r"contacts\.position"),
    "no forces": ({"contact_force": None}, "contact_force"),
    "half a pair in the scene": ({"header": {"scene": {"objects": {"\ud800": {"kind": "ball"}}}}}, "scene.*surrogate"),
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


ODD = ["\ud800", "a\x00", "\x1b[31m", "\x85", "\udcff.bvh"]
ODD_SOURCES = {
    "source.task": lambda text: {"task": text},
    "source.method": lambda text: {"method": text},
    "source.notes": lambda text: {"notes": text},
    "source.versions": lambda text: {"versions": {text: "1"}},
    "source.versions.x": lambda text: {"versions": {"x": text}},
    "source.figures": lambda text: {"figures": {text: 1}},
    "source.figures.a.b": lambda text: {"figures": {"a": {"b": [1, text]}}},
}


@pytest.mark.parametrize("text", ODD)
@pytest.mark.parametrize("key", ODD_SOURCES)
def test_text_that_cannot_be_shown_is_refused_by_its_key(motion: Motion, tmp_path: Path, key: str, text: str) -> None:
    npz.write(motion, tmp_path / "m.npz")
    wrong = rewritten(tmp_path / "m.npz", tmp_path / "wrong.npz", header={"source": ODD_SOURCES[key](text)})
    with pytest.raises(InputError, match="cannot be shown") as caught:
        read(wrong)
    assert caught.value.key == key
    str(caught.value).encode()


def test_figures_are_small_plain_data(motion: Motion, tmp_path: Path) -> None:
    figures = {
        "a": [1, None, True, {"b": float("inf")}],
        "c": np.float32(0.5),
        "d": np.arange(3),
        "text": "two\n\tlines",
    }
    motion = motion.with_source(figures=figures, notes="two\n\tlines")
    motion.save(tmp_path / "m.npz")
    again = read(tmp_path / "m.npz").source
    assert again.figures == {**figures, "d": [0, 1, 2]}
    assert again.notes == motion.source.notes
    deep: list = []
    for _ in range(600):
        deep = [deep]
    for wrong in (deep, [0] * 100_000):
        path = rewritten(tmp_path / "m.npz", tmp_path / "w.npz", header={"source": {"figures": {"a": wrong}}})
        with pytest.raises(InputError, match=r"source\.figures\.a"):
            read(path)
        with pytest.raises(InputError, match=r"source\.figures\.a"):
            motion.with_source(figures={"a": wrong}).save(tmp_path / "x.npz")
    with pytest.raises(InputError, match="cannot hold Motion"):
        motion.with_source(figures={"a": motion}).save(tmp_path / "x.npz")


def test_what_a_run_was_called_does_not_cost_its_motion(motion: Motion, tmp_path: Path) -> None:
    odd = motion.with_source(task="a\udcffb", method="\x00", notes="read from \x1b.bvh")
    for name in ("m.npz", "m.html", "m.glb", "m.usda"):
        odd.save(tmp_path / name)
    assert read(tmp_path / "m.npz").source == odd.source
    assert odd.source.task == "a\ufffdb"


def test_a_small_file_does_not_unpack_to_more_than_memory_holds(
    motion: Motion, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    npz.write(motion, tmp_path / "m.npz")
    monkeypatch.setattr(npz, "MAX_NUMBERS", 2000)
    assert len(read(tmp_path / "m.npz")) == len(motion)
    many = rewritten(tmp_path / "m.npz", tmp_path / "many.npz", qpos=np.zeros((100, 35), np.int8))
    with pytest.raises(InputError, match=r"many\.npz: qpos: a file holds at most 2000 numbers"):
        read(many)
    with pytest.raises(InputError, match="at most 2000"):
        npz.write(Motion(motion.scene, 0.1, np.repeat(motion.qpos, 20, axis=0)), tmp_path / "long.npz")


def test_whatever_kind_of_numbers_they_are_stored_as(motion: Motion, tmp_path: Path) -> None:
    npz.write(motion, tmp_path / "m.npz")
    fortran = rewritten(tmp_path / "m.npz", tmp_path / "f.npz", qpos=np.asfortranarray(motion.qpos))
    np.testing.assert_array_equal(read(fortran).qpos, motion.qpos)
    whole = rewritten(tmp_path / "m.npz", tmp_path / "w.npz", ctrl=np.ones((6, 21), np.int8))
    np.testing.assert_array_equal(read(whole).ctrl, 1.0)
    read(fortran).poses()


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
    with pytest.raises(InputError, match="file with an extension or shipped motion"):
        read(tmp_path / "m")


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
    np.testing.assert_array_equal(motion.between(-1, 0.02).qpos, motion.qpos[:2])
    assert len(motion.between(-np.inf, np.inf)) == len(motion)
    for start, end in ((-2, -1), (0.5, 0.6), (0.06, 0.02), (0.021, 0.039), (np.nan, 1), (0, np.nan)):
        with pytest.raises(InputError, match="no frame lies between"):
            motion.between(start, end)
    with pytest.raises(InputError, match="hold nothing"):
        motion[5:2]


def test_states_are_checked_and_kept_from_changing(motion: Motion) -> None:
    qpos = motion.qpos.copy()
    kept = Motion(motion.scene, 0.1, qpos)
    qpos[:] = 7.0
    np.testing.assert_array_equal(kept.qpos, motion.qpos)
    assert kept[:].with_source(task="x").qpos.base is None
    assert np.shares_memory(kept.with_source(task="x").qpos, kept.qpos)
    view = qpos[:]
    view.flags.writeable = False
    assert not np.shares_memory(Motion(motion.scene, 0.1, view).qpos, qpos)
    for name, wrong, told in (
        ("qpos", 1.1e10, r"beyond ±1e\+10 at frame 4"),
        ("qvel", -1e300, r"beyond ±1e\+10 at frame 4"),
        ("ctrl", np.nan, "not finite at frame 4"),
        ("mocap", -np.inf, "not finite at frame 4"),
    ):
        values = getattr(motion, name).copy()
        values[4].flat[0] = wrong
        with pytest.raises(InputError, match=f"{name}: is {told}"):
            replace(motion, **{name: values})
    with pytest.raises(InputError, match="at least one frame"):
        Motion(motion.scene, 0.1, np.zeros(()))
    for dt in (0.0, 1e-7, 61.0, np.nan, np.inf):
        with pytest.raises(InputError, match="dt"):
            Motion(motion.scene, dt, motion.qpos)
