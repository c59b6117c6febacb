"""The moment at which physics went wrong, kept so that it can be looked at again."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gambol.arrays import ArrayArchive, write_arrays
from gambol.errors import InputError
from gambol.goals import Task
from gambol.motion import Motion, Source
from gambol.partwise.outlook import Outlook
from gambol.partwise.planner import Plan, control_range
from gambol.partwise.recording import Recording
from gambol.partwise.settings import Settings, checked_settings
from gambol.rotations import Array
from gambol.sim import Simulation, UnstableError, state_size

KIND, VERSION = "gambol-incident", 1


@dataclass(frozen=True)
class Incident:
    """The last good state of a run that became unstable, and the plan it was following."""

    problem: str
    task: Task
    settings: Settings
    seed: int
    partwise: bool
    """Whether parts were recombined."""
    keyframe: int
    """Place of the keyframe that was aimed at."""
    state: Array
    """(nstate,) of the task's world."""
    plan: Plan
    age: float
    """Seconds from the moment the plan was made for to the state."""

    def replay(self) -> Motion:
        """The plan from that state on, without planning again, to its end or until physics goes wrong."""
        scene = self.task.world
        simulation, record = Simulation(scene, self.task.initial_qpos()), Recording(scene)
        simulation.restore(self.state)
        simulation.leave_targets()
        began = simulation.data.time
        end, problem = self.plan.spacing * max(len(self.plan.knots) - 1, 1), ""
        while not problem and (age := self.age + simulation.data.time - began) < end:
            control = self.plan.control(age)
            record.add(simulation.data, control)
            try:
                simulation.step(control)
            except UnstableError as error:
                problem = str(error)
        record.close(simulation.data)
        notes = f"replay of: {self.problem}" + (f"; again: {problem}" if problem else "; it went well")
        return record.motion(Source.now(task=self.task.name, seed=self.seed, notes=notes))

    def plan_again(self, **changes: Any) -> int:
        """How many candidates of one more plan from that state become unstable, with changed settings.

        The candidates are others than in the run: the random numbers begin anew from the seed.
        """
        settings = checked_settings({**self.settings.model_dump(), **changes})
        outlook = Outlook(self.task.world, self.task.keyframes or (), settings, self.seed, partwise=self.partwise)
        try:
            outlook.planner.reset()
            if settings.knots == len(self.plan.knots):
                outlook.planner.resume(self.plan)
            outlook.improve(self.state, self.keyframe, self.age)
        except UnstableError:
            pass  # all of them: counted like some of them
        finally:
            outlook.planner.close()
        return outlook.planner.discarded

    def save(self, path: str | Path) -> None:
        """Write it as ``.npz``."""
        header = {
            "format": KIND,
            "version": VERSION,
            "problem": self.problem,
            "task": {"name": self.task.name, **self.task.in_file()},
            "file": _from_anywhere(self.task.file),
            "settings": self.settings.model_dump(),
            "seed": self.seed,
            "partwise": self.partwise,
            "keyframe": self.keyframe,
            "spacing": self.plan.spacing,
            "age": self.age,
        }
        text = np.frombuffer(json.dumps(header).encode(), np.uint8)
        write_arrays(path, {"header": text, "state": self.state, "knots": self.plan.knots})

    @staticmethod
    def load(path: str | Path) -> Incident:
        """Read what :meth:`save` wrote."""
        with ArrayArchive(path) as archive:
            text, state, knots = (archive[name] for name in ("header", "state", "knots"))
        try:
            header = json.loads(text.tobytes())
            if (header["format"], header["version"]) != (KIND, VERSION):
                raise InputError(f"is of another kind or version: {header['format']} {header['version']}")
            task = Task(**header["task"], file=header["file"])
            plan = Plan(np.array(knots, float), float(header["spacing"]), control_range(task.world.model))
            incident = Incident(
                str(header["problem"]),
                task,
                Settings(**header["settings"]),
                int(header["seed"]),
                bool(header["partwise"]),
                int(header["keyframe"]),
                np.array(state, float),
                plan,
                float(header["age"]),
            )
            model = task.world.model
            if state.shape != (state_size(model),) or knots.ndim != 2 or knots.shape[1] != model.nu:
                raise InputError(f"has a state {state.shape} and knots {knots.shape} that do not fit its task")
            if not (plan.spacing > 0.0 and 0 <= incident.keyframe < len(task.keyframes or ())):
                raise InputError(f"has knots {plan.spacing} s apart, or a keyframe that is not in its task")
        except InputError as error:
            raise error.within(file=path) from None
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise InputError(f"is not a saved incident: {error}", file=path) from None
        return incident

    def how_to_replay(self, path: str | Path) -> str:
        """A command that plays a saved incident into a page for the browser."""
        page = str(Path(path).with_suffix(".html"))
        code = f"from gambol.partwise.incident import Incident; Incident.load({str(path)!r}).replay().save({page!r})"
        return f"python -c {shlex.quote(code)}"


def _from_anywhere(file: str | None) -> str | None:
    """A task file as it is found from every folder; names of shipped tasks stay as they are."""
    return str(Path(file).absolute()) if file is not None and file.endswith((".yaml", ".yml")) else file
