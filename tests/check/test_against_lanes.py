"""The checker against the two models of barriers with phases, on random programs of the lanes of a warp.

Each lane stores into a row of its own, or loads together with the others, by an instruction of the whole warp, all rows
of a tile. The lanes meet there: under warp-sync=orders that orders memory, under warp-sync=waits it does not. What
the checker tells as a reading of warp-sync is a race of both models under `waits`, and none under `orders`.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from ptxmma.check.check_file import check_text
from ptxmma.formal.ordering.phases.histories import phase_hazards
from ptxmma.formal.ordering.phases.phase_agreement import judge_phases
from ptxmma.formal.ordering.phases.phase_programs import PhaseProgram, parse_phases

RULE = "warp-unsynchronised"
STEPS = ("store 0", "store 0", "store 1", "gather 0", "gather 0", "gather 1", "warp", "block")
MEETS = {"warp": "meet n0 2", "block": "meet n1 2"}
HEAD = """.version 8.3
.target sm_90a
.address_size 64
.shared .align 1024 .b8 tiles[4096];
.visible .entry k()
.reqntid {threads}, 1, 1
{{
.reg .b32 %r<16>;
mov.u32 %r1,%tid.x; shl.b32 %r2,%r1,4; mov.u32 %r3,tiles; add.u32 %r3,%r3,%r2;
"""


def programs(seed: int, count: int) -> Iterator[tuple[str, ...]]:
    source = random.Random(seed)
    for _ in range(count):
        yield tuple(source.choices(STEPS, k=source.randrange(2, 6)))


def as_ptx(steps: tuple[str, ...], threads: int) -> str:
    """The steps as each warp of a block executes them, with rows of its own."""
    lines = [HEAD.format(threads=threads)]
    for step in steps:
        word, _, tile = step.partition(" ")
        place = f"[%r3+{2048 * int(tile or 0)}]"
        lines += {
            "store": [f"st.shared.v4.b32 {place},{{%r1,%r1,%r1,%r1}};"],
            "gather": [f"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{%r4,%r5,%r6,%r7}},{place};"],
            "warp": ["bar.warp.sync -1;"],
            "block": ["bar.sync 0;"],
        }[word]
    return "\n".join([*lines, "ret;", "}"]) + "\n"


def as_lanes(steps: tuple[str, ...], relaxed: bool) -> PhaseProgram:
    """The steps as two lanes of one warp execute them: a lane stores one row of a tile, and loads both."""
    threads = []
    for lane in (0, 1):
        words = []
        for step in steps:
            word, _, tile = step.partition(" ")
            if word == "store":
                words.append(f"store s{2 * int(tile) + lane}")
            elif word == "gather":
                words.append("meet.relaxed n0 2" if relaxed else "meet n0 2")
                words += [f"load s{2 * int(tile) + row}" for row in (lane, 1 - lane)]
            else:
                words.append(MEETS[word])
        threads.append("; ".join(words))
    return parse_phases(" | ".join(["", *threads]))


def loads_too_early(program: PhaseProgram) -> bool:
    """Whether a load may come before a store that stands before it. (What is loaded before it is stored over, the
    checker does not judge within a warp.)
    """
    for hazard in phase_hazards(program):
        (first, second) = sorted(hazard.steps, key=lambda place: place[1])
        words = [program.threads[thread][at].word for thread, at in (first, second)]
        if words == ["store", "load"]:
            return True
    return False


@pytest.mark.parametrize("seed", range(4))
def test_the_checker_and_both_models_agree_about_lanes(seed: int) -> None:
    told = 0
    for steps in programs(seed, 80):
        waits, orders = as_lanes(steps, True), as_lanes(steps, False)
        for program in (waits, orders):
            assert judge_phases(program).disagreement is None, program
        assert not loads_too_early(orders), steps
        for threads in (32, 64):
            found = check_text(as_ptx(steps, threads), "k.ptx").findings
            assert {one.tier for one in found} <= {"info", "reading"}, steps
            assert any(one.rule == RULE for one in found) == loads_too_early(waits), steps
        told += loads_too_early(waits)
    assert 5 < told < 50
