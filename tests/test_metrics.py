from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import mujoco
import numpy as np
import pytest

from gambol.characters import Character, Patch, Pose, build
from gambol.errors import InputError
from gambol.motion import Motion
from gambol.motion.contacts import ContactRecorder
from gambol.motion.metrics import METRICS, measure
from gambol.motion.metrics.support import smallest_residual
from gambol.rotations import from_axis_angle
from gambol.scenes import Scene, parse_objects, place

DT = 0.02
G = 9.81


def _value(motion: Motion, name: str) -> float:
    metric = measure(motion, [name])[name]
    assert metric.value is not None, metric.reason
    return metric.value


def _brick(half: tuple[float, float, float] = (0.2, 0.2, 0.1)) -> Character:
    """A box of 10 kg that stands on its underside."""
    x, y, z = half
    xml = f"""<mujoco><worldbody><body name="brick"><freejoint name="root"/>
      <geom name="brick" type="box" size="{x} {y} {z}" mass="10"/></body></worldbody></mujoco>"""
    return Character("brick", xml, patches={"foot": Patch("brick", ((x, y, -z), (-x, -y, -z)))}).verified()


def _crane(
    actuator: str = '<motor name="arm" joint="arm" gear="20" ctrllimited="true" ctrlrange="-1 1"/>',
) -> Character:
    """A heavy base with an arm along x: 2 kg, its centre 0.5 m from a hinge about y with a range of ±30 degrees."""
    xml = f"""<mujoco><worldbody><body name="base"><freejoint name="root"/>
      <geom name="base" type="box" size="0.8 0.4 0.1" mass="100"/>
      <body name="arm" pos="0 0 0.5"><joint name="arm" axis="0 1 0" range="-30 30" limited="true"/>
        <geom name="arm" type="capsule" fromto="0.4 0 0 0.6 0 0" size="0.03" mass="2"/></body></body></worldbody>
      <actuator>{actuator}</actuator></mujoco>"""
    return Character("crane", xml, patches={"foot": Patch("base", ((0.0, 0.0, -0.1),))}).verified()


def _still(character: Character, height: float, frames: int = 20, objects: Mapping | None = None) -> Motion:
    things, terrain = parse_objects(objects or {})
    scene = Scene({character.name: character}, things, terrain)
    qpos = np.tile(scene.initial_qpos(), (frames, 1))
    qpos[:, scene.spans[character.name].qpos.start + 2] = height
    return Motion(scene, DT, qpos)


def _with(motion: Motion, **columns: np.ndarray) -> Motion:
    """Positions of the main character's root replaced: x, y, z over time."""
    qpos, root = motion.qpos.copy(), motion.scene.spans[motion.scene.main_character].qpos.start
    for name, values in columns.items():
        qpos[:, root + "xyz".index(name)] += values
    return replace(motion, qpos=qpos)


def _falling(character: Character, frames: int = 30, speed: float = 2.0) -> Motion:
    time = np.arange(frames) * DT
    return _with(_still(character, 10.0, frames), x=speed * time, z=3 * time - G * time**2 / 2)


def _simulated(character: Character, frames: int, pose: str = "standing", lift: float = 0.0, every: int = 1) -> Motion:
    """Servos hold the pose while the body stands or falls; forces recorded."""
    scene = Scene.alone(character)
    model, data = scene.model, mujoco.MjData(scene.model)
    data.qpos[:] = place(scene, pose)
    data.qpos[2] += lift
    target = data.qpos[model.jnt_qposadr[model.actuator_trnid[:, 0]]].copy()
    recorder, rows = ContactRecorder(), []
    for t in range(frames):
        data.ctrl[:] = target
        mujoco.mj_forward(model, data)
        recorder.add(t, model, data, forces=True)
        rows.append((data.qpos.copy(), data.qvel.copy(), data.ctrl.copy()))
        for _ in range(every):
            mujoco.mj_step(model, data)
    qpos, qvel, ctrl = map(np.array, zip(*rows, strict=True))
    return Motion(scene, scene.timestep * every, qpos, qvel, ctrl, contacts=recorder.collected())


# feet


