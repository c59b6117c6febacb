from __future__ import annotations

import base64
import json
import re
import shutil
from types import SimpleNamespace
from typing import Any

import mujoco
import numpy as np
import pytest

from gambol import rotations
from gambol.errors import InputError
from gambol.motion import Motion, Source
from gambol.motion.contacts import ContactRecorder
from gambol.motion.formats import html

# Every kind of geom the player draws, one it must not (group 3), and a figure that falls over beside them.
SCENE = """
<mujoco>
  <asset>
    <hfield name="hill" nrow="9" ncol="13" size="1 2 0.5 0.1"/>
    <mesh name="gem" vertex="0 0 .25  0 0 -.15  .2 0 0  -.2 0 0  0 .2 0  0 -.2 0"/>
  </asset>
  <worldbody>
    <geom name="floor" type="plane" size="0 0 .1"/>
    <geom name="hill" type="hfield" hfield="hill" pos="-3 1 0"/>
    <body name="chair" pos="0 -1 0" euler="0 0 90">
      <geom name="chair/seat" type="box" size=".3 .2 .1" pos=".1 0 .4" rgba=".8 .3 .2 1"/>
      <geom name="chair/unseen" type="box" size="1 1 1" group="3" contype="0" conaffinity="0"/>
    </body>
    <geom type="cylinder" size=".1 .4" pos="1 1 .4"/>
    <body pos="1 0 .5"><freejoint/><geom type="ellipsoid" size=".1 .1 .2" rgba="1 1 1 .5"/></body>
    <body pos="1 -1 .5"><freejoint/><geom type="mesh" mesh="gem"/></body>
    <body name="figure/pelvis" pos="0 0 1">
      <freejoint/>
      <geom type="capsule" fromto="0 -.1 0 0 .1 0" size=".09"/>
      <body name="figure/torso" pos="0 0 .2">
        <joint type="ball"/><geom type="capsule" fromto="0 0 0 0 0 .2" size=".1"/>
        <body name="figure/head" pos="0 0 .4"><joint type="ball"/><geom type="sphere" size=".1"/></body>
      </body>
      <body name="figure/thigh" pos="0 0 -.1">
        <joint axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 -.4" size=".07"/>
        <body name="figure/shin" pos="0 0 -.4">
          <joint axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 -.4" size=".05"/>
        </body>
      </body>
    </body>
  </worldbody>
</mujoco>"""


def fallen(seconds: float = 1.0, fps: int = 50) -> Motion:
    model = mujoco.MjModel.from_xml_string(SCENE)
    model.hfield_data[:] = np.linspace(0, 1, model.nhfielddata)
    data, recorder, states = mujoco.MjData(model), ContactRecorder(), []
    data.qvel[12] = 1.0
    for frame in range(int(seconds * fps) + 1):
        mujoco.mj_forward(model, data)
        recorder.add(frame, model, data, forces=True)
        states.append(data.qpos.copy())
        for _ in range(round(1 / fps / model.opt.timestep)):
            mujoco.mj_step(model, data)
    scene: Any = SimpleNamespace(model=model)
    source = Source(
        method="dropping", task="fall over", seed=7, figures={"hits": 3, "slip": 0.0123456, "upright": False}
    )
    return Motion(scene, 1 / fps, np.array(states), contacts=recorder.collected(), source=source)


@pytest.fixture(scope="module")
def motion() -> Motion:
    return fallen()


def content(page: str) -> dict[str, Any]:
    found = re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.DOTALL)
    assert found
    return json.loads(found[1])


def unpacked(block: dict[str, Any], *shape: int) -> np.ndarray:
    kinds = {"u16": "<u2", "u32": "<u4", "f32": "<f4"}
    stored = np.frombuffer(base64.b64decode(block["data"]), kinds[block["kind"]]).reshape(*shape)
    return np.array(block["offset"]) + np.array(block["scale"]) * stored


