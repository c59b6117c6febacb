"""How much planning a published condition had, in terms that do not depend on a machine.

The paper slows the world down to Γ simulated seconds a wall second while its planner plans as fast as it can: with N
rollouts over a horizon H there is a plan every k steps of T seconds, N·H·Γ = k·T·C for some constant C of the machine,
so that more rollouts mean fewer plans. In lockstep a budget is a number of plans a simulated second, here the same
whatever N: 200 for Γ = 0.25, 100 for 0.5 and 50 for 1, which at simulation steps of 5 ms are plans every 1, 2 and 4
steps. Twice the rollouts are then twice the work, which they are not in the paper.
"""

from __future__ import annotations

from gambol.evaluate.condition import Condition

REPLAN_EVERY = {0.25: 1, 0.5: 2, 1.0: 4}
"""Simulation steps between plans by slowdown Γ, whatever the number of rollouts."""


PUBLISHED_SEARCH = "noise=0.1", "spread=1", "focus=1", "strides=[]", "smoothing=0"
"""Overrides that search as the paper does: every candidate varies every actuator alike. It does not give its noise."""


def budget(rollouts: int, slowdown: float) -> tuple[str, ...]:
    """Overrides that give a task this many rollouts a plan, the plans of a slowdown, and the published search."""
    return f"rollouts={rollouts}", f"replan_every={REPLAN_EVERY[slowdown]}", "rounds=1", *PUBLISHED_SEARCH


def spent(condition: Condition) -> dict[str, float]:
    """Columns of a table: what a condition plans with."""
    settings, step = condition.settings, float(condition.loaded.world.model.opt.timestep)
    plans = settings.rounds / (settings.replan_every * step)
    return {"rollouts": settings.rollouts, "plans a second": round(plans, 1)}
