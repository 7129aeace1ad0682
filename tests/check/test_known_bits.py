"""The fields of a matrix descriptor above its start address are judged where an instruction sets them beside an
address that is not known, as in a ring of stages, or that a register holds which was written before (9.7.16.4.1).
What may be otherwise on some path is not judged, nor what a sum may carry into.
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

KERNEL = """
.version 8.7
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 in)
.reqntid 32, 1, 1
{
.reg .pred %p<4>; .reg .b32 %r<16>; .reg .b64 %rd<8>;
ld.param.u64 %rd3,[in]; ld.global.u32 %r3,[%rd3]; ld.global.u32 %r1,[%rd3+4]; mov.u32 %r6,0; mov.u32 %r7,0x08200490;
setp.ne.u32 %p1,%r1,0;
DESCRIPTOR
tcgen05.mma.cta_group::1.kind::f16 [%r6],%rd1,%rd1,%r7,0;
ret;
}
"""
RIGHT, SWIZZLE, LEADING, HIGH = 0x4000404000010000, 0x6000404000010000, 0x4010404000010000, 0x40004040
OR = "shr.u32 %r4,%r3,4; and.b32 %r4,%r4,0x3fff; cvt.u64.u32 %rd1,%r4; or.b64 %rd1,%rd1,WORD;"
SUM = "bfe.u32 %r4,%r3,4,14; cvt.u64.u32 %rd2,%r4; add.s64 %rd1,%rd2,WORD;"
PARTS = "shr.u32 %r4,%r3,4; and.b32 %r4,%r4,16383; or.b32 %r4,%r4,65536; mov.b64 %rd1,{%r4,HIGH};"
WIDE = "cvt.u64.u32 %rd1,%r3; shr.u64 %rd1,%rd1,4; and.b64 %rd1,%rd1,0x3fff; or.b64 %rd1,%rd1,WORD;"
OPEN = "cvt.u64.u32 %rd1,%r3; shr.u64 %rd1,%rd1,4; or.b64 %rd1,%rd1,WORD;"  # the address may have more bits
CARRY = SUM + "add.s64 %rd1,%rd1,2;"
GUARDED = OR.replace("or.b64", "mov.b64 %rd2,0; @%p1 or.b64")
EITHER = SUM + "@%p1 bra E; mov.b64 %rd1,0x4000404000010000; E:"


def found(text: str, word: int) -> set[str]:
    text = text.replace("WORD", hex(word)).replace("HIGH", hex(word >> 32))
    findings = check_text(KERNEL.replace("DESCRIPTOR", text), "k.ptx").findings
    return {one.rule for one in findings if one.tier in ("error", "likely")}


@pytest.mark.parametrize("text", [OR, SUM, PARTS, WIDE], ids=["or", "sum", "two halves", "64 bits"])
@pytest.mark.parametrize(
    ("word", "rules"),
    [(RIGHT, set()), (SWIZZLE, {"descriptor-field"}), (LEADING, {"descriptor-field"})],
    ids=["right", "no swizzling mode", "an absolute leading dimension on sm_100a"],
)
def test_fields_beside_an_address(text: str, word: int, rules: set[str]) -> None:
    assert found(text, word) == rules


@pytest.mark.parametrize("text", [OPEN, CARRY, GUARDED, EITHER], ids=["open", "carry", "guarded", "either"])
def test_what_is_not_known_is_not_judged(text: str) -> None:
    assert not found(text, SWIZZLE)