def test_a_foot_that_slides_at_a_tenth_of_a_metre_a_second_reads_that() -> None:
    slide = _with(_still(_brick(), 0.1), x=0.06 * np.arange(20) * DT, y=0.08 * np.arange(20) * DT)
    metric = measure(slide, ["foot_skate"])["foot_skate"]
    assert metric.value == pytest.approx(0.1, rel=1e-6)
    assert metric.curve is not None
    np.testing.assert_allclose(metric.curve[:-1], 0.1, rtol=1e-6)
    assert _value(_still(_brick(), 0.1), "foot_skate") == 0.0


def test_a_sliding_humanoid_reads_the_same() -> None:
    scene = Scene.alone(build("humanoid"))
    still = Motion(scene, DT, np.tile(place(scene), (20, 1)))
    assert _value(_with(still, x=0.1 * np.arange(20) * DT), "foot_skate") == pytest.approx(0.1, rel=1e-6)


def test_only_feet_that_stand_count() -> None:
    lifted = _with(_still(_brick(), 0.1), x=np.arange(20) * DT, z=np.where(np.arange(20) < 10, 0.1, 0.0))
    stands = _with(_still(_brick(), 0.1), z=np.where(np.arange(20) < 10, 0.1, 0.0))
    assert _value(lifted, "foot_skate") == pytest.approx(1.0)
    assert _value(stands, "foot_skate") == 0.0
    floating = measure(_with(_still(_brick(), 0.5), x=np.arange(20) * DT), ["foot_skate"])["foot_skate"]
    assert floating.value is None
    assert "no foot stands" in str(floating.reason)


def test_being_carried_is_not_sliding() -> None:
    carried = _still(_brick(), 0.4, objects={"crate": {"size": [1.0, 1.0, 0.3]}})
    qpos, time = carried.qpos.copy(), np.arange(20) * DT
    model, root = carried.scene.model, carried.scene.spans["brick"].qpos.start
    crate = model.joint("crate").qposadr[0]
    for start in (root, crate):
        qpos[:, start] += 0.5 * time
    assert _value(replace(carried, qpos=qpos), "foot_skate") == pytest.approx(0.0, abs=1e-9)
    assert _value(_with(carried, x=0.5 * time), "foot_skate") == pytest.approx(0.5)


def test_rolling_is_not_sliding() -> None:
    xml = """<mujoco><worldbody><body name="ball"><freejoint name="root"/>
      <geom name="ball" type="sphere" size="0.2" mass="5"/></body></worldbody></mujoco>"""
    ball = Character("ball", xml, patches={"foot": Patch("ball", ((0.0, 0.0, -0.2),))})
    time = np.arange(50) * 0.005
    still = replace(_still(ball, 0.2, 50), dt=0.005)
    qpos = _with(still, x=0.4 * time).qpos.copy()
    qpos[:, 3:7] = from_axis_angle([0, 1, 0], 2.0 * time)
    assert _value(replace(still, qpos=qpos), "foot_skate") < 0.01


# overlap


def test_overlap_of_known_depth() -> None:
    sinking = _with(_still(_brick(), 0.1, 5), z=-0.001 * np.array([0, 2, 7, 4, -3]))
    assert _value(sinking, "penetration") == pytest.approx(7.0)
    assert _value(sinking, "penetration_mean") == pytest.approx((2 + 7 + 4) / 5)


def test_overlap_with_itself() -> None:
    """A ball of 5 cm on a pole comes down to 3 cm above the base it stands on."""
    xml = """<mujoco><worldbody><body name="base"><freejoint name="root"/>
      <geom name="base" type="box" size="0.5 0.5 0.1" mass="10"/>
      <body name="pole" pos="0 0 0.2"><joint name="turn" axis="0 0 1"/><geom type="sphere" size="0.001" mass="0.1"/>
        <body name="ball"><joint name="sink" type="slide" axis="0 0 -1"/>
          <geom name="ball" type="sphere" size="0.05" mass="1"/></body></body></body></worldbody></mujoco>"""
    motion = _still(Character("press", xml), 3.0, 2)
    qpos = motion.qpos.copy()
    qpos[1, -1] = 0.07
    metrics = measure(replace(motion, qpos=qpos), ["self_penetration", "self_penetration_mean", "penetration"])
    assert metrics["self_penetration"].value == pytest.approx(20.0)
    assert metrics["self_penetration_mean"].value == pytest.approx(10.0)
    assert metrics["penetration"].value == 0.0


