"""How a character should carry itself while it reaches for a keyframe: weights of the common terms, and named sets."""

from __future__ import annotations

from collections.abc import Mapping

from gambol.goals.model import GoalModel, Weight


class Weights(GoalModel):
    """Weights of the contact term and of the twelve common terms of partwise MPC (Table 1, Appendix A)."""

    contact: Weight = 100.0
    upright_torso: Weight = 0.0
    upright_pelvis: Weight = 0.0
    upright_left_foot: Weight = 0.0
    upright_right_foot: Weight = 0.0
    head_height: Weight = 0.0
    torso_height: Weight = 0.0
    knee_feet: Weight = 0.0
    com_feet: Weight = 0.0
    facing: Weight = 0.0
    com_velocity: Weight = 0.0
    joint_velocity: Weight = 0.01
    control: Weight = 0.1

    def mirrored(self) -> Weights:
        """Left and right foot exchanged."""
        return self.model_copy(
            update={"upright_left_foot": self.upright_right_foot, "upright_right_foot": self.upright_left_foot}
        )


STYLES: Mapping[str, Weights] = {
    "free": Weights(),
    "standing": Weights(
        contact=0.0,
        com_feet=100.0,
        head_height=80.0,
        upright_torso=10.0,
        upright_left_foot=1.0,
        upright_right_foot=1.0,
        control=0.025,
    ),
    "sitting": Weights(
        upright_torso=10.0,
        upright_pelvis=10.0,
        upright_left_foot=5.0,
        upright_right_foot=5.0,
        torso_height=20.0,
        knee_feet=30.0,
        com_velocity=10.0,
        control=0.8,
    ),
    "relaxed": Weights(upright_left_foot=5.0, upright_right_foot=5.0, com_velocity=10.0, control=0.2),
    "lying": Weights(com_velocity=10.0, control=0.4),
}
"""Named sets of weights; a keyframe names one and may override single weights."""
