"""Readers meet damaged files: they read them or refuse them clearly, and nothing else.

``GAMBOL_FUZZ_EXAMPLES`` sets the number of files for each reader (the long run uses thousands).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fuzzing
from gambol.characters import build
from gambol.characters.mjcf import from_mjcf
from gambol.cli.files import facts
from gambol.errors import InputError
from gambol.goals import from_mjpc, load_task, shipped_tasks
from gambol.goals.task import task_path
from gambol.motion import Motion
from gambol.motion.formats import archive, bvh, npz, write
from gambol.scenes import Scene, parse_objects
from samples import ROBOT
from test_published_keyframes import PUBLISHED

EXAMPLES = int(os.environ.get("GAMBOL_FUZZ_EXAMPLES", "60"))
fuzz = settings(
    max_examples=EXAMPLES,
    deadline=timedelta(seconds=20),
    derandomize="GAMBOL_FUZZ_EXAMPLES" not in os.environ,
    suppress_health_check=list(HealthCheck),
    database=None,
)

BVH = b"""HIERARCHY
ROOT Hips
{
  OFFSET 0 0 0
  CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
  JOINT LeftUpLeg
  {
    OFFSET 0.1 -0.1 0
    CHANNELS 3 Zrotation Xrotation Yrotation
    JOINT LeftLeg
    {
      OFFSET 0 -0.4 0
      CHANNELS 3 Zrotation Xrotation Yrotation
      End Site
      {
        OFFSET 0 -0.4 0
      }
    }
  }
  JOINT Spine
  {
    OFFSET 0 0.3 0
    CHANNELS 3 Zrotation Xrotation Yrotation
    End Site
    {
      OFFSET 0 0.5 0
    }
  }
}
MOTION
Frames: 3
Frame Time: 0.0333333
0 0.9 0 0 0 0 0 0 0 0 0 0 0 0 0
0 0.9 0.1 5 0 0 10 0 0 20 0 0 0 3 0
0 0.9 0.2 5 0 0 20 0 0 40 0 0 0 6 0
"""
BVH_WORDS = (b"{", b"}", b"JOINT", b"ROOT", b"End Site", b"MOTION", b"Frames: 99999999999", b"CHANNELS 6", b"OFFSET")
MJCF_WORDS = (
    b"<body>",
    b"</body>",
    b"<freejoint/>",
    b'count="999999999"',
    b"<include file='x'/>",
    b"<!DOCTYPE a>",
    b"&lt;",
)
YAML_WORDS = (b": ", b"- ", b"{", b"[", b"&a ", b"*a", b"!!python/name:os", b"on: ", b"\n\t", b"? ", b"|", b"<<: ")


def survives(read: Callable[[Path], Any], path: Path, content: bytes) -> None:
    """The reader reads it or refuses it with an InputError that names the file; anything else is a defect.

    What was read as a motion can also be told about and written.
    """
    path.write_bytes(content)
    try:
        found = read(path)
    except InputError as error:
        assert path.name in str(error)
        return
    if isinstance(found, Motion):
        json.dumps(facts(found)).encode()
        for extension in ("csv", "html", "glb"):
            write(found, path.with_suffix(f".{extension}"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


@pytest.fixture(scope="module")
def motion_arrays(folder: Path) -> dict[str, np.ndarray]:
    objects, terrain = parse_objects({"stool": {}, "floor": {"shape": "slope", "size": 4}})
    scene = Scene({"humanoid": build("humanoid")}, objects, terrain)
    write(
        Motion(scene, 0.1, np.tile(scene.model.qpos0, (3, 1)), ctrl=np.zeros((3, scene.model.nu))), folder / "good.npz"
    )
    return dict(np.load(folder / "good.npz"))


@pytest.fixture(scope="module")
def clip_arrays() -> dict[str, np.ndarray]:
    quat = np.zeros((4, 3, 4), np.int16)
    quat[..., 3] = 32767
    return {
        "joint_names": np.array(["Hips", "Spine", "Head"]),
        "parents": np.array([-1, 0, 1]),
        "a/root": np.tile([0, 1.0, 0], (4, 1)),
        "a/quat": quat,
        "a/offset": np.array([[0, 0, 0], [0, 0.3, 0], [0, 0.3, 0.0]]),
    }


@fuzz
@given(data=st.data())
def test_bvh(folder: Path, data: st.DataObject) -> None:
    survives(bvh.read, folder / "x.bvh", data.draw(fuzzing.damaged(BVH, BVH_WORDS)))


@fuzz
@given(data=st.data())
def test_mjcf(folder: Path, data: st.DataObject) -> None:
    survives(from_mjcf, folder / "x.xml", data.draw(fuzzing.damaged(ROBOT.encode(), MJCF_WORDS)))


@fuzz
@given(data=st.data())
def test_motion_file_with_damaged_contents(folder: Path, motion_arrays: dict, data: st.DataObject) -> None:
    survives(npz.read, folder / "x.npz", data.draw(fuzzing.damaged_archive(motion_arrays)))


@fuzz
@given(data=st.data())
def test_motion_file_with_damaged_bytes(folder: Path, motion_arrays: dict, data: st.DataObject) -> None:
    whole = (folder / "good.npz").read_bytes()
    survives(npz.read, folder / "x.npz", data.draw(fuzzing.damaged(whole, (b"PK\x03\x04", b"PK\x01\x02", b"NUMPY"))))


@fuzz
@given(data=st.data())
def test_mocap_archive(folder: Path, clip_arrays: dict, data: st.DataObject) -> None:
    survives(lambda path: archive.read(path, "a"), folder / "a.npz", data.draw(fuzzing.damaged_archive(clip_arrays)))


@fuzz
@given(data=st.data())
def test_task_file(folder: Path, data: st.DataObject) -> None:
    whole = task_path(next(shipped_tasks())).read_bytes()
    survives(
        lambda path: load_task(path).initial_qpos(), folder / "x.yaml", data.draw(fuzzing.damaged(whole, YAML_WORDS))
    )


@fuzz
@given(data=st.data())
def test_strategy_file(folder: Path, data: st.DataObject) -> None:
    survives(from_mjpc, folder / "x.json", json.dumps(data.draw(fuzzing.damaged_json(PUBLISHED))).encode())


@fuzz
@given(data=st.data())
def test_task_data(folder: Path, data: st.DataObject) -> None:
    good = {
        "scene": {"armchair": {"height": 0.2}},
        "start": {"pose": "sitting"},
        **load_task("armchair/sit-down").in_file(),
    }
    changed = data.draw(fuzzing.damaged_json(good))
    try:
        if isinstance(changed, dict):
            load_task(changed).initial_qpos()
    except InputError as error:
        assert str(error).strip()