# flight


def test_a_body_that_hangs_in_the_air_floats_and_a_falling_one_does_not() -> None:
    hanging, falling = _still(_brick(), 2.0), _falling(_brick())
    assert _value(hanging, "floating") == 1.0
    assert _value(hanging, "floating_longest") == pytest.approx(20 * DT)
    assert _value(falling, "floating") == 0.0
    assert _value(_still(_brick(), 0.1), "floating") == 0.0


def test_the_longest_stretch_of_floating() -> None:
    lifted = np.zeros(60)
    lifted[10:20] = lifted[30:55] = 0.5
    motion = _with(_still(_brick(), 0.1, 60), z=lifted)
    assert _value(motion, "floating_longest") == pytest.approx(25 * DT, abs=2 * DT)
    assert _value(motion, "floating") == pytest.approx(35 / 60, abs=4 / 60)


# limits


def test_a_joint_beyond_its_range_by_known_degrees() -> None:
    motion = _still(_crane(), 0.1, 4)
    bent = motion.qpos.copy()
    bent[:, -1] = np.deg2rad([0, 29, 37, -42])
    motion = replace(motion, qpos=bent)
    assert _value(motion, "joint_limit_excess") == pytest.approx(12.0)
    assert _value(motion, "joint_limit_excess_mean") == pytest.approx((7 + 12) / 4)
    assert "range" in str(measure(_still(_brick(), 1.0), ["joint_limit_excess"])["joint_limit_excess"].reason)


@pytest.mark.parametrize(
    ("actuator", "control", "excess"),
    [
        ('<motor name="arm" joint="arm" gear="20" ctrllimited="true" ctrlrange="-1 1"/>', 1.5, 0.5),
        ('<motor name="arm" joint="arm" gear="20" ctrllimited="true" ctrlrange="-1 1"/>', -1.0, 0.0),
        ('<position name="arm" joint="arm" kp="100" forcelimited="true" forcerange="-40 40"/>', 1.0, 1.5),
        ('<position name="arm" joint="arm" kp="100" forcelimited="true" forcerange="-40 40"/>', -0.3, 0.0),
    ],
)
def test_controls_that_ask_for_more_than_there_is(actuator: str, control: float, excess: float) -> None:
    motion = _still(_crane(actuator), 0.1, 4)
    assert _value(replace(motion, ctrl=np.full((4, 1), control)), "torque_excess") == pytest.approx(excess)


@pytest.mark.parametrize("gear", [4.0, 8.0, 20.0])
def test_holding_an_arm_out_needs_the_torque_of_its_weight(gear: float) -> None:
    motor = f'<motor name="arm" joint="arm" gear="{gear}" ctrllimited="true" ctrlrange="-1 1"/>'
    needed = 2.0 * G * 0.5
    assert _value(_still(_crane(motor), 0.1), "torque_excess") == pytest.approx(max(needed / gear - 1, 0), abs=1e-3)


# smoothness


def test_the_jerk_of_a_cubic() -> None:
    time = np.arange(20) * DT
    cubic = _with(_still(_brick(), 1.0), x=0.3 * time**3, y=0.4 * time**3)
    assert _value(cubic, "jerk") == pytest.approx(6 * 0.5, rel=1e-6)
    assert _value(_with(_still(_brick(), 1.0), x=time**2), "jerk") == pytest.approx(0.0, abs=1e-6)


def test_controls_that_sweep_their_range() -> None:
    motion = _still(_crane(), 0.1, 51)
    sweep = np.linspace(-1, 1, 51)[:, None]
    assert _value(replace(motion, ctrl=sweep), "control_roughness") == pytest.approx(1.0)
    assert _value(replace(motion, ctrl=0 * sweep), "control_roughness") == 0.0
    servo = _still(_crane('<position name="arm" joint="arm" kp="100"/>'), 0.1, 51)
    assert _value(replace(servo, ctrl=sweep), "control_roughness") == pytest.approx(2 / np.deg2rad(60))


