"""A wait that is tried once, and then in a loop, is one wait; where other things are done between, it is two."""

from __future__ import annotations

from typing import Any

import pytest

from ptxmma.check.check_file import check_text
from ptxmma.check.walks import walk_plan
from ptxmma.check.walks.second_tries import second_try

from .test_phases import RING

TRY = "mbarrier.try_wait.parity.shared::cta.b64"
LOOP = f"CW:\n{TRY} %p3,[%r23],%r12;\n@!%p3 bra CW;"
EXPECTS = "mbarrier.arrive.expect_tx.shared::cta.b64 _,[%r23],9216;"
# The mbarrier's address and the parity are computed twice, as CuTe DSL does.
TWICE = f"""shl.b32 %r44,%r11,3; add.u32 %r45,%r30,%r44;
{TRY} %p3,[%r45],%r12;
@%p3 bra GO;
shl.b32 %r46,%r11,3; add.u32 %r47,%r30,%r46; mov.u32 %r48,%r12;
CW:
{TRY} %p4,[%r47],%r48;
@!%p4 bra CW;
GO:"""


def stuck(twice: str) -> bool:
    """Whether a wait never ends where nobody expects bytes: then no phase completes."""
    assert LOOP in RING and EXPECTS in RING
    text = RING.replace(LOOP, twice)
    assert not [one for one in check_text(text, "k").findings if one.tier in ("error", "likely")]
    spoilt = check_text(text.replace(EXPECTS, ""), "k").findings
    return ("error", "barrier-stuck") in {(one.tier, one.rule) for one in spoilt}


def test_both_are_one_wait() -> None:
    assert stuck(LOOP) and stuck(TWICE)
    assert stuck(TWICE.replace("@%p3 bra GO;", "@!%p3 bra CW1;\nbra.uni GO;\nCW1:"))
    # The result goes through a register, as CUTLASS has it; and through one in which 0 says that it is over.
    assert stuck(
        TWICE.replace("@%p3 bra GO;", "selp.b32 %r49,1,0,%p3; setp.ne.s32 %p5,%r49,0;\n@%p5 bra GO;")
    )
    assert stuck(
        TWICE.replace("@%p3 bra GO;", "selp.b32 %r49,0,1,%p3; setp.eq.s32 %p5,%r49,0;\n@%p5 bra GO;")
    )


@pytest.mark.parametrize(
    "change",
    [
        ("mov.u32 %r48,%r12;", "xor.b32 %r48,%r12,1;"),  # the other phase
        ("shl.b32 %r46,%r11,3;", "shl.b32 %r46,%r11,4;"),  # another mbarrier, but for stage 0
        ("CW:", "@%p9 mbarrier.arrive.shared::cta.b64 _,[%r30+64];\nCW:"),  # something else before
        ("@%p3 bra GO;", "@!%p3 bra GO;"),  # who fails goes on
        ("CW:", "mov.u32 %r48,%r13;\nCW:"),  # what the register holds is not said by one statement
    ],
)
def test_other_waits_may_be_over(change: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def watched(*given: Any) -> int | None:
        seen.append(second_try(*given))
        return seen[-1]

    monkeypatch.setattr(walk_plan, "second_try", watched)
    check_text(RING.replace(LOOP, TWICE.replace(*change)).replace(EXPECTS, ""), "k")
    assert seen and not any(seen)
