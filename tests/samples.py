"""Bodies, scenes and motions that several tests share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gambol.characters import build
from gambol.motion import Motion
from gambol.rotations import from_rotation_vector, multiply
from gambol.scenes import Scene, parse_objects, place

ARCHIVE = Path(__file__).parents[2] / "shared" / "data" / "cmu_30fps.npz"
"""Motion capture that does not come with gambol."""
needs_archive = pytest.mark.skipif(not ARCHIVE.exists(), reason="the motion capture archive is not here")

ROBOT = """<mujoco>
  <worldbody>
    <geom type="plane" size="5 5 .1"/><light pos="0 0 3"/>
    <body name="trunk" pos="0 0 1"><freejoint/>
      <geom type="box" size=".1 .1 .2"/>
      <body name="left_leg" pos="0 .1 -.2"><joint name="left_hip" axis="0 1 0"/>
        <geom type="capsule" fromto="0 0 0 0 0 -.4" size=".04"/></body>
      <body name="right_leg" pos="0 -.1 -.2"><joint name="right_hip" axis="0 1 0"/>
        <geom type="capsule" fromto="0 0 0 0 0 -.4" size=".04"/></body>
    </body>
  </worldbody>
  <actuator><motor joint="left_hip"/><motor joint="right_hip"/></actuator>
</mujoco>"""

STAND = {
    "objectives": [
        {"term": "balance", "weight": 100, "parameters": {"height": 1.09}},
        {"term": "ground", "weight": 100, "parameters": {"points": ["left_foot", "right_foot"]}},
        {"term": "torque", "weight": 0.01, "when": "throughout"},
    ]
}
CLIP: dict[str, Any] = {
    "name": "clip",
    "character": "athlete",
    "windows": [{**STAND, "name": name, "duration": 0.1} for name in ("one", "two", "three")],
    "settings": {"population": 4, "generations": 3, "knot_spacing": 0.05},
}
"""Three short windows of standing, hardly searched for."""


def alone(inside: str = "", after: str = "", before: str = "") -> str:
    """A trunk with a free joint and more."""
    trunk = '<geom name="trunk" type="box" size=".1 .1 .2" mass="5"/>'
    return (
        f'<mujoco>{before}<worldbody><body name="trunk" pos="0 0 1"><freejoint/>{trunk}{inside}</body></worldbody>'
        f"{after}</mujoco>"
    )


def with_legs(
    joints: str = "",
    *,
    right: str = "",
    left: str = "",
    turns: tuple[tuple[int, ...], ...] = ((1, 0, 0, 0), (1, 0, 0, 0)),
    after: str = "",
) -> str:
    """A trunk with a leg on either side, mirror images to look at.

    Braces in ``joints`` hold the side, ``right`` and ``left`` are joints of one leg alone; ``turns`` are how the frames
    of right and left leg are turned (quaternions of any length).
    """
    legs = ""
    for side, y, own, (w, *v) in (("right", -0.15, right, turns[0]), ("left", 0.15, left, turns[1])):
        solid = '<geom type="capsule" fromto="0 0 0 .1 0 -.4" size=".04"/>'
        back = f"{w} {-v[0]} {-v[1]} {-v[2]}"
        legs += f'<body name="{side}_leg" pos="0 {y} -.2" quat="{w} {v[0]} {v[1]} {v[2]}">'
        legs += f'{joints.replace("{side}", side)}{own}<frame quat="{back}">{solid}</frame></body>'
    return alone(legs, after)


def furnished_scene() -> Scene:
    """Two characters among furniture, a ball that rolls and a target that moves."""
    objects, terrain = parse_objects({"armchair": {}, "ball": {"at": (1.0, 1.0)}, "target": {"at": (1.0, -1.0)}})
    return Scene({"one": build("humanoid"), "two": build("athlete")}, objects, terrain)


def swaying(scene: Scene, *, dt: float, frames: int = 60, seed: int = 0) -> Motion:
    """Smooth waves on all coordinates, drawn from a seed."""
    model, rng = scene.model, np.random.default_rng(seed)
    times = dt * np.arange(frames)[:, None]

    def waves(size: float, count: int) -> np.ndarray:
        return size * np.sin(rng.uniform(2, 5, count) * times + rng.uniform(0, 2 * np.pi, count))

    qpos = np.tile(place(scene), (frames, 1))
    for joint in range(model.njnt):
        start = int(model.jnt_qposadr[joint])
        if model.jnt_type[joint] == 0:
            qpos[:, start : start + 3] += waves(0.5, 3)
            turns = from_rotation_vector(waves(1.5, 3))
            qpos[:, start + 3 : start + 7] = multiply(turns, qpos[:, start + 3 : start + 7])
        else:
            qpos[:, start] += waves(0.8, 1)[:, 0]
    mocap = None
    if model.nmocap:
        rest = np.concatenate(
            [model.body_pos[model.body_mocapid >= 0], model.body_quat[model.body_mocapid >= 0]], axis=1
        )
        mocap = np.tile(rest, (frames, 1, 1))
        mocap[..., :3] += waves(0.3, 3)[:, None]
        mocap[..., 3:] = multiply(from_rotation_vector(waves(1.0, 3))[:, None], mocap[..., 3:])
    return Motion(scene, dt, qpos, ctrl=np.concatenate([waves(0.5, 1)] * model.nu, axis=1), mocap=mocap)


SIT = {
    "name": "sit",
    "style": "sitting",
    "weights": {"control": 0.5},
    "pairs": [
        {"body": "pelvis", "on": "armchair/seat", "at": [0, 0.1, 0.05]},
        {"body": "right_hand", "on": "armchair/right_arm", "at": [0, 0, 0.3]},
    ],
}
TASK = {"scene": "armchair", "keyframes": [SIT]}