def error_in_place(motion: Motion, data: dict[str, Any]) -> float:
    """The largest error, in metres, of a point half a metre from the origin of any body that moves."""
    poses, moving = motion.poses(), np.ptp(motion.poses().positions, axis=0).max(axis=1) > 1e-5
    positions = unpacked(data["positions"], len(motion), -1, 3)
    quats = rotations.normalise(unpacked(data["quats"], len(motion), -1, 4))
    point = np.array([0.3, 0.4, 0.0])
    shown = positions + rotations.rotate(quats, point)
    meant = poses.positions[:, moving] + rotations.rotate(poses.quats[:, moving], point)
    assert shown.shape == meant.shape
    return float(np.linalg.norm(shown - meant, axis=-1).max())


def test_bodies_are_where_the_motion_has_them(motion: Motion) -> None:
    data = content(html.page(motion))
    assert data["frames"] == len(motion)
    assert data["positions"]["kind"] == "u16"
    assert error_in_place(motion, data) < 0.5e-3


def test_a_motion_that_goes_far_keeps_its_precision(motion: Motion) -> None:
    qpos = motion.qpos.copy()
    qpos[:, 14] += np.linspace(0, 300, len(motion))
    far = Motion(motion.scene, motion.dt, qpos)
    data = content(html.page(far))
    assert data["camera"]["follow"]
    assert error_in_place(far, data) < 0.5e-3


def test_still_geoms_stand_in_the_world_and_hidden_ones_are_left_out(motion: Motion) -> None:
    data, model = content(html.page(motion)), motion.scene.model
    assert {shape["kind"] for shape in data["shapes"]} == {
        "plane", "box", "sphere", "capsule", "cylinder", "ellipsoid", "terrain", "mesh",
    }  # fmt: skip
    assert len(data["geoms"]) == model.ngeom - 1
    seat = next(geom for geom in data["geoms"] if geom["colour"] and geom["colour"][0] == 0.8)
    assert seat["body"] == -1
    np.testing.assert_allclose(seat["position"], [0, -0.9, 0.4], atol=1e-6)
    floor = next(geom for geom in data["geoms"] if data["shapes"][geom["shape"]]["kind"] == "plane")
    assert floor["colour"] is None


def test_terrain_and_meshes_are_exact_enough(motion: Motion) -> None:
    shapes = {shape["kind"]: shape for shape in content(html.page(motion))["shapes"]}
    hill, model = shapes["terrain"], motion.scene.model
    heights = unpacked(hill["heights"], hill["rows"] * hill["columns"])
    np.testing.assert_allclose(heights, 0.5 * model.hfield_data, atol=1e-4)
    np.testing.assert_allclose(unpacked(shapes["mesh"]["vertices"], -1, 3), model.mesh_vert, atol=1e-4)
    np.testing.assert_array_equal(unpacked(shapes["mesh"]["faces"], -1, 3), model.mesh_face)


def test_contact_forces_push_what_moves(motion: Motion) -> None:
    assert motion.contacts is not None
    contacts = content(html.page(motion))["contacts"]
    starts = unpacked(contacts["starts"], -1).astype(int)
    forces = unpacked(contacts["forces"], -1, 3)
    assert len(starts) == len(motion) + 1
    assert starts[-1] == len(motion.contacts)
    assert forces[starts[-2] : starts[-1], 2].sum() > 50  # the floor carries the fallen figure


def test_size_and_rate_are_bounded(motion: Motion) -> None:
    parts = "".join(
        f'<body pos="{k} 0 1"><joint axis="0 1 0"/><joint axis="1 0 0"/><geom size=".1 .2" type="capsule"/></body>'
        for k in range(20)
    )
    model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{parts}</worldbody></mujoco>")
    qpos = np.random.default_rng(0).normal(size=(600, model.nq)).cumsum(axis=0) / 10
    scene: Any = SimpleNamespace(model=model)
    assert len(html.page(Motion(scene, 1 / 30, qpos))) < 600_000
    with pytest.raises(InputError, match="max_fps"):
        html.page(motion, max_fps=0)


def test_faster_motions_are_thinned_to_sixty_frames_a_second() -> None:
    motion = fallen(0.5, fps=250)
    data = content(html.page(motion))
    assert data["dt"] >= 1 / 60 - 1e-9
    assert (data["frames"] - 1) * data["dt"] == pytest.approx(motion.duration, abs=1 / 60)


