"""Is a motion physical? Measure one that was simulated, and the same one lifted off the ground."""

from __future__ import annotations

import sys
from dataclasses import replace

import gambol
from gambol.motion.metrics import measure

hand_up = {
    "name": "hand-up",
    "keyframes": [
        {
            "style": "standing",
            "weights": {"contact": 100},
            "pairs": [{"body": "right_hand", "on": "floor", "at": [0.15, -0.25, 1.6]}],
        }
    ],
}
motion = gambol.solve(gambol.load_task(hand_up, overrides=sys.argv[1:]), seed=0).motion

qpos = motion.qpos.copy()
qpos[:, motion.scene.spans["humanoid"].qpos.start + 2] += 0.3
lifted = replace(motion, qpos=qpos, contacts=None)  # contacts are found anew from the geometry

simulated, spoiled = measure(motion), measure(lifted)
for name, metric in simulated.items():
    values = ["–" if m.value is None else f"{m.value:.3g}" for m in (metric, spoiled[name])]
    print(f"{name:26} {values[0]:>10} {values[1]:>10} {metric.unit:16} good: {metric.good}")
