"""A body of one's own: a crawler from MJCF, shaken at random 64 times at once; the farthest way it came is kept."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gambol import Motion, Scene
from gambol.characters.mjcf import from_mjcf
from gambol.scenes import Placement, parse_objects, place
from gambol.sim import backend, pack_state

LEG = """<body name="{side}_leg" pos="0.15 {y} 0">
  <joint name="{side}_hip" axis="0 1 0" range="-70 70" damping="0.5"/>
  <geom type="capsule" fromto="0 0 0 0.15 0 -0.2" size="0.03" mass="0.5"/></body>"""
LEGS = LEG.format(side="right", y=-0.15) + LEG.format(side="left", y=0.15)
Path("crawler.xml").write_text(f"""<mujoco><worldbody><body name="trunk"><freejoint/>
  <geom type="box" size="0.2 0.1 0.05" mass="4"/>{LEGS}</body></worldbody>
<actuator><position joint="right_hip" kp="30" ctrlrange="-1 1"/><position joint="left_hip" kp="30" ctrlrange="-1 1"/>
</actuator></mujoco>""")

crawler = from_mjcf("crawler.xml")
objects, ground = parse_objects({"box": {"at": [1.5, 0], "height": 0.3}, "floor": {"shape": "rough", "height": 0.1}})
scene = Scene({"crawler": crawler}, objects, ground)
model = scene.model
start = pack_state(model, place(scene, Placement(pose="zero", at=(0, 0))), np.zeros(model.nv))

controls = np.repeat(np.random.default_rng(0).uniform(-1, 1, (64, 15, model.nu)), 40, axis=1)  # a new aim each 0.2 s
with backend("cpu", model) as simulator:
    tries = simulator.rollout(start, controls, sensors=False)
best = int(np.argmax(tries.qpos[:, -1, 0]))
print(f"best of {len(controls)}: {tries.qpos[best, -1, 0]:.2f} m in {tries.time[best, -1]:.1f} s")
Motion(scene, model.opt.timestep, tries.qpos[best], tries.qvel[best]).save("crawler.html")