def test_nothing_comes_from_elsewhere(motion: Motion, tmp_path) -> None:
    html.write(motion, tmp_path / "fall.html")
    page = (tmp_path / "fall.html").read_text(encoding="utf-8")
    assert not re.search(r"https?:|\bsrc\s*=|\bhref\s*=|@import|url\(", page)
    assert "default-src 'none'" in page


ATTACK = """</script><script>window.stolen = 1</script><img src=x onerror="window.stolen = 1"> {{script}} & \u2028"""


@pytest.fixture(scope="module")
def hostile(motion: Motion) -> Motion:
    return motion.with_source(task=ATTACK, method=ATTACK, figures={ATTACK: ATTACK})


def test_names_cannot_become_markup(hostile: Motion) -> None:
    page = html.page(hostile)
    assert len(re.findall(r"<script", page)) == 2
    assert "<img" not in page
    data = content(page)
    assert data["title"] == ATTACK
    assert data["figures"] == [[ATTACK, ATTACK]]


def test_figures_are_words_and_tables_are_left_out(motion: Motion) -> None:
    figures = {"settings": {"starts": 1, "step": 0.123456, "warm": True}, "by_window": [{"name": "up", "cost": 1.0}]}
    data = content(html.page(motion.with_source(figures=figures)))
    assert data["figures"] == [["settings", "starts 1, step 0.1235, warm yes"]]


# The page itself, in a browser.


@pytest.fixture(scope="module")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        pytest.skip("no Chromium is installed")
    software = ["--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
    quiet = ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--no-first-run"]
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=[*software, *quiet])
        yield browser
        browser.close()


def until(page, expression: str) -> None:
    """Playwright's own waiting evaluates text inside the page, which the page's security policy forbids."""
    for _ in range(600):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(50)
    pytest.fail(f"{expression} never became true")


@pytest.fixture
def opened(browser, tmp_path):
    """Opens a motion's page, paused; at the end nothing must have been complained about or asked of a network."""
    troubles, page = [], browser.new_page(viewport={"width": 400, "height": 320})
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("console", lambda message: troubles.append(message.text) if message.type == "error" else None)
    page.on("request", lambda request: troubles.append(request.url) if not request.url.startswith("file:") else None)

    def open_motion(motion: Motion):
        html.write(motion, tmp_path / "motion.html")
        page.goto((tmp_path / "motion.html").as_uri())
        until(page, "Boolean(window.gambol && gambol.ready)")
        page.evaluate("gambol.pause()")
        return page

    yield open_motion
    page.close()
    assert troubles == []


