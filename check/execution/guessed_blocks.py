"""Barriers with phases, where the PTX does not say how many threads a block has.

What is found is likely if there is something with each number of threads that blocks usually have, or that
barriers name. One number with which nothing is found clears the function; one with which the readings of the
text decide leaves these. If only blocks of at most one warp are right, nobody knows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from ..findings import ERROR, INFO, LIKELY, READING, Finding
from ..not_judged import RightBlock, UnjudgedBarriers
from ..values.block_threads import WARP, WARPGROUP, size_of
from ..walks.kernel_walks import KernelWalks
from .block_sizes import few_threads, usual_shapes
from .phase_executions import PhaseExecutions
from .phase_findings import PhaseFindings

__all__ = ["GuessedFindings", "guessed_findings"]


class GuessedFindings(NamedTuple):
    """The findings with the shape of a block that comes furthest, if none is right; or a block of at most one
    warp that is right where others are not; or what threads do not get past.
    """

    findings: Sequence[Finding] = ()
    right_block: RightBlock | None = None
    unjudged_barriers: UnjudgedBarriers | None = None


def guessed_findings(walked: KernelWalks) -> GuessedFindings:
    """What is found, where the PTX does not say how many threads a block has."""
    code = walked.code
    if code.function.threads is not None:
        return GuessedFindings()
    found: tuple[Finding, ...] = ()
    open_ones: tuple[Finding, ...] = ()
    most = 0  # blocks of the function that some number of threads comes to
    is_small_right = False  # whether a block of at most one warp is right
    least = WARPGROUP if code.doing("multiply") else WARP
    for shape in usual_shapes(walked.plan):
        if size_of(shape) < least:
            continue
        shown = PhaseExecutions(walked)
        shown.execute(shape)
        told = tuple(one for one in PhaseFindings(shown) if one.tier in (ERROR, LIKELY, READING))
        here = tuple(one for one in told if one.tier != READING)
        if size_of(shape) == WARP and not told:
            is_small_right = True
            continue
        came = len(shown.executed)
        if came > most or (came == most and not here):
            found, most = here, came
        if not here and shown.multiplies:  # otherwise too few threads, or nobody knows who multiplies
            if not told:
                return GuessedFindings(unjudged_barriers=shown.unjudged_barriers)
            open_ones = open_ones or told
    if found and not is_small_right:
        for count in few_threads(walked.plan):
            shown = PhaseExecutions(walked)
            shown.execute((count, 1, 1))
            if len(shown.executed) >= most and all(one.tier == INFO for one in PhaseFindings(shown)):
                is_small_right = True
                break
    if is_small_right:
        blocks = (RightBlock(walked.module.offset(one.place), WARP) for one in (*found, *open_ones))
        return GuessedFindings(right_block=next(blocks, None))
    usual = "shape of a block" if code.function.plane else "number of threads"
    return GuessedFindings(
        open_ones
        or tuple(
            replace(one, tier=LIKELY, message=f"{one.message}; no usual {usual} is right") for one in found
        )
    )
