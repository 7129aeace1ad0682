"""Where no thread gets past a barrier that the PTX does not show, `check` says aloud what it did not judge."""

from __future__ import annotations

from pathlib import Path

import pytest

from ptxmma.check.check_file import check_text

RING = (Path(__file__).parent / "cases" / "k05_ring.ptx").read_text()
SPOILT = {  # what makes the address of a barrier unknown; the rest of the kernel stays
    "local memory": (
        "st.local.u32 [kept], {0};\nld.local.u32 {0}, [kept];\n",
        ".local .align 4 .b8 kept[4];\n",
    ),
    "global memory": ("ld.global.u32 {0}, [%ignored];\n", ".reg .b64 %ignored;\n"),
}


def spoilt(kind: str) -> tuple[str, str]:
    """The kernel with the address of its first waited mbarrier taken from memory, and its register."""
    line = next(line for line in RING.splitlines() if "try_wait" in line)
    register = line.split("[")[1].split("]")[0].split("+")[0].strip()
    statements, declared = SPOILT[kind]
    label = RING.splitlines()[RING.splitlines().index(line) - 1]
    assert label.strip().endswith(":")
    text = RING.replace(f"{label}\n", f"{statements.format(register)}{label}\n", 1)
    head = text.index("{", text.index(".entry")) + 1
    return f"{text[:head]}\n{declared}{text[head:]}", register


def test_the_kernel_itself_is_judged() -> None:
    report = check_text(RING, "k.ptx")
    assert not report.not_judged and not [f for f in report.findings if f.tier in ("error", "likely")]


@pytest.mark.parametrize("kind", sorted(SPOILT))
def test_a_barrier_whose_address_comes_from_memory(kind: str) -> None:
    text, register = spoilt(kind)
    report = check_text(text, "k.ptx")
    assert not [f for f in report.findings if f.tier in ("error", "likely")]
    (remark,) = report.not_judged
    assert remark.instruction == "barriers of k" and "comes from memory" in remark.why
    assert f"[{register}" in text.splitlines()[remark.place.line - 1]


def test_a_barrier_whose_count_of_threads_comes_from_memory() -> None:
    text = """.version 8.0
.target sm_90a
.address_size 64
.shared .align 16 .b8 tile[1024];
.visible .entry k(.param .u64 in)
.reqntid 128, 1, 1
{
.reg .b32 %r<8>; .reg .b64 %d<4>;
ld.param.u64 %d1, [in];
ld.global.u32 %r1, [%d1];
mov.u32 %r2, tile;
cp.async.ca.shared.global [%r2], [%d1], 16;
cp.async.wait_all;
bar.arrive 2, 128;
bar.sync 1, %r1;
ret;
}
"""
    (remark,) = check_text(text, "k.ptx").not_judged
    assert (remark.place.line, remark.statements) == (15, 2)
    assert "comes from memory" in remark.why


COUNTED = """.version 8.0
.target sm_90a
.address_size 64
.shared .align 16 .b8 tile[1024];
.visible .entry k(.param .u64 in, .param .u32 threads)
.reqntid 128, 1, 1
{
.reg .b32 %r<8>; .reg .b64 %d<4>;
ld.param.u64 %d1, [in]; ld.param.u32 %r3, [threads];
mov.u32 %r1, 1; mov.u32 %r2, tile;
cp.async.ca.shared.global [%r2], [%d1], 16;
cp.async.wait_all;
SPOILT
bar.arrive 2, 128;
bar.sync %r1, %r3;
ret;
}
"""


@pytest.mark.parametrize(
    ("spoilt", "why"),
    [
        ("", "comes from a parameter"),
        ("mov.u32 %r3, 128; addc.u32 %r1, 0, 0;", "comes from addc.u32, which is not followed"),
        ("mov.u32 %r3, 128; match.any.sync.b32 %r4, %r2, -1; add.u32 %r1, %r4, 1;", "match.any.sync.b32"),
        (
            "addc.u32 %r4, 0, 0; ld.shared.u32 %r3, [%r2]; add.u32 %r3, %r3, %r4;",
            "from memory or from a call",
        ),
        ("atom.global.add.u32 %r3, [%d1], 1;", "from memory or from a call"),
        ("mov.u32 %r3, %smid;", "is not shown by the PTX"),
    ],
)
def test_the_sentence_says_where_what_is_unknown_comes_from(spoilt: str, why: str) -> None:
    (remark,) = check_text(COUNTED.replace("SPOILT", spoilt), "k.ptx").not_judged
    assert why in remark.why and remark.place.line == 15


PARTED = """.version 8.0
.target sm_90a
.address_size 64
.shared .align 16 .b8 tile[1024];
.visible .entry k(.param .u64 in)
.reqntid 128, 1, 1
{
.reg .b32 %r<8>; .reg .b64 %d<4>; .reg .pred %p<4>;
ld.param.u64 %d1, [in];
mov.u32 %r2, tile; ld.global.u32 %r1, [%d1]; and.b32 %r1, %r1, 1; setp.eq.u32 %p1, %r1, 1;
setp.eq.u32 %p2, %r2, %r2;
DECIDED
ONE:
cp.async.ca.shared.global [%r2], [%d1], 16;
cp.async.wait_all;
bar.sync 1, 64;
OTHER:
bar.sync 2, 128;
ret;
}
"""


@pytest.mark.parametrize(
    ("decided", "why"),
    [
        ("@%p1 bra OTHER;", "comes from memory or from a call"),
        ("bar.red.or.pred %p3, 0, %p2; @%p3 bra OTHER;", "comes from bar.red.or.pred, which is not followed"),
        ("ways: .branchtargets ONE, OTHER;\nbrx.idx %r1, ways;", "is brx.idx, which is not followed"),
    ],
)
def test_a_way_that_the_text_does_not_show(decided: str, why: str) -> None:
    """Both sides of the branch act: no thread is followed behind it, and `check` says so."""
    report = check_text(PARTED.replace("DECIDED", decided), "k.ptx")
    (remark,) = report.not_judged
    assert f"which way threads go here {why}, so they were not followed" in remark.why
    assert (remark.instruction, remark.statements) == ("barriers of k", 2 + ("bar.red" in decided))
    assert remark.place.line == 12 + decided.count("\n")


def test_a_way_that_the_text_shows() -> None:
    assert not check_text(PARTED.replace("DECIDED", "@%p2 bra OTHER;"), "k.ptx").not_judged
