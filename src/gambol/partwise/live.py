"""Live: the planner thinks in a thread of its own while the simulation goes on, and keyframes may change meanwhile.

The simulation runs ``slowdown`` times as fast as reality, so that a planner on few cores has time to think (the paper's
Γ). Which plan is ready when depends on the machine: live runs do not repeat themselves; lockstep runs do.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from numpy.typing import ArrayLike

from gambol.errors import InputError
from gambol.goals import Keyframe, Task
from gambol.goals.keyframes import check_against
from gambol.motion import Motion, Source
from gambol.partwise.incident import Incident
from gambol.partwise.method import PARTWISE, recombines
from gambol.partwise.outlook import Eyes, Outlook
from gambol.partwise.planner import Plan
from gambol.partwise.progress import KeyframeProgress
from gambol.partwise.recording import Recording
from gambol.partwise.settings import Settings, checked_settings
from gambol.rotations import Array
from gambol.sim import Simulation, UnstableError


@dataclass(frozen=True)
class LiveStatus:
    """A moment of a live session."""

    simulated: float
    """Seconds of simulated time."""
    keyframe: int
    """Keyframes reached so far."""
    name: str
    """The keyframe now aimed at."""
    closest: float
    """Smallest distance to it so far, metres."""
    shortfall: str
    """Which of its pairs was farthest apart at that moment, in words."""
    overdue: bool
    """Whether its time limit has passed; a live session goes on trying."""
    finished: bool
    """Whether all keyframes are reached; the last one is held until there are more."""
    plans: int
    plans_per_second: float
    """Of wall time."""
    speed: float
    """Simulated seconds a wall second, as it really was."""


class LiveSession:
    """A simulation with a planner beside it. Use it as a context manager, or call ``start`` and ``stop``.

    All methods may be called from any thread while it runs. ``on_frame`` is called with each state (nstate,) from the
    simulation's thread.
    """

    def __init__(
        self,
        task: Task,
        settings: Settings | None = None,
        seed: int = 0,
        *,
        slowdown: float = 0.25,
        method: str = PARTWISE,
        on_frame: Callable[[Array], None] | None = None,
    ):
        if not 0.001 <= slowdown <= 100.0:
            raise InputError(f"must be between 0.001 and 100 (given: {slowdown})", key="slowdown")
        if task.keyframes is None:
            raise InputError("a live session performs contact keyframes", file=task.file)
        self._partwise = recombines(method)
        self.task, self.slowdown, self.method = task, slowdown, method
        self._settings, self._seed, self._on_frame = (
            settings or checked_settings(task.settings, task.file),
            seed,
            on_frame,
        )
        self._simulation = Simulation(task.world, task.initial_qpos())
        self._lock = threading.RLock()
        self._stopping = threading.Event()
        self._threads: list[threading.Thread] = []
        self._trouble: BaseException | None = None
        self._record = Recording(task.world)
        self._progress = KeyframeProgress(task.keyframes)
        self._outlook = self._look(task.keyframes)
        self._outlook.planner.reset()
        self._state = self._simulation.state
        self._plan: tuple[float, Plan] = (0.0, self._outlook.planner.plan)
        self._plans, self._began, self._ended = 0, 0.0, 0.0

    # Running

    def start(self) -> LiveSession:
        """Let simulation and planner go."""
        if self._threads:
            raise InputError("this session has already been started")
        self._began = time.perf_counter()
        for work in (self._think, self._simulate):
            thread = threading.Thread(target=self._guarded, args=(work,), daemon=True)
            self._threads.append(thread)
            thread.start()
        return self

    def stop(self) -> Motion:
        """End both threads and give the motion; an error that ended them is raised here.

        After an error, ``motion`` still has what was performed until then, and ``incident`` what is known where physics
        went wrong (:class:`UnstableError`).
        """
        self._end()
        if self._trouble is not None:
            raise self._trouble
        return self.motion()

    def motion(self) -> Motion:
        """What was performed, once the session has ended."""
        if self._working:
            raise InputError("the session is still running", hint="stop it first")
        self._record.close(self._simulation.data)
        source = Source.now(method=self.method, task=self.task.name, seed=self._seed, notes="performed live")
        return self._record.motion(source)

    def _end(self) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join()
        self._outlook.planner.close()

    def __enter__(self) -> LiveSession:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self._end()

    @property
    def running(self) -> bool:
        """Whether both threads are at work."""
        return bool(self._threads) and all(thread.is_alive() for thread in self._threads)

    @property
    def _working(self) -> bool:
        """Whether a thread may still touch the simulation."""
        return any(thread.is_alive() for thread in self._threads)

    @property
    def status(self) -> LiveStatus:
        """How it stands now."""
        with self._lock:
            wall = max((self._ended or time.perf_counter()) - self._began, 1e-9) if self._began else 1e-9
            done, simulated = self._progress, float(self._state[0])
            return LiveStatus(
                simulated,
                done.index,
                done.current.name,
                done.closest,
                done.shortfall,
                done.failed,
                done.finished,
                self._plans,
                self._plans / wall,
                simulated / wall,
            )

    @property
    def incident(self) -> Incident | None:
        """The moment at which physics went wrong, if that ended the session."""
        if not isinstance(self._trouble, UnstableError) or self._working:
            return None
        made, plan = self._plan
        state = self._simulation.state
        return Incident(
            problem=str(self._trouble),
            task=self.task.model_copy(update={"keyframes": self.keyframes}),
            settings=self._settings,
            seed=self._seed,
            partwise=self._partwise,
            keyframe=self._progress.row,
            state=state,
            plan=plan,
            age=float(state[0]) - made,
        )

    # Changing the wish

    @property
    def keyframes(self) -> tuple[Keyframe, ...]:
        """The sequence as it is now."""
        return tuple(self._progress.keyframes)

    def add(self, keyframe: Keyframe, at: int | None = None) -> None:
        """Put a keyframe in, at the end or before the one at ``at``; those already reached stay reached."""
        with self._lock:
            place = len(self.keyframes) if at is None else at
            self._check_place(place, len(self.keyframes) + 1)
            self._change([*self.keyframes[:place], keyframe, *self.keyframes[place:]])

    def edit(self, index: int, keyframe: Keyframe) -> None:
        """Replace a keyframe."""
        with self._lock:
            self._check_place(index, len(self.keyframes))
            self._change([*self.keyframes[:index], keyframe, *self.keyframes[index + 1 :]])

    def move(self, index: int, to: int) -> None:
        """Move a keyframe to another place in the sequence."""
        with self._lock:
            for place in (index, to):
                self._check_place(place, len(self.keyframes))
            rest = [*self.keyframes[:index], *self.keyframes[index + 1 :]]
            self._change([*rest[:to], self.keyframes[index], *rest[to:]])

    def skip(self) -> None:
        """Call the present keyframe reached."""
        with self._lock:
            done = self._progress
            if not done.finished:
                self._progress = KeyframeProgress(done.keyframes, done.index + 1)

    def move_target(self, target: str, to: ArrayLike) -> None:
        """Put a target of the scene at a world position (3,); it leaves its path, if it had one."""
        self._simulation.move(target, to)

    def _check_place(self, index: int, count: int) -> None:
        if not 0 <= index < count:
            raise InputError(f"must be from 0 to {count - 1} (given: {index})", key="index")

    def _change(self, keyframes: Iterable[Keyframe]) -> None:
        """Take over a new sequence; time spent on the present keyframe counts on if it is still the present one."""
        changed, done = tuple(keyframes), self._progress
        check_against(changed, self.task.world)
        present = None if done.finished else done.current
        self._progress = KeyframeProgress(changed, done.index)
        if present is not None and self._progress.current is present:
            self._progress.elapsed, self._progress.held = done.elapsed, done.held
            self._progress.closest, self._progress.apart = done.closest, done.apart

    # The two threads

    def _look(self, keyframes: tuple[Keyframe, ...]) -> Outlook:
        return Outlook(self.task.world, keyframes, self._settings, self._seed, partwise=self._partwise)

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            self._trouble = self._trouble or error
        finally:
            self._stopping.set()
            self._ended = time.perf_counter()

    def _think(self) -> None:
        """Plan again and again from the newest state."""
        planned_for = 0.0
        while not self._stopping.is_set():
            with self._lock:
                state, keyframes, row = self._state, self.keyframes, self._progress.row
            if keyframes != self._outlook.keyframes:
                self._renew(keyframes)
            now = float(state[0])
            self._outlook.improve(state, row, now - planned_for)
            planned_for = now
            with self._lock:
                self._plan = (now, self._outlook.planner.plan)
                self._plans += 1

    def _renew(self, keyframes: tuple[Keyframe, ...]) -> None:
        """A planner for changed keyframes that goes on from the present plan."""
        renewed = self._look(keyframes)
        renewed.planner.resume(self._outlook.planner.plan)
        with self._lock:
            old, self._outlook = self._outlook, renewed
        old.planner.close()

    def _simulate(self) -> None:
        """Step at the pace of the slowdown, with the newest plan."""
        simulation, data = self._simulation, self._simulation.data
        dt = float(simulation.model.opt.timestep)
        eyes = Eyes(self.task.world, self.keyframes)
        next_step = time.perf_counter()
        while not self._stopping.is_set():
            with self._lock:
                made, plan = self._plan
                keyframes = self.keyframes
            if eyes.keyframes != keyframes:
                eyes = Eyes(self.task.world, keyframes)
            control = plan.control(data.time - made)
            self._record.add(data, control)
            simulation.step(control)
            state = simulation.state
            with self._lock:
                self._state = state
                if self.keyframes == eyes.keyframes and not self._progress.finished:
                    self._progress.update(eyes.displacements(state, self._progress.row), dt)
            if self._on_frame is not None:
                self._on_frame(state)
            next_step = max(next_step + dt / self.slowdown, time.perf_counter() - 1.0)
            self._stopping.wait(max(next_step - time.perf_counter(), 0.0))
