from __future__ import annotations

from dataclasses import replace

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gambol.characters import build
from gambol.errors import InputError
from gambol.motion import Motion, Source
from gambol.motion.contacts import ContactRecorder, Contacts, detect
from gambol.motion.editing import concatenate, mirror, repeat, resample, reverse
from gambol.rotations import from_yaw, multiply, rotate, yaw_of
from gambol.scenes import Scene, Terrain, parse_objects, place
from samples import swaying


def _scene(objects: dict | None = None, character: str = "humanoid", **others: str) -> Scene:
    things, terrain = parse_objects(objects or {})
    characters = {character: build(character), **{n: build(k, name=n) for n, k in others.items()}}
    return Scene(characters, things, terrain)


def _simulated(scene: Scene, frames: int = 30, seed: int = 0) -> Motion:
    """A limp fall with random controls, everything recorded."""
    model, rng = scene.model, np.random.default_rng(seed)
    data = mujoco.MjData(model)
    data.qpos[:] = place(scene)
    data.qvel[:] = 0.3 * rng.standard_normal(model.nv)
    rows: dict[str, list] = {"qpos": [], "qvel": [], "ctrl": [], "mocap": []}
    recorder = ContactRecorder()
    for t in range(frames):
        data.ctrl[:] = rng.uniform(-0.5, 0.5, model.nu)
        mujoco.mj_forward(model, data)
        recorder.add(t, model, data, forces=True)
        for name in ("qpos", "qvel", "ctrl"):
            rows[name].append(getattr(data, name).copy())
        rows["mocap"].append(np.concatenate([data.mocap_pos, data.mocap_quat], axis=1))
        mujoco.mj_step(model, data)
    return Motion(scene, scene.timestep, **{k: np.array(v) for k, v in rows.items()}, contacts=recorder.collected())


def _walker(frames: int = 40, dt: float = 0.02, speed: float = 1.0, yaw: float = 0.0, start: float = 0.0) -> Motion:
    """A body carried along its heading, swinging an arm."""
    scene = _scene()
    qpos = np.tile(place(scene), (frames, 1))
    time = start + np.arange(frames) * dt
    heading = from_yaw(yaw)
    qpos[:, :2] += rotate(heading, np.stack([speed * time, 0 * time, 0 * time], axis=1))[:, :2]
    qpos[:, 3:7] = multiply(heading, qpos[:, 3:7])
    qpos[:, 20] += 0.5 * np.sin(3 * time)
    return Motion(scene, dt, qpos)


PLACES = {
    "floor": {},
    "furniture": {"armchair": {"height": 0.2, "yaw": 30.0}, "ball": {"at": [0.5, 0.3], "lift": 0.2}, "target": {}},
    "stones": {"floor": {"shape": "stepping-stones"}},
}


@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("character", ["humanoid", "athlete", "quadruped"])
def test_mirroring_twice_is_the_identity(where: str, character: str) -> None:
    motion = _simulated(_scene(PLACES[where], character))
    twice = mirror(mirror(motion))
    for name in ("qpos", "qvel", "ctrl", "mocap"):
        np.testing.assert_allclose(getattr(twice, name), getattr(motion, name), atol=1e-9)
    assert motion.contacts is not None
    assert twice.contacts is not None
    for name in ("frame", "geoms", "position", "depth", "force"):
        np.testing.assert_allclose(getattr(twice.contacts, name), getattr(motion.contacts, name), atol=1e-9)
    assert twice.scene.describe() == motion.scene.describe()
    assert twice.source == motion.source


@pytest.mark.parametrize("where", PLACES)
def test_the_mirror_image_has_its_solids_and_contacts_on_the_other_side(where: str) -> None:
    motion = _simulated(_scene(PLACES[where]), frames=20)
    image = mirror(motion)
    before, after = motion.state_at(-1), image.state_at(-1)
    model = motion.scene.model
    for geom in range(model.ngeom):
        name = model.geom(geom).name
        other = name.replace("right", "*").replace("left", "right").replace("*", "left")
        np.testing.assert_allclose(
            after.geom(other).xpos, before.geom(name).xpos * [1, -1, 1], atol=1e-9, err_msg=f"{name} and {other}"
        )
    assert after.time == before.time
    assert image.contacts is not None
    found, told = detect(image, margin=0.0), image.contacts
    for t in (0, 19):
        pairs = [{tuple(sorted(map(int, pair))) for pair in c.geoms[c.frame == t]} for c in (found, told)]
        assert pairs[0] == pairs[1]


