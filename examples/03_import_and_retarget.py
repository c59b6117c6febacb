"""Bring in a recording: first on a simulated body made from its own skeleton, then on another character."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import gambol
from gambol.characters import build
from gambol.motion.retarget import retarget

TURNS = "CHANNELS 3 Zrotation Xrotation Yrotation"


def chain(tip: str, *bones: tuple[str, str]) -> str:
    """BVH text of joints that hang one on the other, in centimetres, Y up."""
    text = f"End Site {{ OFFSET {tip} }}"
    for name, offset in reversed(bones):
        text = f"JOINT {name} {{ OFFSET {offset} {TURNS} {text} }}"
    return text


arms, legs = [], []
for side, x in (("Right", -1), ("Left", 1)):
    bones = ("Arm", f"{18 * x} 40 0"), ("ForeArm", f"{28 * x} 0 0"), ("Hand", f"{25 * x} 0 0")
    arms.append(chain(f"{8 * x} 0 0", *((side + name, offset) for name, offset in bones)))
    bones = ("UpLeg", f"{9 * x} -5 0"), ("Leg", "0 -42 0"), ("Foot", "0 -42 0"), ("ToeBase", "0 -6 12")
    legs.append(chain("0 0 7", *((side + name, offset) for name, offset in bones)))
trunk = f"JOINT Spine {{ OFFSET 0 10 0 {TURNS} {' '.join(arms)} {chain('0 18 0', ('Head', '0 52 0'))} }}"
hips = f"ROOT Hips {{ OFFSET 0 0 0 CHANNELS 6 Xposition Yposition Zposition {TURNS[11:]} {trunk} {' '.join(legs)} }}"
frames = np.zeros((60, 6 + 3 * hips.count("JOINT")))  # the root's path and turn, then the joints as they are nested
frames[:, 1], frames[:, 9] = 97.0, 60 * np.sin(np.linspace(0, 2 * np.pi, 60))  # height; the right arm swings
rows = "\n".join(" ".join(f"{value:.4f}" for value in frame) for frame in frames)
Path("swing.bvh").write_text(f"HIERARCHY\n{hips}\nMOTION\nFrames: 60\nFrame Time: 0.033333\n{rows}\n")

swing = gambol.load_motion("swing.bvh", ground=True)  # soles on the floor, whatever the recording says
print(f"its own rig: {swing.scene.characters['swing'].mass:.1f} kg, {swing.scene.model.nv} degrees of freedom")
retarget(swing, build("humanoid")).save("swing.html")
