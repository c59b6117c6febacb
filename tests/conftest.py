"""What several test files need."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def gpu_extra(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Versions of the packages of the extra, which need not be installed."""
    versions = {"mujoco-warp": "4.0", "warp-lang": "1.19", "jax": "0.7"}
    monkeypatch.setattr("gambol.evaluate.condition.version", versions.__getitem__)
    return versions


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Finished windows are kept in a folder of the test's own."""
    monkeypatch.setenv("GAMBOL_CACHE", str(tmp_path / "cache"))
