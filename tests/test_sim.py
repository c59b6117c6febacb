"""Rollouts: the CPU backend against plain mj_step, the GPU backend against the CPU backend, failures on both."""

from __future__ import annotations

import copy
import sys
from pathlib import Path

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gambol.errors import InputError, MissingExtraError
from gambol.sim import Rollout, backend, pack_state, state_size, unpack_state

# A trunk on the floor with an arm of three hinges. Spheres alone keep Warp's compilation short.
MJCF = """
<mujoco>
  <option timestep="0.005" integrator="implicitfast"/>
  <default><joint axis="0 1 0" damping="0.1"/><geom size="0.05" pos="0.1 0 0"/></default>
  <worldbody>
    <geom type="plane" size="5 5 0.1" pos="0 0 0"/>
    <body name="trunk" pos="0 0 0.13">
      <freejoint/>
      <geom size="0.1" pos="0 0 0"/>
      <body pos="0 0.1 0">
        <joint name="shoulder" range="-60 60"/>
        <geom/>
        <body pos="0.2 0 0">
          <joint name="elbow"/>
          <geom/>
          <body pos="0.2 0 0"><joint name="wrist" axis="0 0 1"/><geom/></body>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor joint="shoulder" gear="2"/>
    <motor joint="elbow"/>
    <position joint="wrist" kp="2" timeconst="0.02"/>
  </actuator>
  <sensor>
    <jointpos joint="shoulder"/>
    <framepos objtype="body" objname="trunk"/>
    <framelinvel objtype="body" objname="trunk"/>
  </sensor>
</mujoco>
"""

# Float32 has seven digits. Over these 50 steps positions stay near 1 and velocities near 10, and a contact that opens
# or closes a step later on one side costs a few more digits of velocity; a shifted step costs 1e-2 and more.
TOLERANCE = {"qpos": 1e-4, "qvel": 5e-3, "sensors": 5e-3}


@pytest.fixture(scope="module")
def model() -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(MJCF)


@pytest.fixture(scope="module")
def start(model) -> np.ndarray:
    return pack_state(model, model.qpos0, np.zeros(model.nv))


@pytest.fixture(scope="module")
def warp_backend(model):
    pytest.importorskip("mujoco_warp", reason="MuJoCo Warp is not installed")
    import warp

    level, warp.config.optimization_level = warp.config.optimization_level, 0  # half the time to compile
    with backend("gpu", model, device="cpu") as made:
        yield made
    warp.config.optimization_level = level


@pytest.fixture(params=["cpu", "gpu"])
def any_backend(request, model):
    if request.param == "gpu":
        yield request.getfixturevalue("warp_backend")
        return
    with backend("cpu", model, threads=2) as made:
        yield made


def random_controls(model, rollouts: int, steps: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1, 1, (rollouts, steps, model.nu))


def stepped(model, start, controls, steps_per_control=1):
    """The same rollout by hand: states after, and sensors as left by, the last mj_step of each control."""
    data = mujoco.MjData(model)
    full = mujoco.mjtState.mjSTATE_FULLPHYSICS
    mujoco.mj_setState(model, data, start, full)
    states, sensors = [], []
    for control in controls:
        data.ctrl[:] = control
        for _ in range(steps_per_control):
            mujoco.mj_step(model, data)
        state = np.empty(state_size(model))
        mujoco.mj_getState(model, data, state, full)
        states.append(state)
        sensors.append(data.sensordata.copy())
    return np.array(states), np.array(sensors)


@settings(max_examples=20, deadline=None)
@given(leading=st.lists(st.integers(1, 3), max_size=2), seed=st.integers(0, 1000))
def test_states_unpack_to_what_was_packed(leading, seed):
    model = mujoco.MjModel.from_xml_string(MJCF)
    rng = np.random.default_rng(seed)
    parts = [rng.normal(size=(*leading, width)) for width in (model.nq, model.nv, model.na)]
    rows = pack_state(model, parts[0], parts[1], time=2.5, act=parts[2])
    assert rows.shape == (*leading, state_size(model))
    time, *unpacked = unpack_state(model, rows)[:4]
    assert np.all(time == 2.5)
    for before, after in zip(parts, unpacked, strict=True):
        np.testing.assert_array_equal(before, after)


