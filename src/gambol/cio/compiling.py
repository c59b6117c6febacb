"""Compilation for results that are the same on any number of cores."""

from __future__ import annotations

from functools import partial

import jax

_LEFT_OUT = ("cpu-parallel-task-assigner", "dot-library-rewriter", "cse_barrier_expander")
"""Passes of the compiler for CPUs. The first deals out loops among the cores: sums come in an order that depends on
their number. The second leaves sums to a library, which takes longer where there are few numbers to add. The third
removes barriers before they have kept apart what should be worked out once."""

compiled = partial(jax.jit, compiler_options={"xla_disable_hlo_passes": ",".join(_LEFT_OUT)})
"""``jax.jit`` for one core. Whoever has more calls such functions side by side, in threads."""
