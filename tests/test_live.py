"""Live sessions: the planner beside the simulation, keyframes changed meanwhile."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from gambol.errors import InputError
from gambol.goals import Keyframe, load_task
from gambol.partwise.live import LiveSession
from gambol.partwise.settings import Settings
from test_partwise import STAY

SETTINGS = Settings(rollouts=12)


def stay(**changes) -> Keyframe:
    return Keyframe(**{**STAY["keyframes"][0], **changes})


def waited_for(condition: Callable[[], bool], seconds: float = 30.0) -> bool:
    until = time.monotonic() + seconds
    while not condition() and time.monotonic() < until:
        time.sleep(0.02)
    return condition()


def test_keyframes_are_reached_while_the_planner_thinks() -> None:
    session = LiveSession(load_task(STAY), SETTINGS, slowdown=1.0).start()
    assert waited_for(lambda: session.status.finished)
    status = session.status
    motion = session.stop()
    assert status.plans > 0
    assert motion.source.notes == "performed live"
    assert motion.duration > 0.05
    assert not session.running


def test_keyframes_can_be_added_edited_moved_and_skipped() -> None:
    far = stay(name="far", pairs=[{"body": "pelvis", "on": "floor", "at": [9, 9, 9]}], limit=1000)
    with LiveSession(load_task({**STAY, "keyframes": [far.in_file()]}), SETTINGS, slowdown=1.0) as session:
        session.add(stay(name="second"))
        session.add(stay(name="third"), at=1)
        assert [k.name for k in session.keyframes] == ["far", "third", "second"]
        session.move(1, 2)
        assert [k.name for k in session.keyframes] == ["far", "second", "third"]
        assert session.status.name == "far"
        session.skip()
        assert waited_for(lambda: session.status.finished), session.status
        session.add(far)
        assert not session.status.finished
        session.edit(3, stay(name="near"))
        assert waited_for(lambda: session.status.finished), session.status


def test_the_simulation_keeps_the_pace_it_was_given() -> None:
    with LiveSession(load_task(STAY), SETTINGS, slowdown=0.2) as session:
        assert waited_for(lambda: session.status.simulated > 0.1)
        assert session.status.speed < 0.3


def test_every_state_is_shown_and_threads_end() -> None:
    seen: list[float] = []
    before = threading.active_count()
    session = LiveSession(load_task(STAY), SETTINGS, slowdown=1.0, on_frame=lambda state: seen.append(float(state[0])))
    session.start()
    assert waited_for(lambda: len(seen) > 5)
    motion = session.stop()
    assert seen == sorted(seen)
    assert len(motion) == len(seen) + 1, "and the start"
    assert threading.active_count() == before


def test_trouble_in_a_thread_is_told_at_the_end() -> None:
    def fails(state: object) -> None:
        raise ValueError("no screen")

    session = LiveSession(load_task(STAY), SETTINGS, on_frame=fails).start()
    assert waited_for(lambda: not session.running)
    with pytest.raises(ValueError, match="no screen"):
        session.stop()


def test_wrong_changes_are_refused_and_change_nothing() -> None:
    session = LiveSession(load_task(STAY), SETTINGS)
    before = session.keyframes
    with pytest.raises(InputError, match="pelvs"):
        session.add(stay(pairs=[{"body": "pelvs"}]))
    with pytest.raises(InputError, match="from 0 to 0"):
        session.edit(3, stay())
    with pytest.raises(InputError, match="from 0 to 1"):
        session.add(stay(), at=7)
    assert session.keyframes == before
    with pytest.raises(InputError, match="slowdown"):
        LiveSession(load_task(STAY), SETTINGS, slowdown=0)
    assert len(session.stop()) == 1


def test_wrong_settings_and_methods_are_refused() -> None:
    task = load_task("armchair/sit-down", ["settings.rolouts=3"])
    with pytest.raises(InputError, match=r"settings.rolouts"):
        LiveSession(task)
    with pytest.raises(InputError, match="no method named 'partwize'"):
        LiveSession(load_task("armchair/sit-down"), SETTINGS, method="partwize")
