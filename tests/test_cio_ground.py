from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("jax")

from gambol.characters import build
from gambol.cio.surfaces import Surfaces, clearance
from gambol.errors import InputError
from gambol.scenes import Scene, parse_objects


def ground(**floor: object) -> tuple[Scene, Surfaces]:
    scene = Scene({"humanoid": build("humanoid")}, *parse_objects({"floor": floor}))
    return scene, Surfaces.of(scene)


@pytest.mark.parametrize("floor", [{"shape": "slope", "angle": 12}, {"shape": "stairs", "height": 1.0, "cell": 0.02}])
def test_slopes_and_stairs_are_where_the_scene_has_them(floor: dict[str, object]) -> None:
    scene, surfaces = ground(size=8, flat_radius=0.4, **floor)
    places = np.random.default_rng(0).uniform(-3.0, 3.0, (100, 2))
    places = places[np.abs((places[:, 0] - 0.4) % 0.4 - 0.2) < 0.15]  # not where the height field goes up a step
    heights = np.array([scene.terrain.height_at(x, y) for x, y in places])
    assert heights.max() > 0.4
    above, below = (
        np.asarray(clearance(surfaces, np.column_stack([places, heights + d]))).min(-1) for d in (0.05, -0.02)
    )
    assert (above > 0.01).all()
    assert (above < 0.0501).all()
    assert (below < -0.015).all()


def test_ground_without_flat_faces_is_refused() -> None:
    with pytest.raises(InputError, match="'rough' ground is not made of flat faces"):
        ground(shape="rough")
    with pytest.raises(InputError, match="'slope' ground is not made of flat faces"):
        ground(shape="slope", angle=-5)
