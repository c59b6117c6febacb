from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from gambol import rotations
from gambol.errors import InputError, MissingExtraError
from gambol.motion import Motion, drawing
from gambol.motion.canvas import Canvas
from gambol.motion.formats import images

SIZE = (160, 120)
FIGURE = """
<mujoco>
  <worldbody>
    <geom name="floor" type="plane" size="0 0 .1"/>
    {things}
    <body name="figure/pelvis" pos="0 0 1">
      <freejoint/>
      <geom type="capsule" fromto="0 -.1 0 0 .1 0" size=".09"/>
      <geom type="sphere" size="5" group="3" contype="0" conaffinity="0"/>
      <body pos="0 0 .3"><joint axis="0 1 0"/><geom type="sphere" size=".15" rgba=".9 .1 .1 1"/></body>
      <body pos="0 0 -.1"><joint axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 -.8" size=".07"/></body>
    </body>
  </worldbody>
</mujoco>"""


def gliding(*, to: float, frames: int = 31, dt: float = 1 / 30, things: str = "") -> Motion:
    """A figure that glides straight ahead and turns about."""
    model = mujoco.MjModel.from_xml_string(FIGURE.format(things=things))
    qpos = np.tile(model.qpos0, (frames, 1))
    root = int(model.jnt_qposadr[model.body("figure/pelvis").jntadr[0]])
    qpos[:, root] = np.linspace(0, to, frames)
    qpos[:, root + 3 : root + 7] = rotations.from_yaw(np.linspace(0, 1.0, frames))
    scene: Any = SimpleNamespace(model=model)
    return Motion(scene, dt, qpos)


def screen_positions(camera: drawing.Camera, points: np.ndarray, aspect: float) -> np.ndarray:
    """Where points (n, 3) are seen (n, 2): the picture spans -1 to 1 both ways."""
    right, up, forward = drawing.axes(camera.azimuth, camera.elevation)
    away = points - camera.position
    half = np.tan(camera.field_of_view / 2)
    return np.stack([away @ right / aspect, away @ up], axis=-1) / (half * (away @ forward))[:, None]


