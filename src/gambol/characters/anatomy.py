"""What bodies of the same family share: the names of their parts and of their anatomical landmarks."""

from __future__ import annotations

from gambol.characters.character import Point, Vec3

SIDES = ("right", "left")

LANDMARK_BONES: tuple[tuple[str, str], ...] = (
    ("pelvis", "chest"),
    ("chest", "head"),
    *(
        (f"{side}_{a}", f"{side}_{b}")
        for side in SIDES
        for a, b in (("hip", "knee"), ("knee", "ankle"), ("ankle", "toe"))
    ),
    *((f"{side}_{a}", f"{side}_{b}") for side in SIDES for a, b in (("shoulder", "elbow"), ("elbow", "wrist"))),
)
"""The bones between landmarks of a two-legged body, from the trunk outwards."""


def biped_parts(*spine: str) -> dict[str, tuple[str, ...]]:
    """Core, legs and arms by the usual body names; ``spine`` names the core's further bodies."""
    parts: dict[str, tuple[str, ...]] = {"core": ("torso", "head", "pelvis", *spine)}
    for side in SIDES:
        parts[f"{side}_leg"] = tuple(f"{side}_{b}" for b in ("thigh", "shin", "foot"))
    for side in SIDES:
        parts[f"{side}_arm"] = tuple(f"{side}_{b}" for b in ("upper_arm", "forearm", "hand"))
    return parts


def biped_landmarks(
    chest: str, *, knee: Vec3 = (0, 0, 0), ankle: Vec3 = (0, 0, 0), toe: Vec3 = (0, 0, 0), toe_body: str = "foot"
) -> dict[str, Point]:
    """The landmarks of a two-legged body by the usual body names; offsets are in the bodies' frames."""
    points = {"pelvis": Point("pelvis"), "chest": Point(chest), "head": Point("head")}
    for side in SIDES:
        points[f"{side}_hip"] = Point(f"{side}_thigh")
        points[f"{side}_knee"] = Point(f"{side}_shin", knee)
        points[f"{side}_ankle"] = Point(f"{side}_foot", ankle)
        points[f"{side}_toe"] = Point(f"{side}_{toe_body}", toe)
        points[f"{side}_shoulder"] = Point(f"{side}_upper_arm")
        points[f"{side}_elbow"] = Point(f"{side}_forearm")
        points[f"{side}_wrist"] = Point(f"{side}_hand")
    return points
