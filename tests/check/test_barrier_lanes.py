"""Barriers under a condition of lanes, and blocks that are smaller than a warpgroup."""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

HEAD = """.version 8.3
.target sm_90a
.address_size 64
.visible .entry k()
.maxntid {threads}, 1, 1
{{
.reg .b32 %r<9>;
.reg .b32 %a<9>;
.reg .f32 %f<9>;
.reg .pred %p<4>;
mov.u32 %r1, %tid.x;
setp.lt.u32 %p1, %r1, {bound};
"""
MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%a0,%a1,%a2,%a3}, {%a4,%a5}, {%f0,%f1,%f2,%f3};\nret;\n}\n"


def told(body: str, bound: int, threads: int = 128, end: str = MMA) -> list[str]:
    report = check_text(HEAD.format(bound=bound, threads=threads) + body + end, "k.ptx")
    assert not report.faults
    return [
        f"{one.tier} {one.rule}"
        for one in report.findings
        if "divergent" in one.rule or "incomplete" in one.rule
    ]


@pytest.mark.parametrize(
    ("body", "bound", "expected"),
    [
        ("@%p1 bar.sync 0;\n", 16, ["error aligned-divergent"]),
        ("@%p1 bar.sync 1, 64;\n", 64, []),  # whole warps
        ("@%p1 bar.cta.arrive 1, 64;\n", 16, ["error aligned-divergent"]),
        ("@%p1 barrier.sync 1, 16;\n", 16, []),  # without .aligned, threads may come alone
        ("@!%p1 bra L;\nbar.sync 0;\nL:\n", 16, ["error aligned-divergent"]),
        ("@%p1 bar.warp.sync 65535;\n", 16, []),
        ("@%p1 barrier.sync.aligned 1, 32;\n", 16, ["error aligned-divergent"]),
        ("@%p1 barrier.sync.aligned 1, 32;\n", 32, []),
        ("@%p1 barrier.cluster.arrive.aligned;\n", 16, ["error aligned-divergent"]),
        ("@%p1 barrier.cluster.arrive;\n", 16, []),
    ],
)
@pytest.mark.parametrize("end", [MMA, "ret;\n}\n"], ids=["product", "no product"])
def test_a_barrier_under_a_condition(body: str, bound: int, expected: list[str], end: str) -> None:
    assert told(body, bound, end=end) == expected


@pytest.mark.parametrize(("threads", "expected"), [(64, ["error aligned-incomplete"]), (128, []), (256, [])])
def test_a_block_without_a_warpgroup(threads: int, expected: list[str]) -> None:
    assert told("wgmma.fence.sync.aligned;\n", 32, threads) == expected