def test_the_mirror_image_obeys_the_same_physics() -> None:
    motion = _simulated(_scene(), frames=25)
    image = mirror(motion)
    model = image.scene.model
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = image.qpos[0], image.qvel[0]
    for t in range(24):
        data.ctrl[:] = image.ctrl[t]
        mujoco.mj_step(model, data)
    np.testing.assert_allclose(data.qpos, image.qpos[24], atol=1e-3)


def test_resampling_to_the_same_step_changes_nothing() -> None:
    motion = _simulated(_scene(PLACES["furniture"]))
    same = resample(motion, motion.dt)
    for name in ("qpos", "qvel", "ctrl", "mocap"):
        np.testing.assert_allclose(getattr(same, name), getattr(motion, name), atol=1e-12)
    np.testing.assert_array_equal(same.contacts.frame, motion.contacts.frame)


def test_resampling_up_and_down_again_gives_the_old_frames() -> None:
    motion = _simulated(_scene(PLACES["furniture"]))
    fine = resample(motion, motion.dt / 4)
    assert len(fine) == 4 * (len(motion) - 1) + 1
    assert fine.duration == pytest.approx(motion.duration)
    back = resample(fine, motion.dt)
    for name in ("qpos", "qvel", "ctrl", "mocap"):
        np.testing.assert_allclose(getattr(back, name), getattr(motion, name), atol=1e-9)
    np.testing.assert_array_equal(back.contacts.geoms, motion.contacts.geoms)
    np.testing.assert_allclose(np.linalg.norm(fine.qpos[:, 3:7], axis=1), 1.0, atol=1e-9)