def test_packing_agrees_with_mujoco(model):
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, 7)
    row = np.empty(state_size(model))
    mujoco.mj_getState(model, data, row, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    np.testing.assert_array_equal(pack_state(model, data.qpos, data.qvel, data.time, data.act), row)


def test_packing_a_wrong_shape_names_the_part(model):
    with pytest.raises(InputError, match=r"qvel.*\(\.\.\., 9\)"):
        pack_state(model, model.qpos0, np.zeros(3))
    with pytest.raises(InputError, match="do not fit"):
        pack_state(model, np.zeros((2, model.nq)), np.zeros((3, model.nv)))
    with pytest.raises(InputError, match="state"):
        unpack_state(model, np.zeros(3))


@pytest.mark.parametrize("steps_per_control", [1, 3])
def test_cpu_rollout_is_mj_step(model, start, steps_per_control):
    controls = random_controls(model, 4, 20)
    with backend("cpu", model, threads=2) as cpu:
        rollout = cpu.rollout(start, controls, steps_per_control=steps_per_control)
    assert not rollout.failed.any()
    for n in range(4):
        states, sensors = stepped(model, start, controls[n], steps_per_control)
        np.testing.assert_array_equal(rollout.states[n], states)
        np.testing.assert_array_equal(rollout.sensors[n], sensors)


def test_cpu_is_the_same_at_any_number_of_threads(model, start):
    controls = random_controls(model, 13, 30)
    results = []
    for threads in (1, 2, 3, 7):
        with backend("cpu", model, threads=threads) as cpu:
            cpu.rollout(start, controls[:5])  # leftovers of another rollout must not matter either
            results.append(cpu.rollout(start, controls))
    for other in results[1:]:
        np.testing.assert_array_equal(results[0].states, other.states)
        np.testing.assert_array_equal(results[0].sensors, other.sensors)


def test_cpu_reuses_the_arrays_it_is_given(model, start):
    controls = random_controls(model, 3, 5)
    out = Rollout.empty(model, 3, 5)
    with backend("cpu", model) as cpu:
        expected = cpu.rollout(start, controls)
        returned = cpu.rollout(start, controls, out=out)
        assert returned is out
        np.testing.assert_array_equal(out.states, expected.states)
        np.testing.assert_array_equal(out.sensors, expected.sensors)
        with pytest.raises(InputError, match="out: states"):
            cpu.rollout(start, controls[:, :4], out=out)


def test_parts_of_a_rollout_are_views_of_its_states(any_backend, start):
    model = any_backend.model
    rollout = any_backend.rollout(start, random_controls(model, 3, 5))
    parts = unpack_state(model, rollout.states)
    np.testing.assert_array_equal(rollout.time, parts.time)
    np.testing.assert_array_equal(rollout.qpos, parts.qpos)
    np.testing.assert_array_equal(rollout.qvel, parts.qvel)
    np.testing.assert_allclose(rollout.time[0], 0.005 * np.arange(1, 6), rtol=1e-6)


@pytest.mark.parametrize("steps_per_control", [1, 3])
def test_backends_agree_within_float32(model, start, warp_backend, steps_per_control):
    steps = 51 // steps_per_control
    controls = random_controls(model, 3, steps)
    with backend("cpu", model) as cpu:
        expected = cpu.rollout(start, controls, steps_per_control=steps_per_control)
    found = warp_backend.rollout(start, controls, steps_per_control=steps_per_control)
    assert expected.qpos[..., 2].min() < 0.1, "the trunk should have reached the floor"
    for name, tolerance in TOLERANCE.items():
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), atol=tolerance, rtol=0, err_msg=name)


