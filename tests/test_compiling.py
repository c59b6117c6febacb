"""What a step launches on a Warp device is compiled before it."""

from __future__ import annotations

import threading

import numpy as np

from gambol.sim.compiling import compile_ahead
from gambol.sim.kernels import kernels


def test_what_is_compiled_ahead_is_all_that_a_step_launches(warp_backend, monkeypatch):
    wp = warp_backend._wp
    program = warp_backend._program(2, 3, 1)
    before = program.data.qpos.numpy().copy(), program.step.numpy().copy()
    compiled, launched = [], set()
    monkeypatch.setattr(
        wp, "load_module", lambda module, device, block_dim, max_workers: compiled.append((module, block_dim))
    )
    assert compile_ahead(wp, warp_backend.device, program.one_step) == len(compiled) > 10
    np.testing.assert_array_equal(program.data.qpos.numpy(), before[0])
    np.testing.assert_array_equal(program.step.numpy(), before[1])

    def noting(launch):
        def noted(kernel, *args, **given):
            if np.all(args[0] if args else given["dim"]):
                launched.add((kernel.module, given.get("block_dim")))
            return launch(kernel, *args, **given)

        return noted

    for name in ("launch", "launch_tiled"):
        monkeypatch.setattr(wp, name, noting(getattr(wp, name)))
    program.one_step()
    assert launched == set(compiled)


def test_what_other_threads_launch_meanwhile_is_done(warp_backend):
    wp, kernel = warp_backend._wp, kernels().advance
    count = wp.zeros(1, dtype=int, device=warp_backend.device)

    def launch():
        wp.launch(kernel, dim=1, outputs=[count], device=warp_backend.device)

    def work():
        launch()
        other = threading.Thread(target=launch)
        other.start()
        other.join()

    assert compile_ahead(wp, warp_backend.device, work) == 1
    assert count.numpy().tolist() == [1]
