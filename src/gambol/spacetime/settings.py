"""Settings of the optimisation."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field


class Settings(BaseModel):
    """How windows are optimised; the same fields serve Python, task files and ``--set``."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    population: Annotated[int, Field(ge=4, le=100_000)] = 64
    """Motions tried in a generation; 16 in the paper."""
    generations: Annotated[int, Field(ge=1, le=1_000_000)] = 400
    """Most generations a window gets; 18,000 in the paper."""
    patience: Annotated[int, Field(ge=1, le=1_000_000)] | None = 40
    """Generations after which a search stops that got hardly better in them; None: never, as in the paper."""
    least_gain: Annotated[float, Field(ge=0.0)] = 0.15
    """What the cost must come down by within the patience, at least, for the search to go on."""
    starts: Annotated[int, Field(ge=1, le=100)] = 1
    """Searches that set out, each with other draws; the one that is ahead after 30 generations goes on alone."""
    step: Annotated[float, Field(gt=0.0, le=10.0)] = 0.2
    """First standard deviation of the key-poses, as a share of half a joint's range."""
    covariance: Literal["diagonal", "full"] = "diagonal"
    """What of its covariance matrix the search adapts; full in the paper, which takes far longer to learn."""
    basis: Literal["waves", "key-poses"] = "waves"
    """What the search varies: slow and fast waves over all key-poses of a joint, or each key-pose, as in the paper."""
    look_ahead: Annotated[int, Field(ge=0, le=100)] = 1
    """How many windows after it each window is optimised together with; 1 in the paper."""
    carry_on: bool = True
    """Begin with what the search before found for this window; otherwise with the zero pose, as in the paper."""
    feedback: bool = False
    """Perform the result with feedback, and say how long it survives a heavier body with and without."""
    knot_spacing: Annotated[float, Field(gt=0.0, le=10.0)] = 0.1
    """Seconds between key-poses."""
    cache: bool = True
    """Keep finished windows on disk, and use those that are there."""
    device: Literal["cpu", "gpu"] = "cpu"
    """Where motions are tried; the chosen one is always performed on the CPU. A GPU wants a population of hundreds."""
    threads: Annotated[int, Field(ge=1, le=1024)] | None = None
    """Threads for simulations; all cores by default. The motion does not depend on it."""