def test_a_symmetric_pose_is_symmetric_and_a_raised_arm_is_not() -> None:
    character = build("athlete")
    scene = Scene.alone(character)

    def holding(pose: str | Pose) -> Motion:
        qpos = character.pose_qpos(pose)
        qpos[2] = 1.1
        return Motion(scene, DT, np.tile(qpos, (10, 1)))

    for pose in ("zero", "standing", "sitting", "supine"):
        assert _value(holding(pose), "asymmetry") == pytest.approx(0.0, abs=1e-6)
    raised = holding(Pose({"right_shoulder_x": -1.5}))
    assert 0.05 < _value(raised, "asymmetry") < 0.5
    assert _value(raised.mirrored(), "asymmetry") == pytest.approx(_value(raised, "asymmetry"))


def test_legs_that_take_turns_are_symmetric() -> None:
    character = build("athlete")
    scene, time = Scene.alone(character), np.arange(100) * DT
    qpos = np.tile(character.pose_qpos("standing"), (100, 1))

    def swing(joint: str, phase: float) -> None:
        place = character.model.joint(joint).qposadr[0]
        qpos[:, place] = 0.4 * np.sin(2 * np.pi * time / 1.0 + phase)

    swing("right_hip_y", 0.0)
    swing("left_hip_y", np.pi)
    assert _value(Motion(scene, DT, qpos), "asymmetry") == pytest.approx(0.0, abs=1e-6)
    swing("left_hip_y", np.pi / 2)
    assert _value(Motion(scene, DT, qpos), "asymmetry") > 0.02


# dynamics


@pytest.mark.parametrize("name", ["humanoid", "quadruped"])
def test_free_fall_is_explained_and_hanging_is_not(name: str) -> None:
    falling, hanging = _falling(build(name)), _still(build(name), 10.0)
    assert _value(falling, "momentum_residual") == pytest.approx(0.0, abs=1e-6)
    assert _value(falling, "angular_momentum_residual") == pytest.approx(0.0, abs=1e-6)
    assert _value(hanging, "momentum_residual") == pytest.approx(1.0, abs=1e-6)


def test_standing_is_explained_by_forces_that_could_be() -> None:
    still = _still(_brick(), 0.1)
    assert _value(still, "momentum_residual") < 1e-3
    assert _value(still, "angular_momentum_residual") < 1e-3
    scene = Scene.alone(build("humanoid"))
    humanoid = Motion(scene, DT, np.tile(place(scene), (10, 1)))
    assert _value(humanoid, "momentum_residual") < 1e-3


def test_friction_explains_only_so_much() -> None:
    """On ground of friction one half of gravity is a push it can give; two gravities are 1/√2 of it too much."""
    plate, time = _brick((2.0, 2.0, 0.02)), np.arange(20) * DT
    gentle = _with(_still(plate, 0.02), x=0.25 * G * time**2)
    violent = _with(_still(plate, 0.02), x=G * time**2)
    assert _value(gentle, "momentum_residual") < 1e-3
    assert _value(violent, "momentum_residual") == pytest.approx(1 / np.sqrt(2), abs=0.05)
    pulled = _with(_still(plate, 0.02), z=-G * time**2)
    assert _value(pulled[:3], "momentum_residual") == pytest.approx(1.0, abs=1e-3)


def test_a_body_beyond_its_support_should_topple() -> None:
    """The centre of mass 0.3 m beyond the edge of a block: no contact force can hold that."""
    over = _still(_brick((0.5, 0.2, 0.1)), 0.7, objects={"box": {"at": [0.0, 0.0], "height": 0.6, "length": 1.0}})
    balanced = _with(over, x=np.full(20, 0.3))
    toppling = _with(over, x=np.full(20, 0.8))
    assert _value(balanced, "angular_momentum_residual") < 1e-3
    assert 0.4 < _value(toppling, "momentum_residual") < 0.6
    assert 0.08 < _value(toppling, "angular_momentum_residual") < 0.15


