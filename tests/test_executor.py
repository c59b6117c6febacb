"""Executors keep the same promises wherever jobs run: order, retries after a death, no retries after an exception."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gambol.errors import InputError, MissingExtraError
from gambol.sim import JobError, executor
from gambol.sim.cores import cores, limit_cores
from gambol.sim.executor import SerialExecutor

SOURCES = Path(__file__).parents[1] / "src"


@pytest.fixture(scope="module")
def local():
    with executor("local", workers=2) as made:
        yield made


@pytest.fixture(scope="module")
def ray_cluster():
    if importlib.util.find_spec("ray") is None:
        pytest.skip("Ray is not installed")
    # Ray's workers are processes of another parent: they find this module and gambol through the environment.
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(SOURCES), str(Path(__file__).parent), before or ""])
    try:
        with executor("ray", workers=2) as made:
            yield made
    finally:
        os.environ.pop("PYTHONPATH") if before is None else os.environ.update(PYTHONPATH=before)


@pytest.fixture(params=["local", pytest.param("ray_cluster", id="ray")])
def processes(request):
    return request.getfixturevalue(request.param)


@pytest.fixture(params=["serial", "local", pytest.param("ray_cluster", id="ray")])
def anywhere(request):
    return SerialExecutor() if request.param == "serial" else request.getfixturevalue(request.param)


def square(number: int) -> int:
    return number * number


def slow_first(number: int) -> int:
    time.sleep(0.3 if number == 0 else 0.0)
    return number


def raise_at_three(number: int) -> int:
    if number == 3:
        raise InputError("three is right out", key="number", hint="try four")
    return number


class Stubborn(Exception):  # noqa: N818
    """Cannot be rebuilt from its args, so it does not survive pickling."""

    def __init__(self, one: int, two: int):
        super().__init__(f"{one} and {two}")


def raise_stubborn(number: int) -> int:
    raise Stubborn(number, number)


def leave_a_mark(job: tuple[str, int]) -> Path:
    """One file for each time the job was begun."""
    folder, number = job
    mark = Path(folder) / f"{number}.{time.monotonic_ns()}"
    mark.touch()
    return mark


def raise_marked(job: tuple[str, int]) -> None:
    leave_a_mark(job)
    raise ValueError("no")


def die_at_first(job: tuple[str, int]) -> int:
    """Odd jobs end their worker the first time: killed, by a broken pointer's signal, or by leaving."""
    folder, number = job
    leave_a_mark(job)
    if number % 2 and len(list(Path(folder).glob(f"{number}.*"))) == 1:
        if number % 3 == 0:
            os._exit(7)
        os.kill(os.getpid(), signal.SIGKILL if number % 3 == 1 else signal.SIGSEGV)
    return number


def die_always(job: tuple[str, int]) -> None:
    leave_a_mark(job)
    os._exit(7)


def share_of_cores(_: int) -> int:
    return cores()


def process_id(_: int) -> int:
    return os.getpid()


def unsendable(_: int) -> object:
    return lambda: None


def test_results_are_in_job_order(anywhere):
    assert anywhere.run(square, range(7)) == [0, 1, 4, 9, 16, 25, 36]
    assert anywhere.run(square, []) == []


