"""ptxas takes the words of opcodes outside the specification in other orders than that of the syntax, and inline assembly
of TLX has setp.u32.eq: each means what it means in order. Each opcode here was given to ptxas 13.5.
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

HEAD = """.version 8.0
.target sm_90
.address_size 64
.shared .align 16 .b8 tile[512];
.visible .entry k(.param .u64 out)
.reqntid 64, 1, 1
{
.reg .b32 %r<9>; .reg .b64 %rd<3>; .reg .pred %p<3>;
mov.u32 %r1,%tid.x; mov.u32 %r2,tile; ld.param.u64 %rd1,[out];
setp.eq.u32 %p0,%r1,32; setp.eq.u32 %p1,%r1,0;
@%p1 cp.async.ca.shared.global [%r2+256],[%rd1],4;
cp.async.wait_all;
"""
TAIL = "st.global.u32 [%rd1],%r4;\nret;\n}\n"
STORE, LOAD = "@%p1 st.shared.u32 [%r2],%r1;", "@%p0 ld.shared.u32 %r4,[%r2];"


def rules(body: str) -> set[str]:
    return {one.rule for one in check_text(f"{HEAD}{body}\n{TAIL}", "k.ptx").findings if one.tier != "info"}


@pytest.mark.parametrize("store", ["st.shared.u32", "st.u32.shared"])
@pytest.mark.parametrize("load", ["ld.shared.u32", "ld.u32.shared", "ld.u32.volatile.shared"])
def test_accesses_have_their_space_and_size(store: str, load: str) -> None:
    ordered = STORE.replace("st.shared.u32", store), LOAD.replace("ld.shared.u32", load)
    assert rules("".join(ordered)) == {"shared-unsynchronised"}
    assert rules(" bar.sync 0; ".join(ordered)) == set()
    assert rules("".join(ordered).replace("[%r2];", "[%r2+4];")) == set()


@pytest.mark.parametrize("load", ["ld.shared.v2.u32", "ld.v2.u32.shared", "ld.u32.v2.shared"])
def test_vectors_have_their_size(load: str) -> None:
    """Both words that are loaded lie behind the one that is stored; then the second one is that."""
    pair = "@!%p1 {0} {{%r4,%r5}},[%r2+{1}];"
    assert rules(STORE + pair.format(load, 8)) == set()
    assert rules(STORE.replace("[%r2]", "[%r2+12]") + pair.format(load, 8)) == {"shared-unsynchronised"}


@pytest.mark.parametrize("compare", ["setp.eq.u32", "setp.u32.eq"])
def test_comparisons_are_followed(compare: str) -> None:
    body = f"{compare} %p2,%r1,32; @%p2 bra B; bra E;\nB: ld.shared.u32 %r4,[%r2];\nE:\n"
    assert rules(STORE + body) == {"shared-unsynchronised"}
    assert not check_text(f"{HEAD}{STORE} bar.sync 0; {body}{TAIL}", "k.ptx").not_judged