@given(
    seed=st.integers(0, 2**32 - 1),
    azimuth=st.floats(-4, 4),
    elevation=st.floats(-1.2, 0.3),
    aspect=st.floats(0.4, 3),
)
@settings(max_examples=40, deadline=None)
def test_a_fitted_camera_sees_everything_and_stands_no_farther_than_it_must(seed, azimuth, elevation, aspect) -> None:
    rng = np.random.default_rng(seed)
    centres, radii = rng.normal(size=(30, 3)) * rng.uniform(0.5, 5, 3), rng.uniform(0, 0.5, 30)
    camera = drawing.fitted(centres, radii, azimuth, elevation, aspect)
    directions = rng.normal(size=(60, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    surface = (centres[:, None] + radii[:, None, None] * directions).reshape(-1, 3)
    reached = np.abs(screen_positions(camera, surface, aspect)).max()
    assert reached <= 1 / drawing.MARGIN + 1e-9
    assert reached > 0.7 / drawing.MARGIN


def test_the_framing_holds_the_whole_motion_and_ignores_what_is_hidden() -> None:
    motion = gliding(to=6.0)
    camera = drawing.framed(motion)
    points = motion.poses().positions[:, 1:].reshape(-1, 3)
    assert np.abs(screen_positions(camera, points, 4 / 3)).max() < 1
    assert camera.distance < 12  # the hidden sphere of 5 m would ask for more


def test_a_camera_that_follows_may_stand_nearer() -> None:
    motion = gliding(to=20.0)
    shifts = drawing.track(motion)
    assert np.allclose(shifts[0], 0)
    assert np.allclose(shifts[-1], [20, 0, 0])
    assert drawing.framed(motion, shifts=shifts).distance < 0.5 * drawing.framed(motion).distance


LOOSE = """<body name="{name}" pos="{x} {y} .2"><freejoint/><geom type="box" size=".2 .2 .2"/></body>
<body name="{name}-target" mocap="true" pos="{y} {x} 1.5"><geom type="sphere" size=".1" contype="0"/></body>"""


@pytest.mark.parametrize(("x", "y"), [(2.5, 0), (-2.5, 1), (1, 3), (0, -3)])
@pytest.mark.parametrize("frames", [1, 31])
def test_loose_objects_and_targets_are_in_the_picture(x: float, y: float, frames: int) -> None:
    motion = gliding(to=0.5, frames=frames, things=LOOSE.format(name="thing", x=x, y=y))
    camera = drawing.framed(motion)
    bodies = [motion.scene.model.body(name).id for name in ("figure/pelvis", "thing", "thing-target")]
    points = motion.poses().positions[:, bodies].reshape(-1, 3)
    assert np.abs(screen_positions(camera, points, 4 / 3)).max() < 1 / drawing.MARGIN


def test_what_is_far_away_or_left_behind_does_not_make_the_figures_tiny() -> None:
    alone, far = gliding(to=0.5), gliding(to=0.5, things=LOOSE.format(name="far", x=60, y=0))
    assert drawing.framed(far).distance == pytest.approx(drawing.framed(alone).distance)
    flying = gliding(to=0.5, things=LOOSE.format(name="flying", x=1, y=0))
    qpos = flying.qpos.copy()
    qpos[:, 0] = np.linspace(1, 50, len(qpos))  # the loose object comes first
    assert drawing.framed(Motion(flying.scene, flying.dt, qpos)).distance < 20
    passed = gliding(to=20.0, things=LOOSE.format(name="passed", x=1, y=1))
    alone = gliding(to=20.0)
    near = drawing.framed(passed, shifts=drawing.track(passed)).distance
    assert near == pytest.approx(drawing.framed(alone, shifts=drawing.track(alone)).distance)


def test_a_wall_does_not_stand_in_the_way() -> None:
    def looks_along(things: str) -> np.ndarray:
        camera = drawing.framed(gliding(to=0.0, things=things))
        return drawing.axes(camera.azimuth, camera.elevation)[2]

    free = looks_along("")
    wall = rotations.from_yaw(np.arctan2(free[1], free[0]))
    x, y = -1.2 * free[:2]
    quat = " ".join(map(str, wall))
    blocked = looks_along(f'<geom type="box" size=".05 1 2" pos="{x} {y} 1" quat="{quat}"/>')
    assert free @ blocked < 0.95


def test_plain_grey_gets_a_colour_and_a_declared_one_stays() -> None:
    model = gliding(to=0.0).scene.model
    colours = drawing.colours(model)
    assert np.allclose(colours[model.geom_rgba[:, 0] > 0.8], [0.9, 0.1, 0.1, 1])
    assert not np.any(np.all(np.isclose(colours, drawing.PLAIN_GREY), axis=1))


@pytest.fixture(scope="module")
def motion() -> Motion:
    motion = gliding(to=1.5)
    try:
        with Canvas(motion.scene.model, drawing.framed(motion), size=SIZE):
            return motion
    except InputError as error:
        pytest.skip(f"nothing can be drawn here: {error}")


def test_pictures_show_the_motion_and_leave_the_scene_alone(motion: Motion) -> None:
    before = motion.scene.model.geom_rgba.copy()
    pictures = np.array(list(images.frames(motion, size=SIZE, fps=10)), float)
    assert pictures.shape == (11, 120, 160, 3)
    assert np.abs(pictures[0] - pictures[-1]).max() > 60
    assert pictures.min(axis=(0, 1, 2)).max() > 0  # nowhere the black of an empty background
    sky, ground = pictures[0, 0, 0], pictures[0, -1, 0]
    assert sky[2] > sky[0]
    assert ground.mean() > 120
    np.testing.assert_array_equal(motion.scene.model.geom_rgba, before)


def test_the_character_is_seen_where_the_camera_says(motion: Motion) -> None:
    camera = drawing.framed(motion, aspect=4 / 3)
    picture = next(images.frames(motion, size=SIZE, camera=camera)).astype(float)
    x, y = screen_positions(camera, motion.poses().positions[0, 2:3], 4 / 3)[0]
    column, row = round((x + 1) / 2 * SIZE[0]), round((1 - y) / 2 * SIZE[1])
    red, green, _ = picture[row, column]
    assert red > 2 * green


def test_the_contact_sheet_has_a_picture_a_moment(motion: Motion, tmp_path: Path) -> None:
    images.write(motion, tmp_path / "sheet.png", size=SIZE)
    sheet = np.asarray(Image.open(tmp_path / "sheet.png"), float)
    gap = (sheet.shape[1] - 5 * SIZE[0]) // 4
    assert sheet.shape == (2 * SIZE[1] + gap, 5 * SIZE[0] + 4 * gap, 3)
    first, last = sheet[: SIZE[1], : SIZE[0]], sheet[-SIZE[1] :, -SIZE[0] :]
    assert np.abs(first - last).max() > 60
    assert images.contact_sheet(motion[:2], size=SIZE).size == (2 * SIZE[0] + gap, SIZE[1])  # no moment twice


def test_a_gif_lasts_as_long_as_the_motion(motion: Motion, tmp_path: Path) -> None:
    images.write(motion, tmp_path / "glide.gif", size=SIZE)
    with Image.open(tmp_path / "glide.gif") as gif:
        assert gif.size == SIZE
        durations = []
        for frame in range(gif.n_frames):
            gif.seek(frame)
            durations.append(gif.info["duration"])
    assert sum(durations) == pytest.approx(1000 * len(motion) / 30, abs=10)


def test_a_video_is_written_whatever_its_size(motion: Motion, tmp_path: Path) -> None:
    try:
        images._ffmpeg()
    except MissingExtraError:
        pytest.skip("ffmpeg is not installed")
    images.write(motion, tmp_path / "glide.mp4", size=(159, 121))
    assert (tmp_path / "glide.mp4").read_bytes()[4:8] == b"ftyp"


@pytest.fixture
def without_bundled_ffmpeg(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The folder that alone is searched for programs."""
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def test_a_missing_ffmpeg_names_the_extra(motion: Motion, without_bundled_ffmpeg: Path) -> None:
    with pytest.raises(MissingExtraError, match=r"gambol\[video\]"):
        images.write(motion, without_bundled_ffmpeg / "glide.mp4", size=SIZE)
    assert not list(without_bundled_ffmpeg.iterdir())


@pytest.mark.skipif(os.name == "nt", reason="the stand-in for ffmpeg is a shell script")
def test_a_failing_ffmpeg_is_quoted_and_leaves_nothing(motion: Motion, without_bundled_ffmpeg: Path) -> None:
    program = without_bundled_ffmpeg / "ffmpeg"
    program.write_text("#!/bin/sh\necho first >&2\necho 'no such encoder' >&2\nexit 3\n")
    program.chmod(program.stat().st_mode | stat.S_IEXEC)
    with pytest.raises(InputError, match="no such encoder"):
        images.write(motion, without_bundled_ffmpeg / "glide.mp4", size=SIZE)
    assert list(without_bundled_ffmpeg.iterdir()) == [program]


@pytest.mark.parametrize(
    ("name", "options", "told"),
    [
        ("a.bmp", {}, "kind of picture"),
        ("a.gif", {"fps": 0}, "fps"),
        ("a.gif", {"size": (0, 100)}, "size"),
        ("a.png", {"count": 0}, "count"),
    ],
)
def test_wrong_wishes_are_refused(
    motion: Motion, tmp_path: Path, name: str, options: dict[str, Any], told: str
) -> None:
    with pytest.raises(InputError, match=told):
        images.write(motion, tmp_path / name, **options)
    assert not list(tmp_path.iterdir())


_IN_A_NEW_PROCESS = """
import mujoco, numpy as np
from gambol.errors import InputError
from gambol.motion import drawing
from gambol.motion.canvas import Canvas
model = mujoco.MjModel.from_xml_string("<mujoco><worldbody><geom size='.5'/></worldbody></mujoco>")
try:
    with Canvas(model, drawing.Camera(np.zeros(3), 3.0, 0.0, -0.3), size=(40, 30)) as canvas:
        print("drawn", canvas.picture(np.zeros(0)).std() > 5)
except InputError as error:
    print("refused", error)
"""


def _in_a_new_process(**environment: str) -> str:
    kept = {
        k: v for k, v in os.environ.items() if k not in ("MUJOCO_GL", "PYOPENGL_PLATFORM", "DISPLAY", "WAYLAND_DISPLAY")
    }
    path = os.pathsep.join(filter(None, sys.path))
    command = [sys.executable, "-c", _IN_A_NEW_PROCESS]
    ran = subprocess.run(command, env={**kept, "PYTHONPATH": path, **environment}, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux does without a display")
@pytest.mark.usefixtures("motion")
def test_without_a_display_or_a_setting_it_still_draws() -> None:
    assert "drawn True" in _in_a_new_process()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere OpenGL is always there")
def test_without_opengl_the_advice_is_given() -> None:
    told = _in_a_new_process(MUJOCO_GL="disable")
    assert "refused MUJOCO_GL" in told
    assert "libosmesa6" in told
