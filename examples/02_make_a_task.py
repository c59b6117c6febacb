"""Wish for something new in Python: touch two points in the air, right hand first, then its mirror image."""

from __future__ import annotations

import sys

import gambol
from gambol.goals import concatenate, mirror

reach = gambol.Keyframe(
    name="reach",
    style="standing",  # keep standing …
    weights={"contact": 100},  # … while the pair below is made to meet
    pairs=[gambol.Pair(body="right_hand", on="floor", at=(0.15, -0.25, 1.6))],
    tolerance=0.15,
    sustain=0.2,
    limit=3.0,
)
task = gambol.Task(
    name="reach",
    summary="Raise the right hand, then the left one.",
    character={"kind": "humanoid", "girth": {"right_arm": 1.2, "left_arm": 1.2}},
    keyframes=concatenate([reach], mirror([reach])),
)
task.save("reach.yaml")  # what a person would have written

result = gambol.solve(gambol.load_task("reach.yaml", overrides=sys.argv[1:]), seed=1)
print(result.report.status.value, dict(result.report.figures))
result.motion.save("reach.html")