def test_rollouts_do_not_remember_the_last_one(any_backend, start):
    controls = random_controls(any_backend.model, 3, 5)
    first = any_backend.rollout(start, controls)
    any_backend.rollout(first.states[:, -1], -controls)
    again = any_backend.rollout(start, controls)
    np.testing.assert_array_equal(first.states, again.states)
    np.testing.assert_array_equal(first.sensors, again.sensors)


def test_each_rollout_has_its_own_start(any_backend, start):
    model = any_backend.model
    starts = np.repeat(start[None], 3, axis=0)
    starts[1, 1] += 0.5
    rollout = any_backend.rollout(starts, np.zeros((3, 5, model.nu)))
    np.testing.assert_allclose(rollout.qpos[1, :, 0] - rollout.qpos[0, :, 0], 0.5, atol=1e-6)
    np.testing.assert_array_equal(rollout.states[0], rollout.states[2])


def test_sensors_belong_to_the_state_before_the_step(any_backend, start):
    model = any_backend.model
    rollout = any_backend.rollout(start, random_controls(model, 3, 5))
    shoulder = model.jnt_qposadr[model.joint("shoulder").id]
    np.testing.assert_allclose(rollout.sensors[:, 1:, 0], rollout.qpos[:, :-1, shoulder], atol=1e-6)
    assert np.all(rollout.sensors[:, 0, 0] == 0.0)


def test_sensors_can_be_left_out(any_backend, start):
    controls = random_controls(any_backend.model, 3, 5)
    with_sensors, without = (any_backend.rollout(start, controls, sensors=flag) for flag in (True, False))
    assert without.sensors.shape == (3, 5, 0)
    np.testing.assert_array_equal(with_sensors.states, without.states)


@pytest.mark.parametrize("steps_per_control", [1, 3])
@pytest.mark.parametrize("bad", [np.nan, 1e30, 1e12])
def test_a_failed_rollout_keeps_its_last_good_row(any_backend, start, steps_per_control, bad):
    """Rollouts 0, 1, 2 fail at their last, third and first step; the fourth is untouched by its neighbours."""
    controls = random_controls(any_backend.model, 4, 5)
    good = any_backend.rollout(start, controls, steps_per_control=steps_per_control)
    broken = controls.copy()
    for n, step in enumerate((4, 2, 0)):
        broken[n, step] = bad
    rollout = any_backend.rollout(start, broken, steps_per_control=steps_per_control)
    assert rollout.failed.tolist() == [True, True, True, False]
    for n, step in enumerate((4, 2, 0, 5)):
        np.testing.assert_array_equal(rollout.states[n, :step], good.states[n, :step])
        np.testing.assert_array_equal(rollout.sensors[n, :step], good.sensors[n, :step])
        state, sensors = (good.states[n, step - 1], good.sensors[n, step - 1]) if step else (start, np.zeros(7))
        for row in range(step, 5):
            np.testing.assert_allclose(rollout.states[n, row], state, rtol=1e-6)
            np.testing.assert_array_equal(rollout.sensors[n, row], sensors)


@pytest.mark.parametrize("steps", [1, 5])
def test_a_state_beyond_the_limit_is_failed_even_if_nothing_steps_from_it(any_backend, start, steps):
    model = any_backend.model
    starts = np.repeat(start[None], 3, axis=0)
    # MuJoCo's limit is 1e10, and it looks at a state only when it steps from it: the first step passes unseen.
    unpack_state(model, starts).qpos[1, 0] = 9.99e9
    unpack_state(model, starts).qvel[1, 0] = 9e9
    rollout = any_backend.rollout(starts, np.zeros((3, steps, model.nu)))
    assert rollout.failed.tolist() == [False, True, False]
    np.testing.assert_allclose(rollout.states[1], np.broadcast_to(starts[1], (steps, len(start))), rtol=1e-6)
    assert not rollout.sensors[1].any()


