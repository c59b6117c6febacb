"""What several test files need."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import mujoco
import pytest

from gambol.sim import Backend, backend
from samples import ARM


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


@pytest.fixture(scope="session")
def warp_backend() -> Iterator[Backend]:
    """A GPU backend on Warp's CPU device, for an arm."""
    if importlib.util.find_spec("mujoco_warp") is None:
        pytest.skip("MuJoCo Warp is not installed")
    import warp

    level, warp.config.optimization_level = warp.config.optimization_level, 0  # half the time to compile
    with backend("gpu", mujoco.MjModel.from_xml_string(ARM), device="cpu") as made:
        yield made
    warp.config.optimization_level = level
