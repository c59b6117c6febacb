"""Settings of the optimisation."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Weight = Annotated[float, Field(ge=0.0, le=1e6)]


class Settings(BaseModel):
    """How a behaviour is optimised; the same fields serve Python, task files and ``--set``.

    The paper names the terms and leaves their weights open. Costs that are felt all the time are integrals over the
    duration; forces count in body weights, everything else in metres, seconds and radians.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    iterations: tuple[Annotated[int, Field(ge=1, le=100_000)], ...] = Field((100, 800, 800), min_length=3, max_length=3)
    """Most L-BFGS iterations in each of the three stages; 250 to 1000 in the paper."""
    memory: Annotated[int, Field(ge=3, le=200)] = 30
    """Steps that L-BFGS remembers."""
    noise: Annotated[float, Field(ge=0.0, le=1.0)] = 0.01
    """Standard deviation of what is added to the solution between stages, metres and radians."""
    knots_per_phase: Annotated[int, Field(ge=1, le=8)] = 2
    """Knots of the splines in a phase. One in the paper: a foot cannot be lifted and put down within a phase then."""
    samples_per_phase: Annotated[int, Field(ge=2, le=50)] = 5
    """Moments in a phase at which costs are felt: every 0.1 s in the paper."""
    first_contacts: tuple[Annotated[float, Field(ge=0.0, le=10.0)], ...] = Field((0.3, 1.0), min_length=1, max_length=8)
    """What all contact variables begin with, which the paper does not say; each is tried and the best motion kept."""
    friction: Annotated[float, Field(gt=0.0, le=10.0)] = 1.0
    """Coefficient at all patches that do not grab; 2 in the paper where walls are climbed."""
    ends_at_rest: Weight = 1.0
    """Squared velocity of the features at the end."""

    contact: Weight = 50.0
    """The contact-invariant cost, equation 2."""
    physics: Weight = 150.0
    """Force and moment that no contact provides, equation 8."""
    limb_length: Weight = 300.0
    """Part of the physics-violation cost, as are the next three."""
    joint_limit: Weight = 10.0
    penetration: Weight = 300.0
    scuffing: Weight = 0.1
    """Patches that move along a surface without clearing it; not in the paper."""
    wish: Weight = 30.0
    """Every wish of the task, times its own weight, equation 10."""
    force: Weight = 0.01
    acceleration: Weight = 1e-3
    """Both of equation 9."""
    hint: Weight = 10.0
    """Equation 11."""
    hint_margin: Annotated[float, Field(ge=0.0, le=1.0)] = 0.05
    """The ε of equation 11, metres."""
