"""How much planning a published condition had, in terms that do not depend on a machine.

The paper slows the world down to Γ simulated seconds a wall second while its planner plans as fast as it can on 48
virtual cores, and does not say how many plans that makes. In lockstep a budget is a number of plans a simulated second.
We take 800 for Γ = 0.25, 400 for 0.5 and 200 for 1, a plan in 5 ms of wall time whatever the number of rollouts: at
simulation steps of 5 ms, so many rounds of planning in each.
"""

from __future__ import annotations

from gambol.evaluate.condition import Condition

ROUNDS = {0.25: 4, 0.5: 2, 1.0: 1}
"""Plans in each simulation step by slowdown Γ."""
PUBLISHED_SEARCH = "noise=0.1", "spread=1", "focus=1", "strides=[]", "smoothing=0"
"""Overrides that search as the paper does: every candidate varies every actuator alike. It does not give its noise.

Which joints' effort a part answers for stays as the task has it: by its own (``own_joints``) is how we read Table 1.
"""


def budget(rollouts: int, slowdown: float) -> tuple[str, ...]:
    """Overrides that give a task this many rollouts a plan, the plans of a slowdown, and the published search."""
    return f"rollouts={rollouts}", "replan_every=1", f"rounds={ROUNDS[slowdown]}", *PUBLISHED_SEARCH


def spent(condition: Condition) -> dict[str, float]:
    """Columns of a table: what a condition plans with."""
    settings, step = condition.settings, float(condition.loaded.world.model.opt.timestep)
    plans = settings.rounds / (settings.replan_every * step)
    return {"rollouts": settings.rollouts, "plans a second": round(plans, 1)}
