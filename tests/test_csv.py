"""Tables, read back with what people read them with."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from gambol.characters import build
from gambol.motion import Motion
from gambol.motion.formats import csv as table
from gambol.scenes import Scene
from samples import furnished_scene, swaying


@pytest.fixture(scope="module")
def motion() -> Motion:
    return swaying(furnished_scene(), dt=0.013)


def read(path: Path) -> tuple[list[str], np.ndarray]:
    with path.open(newline="", encoding="utf-8") as file:
        header = next(csv.reader(file))
    return header, np.loadtxt(path, delimiter=",", skiprows=1, ndmin=2)


def test_every_number_comes_back_exactly(motion: Motion, tmp_path: Path) -> None:
    table.write(motion, tmp_path / "motion.csv")
    header, values = read(tmp_path / "motion.csv")
    assert values.shape == (len(motion), len(header))
    assert len(set(header)) == len(header)
    nq, nu = motion.qpos.shape[1], motion.scene.model.nu
    np.testing.assert_array_equal(values[:, 0], motion.times)
    np.testing.assert_array_equal(values[:, 1 : 1 + nq], motion.qpos)
    assert motion.ctrl is not None
    np.testing.assert_array_equal(values[:, 1 + nq : 1 + nq + nu], motion.ctrl)


def test_columns_are_found_by_name(motion: Motion, tmp_path: Path) -> None:
    table.write(motion, tmp_path / "motion.csv", bodies=True)
    header, values = read(tmp_path / "motion.csv")
    model = motion.scene.model

    def column(name: str) -> np.ndarray:
        return values[:, header.index(name)]

    np.testing.assert_array_equal(column("one/right_knee"), motion.qpos[:, model.joint("one/right_knee").qposadr[0]])
    np.testing.assert_array_equal(column("two/root.qy"), motion.qpos[:, model.joint("two/root").qposadr[0] + 5])
    np.testing.assert_array_equal(column("ball.z"), motion.qpos[:, model.joint("ball").qposadr[0] + 2])
    assert motion.mocap is not None
    assert motion.ctrl is not None
    np.testing.assert_array_equal(column("mocap:target.qw"), motion.mocap[:, 0, 3])
    np.testing.assert_array_equal(column("ctrl:one/right_knee"), motion.ctrl[:, model.actuator("one/right_knee").id])
    head = motion.poses().positions[:, model.body("one/head").id]
    np.testing.assert_array_equal(np.stack([column(f"body:one/head.{axis}") for axis in "xyz"], axis=1), head)


def test_unknown_controls_are_left_out_and_odd_names_quoted(tmp_path: Path) -> None:
    scene = Scene({'a, "b"': build("humanoid")})
    table.write(Motion(scene, 0.1, scene.initial_qpos()[None]), tmp_path / "motion.csv")
    header, values = read(tmp_path / "motion.csv")
    assert header[:2] == ["time", 'a, "b"/root.x']
    assert not any(name.startswith("ctrl:") for name in header)
    assert values.shape == (1, 1 + scene.model.nq)
