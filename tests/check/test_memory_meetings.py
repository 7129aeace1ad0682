"""Threads of a block may meet by what they read from memory; an atomic that decides nothing orders nothing.

Each kernel of WRONG has a race of ordinary accesses beside something that does not order them (PTX ISA, memory
consistency model: what a thread reads orders what it does behind that, if it was to read just that). Each of RIGHT
may wait for the others by memory, which nobody judges, and `check` says so aloud.
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

# Each thread stores 16 bytes, and loads what a thread of another warp has stored. EARLY stands before the store,
# BETWEEN between the two.
KERNEL = """
.version 8.0
.target sm_80
.address_size 64
.shared .align 16 .b8 tile[4096];
.shared .align 4 .u32 count;
.visible .entry k(.param .u64 in)
.reqntid 128, 1, 1
{
.reg .b32 %r<32>; .reg .pred %p<8>; .reg .b64 %d<8>; .reg .f32 %f<8>;
ld.param.u64 %d1,[in];
mov.u32 %r1,%tid.x;
mov.u32 %r2,tile;
shl.b32 %r3,%r1,4; add.u32 %r3,%r2,%r3;
xor.b32 %r4,%r1,64; shl.b32 %r4,%r4,4; add.u32 %r4,%r2,%r4;
EARLY
st.shared.v4.b32 [%r3],{%r1,%r1,%r1,%r1};
BETWEEN
ld.shared.v4.b32 {%r8,%r9,%r10,%r11},[%r4];
BEHIND
ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r12},[%r2+2048];
ret;
}
"""
RACE = {("error", "shared-unsynchronised")}
COUNT = "atom.shared.add.u32 %r20,[count],1;\n"
WRONG = {
    "nothing": "",
    "an atomic": COUNT,
    "an atomic that acquires": "atom.acq_rel.cta.shared.add.u32 %r20,[count],1;\n",
    "a reduction": "red.shared.add.u32 [count],1;\n",
    "a reduction of an unknown space": "red.add.u32 [%d1],1;\n",
    "an atomic of an unknown space": "atom.add.u32 %r20,[%d1],1;\n",
    "an atomic in global memory": "atom.global.add.u32 %r20,[%d1],1;\n",
    "a strong load": "ld.volatile.shared.u32 %r20,[count];\n",
    "a result that is stored only": COUNT + "st.global.u32 [%d1],%r20;\n",
    "a result that decides what goes to global memory": (
        COUNT + "setp.eq.u32 %p1,%r20,127;\n@!%p1 bra ON;\nst.global.u32 [%d1],%r20;\nON:\n"
    ),
    "a predicate of a store to global memory": COUNT
    + "setp.eq.u32 %p1,%r20,127;\n@%p1 st.global.u32 [%d1],%r20;\n",
}
SPIN = "WAIT: ld.LOAD.u32 %r21,[PLACE];\nsetp.lt.u32 %p1,%r21,128;\n@%p1 bra WAIT;\n"


def spin(load: str, place: str) -> str:
    return SPIN.replace("LOAD", load).replace("PLACE", place)


TOLD = "fence.acq_rel.cta;\nred.release.cta.shared.add.u32 [count],1;\n"
RIGHT = {
    "all wait for a count": TOLD + spin("acquire.cta.shared", "count"),
    "all wait by an atomic": TOLD + "WAIT: atom.acquire.cta.shared.add.u32 %r21,[count],0;\n"
    "setp.lt.u32 %p1,%r21,128;\n@%p1 bra WAIT;\n",
    "a volatile count and a fence": TOLD + spin("volatile.shared", "count") + "membar.cta;\n",
    "a count of an unknown space": "fence.acq_rel.gpu;\nred.add.u32 [%d1],1;\n" + spin("acquire.gpu", "%d1"),
    "a count in global memory": (
        "fence.acq_rel.gpu;\nred.global.add.u32 [%d1],1;\n" + spin("acquire.gpu.global", "%d1")
    ),
    "the last one goes on": (
        "fence.acq_rel.cta;\natom.acq_rel.cta.shared.add.u32 %r20,[count],1;\nsetp.ne.u32 %p1,%r20,127;\n@%p1 ret;\n"
    ),
    "the last one branches": (
        "atom.acq_rel.cta.shared.add.u32 %r20,[count],1;\nsetp.ne.u32 %p1,%r20,127;\n@%p1 bra DONE;\n"
    ),
    "the last one loads": "atom.acq_rel.cta.shared.add.u32 %r20,[count],1;\nsetp.eq.u32 %p1,%r20,127;\n@%p1 ",
    "the last one learns it by another word": (
        "atom.acq_rel.cta.shared.add.u32 %r20,[count],1;\nst.shared.u32 [%r3+2048],%r20;\n"
        "ld.shared.u32 %r22,[%r3+2048];\nsetp.ne.u32 %p1,%r22,127;\n@%p1 bra DONE;\n"
    ),
    "a lane asks the others": (
        "atom.acq_rel.cta.shared.add.u32 %r20,[count],1;\nshfl.sync.idx.b32 %r22,%r20,0,31,-1;\n"
        "setp.ne.u32 %p1,%r22,127;\n@%p1 bra DONE;\n"
    ),
}


def made(early: str = "", between: str = "", behind: str = "") -> str:
    text = KERNEL.replace("EARLY\n", early).replace("BETWEEN\n", between).replace("BEHIND\n", behind)
    return text.replace("ldmatrix", "DONE: ldmatrix")


def judged(text: str) -> tuple[set[tuple[str, str]], list[str]]:
    report = check_text(text, "k.ptx")
    assert not report.faults
    found = {(one.tier, one.rule) for one in report.findings if one.tier in ("error", "likely")}
    return found, [one.instruction for one in report.not_judged]


@pytest.mark.parametrize("between", WRONG)
def test_what_decides_nothing_orders_nothing(between: str) -> None:
    assert judged(made(between=WRONG[between])) == (RACE, [])


@pytest.mark.parametrize("early", WRONG)
def test_nor_does_it_early(early: str) -> None:
    assert judged(made(early=WRONG[early])) == (RACE, [])


@pytest.mark.parametrize("between", WRONG)
def test_a_barrier_orders_them(between: str) -> None:
    assert judged(made(between=WRONG[between] + "bar.sync 0;\n")) == (set(), [])


@pytest.mark.parametrize("between", RIGHT)
def test_what_threads_may_wait_for_is_not_judged_aloud(between: str) -> None:
    assert judged(made(between=RIGHT[between])) == (set(), ["shared memory of k"])


@pytest.mark.parametrize("load", ["acquire.gpu.global", "volatile.global", "relaxed.gpu.global"])
def test_other_blocks_set_a_flag(load: str) -> None:
    """The kernel itself tells nobody anything by global memory."""
    flag = spin(load, "%d1")
    assert judged(made(early=flag)) == (RACE, [])
    assert judged(made(between=flag)) == (RACE, [])
    assert judged(made(between=flag + "bar.sync 0;\n")) == (set(), [])
    assert judged(made(early=flag, between="bar.sync 0;\n", behind="st.global.u32 [%d1],%r8;\n")) == (
        set(),
        [],
    )


@pytest.mark.parametrize(
    "told",
    [
        "st.release.gpu.global.u32 [%d1+4],%r8;\n",
        "st.volatile.global.u32 [%d1+4],%r8;\n",
        "membar.gl;\nst.global.u32 [%d1+4],%r8;\n",
        "red.global.add.u32 [%d1],1;\n",
        "st.release.gpu.u32 [%d1+4],%r8;\n",
    ],
)
def test_or_the_block_may_set_it(told: str) -> None:
    found, aloud = judged(made(between=told + spin("acquire.gpu.global", "%d1")))
    assert (found, aloud) == (set(), ["shared memory of k"])


def test_a_loop_that_also_works_is_not_passed_by() -> None:
    """What stands in a loop by which threads wait may be done once or often."""
    loop = "WAIT: ld.acquire.gpu.global.u32 %r21,[%d1];\nst.shared.u32 [%r3+2048],%r21;\nsetp.lt.u32 %p1,%r21,128;\n@%p1 bra WAIT;\n"
    assert judged(made(between=loop)) == (set(), ["shared memory of k"])


def test_strong_accesses_do_not_race_with_one_another() -> None:
    """A race needs a weak access (memory consistency model, data races)."""
    strong = made().replace("st.shared.v4.b32", "st.volatile.shared.v4.b32")
    assert judged(strong) == (RACE, [])
    assert judged(strong.replace("ld.shared.v4.b32", "ld.volatile.shared.v4.b32")) == (set(), [])
    assert judged(made().replace("ld.shared.v4.b32", "ld.volatile.shared.v4.b32")) == (RACE, [])


def test_the_last_one_ends_the_mbarriers() -> None:
    """A destructor counts the threads that are done, and orders no data by that. What all do behind it is not
    judged.
    """
    end = (
        "atom.acq_rel.cta.shared.add.u32 %r20,[count],1;\nsetp.ne.u32 %p1,%r20,127;\n@%p1 bra GONE;\n"
        "mbarrier.inval.shared.b64 [tile+3072];\nGONE:\n"
    )
    assert judged(made(behind=end)) == (RACE, ["shared memory of k"])
