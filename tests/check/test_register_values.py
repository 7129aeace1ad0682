"""A register that always holds one number is judged as an immediate is: the numbers of columns that tcgen05.alloc
takes are 32, 64, 128, 256 and 512 (9.7.16.7.1). What is not known to be one number is not judged.
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

KERNEL = """
.version 8.7
.target sm_100a
.address_size 64
.shared .align 4 .b32 slot;
.visible .entry k(.param .u32 columns)
.reqntid 32, 1, 1
{
.reg .pred %p<4>; .reg .b32 %r<16>;
mov.u32 %r4,slot;
COLUMNS
tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r4],%r5;
ld.shared.u32 %r6,[slot];
tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r6,%r5;
ret;
}
"""


@pytest.mark.parametrize(
    ("columns", "rules"),
    [
        ("mov.u32 %r5,128;", []),
        ("mov.u32 %r5,512;", []),
        ("mov.u32 %r5,192;", ["legality.operand.range"] * 2),
        ("mov.u32 %r5,1024;", ["legality.operand.range"] * 2),
        ("mov.u32 %r7,48; shl.b32 %r5,%r7,2;", ["legality.operand.range"] * 2),
        ("ld.param.u32 %r5,[columns];", []),
        ("mov.u32 %r7,%ctaid.x; setp.eq.u32 %p1,%r7,0; selp.b32 %r5,64,192,%p1;", []),
    ],
    ids=["128", "512", "192", "1024", "48 times 4", "a parameter", "one of two"],
)
def test_columns_in_a_register(columns: str, rules: list[str]) -> None:
    findings = check_text(KERNEL.replace("COLUMNS", columns), "k.ptx").findings
    assert [one.rule for one in findings if one.tier in ("error", "likely")] == rules
    assert all("nCols is" in one.message for one in findings if one.rule in rules)
