"""What tcgen05.mma reads of shared memory: small kernels by the text, right and wrong ones side by side.

9.7.16.6.5: it reads through the async proxy, so a generic write needs a proxy fence before it, and whoever
multiplies must know of the write. A product is over once a commit behind it has arrived (9.7.16.6.2.2): before a
thread that knows of that phase, nobody may write what it reads. One warp copies or all threads store, and
one thread multiplies; rounds take turns in two stages of 24 KB.
"""

from __future__ import annotations

import pytest

from .changed_kernels import Lines, told

SHAPE = 1 << 4 | 1 << 7 | 1 << 10 | 64 >> 3 << 17 | 128 >> 4 << 24  # M = 128, N = 64, D of f32
MATRIX = 2 << 61 | 1 << 46 | 64 << 32 | 1 << 16  # rows of 128 bytes, swizzled
HEAD = """.version 8.7
.target sm_100a
.address_size 64
.shared .align 1024 .b8 tile[49152];
.shared .align 8 .b8 bars[64];
.visible .entry k(.param .u32 n, .param .u64 out, .param .align 64 .b8 map[128])
.reqntid 128, 1, 1
{
.reg .b32 %r<40>;
.reg .b32 %v<8>;
.reg .b64 %rd<16>;
.reg .pred %p<12>;
mov.u32 %r1, %tid.x;
shr.u32 %r2, %r1, 5;
ld.param.u32 %r9, [n];
ld.param.u64 %rd3, [out];
mov.b64 %rd4, map;
setp.eq.u32 %p1, %r2, 0;
setp.eq.u32 %p2, %r1, 0;
setp.eq.u32 %p3, %r1, 32;
@%p2 mbarrier.init.shared::cta.b64 [bars], 1;
@%p2 mbarrier.init.shared::cta.b64 [bars+8], 1;
@%p2 mbarrier.init.shared::cta.b64 [bars+16], 1;
@%p2 mbarrier.init.shared::cta.b64 [bars+24], 1;
@%p2 mbarrier.init.shared::cta.b64 [bars+32], 1;
@%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [bars+48], 64;
tcgen05.fence::before_thread_sync;
bar.sync 0;
tcgen05.fence::after_thread_sync;
ld.shared.b32 %r3, [bars+48];
shl.b32 %r4, %r2, 21;
add.u32 %r4, %r4, %r3;
mov.u32 %r30, bars;
mov.u32 %r5, 0;
"""
ROUND = """and.b32 %r6, %r5, 1;
shl.b32 %r7, %r6, 3;
add.u32 %r8, %r30, %r7;
mov.u32 %r10, tile;
mad.lo.u32 %r10, %r6, 24576, %r10;
add.u32 %r11, %r10, 16384;
shr.u32 %r12, %r5, 1;
and.b32 %r12, %r12, 1;
xor.b32 %r13, %r12, 1;
"""
NEXT = "add.u32 %r5, %r5, 1;\nsetp.lt.u32 %p4, %r5, %r9;\n"
DESCRIBE = f"""shr.u32 %r14, %r10, 4;
cvt.u64.u32 %rd5, %r14;
or.b64 %rd5, %rd5, {MATRIX};
shr.u32 %r14, %r11, 4;
cvt.u64.u32 %rd6, %r14;
or.b64 %rd6, %rd6, {MATRIX};
"""
SCALES = "tcgen05.cp.cta_group::1.32x128b.warpx4 [%r3], %rd6;\n"  # of the rows behind those of A
MULTIPLY = f"tcgen05.mma.cta_group::1.kind::f16 [%r3], %rd5, %rd6, {SHAPE}, 0;\n"
NEXT_COLUMNS = f"add.s64 %rd5, %rd5, 2;\nadd.s64 %rd6, %rd6, 2;\n{MULTIPLY}"
ARRIVE = "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [{}];\n"
RELEASE, DONE = ARRIVE.format("%r8+16"), ARRIVE.format("bars+32")
RESULT = """tcgen05.ld.sync.aligned.32x32b.x2.b32 {%v0,%v1}, [%r4];
tcgen05.wait::ld.sync.aligned;
st.global.v2.b32 [%rd3], {%v0,%v1};
"""
END_OF_KERNEL = """tcgen05.fence::before_thread_sync;
bar.sync 0;
@%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r3, 64;
ret;
}
"""
TAIL = RESULT + END_OF_KERNEL


