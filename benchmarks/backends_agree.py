"""How far the GPU backend is from the CPU backend after 1, 10, 25 and 50 steps from the same state.

    python benchmarks/backends_agree.py                     # a humanoid, from standing, limp and under random controls
    python benchmarks/backends_agree.py --mjcf robot.xml --device cpu --json

What to expect. The CPU computes in float64, the GPU in float32 (one part in 1.7e7). One step amplifies that by the
conditioning of the contact solver, so velocities differ by up to about 2e-5 at once. After that the difference grows
with the motion: little for a body that swings freely, faster for one that falls, and it jumps where one side makes or
breaks a contact a step before the other. A humanoid falling for 50 steps (0.25 s) was measured at 1.6e-5 in positions
and 1.3e-4 in velocities on a GPU. The tolerances begin at five to a hundred times what the first step shows and grow
geometrically to a millimetre and 0.1 m/s at the 50th, to leave room for one such contact. A real disagreement (a wrong
control, a missing force, sensors of another step) is larger than that in the first steps already.
Sensors are compared relative to their largest value (at least 1), as they have all kinds of units.
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
# Allowed at the first and at the 50th step; in between (and beyond) on the exponential through both.
TOLERANCE = {"qpos": (1e-5, 1e-3), "qvel": (1e-4, 1e-1), "sensors": (1e-4, 1e-1)}


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


def allowed(name: str, steps: int) -> np.ndarray:
    first, fiftieth = TOLERANCE[name]
    return first * (fiftieth / first) ** (np.arange(steps) / 49)


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
    limits = {name: allowed(name, options.steps) for name in gaps}
    failed = int((expected.failed | found.failed).sum())
    agree = not failed and all((gaps[name] <= limits[name]).all() for name in gaps)
    if options.json:
        curves = {name: {"difference": gaps[name].tolist(), "tolerance": limits[name].tolist()} for name in gaps}
        print(json.dumps({"rollouts": options.rollouts, "failed": failed, "agree": agree, **curves}, indent=1))
    else:
        table = Table("step", *(f"{name} (allowed)" for name in gaps), title="largest difference, GPU - CPU")
        for step in sorted({s for s in SHOWN if s < options.steps} | {options.steps}):
            table.add_row(str(step), *(f"{gaps[name][step - 1]:.1e} ({limits[name][step - 1]:.0e})" for name in gaps))
        Console().print(table)
        print(f"{options.rollouts} rollouts, {failed} failed: {'agree' if agree else 'DISAGREE'}")
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
