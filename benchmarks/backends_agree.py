"""How far the GPU backend is from the CPU backend after 1, 10, 25 and 50 steps from the same state.

    python benchmarks/backends_agree.py                     # a humanoid, from standing, limp and under random controls
    python benchmarks/backends_agree.py --mjcf robot.xml --device cpu --json

The CPU computes in float64, the GPU in float32, one part in 1.7e7. The conditioning of the contact solver makes that
about 1e-5 in velocities after one step. From there the difference follows the motion: it peaks where feet strike the
floor and one side is a little deeper in contact, and soft contacts and joint damping pull it together again.

The tolerance cannot come from rounding alone, then. It is a fifth of what the smallest real mistake would cause, which
is to be off by one time step of 0.005 s: gravity alone changes velocities by 0.05 m/s in it, and a point at 1 m/s moves
by 5 mm. A missing force, a wrong control or sensors of another step all cause more. It is meant for 50 steps: over
seconds a falling body is chaotic, and two right answers part. Sensors are compared relative to their largest value (at
least 1), as they have all kinds of units.
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


def differences(cpu: Rollout, gpu: Rollout) -> dict[str, np.ndarray]:
    """The largest difference over all rollouts and coordinates, for each step (T,)."""
    scale = np.maximum(1.0, np.abs(cpu.sensors).max(axis=(0, 1), initial=0.0))
    gaps = {"qpos": gpu.qpos - cpu.qpos, "qvel": gpu.qvel - cpu.qvel, "sensors": (gpu.sensors - cpu.sensors) / scale}
    return {name: np.abs(gap).max(axis=(0, 2), initial=0.0) for name, gap in gaps.items()}


def table_of(gaps: dict[str, np.ndarray]) -> Table:
    """The growth of the differences, and the worst of all steps against what is allowed."""
    table = Table("step", *gaps, title="largest difference between GPU and CPU")
    steps = len(gaps["qpos"])
    for step in sorted({step for step in SHOWN if step < steps} | {steps}):
        table.add_row(str(step), *(f"{gap[step - 1]:.1e}" for gap in gaps.values()))
    table.add_section()
    table.add_row("worst", *(f"{gap.max():.1e} (step {gap.argmax() + 1})" for gap in gaps.values()))
    table.add_row("allowed", *(f"{TOLERANCE[name]:.0e}" for name in gaps))
    return table


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mjcf", type=Path, help="another model; a floor is added where it has no plane")
    parser.add_argument("--device", help="Warp device (the first GPU unless given; cpu works without one)")
    parser.add_argument("--rollouts", type=int, default=8)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="every step as JSON instead of a table")
    options = parser.parse_args()
    try:
        model = load(read_text(options.mjcf) if options.mjcf else default_mjcf())
        start, controls = start_of(model), controls_of(model, options.rollouts, options.steps, options.seed)
        with backend("cpu", model) as cpu, backend("gpu", model, device=options.device) as gpu:
            expected, found = (side.rollout(start, controls) for side in (cpu, gpu))
    except GambolError as error:
        print(error, file=sys.stderr)
        return 2
    gaps = differences(expected, found)
    failed = int((expected.failed | found.failed).sum())
    agree = not failed and all(gap.max() <= TOLERANCE[name] for name, gap in gaps.items())
    if options.json:
        steps = {name: gap.tolist() for name, gap in gaps.items()}
        print(json.dumps({"agree": agree, "failed": failed, "tolerance": TOLERANCE, "difference": steps}, indent=1))
    else:
        Console().print(table_of(gaps))
        print(f"{options.rollouts} rollouts, {failed} failed: the backends {'agree' if agree else 'DISAGREE'}")
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