def waited(name: str, barrier: str, parity: str) -> str:
    return (
        f"{name}:\nmbarrier.try_wait.parity.shared::cta.b64 %p5, [{barrier}], {parity};\n@!%p5 bra {name};\n"
    )


FREE, FULL = waited("FREE", "%r8+16", "%r13"), waited("FULL", "%r8", "%r12")
AFTER = "tcgen05.fence::after_thread_sync;\n"
END = waited("END", "bars+32", "0") + AFTER
EXPECT = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r8], 24576;\n"
COPY = "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [{}], [%rd4, {{%r5, %r5}}], [%r8];\n"
COPIES = COPY.format("%r10") + COPY.format("%r11")
COPIED = (
    f"{HEAD}@%p2 bra COPIES;\n@%p3 bra MULTIPLIES;\nbra JOINS;\n"
    f"COPIES:\n{ROUND}{FREE}{EXPECT}{COPIES}{NEXT}@%p4 bra COPIES;\nbra JOINS;\n"
    f"MULTIPLIES:\n{ROUND}{DESCRIBE}{FULL}{AFTER}{MULTIPLY}{RELEASE}{NEXT}@%p4 bra MULTIPLIES;\n{DONE}"
    f"JOINS:\nbar.warp.sync -1;\n{END}{TAIL}"
)
STORES = """shl.b32 %r15, %r1, 7;
add.u32 %r15, %r15, %r10;
st.shared.v4.b32 [%r15], {%r1,%r1,%r1,%r1};
setp.lt.u32 %p6, %r1, 64;
shl.b32 %r16, %r1, 7;
add.u32 %r16, %r16, %r11;
@%p6 st.shared.v4.b32 [%r16], {%r1,%r1,%r1,%r1};
"""
FENCE, MEET = "fence.proxy.async.shared::cta;\n", "bar.sync 0;\n"
ISSUE = f"@%p3 {MULTIPLY}@%p3 {RELEASE}"
STORED = f"{HEAD}ROUND:\n{ROUND}{DESCRIBE}{FREE}{STORES}{FENCE}{MEET}{ISSUE}{NEXT}@%p4 bra ROUND;\n@%p3 {DONE}{END}{TAIL}"
ASYNC = STORES.replace(
    "st.shared.v4.b32 [%r15], {%r1,%r1,%r1,%r1}", "cp.async.cg.shared.global [%r15], [%rd3], 16"
)
ASYNC = ASYNC.replace(
    "st.shared.v4.b32 [%r16], {%r1,%r1,%r1,%r1}", "cp.async.cg.shared.global [%r16], [%rd3], 16"
)
GROUP = "cp.async.commit_group;\ncp.async.wait_group 0;\n"
RELEASED = "mbarrier.arrive.shared::cta.b64 _, [%r8+16];\n"
OVERWRITTEN, UNFENCED = ("error", "shared-overwritten"), ("error", "proxy-fence")
UNSEEN, INCOMPLETE = ("error", "shared-unsynchronised"), ("error", "copy-incomplete")

