"""Contact-invariant optimisation behind the front door."""

from __future__ import annotations

from gambol.cio.settings import Settings
from gambol.errors import MissingExtraError
from gambol.goals import Task
from gambol.results import ProgressListener, Result

NAME = "cio"
_EXTRA = {"jax": "JAX", "jaxlib": "JAX", "scipy": "SciPy", "threadpoolctl": "threadpoolctl"}


def solve(task: Task, settings: Settings, seed: int, progress: ProgressListener) -> Result:
    """Optimise contacts and motion together until the task's wishes are fulfilled; the same seed, the same motion."""
    try:
        from gambol.cio.solving import solved
    except ModuleNotFoundError as error:
        if error.name not in _EXTRA:
            raise
        raise MissingExtraError(_EXTRA[error.name], "cio") from error
    return solved(task, settings, seed, progress)