def test_resampling_a_steady_turn_keeps_it_steady_and_holds_the_controls() -> None:
    scene = _scene()
    qpos = np.tile(place(scene), (11, 1))
    qpos[:, 3:7] = from_yaw(0.3 * np.arange(11))
    ctrl = np.arange(11)[:, None] * np.ones(scene.model.nu)
    fine = resample(Motion(scene, 0.1, qpos, ctrl=ctrl), 0.025)
    np.testing.assert_allclose(np.unwrap(yaw_of(fine.qpos[:, 3:7])), 0.075 * np.arange(41), atol=1e-9)
    np.testing.assert_array_equal(fine.ctrl[:, 0], np.arange(41) // 4)


@pytest.mark.parametrize("dt", [0.0, -0.1, np.nan, np.inf, 1e-9, 61.0, 1e-6])
def test_a_senseless_step_is_refused(dt: float) -> None:
    with pytest.raises(InputError, match="dt"):
        resample(_walker(frames=400), dt)


@settings(max_examples=15, deadline=None)
@given(yaw=st.floats(-3.0, 3.0), speed=st.floats(-1.5, 1.5), blend=st.floats(0.05, 0.5))
def test_joined_motions_go_on_where_the_first_ended(yaw: float, speed: float, blend: float) -> None:
    first, second = _walker(speed=1.0, yaw=0.5), _walker(speed=speed, yaw=yaw, start=7.0)
    whole = concatenate(first, second, blend=blend)
    assert len(whole) == len(first) + len(second)
    np.testing.assert_array_equal(whole.qpos[: len(first)], first.qpos)
    steps = np.zeros((len(whole) - 1, whole.scene.model.nv))
    for t in range(len(steps)):
        mujoco.mj_differentiatePos(whole.scene.model, steps[t], whole.dt, whole.qpos[t], whole.qpos[t + 1])
    fastest = max(np.abs(m.velocities).max() for m in (first, second))
    # no frame is further from the last than speed allows: speeds may not differ by more than the two motions' do
    assert np.abs(steps).max() < 2 * fastest + 3.0 * 0.5 / blend
    # velocities are continuous: the change over one frame at the seam is that of a smooth blend, not a jump
    jump = np.abs(np.diff(steps, axis=0))[len(first) - 2].max()
    assert jump < 0.35 + 40 * first.dt**2 / blend**2
    # the end of the second part is the second motion, turned and shifted
    tail = whole.qpos[-5:]
    np.testing.assert_allclose(tail[:, 7:], second.qpos[-5:, 7:], atol=1e-9)
    turned = np.diff(tail[:, :2], axis=0)
    np.testing.assert_allclose(np.linalg.norm(turned, axis=1), abs(speed) * whole.dt, atol=1e-9)
    np.testing.assert_allclose(yaw_of(tail[:, 3:7]), 0.5, atol=1e-9)


def test_cutting_and_joining_gives_the_motion_back() -> None:
    motion = _walker(frames=60)
    whole = concatenate(motion[:30], motion[30:])
    np.testing.assert_allclose(whole.qpos, motion.qpos, atol=0.01)


def test_without_blending_the_second_part_is_only_moved() -> None:
    first, second = _walker(yaw=0.2), _walker(yaw=2.0)
    whole = concatenate(first, second, blend=0.0)
    np.testing.assert_allclose(whole.qpos[len(first) :, 7:], second.qpos[:, 7:])
    np.testing.assert_allclose(whole.qpos[len(first), :2], first.qpos[-1, :2] + first.velocities[-1, :2] * 0.02)


def test_furniture_keeps_the_second_part_in_its_place() -> None:
    scene = _scene({"armchair": {}})
    qpos = np.tile(place(scene), (20, 1))
    there = qpos.copy()
    there[:, 0] += 1.0
    whole = concatenate(Motion(scene, 0.05, qpos), Motion(scene, 0.05, there))
    np.testing.assert_allclose(whole.qpos[-1], there[-1])


def test_a_lying_body_is_aligned_by_the_nearest_turn() -> None:
    scene = _scene()
    qpos = np.tile(place(scene, "supine"), (10, 1))
    leaning = qpos.copy()
    leaning[:, 3:7] = multiply(from_yaw(1.0), multiply([np.cos(0.02), np.sin(0.02), 0, 0], leaning[:, 3:7]))
    whole = concatenate(Motion(scene, 0.02, qpos), Motion(scene, 0.02, leaning), blend=0.0)
    assert abs(whole.qpos[-1, 3:7] @ qpos[0, 3:7]) > np.cos(0.021)


def test_different_steps_are_brought_together() -> None:
    first, second = _walker(dt=0.02), _walker(dt=0.05)
    whole = concatenate(first, second)
    assert whole.dt == first.dt
    assert whole.duration == pytest.approx(first.duration + first.dt + second.duration, abs=first.dt)


def test_recorded_things_stay_recorded() -> None:
    scene = _scene()
    first, second = _simulated(scene), _simulated(scene, seed=1)
    whole = concatenate(first, second)
    assert whole.qvel is not None
    assert whole.ctrl is not None
    assert len(whole.contacts) == len(first.contacts) + len(second.contacts)
    assert whole.contacts.frame.max() >= len(first)
    forces = [np.linalg.norm(c.force, axis=1).sum() for c in (whole.contacts, first.contacts, second.contacts)]
    assert forces[0] == pytest.approx(forces[1] + forces[2])
    assert concatenate(first, replace(second, ctrl=None)).ctrl is None


def test_markers_move_along() -> None:
    scene = _scene({"target": {"at": [1.0, 0.0]}})
    qpos = np.tile(place(scene), (5, 1))
    marker = np.tile([1.0, 0.0, 0.8, 1.0, 0, 0, 0], (5, 1, 1))
    ahead = qpos.copy()
    ahead[:, 0] += 2.0
    parts = Motion(scene, 0.1, ahead), Motion(scene, 0.1, qpos, mocap=marker)
    joined = concatenate(*parts, blend=0.0)
    assert joined.mocap is not None
    np.testing.assert_allclose(joined.mocap[:, 0, 0], [1.0] * 5 + [3.0] * 5)
    blended = concatenate(*parts, blend=0.2)
    assert blended.mocap is not None
    np.testing.assert_allclose(blended.mocap[:, 0, 0], [1.0] * 5 + [1.0, 2.0] + [3.0] * 3)


@settings(max_examples=15, deadline=None)
@given(turn=st.floats(-1.2, 1.2), shift=st.floats(-1.0, 1.0), spin=st.floats(-2.0, 2.0))
def test_markers_do_not_jump_where_motions_are_joined(turn: float, shift: float, spin: float) -> None:
    scene = _scene({"target": {"at": [1.0, 0.0]}})
    dt, frames = 0.02, 40
    qpos, time = np.tile(place(scene), (frames, 1)), dt * np.arange(frames)

    def gliding(from_x: float, speed: float, from_yaw_angle: float, spin: float) -> Motion:
        marker = np.zeros((frames, 1, 7))
        marker[:, 0, 0], marker[:, 0, 2] = from_x + speed * time, 0.8
        marker[:, 0, 3:] = from_yaw(from_yaw_angle + spin * time)
        return Motion(scene, dt, qpos, mocap=marker)

    first, second = gliding(1.0, 0.5, 0.0, 1.0), gliding(1.0 + shift, -0.3, turn, spin)
    whole = concatenate(first, second, blend=0.3, align=False)
    assert whole.mocap is not None
    np.testing.assert_array_equal(whole.mocap[:frames], first.mocap)
    np.testing.assert_allclose(whole.mocap[frames + 15 :], second.mocap[15:], atol=1e-12)
    for track in (whole.mocap[:, 0, 0], np.unwrap(yaw_of(whole.mocap[:, 0, 3:]))):
        speeds = np.diff(track) / dt
        # neither a jump at the seam, where positions and speeds go on, nor anywhere later
        assert abs(speeds[frames - 1] - speeds[frames - 2]) < 1e-9
        assert abs(speeds[frames] - speeds[frames - 1]) < 3.0
        assert np.abs(np.diff(speeds)).max() < 4.0
    np.testing.assert_allclose(np.linalg.norm(whole.mocap[:, 0, 3:], axis=-1), 1.0)


def test_markers_of_a_motion_cut_in_two_come_back() -> None:
    motion = swaying(_scene({"target": {}}), dt=0.02)
    whole = concatenate(motion[:30], motion[30:])
    np.testing.assert_allclose(whole.mocap[..., :3], motion.mocap[..., :3], atol=4e-3)
    assert np.abs(np.sum(whole.mocap[..., 3:] * motion.mocap[..., 3:], axis=-1)).min() > 1 - 1e-4
    single = concatenate(motion[:1], motion[30:31], align=False)
    np.testing.assert_allclose(single.mocap, motion.mocap[[0, 30]])


def test_a_motion_goes_on_with_its_mirror_image_on_level_ground() -> None:
    walk = _walker()
    whole = walk.then(walk.mirrored())
    assert len(whole) == 2 * len(walk)
    assert whole.scene.describe() == walk.scene.describe()


def test_other_scenes_are_refused_by_what_differs() -> None:
    with pytest.raises(InputError, match="objects and terrain differ"):
        concatenate(_walker(), Motion(_scene({"ball": {}, "floor": {"shape": "hill"}}), 0.1, np.zeros((1, 35)) + 0.1))
    with pytest.raises(InputError, match="characters differ"):
        concatenate(_walker(), Motion(_scene(character="athlete"), 0.1, np.zeros((1, 42)) + 0.1))
    rebuilt = replace(_walker(), scene=Scene.from_description(_walker().scene.describe()))
    assert len(concatenate(_walker(), rebuilt)) == 80
    with pytest.raises(InputError, match="blend"):
        concatenate(_walker(), _walker(), blend=-1.0)


def test_repeating_walks_on() -> None:
    walk = _walker(frames=50)
    long = repeat(walk, 4)
    assert len(long) == 200
    assert long.qpos[-1, 0] - long.qpos[0, 0] == pytest.approx(1.0 * long.duration, rel=1e-6)
    for times in (0, 10**12):
        with pytest.raises(InputError, match="times"):
            repeat(walk, times)


def test_reversing_twice_is_the_identity_but_for_the_controls() -> None:
    motion = _simulated(_scene())
    once = reverse(motion)
    np.testing.assert_allclose(once.velocities, -motion.velocities[::-1])
    twice = reverse(once)
    np.testing.assert_array_equal(twice.qpos, motion.qpos)
    np.testing.assert_array_equal(twice.contacts.frame, motion.contacts.frame)
    assert twice.ctrl is None


def test_the_source_tells_what_was_done() -> None:
    motion = _walker().with_source(method="partwise", task="sit", seed=3)
    assert mirror(motion).source.notes == "mirrored"
    assert "resampled" in resample(motion, 0.1).source.notes
    source = concatenate(motion, motion.with_source(seed=4)).source
    assert (source.method, source.task, source.seed) == ("partwise", "sit", None)
    assert concatenate(motion, motion.with_source(method=None)).source == Source(
        task="sit", seed=3, notes="partwise sit then sit"
    )


def test_unevenness_is_not_moved() -> None:
    scene = Scene({"humanoid": build("humanoid")}, {}, Terrain(shape="hill"))
    qpos = np.tile(place(scene), (3, 1))
    there = qpos.copy()
    there[:, 1] += 1.0
    np.testing.assert_allclose(concatenate(Motion(scene, 0.1, qpos), Motion(scene, 0.1, there)).qpos[-1], there[-1])


def test_contacts_of_single_frames() -> None:
    rows = Contacts(np.array([0, 0, 2]), np.zeros((3, 2), int), np.zeros((3, 3)), np.arange(3.0), np.zeros((3, 3)))
    assert rows.at_frames(np.array([2, 1, 0, 0])).depth.tolist() == [2, 0, 1, 0, 1]
