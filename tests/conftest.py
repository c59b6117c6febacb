"""What several test files need."""

from __future__ import annotations

import pytest


@pytest.fixture
def gpu_extra(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Versions of the packages of the extra, which need not be installed."""
    versions = {"mujoco-warp": "4.0", "warp-lang": "1.19", "jax": "0.7"}
    monkeypatch.setattr("gambol.evaluate.condition.version", versions.__getitem__)
    return versions
