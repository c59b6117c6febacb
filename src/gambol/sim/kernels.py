"""The small Warp kernels around a MuJoCo Warp step: put controls in, look for failures, write down what happened."""

from __future__ import annotations

import functools
from types import SimpleNamespace

# Warp reads annotations as types, and its arrays are subscripted the way only Warp understands.
# pyright: reportIndexIssue=false, reportInvalidTypeForm=false, reportOperatorIssue=false, reportAssignmentType=false
# pyright: reportArgumentType=false, reportCallIssue=false, reportGeneralTypeIssues=false


@functools.cache
def kernels() -> SimpleNamespace:
    """The kernels, made once and only where Warp is installed."""
    import warp as wp

    @wp.kernel(enable_backward=False)
    def load(rows: wp.array2d[float], first: int, target: wp.array2d[float]):
        """Target columns from the columns of rows that begin at ``first``."""
        world, column = wp.tid()
        target[world, column] = rows[world, first + column]

    @wp.kernel(enable_backward=False)
    def control(
        controls: wp.array3d[float],
        step: wp.array[int],
        largest: float,
        target: wp.array2d[float],
        failed: wp.array[wp.bool],
    ):
        """This step's controls; a control that is no usable number fails its world, as it does in MuJoCo."""
        world, actuator = wp.tid()
        value = controls[world, step[0], actuator]
        if not (wp.abs(value) <= largest):
            failed[world] = True
        target[world, actuator] = value

    @wp.kernel(enable_backward=False)
    def check(
        qpos: wp.array2d[float],
        qvel: wp.array2d[float],
        qacc: wp.array2d[float],
        act: wp.array2d[float],
        overflow: wp.array[int],
        relevant: int,
        largest: float,
        failed: wp.array[wp.bool],
        overflowed: wp.array[int],
    ):
        """Mark worlds that blew up, and worlds that ran out of room before they did."""
        world = wp.tid()
        good = bool(not failed[world])
        for i in range(qpos.shape[1]):
            good = good and wp.abs(qpos[world, i]) <= largest
        for i in range(qvel.shape[1]):
            good = good and wp.abs(qvel[world, i]) <= largest and wp.abs(qacc[world, i]) <= largest
        for i in range(act.shape[1]):
            good = good and wp.abs(act[world, i]) <= largest
        failed[world] = not good
        if good:
            overflowed[world] = overflowed[world] | (overflow[world] & relevant)

    @wp.kernel(enable_backward=False)
    def record(
        source: wp.array2d[float],
        before: wp.array2d[float],
        first: int,
        step: wp.array[int],
        failed: wp.array[wp.bool],
        rows: wp.array3d[float],
    ):
        """This step's row from the source, or the row before it again where the world has failed."""
        world, column = wp.tid()
        now = step[0]
        if not failed[world]:
            rows[world, now, first + column] = source[world, column]
        elif now > 0:
            rows[world, now, first + column] = rows[world, now - 1, first + column]
        else:
            rows[world, now, first + column] = before[world, first + column]

    @wp.kernel(enable_backward=False)
    def advance(step: wp.array[int]):
        """Count the step just recorded."""
        only = wp.tid()
        step[only] = step[only] + 1

    return SimpleNamespace(load=load, control=control, check=check, record=record, advance=advance)
