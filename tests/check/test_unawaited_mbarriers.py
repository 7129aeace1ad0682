"""mbarriers that nothing waits for, or that a thread waits for with the wrong parity; and two bulk copies over
the same bytes. What must be found was written down from the text before the checker ran.
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text
from ptxmma.gen.litmus.litmus_ptx import LitmusKernel, module
from ptxmma.gen.litmus.litmus_tests import suite

HEAD = """\
.version 8.0
.target sm_90a
.address_size 64
.shared .align 1024 .b8 tile[4096];
.shared .align 8 .b64 full;
.shared .align 8 .b64 empty;
"""
ENTRY = """\
.visible .entry k(.param .u64 in)
.reqntid 64, 1, 1
{
.reg .b64 %d<4>; .reg .pred %p<8>; .reg .b32 %r<12>;
ld.param.u64 %d1,[in];
mov.u32 %r1,%tid.x;
setp.eq.u32 %p1,%r1,0; setp.eq.u32 %p2,%r1,32;
"""
INIT = "@%p1 mbarrier.init.shared::cta.b64 [full],1;\n@%p1 mbarrier.init.shared::cta.b64 [empty],1;\nbar.sync 0;\n"
ARRIVE = "@%p2 mbarrier.arrive.shared::cta.b64 _,[full];\n"
COPY = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
BRANCH = "@!%p2 bra NOT;\n"
END = "NOT:\nret;\n}\n"
UNINITIALISED = {("error", "barrier-uninitialised")}


def loud(text: str) -> set[tuple[str, str]]:
    return {(f.tier, f.rule) for f in check_text(text, "k.ptx").findings if f.tier in ("error", "likely")}


def copy(at: int, size: int) -> str:
    """A bulk copy into the tile, and the arrival that expects its bytes."""
    arrival = f"mbarrier.arrive.expect_tx.shared::cta.b64 _,[full],{size};\n"
    return f"{arrival}{COPY} [tile+{at}],[%d1],{size},[full];\n"


def wait(label: str, barrier: str, parity: int) -> str:
    return (
        f"{label}:\nmbarrier.try_wait.parity.shared::cta.b64 %p3,[{barrier}],{parity};\n@!%p3 bra {label};\n"
    )


@pytest.mark.parametrize(
    "act", [ARRIVE, BRANCH + copy(0, 1024), "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [full],16;\n"]
)
def test_what_nobody_waits_for_is_initialised(act: str) -> None:
    kernel = HEAD + ENTRY + act + END
    assert loud(HEAD + ENTRY + INIT + act + END) == set()
    assert loud(kernel) == UNINITIALISED
    # a function may be a part of a kernel that has initialised what its caller names
    named = kernel.replace("[full]", "[%r5]")
    assert (
        loud(named.replace(".visible .entry k(.param .u64 in)\n.reqntid 64, 1, 1", ".func k(.param .u64 in)"))
        == set()
    )


def test_arrivals_that_nobody_waits_for_need_not_fit_the_count() -> None:
    """Two arrivals of one thread fall into two phases: no later phase is waited for."""
    assert loud(HEAD + ENTRY + INIT.replace("[full],1", "[full],3") + ARRIVE * 4 + END) == set()


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        ((0, 1024), (0, 1024), True),
        ((0, 1024), (512, 1024), True),
        ((512, 16), (0, 1024), True),
        ((0, 1024), (1024, 1024), False),
        ((1024, 512), (512, 512), False),
    ],
)
def test_two_bulk_copies_into_the_same_bytes(
    first: tuple[int, int], second: tuple[int, int], found: bool
) -> None:
    text = HEAD + ENTRY + INIT + BRANCH + copy(*first) + copy(*second) + END
    waited = HEAD + ENTRY + INIT + BRANCH + copy(*first) + wait("W", "full", 0) + copy(*second) + END
    assert loud(text) == ({("error", "copy-incomplete")} if found else set())
    assert loud(waited) == set()


# Thread 32 copies twice into one stage; thread 0 waits for the first copy, and hands the stage back by an arrival.
HANDED = (
    HEAD
    + ENTRY
    + INIT
    + "@%p2 bra COPIES;\n@!%p1 bra NOT;\n"
    + wait("W", "full", 0)
    + "mbarrier.arrive.shared::cta.b64 _,[empty];\n"
    + wait("L", "full", 1)
    + "ret;\nCOPIES:\n"
    + wait("F", "empty", 1)
    + copy(0, 1024)
    + wait("E", "empty", 0)
    + copy(0, 1024)
    + END
)


def test_another_thread_may_wait_for_the_first_copy() -> None:
    assert loud(HANDED) == set()
    assert ("error", "copy-incomplete") in loud(HANDED.replace(wait("E", "empty", 0), ""))
    assert ("error", "copy-incomplete") in loud(HANDED.replace(wait("W", "full", 0), ""))


@pytest.mark.parametrize(
    "name",
    [
        "bulk-bulk-1-without-await-b0",
        "bulk-bulk-2-without-other-await-b0",
        "bulk-other-bulk-1-without-other-await-b0",
        "bulk-other-bulk-2-without-await-b0",
        "other-bulk-bulk-1-without-await-b0",
        "other-bulk-bulk-2-without-other-await-b0",
        "other-bulk-other-bulk-1-without-other-await-b0",
        "other-bulk-other-bulk-2-without-await-b0",
    ],
)
def test_litmus_tests_of_two_bulk_copies(name: str) -> None:
    tests = {test.name: module([LitmusKernel("k", (), test.program)]) for test in suite()}
    assert loud(tests[name]) == {("error", "copy-incomplete")}


@pytest.mark.parametrize("name", ["copy-mma-2", "mma-store-2", "mma-copy-2"])
def test_a_parity_that_a_late_thread_waits_for_in_vain(name: str) -> None:
    """The threads of the warpgroup arrive, then wait: the last ones find phase 0 over, and wait for phase 1."""
    text = next(module([LitmusKernel("k", (), test.program)]) for test in suite() if test.name == name)
    assert loud(text) == set()
    flipped = text.replace("%done, [b0], 0;", "%done, [b0], 1;")
    assert flipped != text
    assert ("error", "barrier-stuck") in loud(flipped)


def test_a_late_thread_whose_phase_comes_waits_rightly() -> None:
    """All arrive twice, and thread 0 waits for the second phase only: no thread can come too late for that."""
    both = "mbarrier.arrive.shared::cta.b64 _,[full];\n" * 2
    text = HEAD + ENTRY + INIT.replace("[full],1", "[full],64") + both
    assert loud(text + wait("W", "full", 1) + END) == set()
    # a thread that comes in the second phase finds the first complete; one that comes later waits for the third
    assert ("error", "barrier-stuck") in loud(text + wait("W", "full", 0) + END)
