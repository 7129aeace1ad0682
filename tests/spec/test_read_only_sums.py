"""A register plus a constant is no instruction descriptor, and no scale-d, as ptxas has it."""

from __future__ import annotations

import pytest

import ptxmma

WATCHES = (
    "spec/instructions/tcgen05.mma.yaml",
    "spec/instructions/tcgen05.mma.sp.yaml",
    "spec/instructions/tcgen05.mma.block_scale.yaml",
    "spec/instructions/tcgen05.mma.sp.block_scale.yaml",
    "spec/instructions/tcgen05.mma.ws.yaml",
    "spec/instructions/tcgen05.mma.ws.sp.yaml",
)
STATEMENTS = (
    "tcgen05.mma.cta_group::1.kind::f16 [%r0], %rd1, %rd2, IDESC, %p1;",
    "tcgen05.mma.sp.cta_group::1.kind::f16 [%r0], %rd1, %rd2, [%r4], IDESC, %p1;",
    "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale [%r0], %rd1, %rd2, IDESC, [%r5], [%r6], %p1;",
    "tcgen05.mma.sp.cta_group::1.kind::mxf8f6f4.block_scale [%r0], %rd1, %rd2, [%r4], IDESC, [%r5], [%r6], %p1;",
    "tcgen05.mma.ws.cta_group::1.kind::f16 [%r0], %rd1, %rd2, IDESC, %p1;",
    "tcgen05.mma.ws.sp.cta_group::1.kind::f16 [%r0], %rd1, %rd2, [%r4], IDESC, %p1;",
)  # fmt: skip


@pytest.mark.parametrize("statement", STATEMENTS, ids=lambda text: text.split()[0])
def test_a_sum_is_no_instruction_descriptor_and_no_predicate(statement: str) -> None:
    right = statement.replace("IDESC", "%r3")
    assert ptxmma.legal(right, ptx="8.7", target="sm_100a")
    for wrong in (right.replace("%r3", "%r3+4"), right.replace("%p1", "%p1+4")):
        assert not ptxmma.legal(wrong, ptx="8.7", target="sm_100a")