def look(page, time: float) -> np.ndarray:
    """The drawing at a time, without the panels over it and the frame of the focus around it."""
    page.evaluate(f"gambol.seek({time}); new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    shot = looked(page)
    return shot[10 : len(shot) // 2, shot.shape[1] // 2 : -10]


def looked(page) -> np.ndarray:
    """What is seen now (height, width, 3)."""
    from io import BytesIO

    from PIL import Image

    return np.asarray(Image.open(BytesIO(page.screenshot())).convert("RGB"), float)


def test_it_draws_the_motion(opened, motion: Motion) -> None:
    page = opened(motion)
    assert page.evaluate("gambol.frames") == len(motion)
    start, end, again = look(page, 0), look(page, motion.duration), look(page, 0)
    assert start.std() > 3  # not one colour
    assert np.abs(start - end).max() > 50
    np.testing.assert_allclose(start, again, atol=2)


def test_keys_and_buttons_control_it(opened, motion: Motion) -> None:
    page = opened(motion)
    page.evaluate("gambol.seek(0.2)")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("gambol.time") == pytest.approx(0.2 + motion.dt)
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    assert page.evaluate("gambol.time") == pytest.approx(motion.duration - motion.dt)
    page.keyboard.press("Space")
    assert page.evaluate("gambol.playing")
    page.get_by_role("button", name="Pause").click()
    assert not page.evaluate("gambol.playing")
    for name in ("Loop", "Follow", "Ghosts", "Contacts"):
        button = page.get_by_role("button", name=name, exact=True)
        before = button.get_attribute("aria-pressed")
        button.click()
        assert button.get_attribute("aria-pressed") != before


def test_playing_without_loop_stops_at_the_end(opened, motion: Motion) -> None:
    page = opened(motion)
    page.get_by_role("button", name="Loop").click()
    page.evaluate(f"gambol.seek({motion.duration - 0.05}); gambol.play()")
    until(page, "!gambol.playing")
    assert page.evaluate("gambol.time") == pytest.approx(motion.duration)


def test_dragging_and_the_wheel_move_the_camera_and_reset_brings_it_back(opened, motion: Motion) -> None:
    page = opened(motion)
    before = look(page, 0)
    page.mouse.move(250, 80)
    page.mouse.down()
    page.mouse.move(330, 100)
    page.mouse.up()
    page.mouse.wheel(0, 300)
    assert np.abs(look(page, 0) - before).max() > 50
    page.keyboard.press("r")
    np.testing.assert_allclose(look(page, 0), before, atol=2)


@pytest.mark.parametrize("ahead", [0, 3000])
def test_it_starts_at_the_start_whatever_the_clock_says(browser, motion: Motion, tmp_path, ahead: int) -> None:
    """Browsers hand the first frame a time that may lie before the page's own."""
    html.write(motion, tmp_path / "motion.html")
    page = browser.new_page(viewport={"width": 200, "height": 150})
    page.add_init_script(f"const now = performance.now.bind(performance); performance.now = () => now() + {ahead};")
    for _ in range(2):
        page.goto((tmp_path / "motion.html").as_uri())
        until(page, "Boolean(window.gambol && gambol.ready)")
        page.evaluate("gambol.pause()")
        assert 0 <= page.evaluate("gambol.time") <= motion.duration
        page.evaluate("gambol.seek(0); gambol.play()")
        until(page, "gambol.time > 0")
    page.close()


def test_the_view_holds_loose_objects_and_targets(opened) -> None:
    things = """
      <body name="crate" pos="2.5 2 .2"><freejoint/><geom type="box" size=".2 .2 .2" rgba="1 0 1 1"/></body>
      <body name="target" mocap="true" pos="-2 -2.5 1"><geom size=".2" rgba="0 1 0 1" contype="0"/></body>
      <body name="far" pos="90 0 .2"><freejoint/><geom size=".2" rgba="0 0 1 1"/></body>"""
    model = mujoco.MjModel.from_xml_string(SCENE.replace("</worldbody>", f"{things}</worldbody>"))
    scene: Any = SimpleNamespace(model=model)
    page = opened(Motion(scene, 0.1, model.qpos0[None]))
    page.add_style_tag(content="body > *:not(canvas) { visibility: hidden }")
    seen = looked(page)
    shares = seen / np.maximum(seen.sum(axis=-1, keepdims=True), 1)
    assert (shares[..., 1] < 0.15).any()  # the crate
    assert (shares[..., 1] > 0.6).any()  # the target
    assert len(re.findall('"of": ?"thing"', json.dumps(content(html.page(Motion(scene, 0.1, model.qpos0[None])))))) == 5


def test_hostile_names_are_shown_as_text(opened, hostile: Motion) -> None:
    page = opened(hostile)
    assert page.evaluate("window.stolen") is None
    assert page.evaluate("document.getElementById('title').textContent") == ATTACK
    assert ATTACK in page.evaluate("document.getElementById('figures').textContent")


def test_a_single_frame_and_a_scene_without_characters_are_fine(opened, motion: Motion) -> None:
    page = opened(motion[:1])
    assert page.evaluate("gambol.duration") == 0
    scene: Any = SimpleNamespace(
        model=mujoco.MjModel.from_xml_string("<mujoco><worldbody><geom size='.1'/></worldbody></mujoco>")
    )
    page = opened(Motion(scene, 0.1, np.zeros((3, 0))))
    assert page.evaluate("gambol.frames") == 3
