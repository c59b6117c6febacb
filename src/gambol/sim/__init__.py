"""Stepping models many times at once (CPU threads, GPU) and running independent jobs (processes, Ray)."""

from gambol.sim.backend import Backend, Rollout, backend
from gambol.sim.executor import Executor, JobError, check_place, executor
from gambol.sim.state import State, pack_state, state_of, state_size, unpack_state

__all__ = [
    "Backend",
    "Executor",
    "JobError",
    "Rollout",
    "State",
    "backend",
    "check_place",
    "executor",
    "pack_state",
    "state_of",
    "state_size",
    "unpack_state",
]
