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

    iterations: tuple[Annotated[int, Field(ge=0, le=100_000)], ...] = Field((100, 600, 600), min_length=3, max_length=3)
    """Most L-BFGS iterations in each of the three stages, 250 to 1000 in the paper; 0 leaves a stage out."""
    gathering: Annotated[int, Field(ge=0, le=100_000)] = 150
    """Most iterations after the first stage in which hands come to the things they move; not in the paper."""
    insistence: Annotated[int, Field(ge=0, le=100_000)] = 500
    """Most iterations after them in which contacts are decided and count forty times as much, physics twenty times."""
    least_gain: Annotated[float, Field(ge=0.0, le=1.0)] = 0.01
    """Share of the cost that a hundred iterations must gain for a stage to go on."""
    memory: Annotated[int, Field(ge=3, le=200)] = 30
    """Steps that L-BFGS remembers."""
    noise: Annotated[float, Field(ge=0.0, le=1.0)] = 0.01
    """Standard deviation of what is added to the solution between stages, metres and radians."""
    knots_per_phase: Annotated[int, Field(ge=1, le=8)] = 2
    """Knots of the splines in a phase. One in the paper: a foot cannot be lifted and put down within a phase then."""
    samples_per_phase: Annotated[int, Field(ge=2, le=50)] = 6
    """Moments in a phase at which costs are felt: every 0.1 s in the paper."""
    path_samples: Annotated[int, Field(ge=1, le=20)] = 2
    """How often between two such moments ways through solids are looked at."""
    first_contacts: tuple[Annotated[float, Field(ge=0.0, le=10.0)], ...] = Field((0.3, 0.1), min_length=1, max_length=8)
    """What the contact variables of feet begin with, which the paper does not say; the best motion of all is kept."""
    tries: Annotated[int, Field(ge=1, le=100)] = 2
    """How often all of this is tried, each time with other noise, until something converges and succeeds."""
    friction: Annotated[float, Field(gt=0.0, le=10.0)] = 1.0
    """Coefficient at all patches that do not grab; 2 in the paper where walls are climbed."""
    ends_at_rest: Weight = 10.0
    """Squared velocity of the features in the last two phases; not in the paper."""

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
    wish: Weight = 100.0
    """Every wish of the task, times its own weight, equation 10."""
    force: Weight = 0.03
    effort: Weight = 3.0
    acceleration: Weight = 2e-2
    """Of trunks and objects; these four are of equation 9."""
    limb_acceleration: Weight = 1e-3
    hint: Weight = 10.0
    """Equation 11."""
    hint_margin: Annotated[float, Field(ge=0.0, le=1.0)] = 0.05
    """The ε of equation 11, metres."""
