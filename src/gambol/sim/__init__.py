"""Stepping models many times at once (CPU threads, GPU) and running independent jobs (processes, Ray)."""

from gambol.sim.backend import Backend, Rollout, backend
from gambol.sim.executor import Executor, JobError, check_place, executor
from gambol.sim.simulation import Simulation, UnstableError
from gambol.sim.state import State, pack_state, set_state, state_of, state_size, unpack_state

__all__ = [
    "Backend",
    "Executor",
    "JobError",
    "Rollout",
    "Simulation",
    "State",
    "UnstableError",
    "backend",
    "check_place",
    "executor",
    "pack_state",
    "set_state",
    "state_of",
    "state_size",
    "unpack_state",
]
