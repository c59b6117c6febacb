"""How far the GPU backend is from the CPU backend after 1, 10, 25 and 50 steps from the same state.

    python benchmarks/backends_agree.py                     # a humanoid, from standing, limp and under random controls
    python benchmarks/backends_agree.py --mjcf robot.xml --device cpu --json

The CPU computes in float64, the GPU in float32, one part in 1.7e7. The conditioning of the contact solver makes that
about 1e-5 in velocities after one step. From there the difference follows the motion: it peaks where feet strike the
floor, and soft contacts and joint damping pull it together again.

The tolerance is a fifth of what the smallest real mistake would cause, which is to be off by one time step of 0.005 s:
gravity alone changes velocities by 0.05 m/s in it, and a point at 1 m/s moves by 5 mm. A missing force, a wrong control
or sensors of another step all cause more. Sensors are compared relative to their largest value (at least 1), as they
have all kinds of units.

A few rollouts in a thousand part for good: a foot is within a micrometre of the floor, touches it in this step on one
side and in the next on the other, and a contact acts in full from its first moment. That is the physics, not a backend:
float64 does it too when its start is moved by 1e-6, which is what float32 loses within ten steps. Those are counted
beside it, and the backends agree if at most one rollout in twenty parts.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import mujoco
import numpy as np
from rich.console import Console
from rich.table import Table

from gambol.errors import GambolError
from gambol.files import read_text
from gambol.sim import Rollout, backend, pack_state

TIMESTEP = 0.005
SHOWN = (1, 10, 25, 50)
TOLERANCE = {"qpos": 1e-3, "qvel": 1e-2, "sensors": 1e-2}
PARTED = 0.05  # the fraction of rollouts that may exceed it
NUDGE = 1e-6


def default_mjcf() -> str:
    from gambol.characters.humanoid import humanoid

    return humanoid().xml


def load(mjcf: str) -> mujoco.MjModel:
    """The model on a floor, with sensors of every body where it has none, stepped as gambol does."""
    try:
        spec = mujoco.MjSpec.from_string(mjcf)
        if not any(geom.type == mujoco.mjtGeom.mjGEOM_PLANE for geom in spec.worldbody.geoms):
            spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[10, 10, 0.1])
        if not spec.sensors:
            for body in spec.bodies[1:]:
                for kind in (mujoco.mjtSensor.mjSENS_FRAMEPOS, mujoco.mjtSensor.mjSENS_FRAMELINVEL):
                    spec.add_sensor(type=kind, objtype=mujoco.mjtObj.mjOBJ_BODY, objname=body.name)
        spec.option.timestep = TIMESTEP
        spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        return spec.compile()
    except ValueError as error:
        raise GambolError(f"MuJoCo cannot load the model: {error}") from error


def start_of(model: mujoco.MjModel) -> np.ndarray:
    """The first keyframe, or the default pose put down on the floor."""
    if model.nkey:
        return pack_state(model, model.key_qpos[0], model.key_qvel[0])
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    moving = model.body_weldid[model.geom_bodyid] != 0
    reach = np.abs(data.geom_xmat.reshape(-1, 3, 3)[:, 2] * model.geom_aabb[:, 3:]).sum(axis=1)
    lowest = (data.geom_xpos[:, 2] - reach)[moving].min(initial=np.inf)
    qpos = model.qpos0.copy()
    if model.njnt and model.jnt_type[0] == mujoco.mjtJoint.mjJNT_FREE and np.isfinite(lowest):
        qpos[2] -= lowest
    return pack_state(model, qpos, np.zeros(model.nv))


def controls_of(model: mujoco.MjModel, rollouts: int, steps: int, seed: int) -> np.ndarray:
    """None in the first rollout; in the others noise over 30 % of each actuator's range, drawn anew for every step."""
    limited = model.actuator_ctrllimited.astype(bool)[:, None]
    low, high = np.where(limited, model.actuator_ctrlrange, [-1.0, 1.0]).T
    noise = np.random.default_rng(seed).uniform(-0.15, 0.15, (rollouts, steps, model.nu))
    controls = (low + high) / 2 + noise * (high - low)
    controls[0] = 0.0
    return controls


def differences(one: Rollout, other: Rollout) -> dict[str, np.ndarray]:
    """The largest difference over all coordinates, for each rollout and step (N, T)."""
    scale = np.maximum(1.0, np.abs(one.sensors).max(axis=(0, 1), initial=0.0))
    gaps = {
        "qpos": other.qpos - one.qpos,
        "qvel": other.qvel - one.qvel,
        "sensors": (other.sensors - one.sensors) / scale,
    }
    return {name: np.abs(gap).max(axis=2, initial=0.0) for name, gap in gaps.items()}


def parted(gaps: dict[str, np.ndarray]) -> np.ndarray:
    """Which rollouts (N,) exceed a tolerance at any step."""
    return np.any([(gap > TOLERANCE[name]).any(axis=1) for name, gap in gaps.items()], axis=0)


def table_of(gaps: dict[str, np.ndarray], together: np.ndarray) -> Table:
    """How the differences grow: the median of all rollouts and the worst of those that stay together."""
    table = Table("step", *(f"{name} median / worst" for name in gaps), title="GPU and CPU, largest difference")
    steps = gaps["qpos"].shape[1]
    for step in sorted({step for step in SHOWN if step < steps} | {steps}):
        columns = [gap[:, step - 1] for gap in gaps.values()]
        table.add_row(str(step), *(f"{np.median(c):.1e} / {c[together].max(initial=0.0):.1e}" for c in columns))
    table.add_section()
    table.add_row("allowed", *(f"{TOLERANCE[name]:.0e}" for name in gaps))
    return table


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mjcf", type=Path, help="another model; a floor is added where it has no plane")
    parser.add_argument("--device", help="Warp device (the first GPU unless given; cpu works without one)")
    parser.add_argument("--rollouts", type=int, default=64)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="every step as JSON instead of a table")
    options = parser.parse_args()
    try:
        model = load(read_text(options.mjcf) if options.mjcf else default_mjcf())
        start, controls = start_of(model), controls_of(model, options.rollouts, options.steps, options.seed)
        nudged = start + NUDGE * np.random.default_rng(options.seed).uniform(-1, 1, (options.rollouts, len(start)))
        with backend("cpu", model) as cpu, backend("gpu", model, device=options.device) as gpu:
            expected, found = cpu.rollout(start, controls), gpu.rollout(start, controls)
            yardstick = parted(differences(expected, cpu.rollout(nudged, controls)))
    except GambolError as error:
        print(error, file=sys.stderr)
        return 2
    gaps = differences(expected, found)
    apart = parted(gaps)
    failed = int((expected.failed | found.failed).sum())
    agree = not failed and bool(apart.mean() <= PARTED)
    counts = {
        "rollouts": options.rollouts,
        "failed": failed,
        "parted": int(apart.sum()),
        "nudged": int(yardstick.sum()),
    }
    if options.json:
        curves = {
            name: {"median": np.median(gap, axis=0).tolist(), "worst": gap.max(axis=0).tolist()}
            for name, gap in gaps.items()
        }
        print(json.dumps({"agree": agree, **counts, "tolerance": TOLERANCE, "difference": curves}, indent=1))
    else:
        Console().print(table_of(gaps, ~apart))
        print("{rollouts} rollouts, {failed} failed, {parted} parted ({nudged} in float64, nudged)".format(**counts))
        print(f"the backends {'agree' if agree else 'DISAGREE'}")
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
