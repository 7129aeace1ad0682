"""Threads that a branch parts may jump past a later branch that asks the same."""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

HEAD = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u32 n, .param .u64 p)
.reqntid 128, 1, 1
{
.reg .pred %p<8>;
.reg .b32 %r<8>;
.reg .b64 %d<8>;
ld.param.u32 %r1, [n];
ld.param.u64 %d1, [p];
mov.u32 %r2, %tid.x;
wgmma.fence.sync.aligned;
setp.eq.s32 %p1, %r1, 0;
setp.eq.s32 %p2, %r1, 7;
setp.ne.u32 %p3, %r2, 0;
"""
# Thread 0 does something alone. Its side jumps behind the barrier where LATER says that nobody meets there.
BODY = """@%p3 bra MEET;
@{first} bra BEHIND;
st.global.u32 [%d1], %r1;
MEET:
{defined}@{later} bra BEHIND;
bar.sync 0;
BEHIND:
ret;
}}
"""


def rules(first: str, later: str, defined: str = "") -> list[tuple[str, str]]:
    text = HEAD + BODY.format(first=first, later=later, defined=defined)
    return [(one.tier, one.rule) for one in check_text(text, "k.ptx").findings if "aligned" in one.rule]


@pytest.mark.parametrize(
    ("first", "later", "defined"),
    [
        ("%p1", "%p1", ""),
        ("!%p1", "!%p1", ""),
        ("%p1", "%p4", "or.pred %p4, %p1, %p2;\n"),  # whoever jumps past it, all jump
        ("%p1", "!%p5", "not.pred %p4, %p1;\nand.pred %p5, %p4, %p2;\n"),
    ],
)
def test_both_sides_ask_the_same(first: str, later: str, defined: str) -> None:
    assert rules(first, later, defined) == []


@pytest.mark.parametrize(
    ("first", "later", "defined"),
    [
        ("%p1", "!%p1", ""),  # one slip away: thread 0 leaves where the others stay
        ("%p1", "%p2", ""),
        ("%p1", "%p4", "and.pred %p4, %p1, %p2;\n"),
        ("%p1", "%p4", "setp.eq.u32 %p4, %r2, 5;\n"),  # threads differ in it
    ],
)
def test_they_ask_something_else(first: str, later: str, defined: str) -> None:
    assert ("error", "aligned-divergent") in rules(first, later, defined)