def test_the_best_forces_satisfy_the_optimality_conditions() -> None:
    rng = np.random.default_rng(3)
    basis, goal = rng.standard_normal((40, 6, 30)), rng.standard_normal((40, 6))
    basis[:10, :, 5:] = 0.0
    residual, x = smallest_residual(basis, goal, ridge=1e-4)
    np.testing.assert_allclose(residual, goal - np.einsum("kmn,kn->km", basis, x), atol=1e-7)
    gradient = -np.einsum("kmn,km->kn", basis, residual) + 1e-4 * x
    assert (x >= 0).all()
    assert gradient.min() > -1e-8
    np.testing.assert_allclose(gradient * x, 0.0, atol=1e-7)


@pytest.mark.parametrize("every", [1, 4])
def test_recorded_forces_explain_a_simulated_motion(every: int) -> None:
    standing = _simulated(build("athlete"), 80, every=every)
    falling = _simulated(build("athlete"), 120, lift=0.3, every=every)
    for motion in (standing, falling):
        metrics = measure(motion, ["momentum_residual", "angular_momentum_residual"])
        assert metrics["momentum_residual"].value < 0.1
        assert metrics["angular_momentum_residual"].value < 0.02
        unrecorded = replace(motion, contacts=None)
        assert _value(unrecorded, "momentum_residual") < 0.1
    curve = measure(standing, ["momentum_residual"])["momentum_residual"].curve
    assert np.nanmedian(curve) < 1e-3
    lied = replace(standing.contacts, force=0.5 * standing.contacts.force)
    assert _value(replace(standing, contacts=lied), "momentum_residual") == pytest.approx(0.5, abs=0.1)


def test_energy_is_conserved_in_free_fall() -> None:
    falling = _falling(build("humanoid"))
    assert _value(falling, "energy_range") < 1e-6 * falling.scene.characters["humanoid"].mass * G * 10
    lifted = _with(_still(_brick(), 0.1, 200), z=np.linspace(0, 1, 200) ** 3 * (1 - np.linspace(0, 1, 200)) * 2)
    energy = measure(lifted, ["energy_range"])["energy_range"]
    highest = lifted.qpos[:, 2].max() - 0.1
    assert energy.value > 10 * G * highest * 0.99


def test_the_work_of_a_motor() -> None:
    """Half of 20 N m at half a radian a second for 0.4 s."""
    motion = _still(_crane(), 0.1, 21)
    qpos = motion.qpos.copy()
    qpos[:, -1] = 0.5 * np.arange(21) * DT
    assert _value(replace(motion, qpos=qpos, ctrl=np.full((21, 1), 0.5)), "actuator_work") == pytest.approx(
        10 * 0.5 * 0.4, rel=1e-6
    )
    assert "controls" in str(measure(motion, ["actuator_work"])["actuator_work"].reason)


# all of them


@pytest.mark.parametrize("frames", [1, 2, 3, 4])
@pytest.mark.parametrize("height", [0.1, 3.0])
def test_what_cannot_be_measured_gives_a_reason(frames: int, height: float) -> None:
    for metric in measure(_still(_brick(), height, frames)).values():
        assert metric.what
        assert metric.good
        assert (metric.value is None) == bool(metric.reason)
        assert metric.value is None or np.isfinite(metric.value)
        assert metric.curve is None or metric.curve.shape == (frames,)


def test_one_character_of_several() -> None:
    scene = Scene({"a": build("humanoid", name="a"), "b": build("humanoid", name="b")})
    qpos = np.tile(place(scene), (10, 1))
    qpos[:, scene.spans["b"].qpos.start + 2] += 1.0
    motion = Motion(scene, DT, qpos)
    assert measure(motion, ["floating"])["floating"].value == 0.0
    assert measure(motion, ["floating"], character="b")["floating"].value == 1.0
    with pytest.raises(InputError, match="character"):
        measure(motion, character="c")
    with pytest.raises(InputError, match="did you mean 'foot_skate'"):
        measure(motion, ["foot_skat"])


def test_a_mirrored_motion_measures_the_same() -> None:
    motion = _simulated(build("athlete"), 60, lift=0.2)
    turned = motion.qpos.copy()
    turned[:, 20] += 0.3 * np.sin(np.arange(60) / 9)
    motion = replace(motion, qpos=turned)
    one, other = measure(motion), measure(motion.mirrored())
    assert set(one) == set(METRICS)
    for name, metric in one.items():
        assert other[name].value == pytest.approx(metric.value, rel=1e-3, abs=1e-6), name