def test_progress_counts_every_job(anywhere):
    seen = []
    anywhere.run(square, range(4), progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_results_arrive_as_they_are_done(processes):
    arrived = list(processes.as_completed(slow_first, range(4)))
    assert arrived[-1] == (0, 0)
    assert sorted(arrived) == [(n, n) for n in range(4)]


def test_a_job_whose_worker_dies_runs_again(processes, tmp_path):
    jobs = [(str(tmp_path), number) for number in range(6)]
    assert processes.run(die_at_first, jobs) == list(range(6))
    begun = [len(list(tmp_path.glob(f"{number}.*"))) for number in range(6)]
    assert begun == [1, 2, 1, 2, 1, 2], "each job finished once, and only those that died began twice"


def test_a_job_that_always_kills_its_worker_is_named(processes, tmp_path):
    with pytest.raises(JobError, match="job 0 ended its worker 3 times") as caught:
        processes.run(die_always, [(str(tmp_path), 0)])
    assert caught.value.index == 0
    assert len(list(tmp_path.iterdir())) == 3
    assert processes.run(square, [2]) == [4], "the executor still works"


def test_an_exception_is_raised_here_with_its_job_and_traceback(anywhere):
    with pytest.raises(InputError, match="three is right out") as caught:
        anywhere.run(raise_at_three, range(6))
    assert caught.value.hint == "try four"
    notes = "\n".join(caught.value.__notes__)
    assert "job 3" in notes
    if not isinstance(anywhere, SerialExecutor):
        assert "in raise_at_three" in notes
    assert anywhere.run(square, [2]) == [4], "the executor still works"


def test_an_exception_is_not_tried_again(processes, tmp_path):
    with pytest.raises(ValueError, match="no"):
        processes.run(raise_marked, [(str(tmp_path), 0)])
    assert len(list(tmp_path.iterdir())) == 1


def test_an_exception_that_cannot_be_sent_is_told(processes):
    with pytest.raises(JobError, match=r"job 0 raised .*Stubborn: 4 and 4"):
        processes.run(raise_stubborn, [4])


def test_what_cannot_be_sent_is_an_error_that_says_so(local):
    with pytest.raises(InputError, match=r"job 0 cannot be sent[\s\S]*importable"):
        local.run(lambda job: job, [1])
    with pytest.raises((AttributeError, TypeError, JobError)) as caught:
        local.run(unsendable, [1])
    assert "job 0" in "\n".join([str(caught.value), *caught.value.__notes__])


def test_local_workers_are_kept_between_runs(local):
    first, second = (set(local.run(process_id, range(8))) for _ in range(2))
    assert second <= first
    assert os.getpid() not in first


def test_leaving_a_loop_early_stops_the_rest(local, tmp_path):
    loop = local.as_completed(slow_first, [1, 0, 0, 0])
    assert next(loop) == (0, 1)
    with pytest.raises(InputError, match="already running"):
        local.run(square, [1])
    loop.close()
    assert local.run(square, [3]) == [9]


def test_workers_share_the_cores(local):
    assert local.run(share_of_cores, [0]) == [max(1, cores() // 2)]


def test_the_share_of_cores_is_at_least_one(monkeypatch):
    monkeypatch.setattr("gambol.sim.cores._limit", None)
    limit_cores(0)
    assert cores() == 1


@pytest.mark.parametrize(
    "on", ["", "gpu", "ray:", "ray://", "ray://host", "ray://host:port", "ray://host:99999999", "Local"]
)
def test_a_wrong_place_lists_the_right_ones(on):
    with pytest.raises(InputError, match=r"on: .*[\s\S]*serial, local, ray, ray://HOST:PORT"):
        executor(on)


@pytest.mark.parametrize("options", [{"workers": 0}, {"workers": -1}, {"attempts": 0}])
def test_wrong_numbers_are_refused(options):
    with pytest.raises(InputError, match="at least 1"):
        executor("local", **options)


def test_one_worker_is_this_process():
    for made in (executor("local", workers=1), executor("serial")):
        assert made.run(process_id, [0]) == [os.getpid()]


def test_missing_ray_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"Ray is not installed[\s\S]*gambol\[ray\]"):
        executor("ray")


SCRIPT = """
import sys, time
from pathlib import Path
from gambol.sim import executor

def job(folder):
    import os
    (Path(folder) / str(os.getpid())).touch()
    time.sleep(60)

if __name__ == "__main__":
    with executor("local", workers=2) as local:
        local.run(job, [sys.argv[1]] * 4)
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_no_worker_outlives_its_parent(tmp_path, how):
    """Ctrl-C, sent to the whole group as a terminal does, and a parent that is killed outright."""
    script, marks = tmp_path / "script.py", tmp_path / "marks"
    script.write_text(SCRIPT)
    marks.mkdir()
    parent = subprocess.Popen(
        [sys.executable, str(script), str(marks)],
        env={**os.environ, "PYTHONPATH": str(SOURCES)},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        wait_until(lambda: len(list(marks.iterdir())) == 2)
        if how == signal.SIGINT:
            os.killpg(parent.pid, how)
        else:
            parent.send_signal(how)
        _, errors = parent.communicate(timeout=20)
        wait_until(lambda: not any(is_running(int(mark.name)) for mark in marks.iterdir()))
        assert len(list(marks.iterdir())) == 2, "no job is begun after the interrupt"
        if how == signal.SIGINT:
            assert errors.count("Traceback") == 1, "only the parent tells of the interrupt"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(parent.pid, signal.SIGKILL)
        parent.wait()


def wait_until(condition, seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def is_running(process: int) -> bool:
    status = Path(f"/proc/{process}/stat")
    if Path("/proc").is_dir():
        try:
            return status.read_text().rpartition(")")[2].split()[0] != "Z"
        except OSError:
            return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
