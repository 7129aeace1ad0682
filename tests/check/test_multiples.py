"""Addresses and sizes of bulk copies are multiples of 16 bytes (9.7.9.25.4), an mbarrier lies at a multiple of 8
(9.7.13.15.1), and a named barrier is for whole warps (9.7.13.1). Only what the PTX shows is judged. That
a tensor copy needs 128 bytes is what CUDA's guide says, and an H100 demands (bench/tensor_copy_places.py).
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

WATCHES = ("spec/effects.yaml", "check/rules.yaml")
KERNEL = """
.version 8.6
.target sm_90a
.address_size 64
.extern .shared .align 16 .b8 dynamic[];
.visible .entry k(.param .u64 g, .param .u32 n, .param .align 64 .b8 map[128])
.reqntid 128, 1, 1
{
.reg .pred %p<8>; .reg .b32 %r<16>; .reg .b64 %rd<8>;
.shared .align 128 .b8 tile[4096]; .shared .align 8 .b8 small[4096]; .shared .align 16 .b8 mb[32];
.shared .align 4 .b8 four[32];
mov.u32 %r1,tile; mov.u32 %r2,small; mov.u32 %r3,mb; mov.u32 %r4,dynamic; mov.u32 %r5,four;
ld.param.u32 %r6,[n]; ld.param.u64 %rd1,[g]; mov.b64 %rd2,map; cvta.param.u64 %rd2,%rd2;
mov.u32 %r7,%tid.x; setp.ne.u32 %p1,%r7,0;
BODY
ret;
}
"""
COPY = "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes {to}, [%rd1], {size}, [%r3];"
STORE = "cp.async.bulk.global.shared::cta.bulk_group [%rd1], {source}, {size};"
REDUCE = "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], {source}, {size};"
TENSOR = (
    "cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes {to}, [%rd2, {{0, 0}}], [%r3];"
)
BACK = "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd2, {{0, 0}}], {source};"


def told(body: str, tier: str = "error") -> list[str]:
    report = check_text(KERNEL.replace("BODY", body), "k.ptx")
    assert not report.faults
    found = [one for one in report.findings if one.rule == "operand-multiple"]
    assert all(one.tier == tier for one in found)
    return [one.message for one in found]


@pytest.mark.parametrize(
    ("body", "count"),
    [
        (COPY.format(to="[%r1]", size=64), 0),
        (COPY.format(to="[%r1+16]", size=64), 0),
        (COPY.format(to="[%r1+8]", size=64), 1),
        (COPY.format(to="[%r1]", size=24), 1),
        (COPY.format(to="[%r1+8]", size=24), 2),
        ("mov.u32 %r8,24;" + COPY.format(to="[%r1]", size="%r8"), 1),
        ("mov.u32 %r8,32;" + COPY.format(to="[%r1]", size="%r8"), 0),
        (COPY.format(to="[%r1]", size="%r6"), 0),
        (COPY.format(to="[%r4+8]", size=64), 1),
        # A variable at a multiple of 8 may lie at one of 16, and 8 bytes behind it may begin one.
        (COPY.format(to="[%r2]", size=64), 0),
        (COPY.format(to="[%r2+8]", size=64), 0),
        (COPY.format(to="[%r2+4]", size=64), 1),
        ("add.u32 %r8,%r1,%r6;" + COPY.format(to="[%r8+8]", size=64), 0),
        ("mov.u32 %r1,%r6;" + COPY.format(to="[%r1+8]", size=64), 0),
        (STORE.format(source="[%r1+16]", size=64), 0),
        (STORE.format(source="[%r1+4]", size=64), 1),
        (STORE.format(source="[%r1]", size=40), 1),
        (REDUCE.format(source="[%r1+4]", size=64), 1),
        (TENSOR.format(to="[%r1+128]"), 0),
        (TENSOR.format(to="[%r1+8]"), 1),
        (BACK.format(source="[%r1+128]"), 0),
        (BACK.format(source="[%r1+8]"), 1),
    ],
)
def test_a_bulk_copy(body: str, count: int) -> None:
    assert len(told(body)) == count


@pytest.mark.parametrize("tensor", [TENSOR, BACK])
@pytest.mark.parametrize(
    ("address", "count"),
    [("[%r1+64]", 1), ("[%r1+16]", 1), ("[%r1+256]", 0), ("[%r4+32]", 0), ("[%r2+64]", 0)],
)
def test_a_tensor_copy(tensor: str, address: str, count: int) -> None:
    """A variable at a multiple of 16 or 8 may lie at one of 128, and so may a place behind it."""
    assert len(told(tensor.format(to=address, source=address), "likely")) == count


@pytest.mark.parametrize(
    ("address", "count"),
    [("[%r3+8]", 0), ("[%r3+4]", 1), ("[%r4+24]", 0), ("[%r4+4]", 1), ("[%r5+4]", 0), ("[%r5+2]", 1)],
)
def test_an_mbarrier(address: str, count: int) -> None:
    body = f"@!%p1 mbarrier.init.shared::cta.b64 {address},128; bar.sync 0;"
    body += f"mbarrier.arrive.shared::cta.b64 _,{address};"
    assert len(told(body)) == count


@pytest.mark.parametrize("name", ["bar.sync", "bar.arrive", "barrier.sync", "barrier.cta.arrive"])
@pytest.mark.parametrize(
    ("before", "threads", "count"),
    [
        ("", "128", 0),
        ("", "100", 1),
        ("mov.u32 %r8,100;", "%r8", 1),
        ("mov.u32 %r8,100; mov.u32 %r8,96;", "%r8", 0),
        ("", "%r6", 0),
    ],
)
def test_threads_of_a_barrier(name: str, before: str, threads: str, count: int) -> None:
    assert told(f"{before} {name} 1, {threads};") == ["100 threads are not a multiple of 32"] * count


def test_a_vote_at_a_barrier() -> None:
    """The operand behind the count is a predicate, and a barrier without a count has none."""
    assert told("bar.red.popc.u32 %r8, 1, 100, %p1;") == ["100 threads are not a multiple of 32"]
    assert told("bar.red.popc.u32 %r8, 1, %p1; bar.sync 1;") == []