def test_a_model_that_mujoco_cannot_step_is_an_error():
    model = mujoco.MjModel.from_xml_string(
        MJCF.replace("<sensor>", '<equality><joint joint1="elbow" joint2="wrist"/></equality><sensor>')
    )
    model.eq_type[:] = 99
    with backend("cpu", model) as cpu, pytest.raises(InputError, match="cannot step"):
        cpu.rollout(pack_state(model, model.qpos0, np.zeros(model.nv)), np.zeros((2, 3, model.nu)))


def test_failures_leave_no_log_behind(model, start, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    before = mujoco.MjLogConfig.get()
    with backend("cpu", model) as cpu:
        assert cpu.rollout(start, np.full((2, 3, model.nu), np.nan)).failed.all()
    assert not list(Path(tmp_path).iterdir())
    assert capfd.readouterr() == ("", "")
    assert mujoco.MjLogConfig.get().logto_console == before.logto_console


def test_variants_are_rolled_out_side_by_side(model, start, warp_backend):
    heavier = copy.copy(model)
    heavier.body_mass *= 2
    controls = random_controls(model, 4, 5)
    with backend("gpu", model, device="cpu", variants=[heavier]) as both:
        found = both.rollout(start, controls)
        with pytest.raises(InputError, match="evenly"):
            both.rollout(start, controls[:3])
    with backend("gpu", heavier, device="cpu") as other:
        alone = warp_backend.rollout(start, controls).states, other.rollout(start, controls).states
    np.testing.assert_array_equal(found.states[:2], alone[0][:2])
    np.testing.assert_array_equal(found.states[2:], alone[1][2:])
    assert np.abs(alone[0] - alone[1]).max() > 1e-4


def test_motions_that_are_only_tried_take_fewer_solver_steps(model, start, warp_backend):
    controls, allowed = random_controls(model, 4, 30), model.opt.iterations
    whole = warp_backend.rollout(start, controls).states
    with backend("gpu", model, device="cpu", solver_steps=6) as quick:
        np.testing.assert_allclose(quick.rollout(start, controls).states, whole, atol=1e-3)
    with backend("gpu", model, device="cpu", solver_steps=1) as rough:
        assert abs(rough.rollout(start, controls).states - whole).max() > 1e-4
    assert model.opt.iterations == allowed


def test_each_world_has_the_furniture_of_its_variant():
    """A ball falls onto a table in one world and past it, onto a lower one, in the other."""
    pytest.importorskip("mujoco_warp", reason="MuJoCo Warp is not installed")
    text = """<mujoco><worldbody>
      <geom type="box" pos="0 0 {height}" euler="0 {tilt} 0" size="1 1 .1"/>
      <body pos="0 0 1"><freejoint/><geom size=".1"/></body>
    </worldbody></mujoco>"""
    low, high = (
        mujoco.MjModel.from_xml_string(text.format(height=height, tilt=tilt)) for height, tilt in ((0, 0), (0.7, 20))
    )
    start = pack_state(low, low.qpos0, np.zeros(low.nv))
    controls = np.zeros((2, 200, 0))
    with backend("gpu", low, device="cpu", variants=[high]) as both:
        found = both.rollout(start, controls).states
    for place, model in enumerate((low, high)):
        with backend("cpu", model) as alone:
            expected = alone.rollout(start, controls[:1]).states[0]
        np.testing.assert_allclose(found[place, :, 1:4], expected[:, 1:4], atol=2e-3)
    assert found[1, -1, 3] - found[0, -1, 3] > 0.4


def test_models_of_another_structure_or_with_other_options_are_no_variants(model, start):
    pytest.importorskip("mujoco_warp", reason="MuJoCo Warp is not installed")
    floating = copy.copy(model)
    floating.opt.gravity[2] = 0
    smaller = mujoco.MjModel.from_xml_string(
        "<mujoco><worldbody><body><freejoint/><geom size='1'/></body></worldbody></mujoco>"
    )
    for other, told in ((floating, "options: gravity"), (smaller, "the models differ")):
        with backend("gpu", model, device="cpu", variants=[other]) as both, pytest.raises(InputError, match=told):
            both.rollout(start, np.zeros((2, 3, model.nu)))


def test_too_little_room_for_contacts_is_an_error(warp_backend, model, start):
    with (
        backend("gpu", model, device="cpu", njmax=1) as small,
        pytest.raises(InputError, match=r"room.*NEFC[\s\S]*njmax"),
    ):
        small.rollout(start, np.zeros((2, 25, model.nu)))


def test_device_arrays_stay_on_the_device(warp_backend, start):
    import warp

    model = warp_backend.model
    controls = random_controls(model, 3, 5)
    expected = warp_backend.rollout(start, controls)
    on_device = warp_backend.rollout_device(
        warp.array(np.tile(start, (3, 1)), dtype=warp.float32, device="cpu"),
        warp.array(controls, dtype=warp.float32, device="cpu"),
    )
    on_device.check()
    np.testing.assert_array_equal(on_device.states.numpy(), expected.states.astype(np.float32))
    np.testing.assert_array_equal(on_device.sensors.numpy(), expected.sensors.astype(np.float32))
    with pytest.raises(InputError, match="float32"):
        warp_backend.rollout_device(start, warp.array(controls, dtype=warp.float64, device="cpu"))


@pytest.mark.parametrize(
    ("initial", "controls", "options", "message"),
    [
        ((4,), (3, 5, 3), {}, r"initial: has shape \(1, 4\); the model and the controls need \(1 or 3, 21\)"),
        ((2, 21), (3, 5, 3), {}, r"initial"),
        ((21,), (3, 5, 2), {}, r"controls: has shape \(3, 5, 2\); the model needs \(N, T, 3\)"),
        ((21,), (5, 3), {}, r"controls"),
        ((21,), (3, 0, 3), {}, r"controls"),
        ((21,), (3, 5, 3), {"steps_per_control": 0}, r"steps_per_control"),
    ],
)
def test_wrong_shapes_name_what_is_needed(any_backend, initial, controls, options, message):
    with pytest.raises(InputError, match=message):
        any_backend.rollout(np.zeros(initial), np.zeros(controls), **options)


def test_a_start_that_is_not_finite_is_refused(any_backend, start):
    with pytest.raises(InputError, match=r"initial: .*not finite"):
        any_backend.rollout(np.where(np.arange(len(start)) == 3, np.nan, start), np.zeros((1, 1, 3)))


def test_backends_are_closed_for_good(model, start):
    cpu = backend("cpu", model)
    cpu.close()
    cpu.close()
    with pytest.raises(InputError, match="closed"):
        cpu.rollout(start, np.zeros((1, 1, model.nu)))


def test_unknown_names_and_options_are_refused(model):
    with pytest.raises(InputError, match=r"no backend named 'tpu'[\s\S]*cpu"):
        backend("tpu", model)
    with pytest.raises(InputError, match="threads"):
        backend("cpu", model, threads=0)
    sleepy = mujoco.MjModel.from_xml_string(MJCF)
    sleepy.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_SLEEP
    with pytest.raises(InputError, match="sleep"):
        backend("cpu", sleepy)


def test_the_gpu_backend_without_warp_names_the_extra(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco_warp", None)
    with pytest.raises(MissingExtraError, match=r"MuJoCo Warp is not installed[\s\S]*gambol\[gpu\]"):
        backend("gpu", model)


def test_the_gpu_backend_without_a_gpu_says_so(warp_backend, model):
    import warp

    if warp.is_cuda_available():
        pytest.skip("this machine has a GPU")
    with pytest.raises(InputError, match="no CUDA GPU"):
        backend("gpu", model)
    with pytest.raises(InputError, match="device"):
        backend("gpu", model, device="toaster")