WITH_COPIES: dict[str, tuple[Lines, list[tuple[str, str]]]] = {
    "right": ([], []),
    "the copies do not wait for the products": ([(FREE, "")], [INCOMPLETE]),  # of the round before
    "a commit of the round between covers the products, too": (
        [(FREE, waited("FREE", "%r30+24", "%r13"))],
        [],
    ),
    "the product does not wait for the copies": (
        [(FULL, "")],
        [INCOMPLETE, OVERWRITTEN, ("likely", "barrier-stuck")],
    ),
    "the commit stands before the product": ([(MULTIPLY + RELEASE, RELEASE + MULTIPLY)], [OVERWRITTEN]),
    "an ordinary arrival in the place of the commit": (
        [(RELEASE, RELEASED)],
        [OVERWRITTEN],
    ),
    "two products, and a commit behind both": ([(MULTIPLY, MULTIPLY + MULTIPLY)], []),
    "two products, and a commit between them": ([(RELEASE, RELEASE + MULTIPLY)], [OVERWRITTEN]),
    "products along a row, and a commit behind them": ([(MULTIPLY, MULTIPLY + NEXT_COLUMNS)], []),
    "products along a row, and a commit between them": ([(RELEASE, RELEASE + NEXT_COLUMNS)], [OVERWRITTEN]),
    "a copy into tensor memory": ([(MULTIPLY, SCALES)], []),
    "a copy into tensor memory does not wait": (
        [(MULTIPLY, SCALES), (FULL, "")],
        [INCOMPLETE, OVERWRITTEN, ("likely", "barrier-stuck")],
    ),
    "the commit stands before the copy into tensor memory": (
        [(MULTIPLY + RELEASE, RELEASE + SCALES)],
        [OVERWRITTEN],
    ),
    "a descriptor that nobody knows": (
        [(DESCRIBE, "ld.global.b64 %rd5, [%rd3];\nmov.b64 %rd6, %rd5;\n"), (RELEASE, RELEASED)],
        [],
    ),
}
WITH_STORES: dict[str, tuple[Lines, list[tuple[str, str]]]] = {
    "right": ([], []),
    "no fence": ([(FENCE, "")], [UNFENCED]),
    "the fence stands before the stores": ([(STORES + FENCE, FENCE + STORES)], [UNFENCED]),
    "the thread that multiplies executes the fence": (
        [(FENCE + MEET + "@%p3 " + MULTIPLY, MEET + "@%p3 " + FENCE + "@%p3 " + MULTIPLY)],
        [],
    ),
    "no fence before a copy into tensor memory": ([(MULTIPLY, SCALES), (FENCE, "")], [UNFENCED]),
    "nobody loads the result": ([(RESULT, "")], []),
    "no fence, and nobody loads the result": ([(FENCE, ""), (RESULT, "")], [UNFENCED]),
    "no barrier": ([(MEET + ISSUE, ISSUE)], [UNSEEN]),
    "the stores do not wait for the products": ([(FREE, "")], [OVERWRITTEN]),
    "the stores wait for the products, and then all meet": ([(FREE, FREE + MEET)], []),
    "one stage": ([("mad.lo.u32 %r10, %r6, 24576, %r10;\n", "")], [UNSEEN]),
    "stores elsewhere do not wait": (
        [(FREE + STORES, STORES.replace("[%r15]", "[%r15+16]").replace("[%r16]", "[%r16+16]"))],
        [],
    ),
    "cp.async": ([(STORES, ASYNC + GROUP)], []),
    "cp.async, and no wait": ([(STORES, ASYNC)], [("error", "copy-incomplete")]),
    "cp.async, and no fence": ([(STORES + FENCE, ASYNC + GROUP)], [UNFENCED]),
}


@pytest.mark.parametrize("name", WITH_COPIES)
def test_a_warp_copies_and_another_one_multiplies(name: str) -> None:
    lines, expected = WITH_COPIES[name]
    assert told(COPIED, lines) == expected


@pytest.mark.parametrize("name", WITH_STORES)
def test_all_threads_store_and_one_multiplies(name: str) -> None:
    lines, expected = WITH_STORES[name]
    assert told(STORED, lines) == expected


def test_what_a_smaller_block_does_rightly_is_likely_wrong_at_most() -> None:
    """With 128 threads, stores fill the tiles; with 256, they go on into the other stage."""
    size = ".reqntid 128, 1, 1"
    larger = told(STORED, [(size, ".maxntid 256, 1, 1")])
    assert ("likely", "shared-unsynchronised") in larger and all(tier == "likely" for tier, _ in larger)
    assert told(STORED, [(size, ".maxntid 128, 1, 1")]) == []
    assert told(STORED, [(size, ".maxntid 128, 1, 1"), (FREE, "")]) == [("likely", "shared-overwritten")]
