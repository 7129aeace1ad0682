"""The order of what warps do to tensor memory: small kernels by the text, right and wrong ones side by side.

In PIPELINE one thread multiplies, and four warps load the result in every round. In BLOCK all threads do all,
and products read what threads store to tensor memory. A case is a kernel with some of its lines replaced.
9.7.16.6.4.4 demands the wait for a load or store before what makes it known; a product is complete for those
who know of a phase at which a commit behind it arrives; 9.7.16.6.4.5 says what a register's dependency orders.
By the letter of 9.7.16.6.3, what orders two threads stands between a fence of each; a commit is the first one,
too (9.7.16.6.4.2), and one thread needs none.
"""

from __future__ import annotations

import pytest

from .changed_kernels import Lines, Told, told

WIDE = 1 << 4 | 1 << 7 | 1 << 10 | 32 >> 3 << 17 | 128 >> 4 << 24  # M = 128, N = 32, D of f32
HALF = 1 << 4 | 1 << 7 | 1 << 10 | 32 >> 3 << 17 | 64 >> 4 << 24  # M = 64: 16 lanes of each 32
MATRIX = 2 << 61 | 1 << 46 | 64 << 32 | 1 << 16 | 1024 >> 4  # behind what threads store
HEAD = """.version 8.7
.target sm_100a
.address_size 64
.shared .align 1024 .b8 tile[1024];
.visible .entry k(.param .u32 n, .param .u64 out)
.reqntid THREADS, 1, 1
{
.reg .b32 %r<32>;
.reg .b32 %v<32>;
.reg .b64 %rd<8>;
.reg .pred %p<8>;
mov.u32 %r1, %tid.x;
shr.u32 %r2, %r1, 5;
ld.param.u32 %r9, [n];
ld.param.u64 %rd3, [out];
mov.b64 %rd1, MATRIX;
mov.b64 %rd2, MATRIX;
setp.eq.u32 %p1, %r2, ALLOCATES;
setp.eq.u32 %p2, %r1, ISSUES;
@%p2 mbarrier.init.shared::cta.b64 [tile+8], 1;
@%p2 mbarrier.init.shared::cta.b64 [tile+16], 128;
@%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [tile], 128;
tcgen05.fence::before_thread_sync;
bar.sync 0;
tcgen05.fence::after_thread_sync;
ld.shared.b32 %r3, [tile];
and.b32 %r4, %r2, 3;
shl.b32 %r4, %r4, 21;
add.u32 %r4, %r4, %r3;
mov.u32 %r5, 0;
""".replace("MATRIX", str(MATRIX))
TAIL = """END:
tcgen05.fence::before_thread_sync;
bar.sync 0;
@%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r3, 128;
ret;
}
"""
BEFORE, AFTER = "tcgen05.fence::before_thread_sync;\n", "tcgen05.fence::after_thread_sync;\n"
LOADED, STORED = "tcgen05.wait::ld.sync.aligned;\n", "tcgen05.wait::st.sync.aligned;\n"
MULTIPLY = f"tcgen05.mma.cta_group::1.kind::f16 [%r3], %rd1, %rd2, {WIDE}, 0;\n"
COMMIT = "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [tile+8];\n"
LOAD = "tcgen05.ld.sync.aligned.32x32b.x4.b32 {%v0,%v1,%v2,%v3}, [%r4];\n"
LAST = "tcgen05.ld.sync.aligned.32x32b.x4.b32 {%v4,%v5,%v6,%v7}, [%r4+28];\n"
USE = "st.global.v4.b32 [%rd3], {%v0,%v1,%v2,%v3};\nst.global.v4.b32 [%rd3+16], {%v4,%v5,%v6,%v7};\n"
ARRIVE = "mbarrier.arrive.shared::cta.b64 _, [tile+16];\n"


def waited(name: str, barrier: str, parity: str) -> str:
    return (
        f"{name}:\nmbarrier.try_wait.parity.shared::cta.b64 %p3, [{barrier}], {parity};\n@!%p3 bra {name};\n"
    )


EMPTY, FULL = waited("EMPTY", "tile+16", "%r7"), waited("FULL", "tile+8", "%r6")
PIPELINE = (
    HEAD.replace("THREADS", "160").replace("ALLOCATES", "4").replace("ISSUES", "128")
    + "@!%p1 bra LOADS;\n@!%p2 bra END;\n"
    + "ROUND:\nand.b32 %r6, %r5, 1;\nxor.b32 %r7, %r6, 1;\n"
    + f"{EMPTY}{AFTER}{MULTIPLY}{COMMIT}add.u32 %r5, %r5, 1;\nsetp.lt.u32 %p4, %r5, %r9;\n@%p4 bra ROUND;\nbra END;\n"
    + "LOADS:\nand.b32 %r6, %r5, 1;\n"
    + f"{FULL}{AFTER}{LOAD}{LAST}{LOADED}{BEFORE}{ARRIVE}{USE}"
    + "add.u32 %r5, %r5, 1;\nsetp.lt.u32 %p4, %r5, %r9;\n@%p4 bra LOADS;\n"
    + TAIL
)
STORE = "tcgen05.st.sync.aligned.32x32b.x4.b32 [%r4+64], {%v0,%v1,%v2,%v3};\n"
FROM_TENSOR = f"@%p2 tcgen05.mma.cta_group::1.kind::f16 [%r3], [%r8], %rd2, {WIDE}, 0;\n"
KNOWN = f"{BEFORE}bar.sync 0;\n{AFTER}"
BLOCK = (
    HEAD.replace("THREADS", "128").replace("ALLOCATES", "0").replace("ISSUES", "0")
    + "mov.b32 %v0, 0;\nmov.b32 %v1, 0;\nmov.b32 %v2, 0;\nmov.b32 %v3, 0;\nadd.u32 %r8, %r3, 64;\n"
    + "ROUND:\nand.b32 %r6, %r5, 1;\n"
    + f"{STORE}{STORED}{KNOWN}{FROM_TENSOR}@%p2 {COMMIT}{FULL}{AFTER}{LOAD}{LAST}{LOADED}{BEFORE}bar.sync 0;\n{AFTER}{USE}"
    + "add.u32 %r5, %r5, 1;\nsetp.lt.u32 %p4, %r5, %r9;\n@%p4 bra ROUND;\n"
    + TAIL
)
LOAD_PENDING, STORE_PENDING = "tensor-load-pending", "tensor-store-pending"
UNFENCED, UNWRITTEN = "tensor-unfenced", "tensor-unwritten"
PRODUCT_PENDING, OVERWRITTEN = "tensor-product-pending", "tensor-overwritten"

IN_A_PIPELINE: dict[str, tuple[Lines, Told]] = {
    "right": ([], []),
    "relaxed, as the text has it": (
        [
            (ARRIVE, ARRIVE.replace("arrive.", "arrive.relaxed.cluster.")),
            (EMPTY, EMPTY.replace("parity.", "parity.relaxed.cluster.")),
            (FULL, FULL.replace("parity.", "parity.relaxed.cluster.")),
        ],
        [],
    ),
    "no wait for the loads": ([(LOADED, "")], [("likely", LOAD_PENDING)]),
    "the wait for the loads behind the release": (
        [(LOADED + BEFORE + ARRIVE, BEFORE + ARRIVE + LOADED)],
        [("likely", LOAD_PENDING)],
    ),
    "the last columns are loaded behind the wait": ([(LAST + LOADED, LOADED + LAST)], [("likely", LOAD_PENDING)]),
    "a wait for stores in the place of that for loads": ([(LOADED, STORED)], [("likely", LOAD_PENDING)]),
    "no wait for the loads, and all registers are read before the release": (
        [(LOADED + BEFORE + ARRIVE + USE, USE + BEFORE + ARRIVE)],
        [("reading", LOAD_PENDING)],
    ),
    "no wait for the loads, and one register is read behind the release": (
        [(LOADED + BEFORE + ARRIVE + USE, USE.replace("%v7", "%v6") + BEFORE + ARRIVE + "st.global.b32 [%rd3+32], %v7;\n")],
        [("likely", LOAD_PENDING)],
    ),
    "released before the last columns are loaded": (
        [(LAST + LOADED + BEFORE + ARRIVE, LOADED + BEFORE + ARRIVE + LAST + LOADED)],
        [("error", OVERWRITTEN)],
    ),
    # Whoever comes first: it is executed so that all products begin before the first load.
    "nobody waits until the accumulator is free": ([(EMPTY, "")], [("error", PRODUCT_PENDING)]),
    "the release of one warp is taken for all": (
        [("[tile+16], 128", "[tile+16], 32")],
        [("error", OVERWRITTEN), ("error", PRODUCT_PENDING)],
    ),
    # Arrivals of two rounds fall into one phase then, too.
    "nobody waits for the product": ([(FULL, "")], [("error", PRODUCT_PENDING), ("likely", "barrier-stuck")]),
    "an arrival in the place of the commit": (
        [(COMMIT, "mbarrier.arrive.shared::cta.b64 _, [tile+8];\n")],
        [("error", PRODUCT_PENDING)],
    ),
    "the commit before the product": ([(MULTIPLY + COMMIT, COMMIT + MULTIPLY)], [("error", PRODUCT_PENDING)]),
    "no fence behind the wait for the product": ([(FULL + AFTER, FULL)], [("reading", PRODUCT_PENDING)]),
    "the fence before the wait for the product": ([(FULL + AFTER, AFTER + FULL)], [("reading", PRODUCT_PENDING)]),
    "no fence before the release": ([(LOADED + BEFORE + ARRIVE, LOADED + ARRIVE)], [("reading", UNFENCED)]),
    "the fence behind the release": ([(BEFORE + ARRIVE, ARRIVE + BEFORE)], [("reading", UNFENCED)]),
    "the fence before the last load": ([(LAST + LOADED + BEFORE, BEFORE + LAST + LOADED)], [("reading", UNFENCED)]),
    # It orders what is issued, and the wait blocks the thread.
    "the fence before the wait for the loads": ([(LOADED + BEFORE, BEFORE + LOADED)], []),
    "no fence behind the wait for the release": ([(EMPTY + AFTER, EMPTY)], [("reading", UNFENCED)]),
    "the fence before the wait for the release": ([(EMPTY + AFTER, AFTER + EMPTY)], [("reading", UNFENCED)]),
    "another fence behind the product, too": ([(MULTIPLY, MULTIPLY + AFTER)], []),
    "what is loaded lies beside the product": (
        [(LOADED, ""), ("[%r4];", "[%r4+32];"), ("[%r4+28]", "[%r4+60]"), (FULL, FULL)],
        [("reading", UNWRITTEN)],
    ),
    "a product of 64 rows, and loads of the other lanes": (
        [
            (LOADED, ""),
            (str(WIDE), str(HALF)),
            (LOAD, "add.u32 %r8, %r4, 1048576;\ntcgen05.ld.sync.aligned.16x64b.x4.b32 {%v0,%v1,%v2,%v3}, [%r8];\n"),
            (LAST, ""),
        ],
        [],
    ),
    "a product of 64 rows, and loads of its lanes": (
        [
            (LOADED, ""),
            (str(WIDE), str(HALF)),
            (LOAD, "tcgen05.ld.sync.aligned.16x64b.x4.b32 {%v0,%v1,%v2,%v3}, [%r4];\n"),
            (LAST, ""),
        ],
        [("likely", LOAD_PENDING)],
    ),
    "a product of 64 rows, and loads in two halves": (
        [
            (LOADED, ""),
            (str(WIDE), str(HALF)),
            (LOAD, "tcgen05.ld.sync.aligned.16x32bx2.x4.b32 {%v0,%v1,%v2,%v3}, [%r4], 16;\n"),
            (LAST, ""),
        ],
        [("likely", LOAD_PENDING)],
    ),
    "a product of 64 rows, and loads of which the second half is its": (
        [
            (LOADED, ""),
            (str(WIDE), str(HALF)),
            (LOAD, "tcgen05.ld.sync.aligned.16x32bx2.x4.b32 {%v0,%v1,%v2,%v3}, [%r4+64], -64;\n"),
            (LAST, ""),
        ],
        [("likely", LOAD_PENDING)],
    ),
    "a product of 64 rows, and loads of which neither half is its": (
        [
            (LOADED, ""),
            (str(WIDE), str(HALF)),
            (LOAD, "tcgen05.ld.sync.aligned.16x32bx2.x4.b32 {%v0,%v1,%v2,%v3}, [%r4+64], -32;\n"),
            (LAST, ""),
        ],
        [("reading", UNWRITTEN)],
    ),
    "the address comes from nowhere": ([(LOADED, ""), ("ld.shared.b32 %r3, [tile]", "ld.global.b32 %r3, [%rd3]")], []),
    "the accumulator is not known": (
        [(LOADED, ""), (f"%rd2, {WIDE}", "%rd2, %r20"), ("setp.lt.u32 %p4", "ld.global.b32 %r20, [%rd3];\nsetp.lt.u32 %p4")],
        [("likely", LOAD_PENDING)],
    ),
    "all warps name the first lane": ([("shl.b32 %r4, %r4, 21", "mov.u32 %r4, 0")], []),
    "all warps name the first lane, and do not wait for their loads": (
        [("shl.b32 %r4, %r4, 21", "mov.u32 %r4, 0"), (LOADED, "")],
        [("likely", LOAD_PENDING)],
    ),
    "warps name each other's lanes": (
        [("shl.b32 %r4, %r4, 21", "xor.b32 %r4, %r4, 1;\nshl.b32 %r4, %r4, 21")],
        [("likely", "tensor-lanes")],
    ),
    "fewer columns are allocated than are multiplied into": (
        [("[tile], 128", "[tile], 32"), ("%r3, 128", "%r3, 32"), ("[%r3], %rd1", "[%r8], %rd1"), (EMPTY, "add.u32 %r8, %r3, 8;\n" + EMPTY)],
        [("error", "tensor-outside"), ("reading", UNWRITTEN)],
    ),
    "more columns are deallocated than are allocated": (
        [("%r3, 128", "%r3, 256")],
        [("error", "allocation-freed")],
    ),
    "as many columns are allocated as are multiplied into": (
        [("[tile], 128", "[tile], 32"), ("%r3, 128", "%r3, 32")],
        [],
    ),
    "a warp deallocates before others have loaded": (
        [(BEFORE + "bar.sync 0;\n@%p1 tcgen05.dealloc", "@%p1 tcgen05.dealloc")],
        [("reading", "tensor-freed")],
    ),
    "one lane of each warp waits, with an end of patience": (
        [
            (
                FULL,
                "elect.sync _|%p5, -1;\nmov.u32 %r10, 0;\n@!%p5 bra CAME;\nSPIN:\n"
                "mbarrier.try_wait.parity.shared::cta.b64 %p3, [tile+8], %r6;\n@%p3 bra CAME;\n"
                "mov.u32 %r11, %clock;\nsetp.lt.u32 %p6, %r11, 100000;\n@%p6 bra SPIN;\ntrap;\nCAME:\nbar.warp.sync -1;\n",
            )
        ],
        [],
    ),
}  # fmt: skip
IN_A_BLOCK: dict[str, tuple[Lines, Told]] = {
    "right": ([], []),
    "no wait for the store": ([(STORED, "")], [("likely", STORE_PENDING)]),
    "a wait for loads in the place of that for stores": ([(STORED, LOADED)], [("likely", STORE_PENDING)]),
    "no barrier behind the store": ([(STORED + KNOWN, STORED)], [("error", STORE_PENDING)]),
    "no barrier behind the loads": (
        [(LOADED + BEFORE + "bar.sync 0;\n" + AFTER, LOADED), (STORED + KNOWN, STORED), (STORE, "")],
        [("error", OVERWRITTEN)],
    ),
    # All registers are read before the next round's barrier, behind which the product begins.
    "no wait for the loads": ([(LOADED, "")], [("reading", LOAD_PENDING)]),
    "no wait for the loads, which are read behind both barriers": (
        [(LOADED, ""), (AFTER + USE, AFTER), (STORE + STORED + KNOWN, STORE + STORED + KNOWN + USE)],
        [("likely", LOAD_PENDING)],
    ),
    "no wait for the product": ([(FULL, "")], [("error", PRODUCT_PENDING)]),
    "what is stored is loaded, and the store was not waited for": (
        [(STORED + KNOWN, LOAD.replace("[%r4]", "[%r4+64]") + STORED + LOADED + KNOWN)],
        [("likely", STORE_PENDING)],
    ),
    "what is stored is loaded behind the wait": (
        [(STORED + KNOWN, STORED + LOAD.replace("[%r4]", "[%r4+64]") + LOADED + KNOWN)],
        [],
    ),
    "no fence anywhere": (
        [(BEFORE, ""), (AFTER, "")],
        [("reading", PRODUCT_PENDING), ("reading", UNFENCED)],
    ),
    "no fence behind the barrier that makes the store known": (
        [(STORED + KNOWN, f"{STORED}{BEFORE}bar.sync 0;\n")],
        [("reading", UNFENCED)],
    ),
    "no fence before the barrier that makes the store known": (
        [(STORED + KNOWN, f"{STORED}bar.sync 0;\n{AFTER}")],
        [("reading", UNFENCED)],
    ),
    "two barriers, and a fence outside each": ([(KNOWN, f"{BEFORE}bar.sync 0;\nbar.sync 1;\n{AFTER}")], []),
    "a fence of each kind between two barriers": (
        [(KNOWN, f"bar.sync 0;\n{BEFORE}{AFTER}bar.sync 1;\n")],
        [("reading", UNFENCED)],
    ),
    "one warp stores and multiplies": (
        [("128, 1, 1", "32, 1, 1"), (STORED + KNOWN, STORED + "bar.warp.sync -1;\n")],
        [],
    ),
}  # fmt: skip


DONE = waited("DONE", "tile+16", "0")
BEHIND_A_COMMIT = (
    HEAD.replace("THREADS", "64")
    .replace("ALLOCATES", "0")
    .replace("ISSUES", "0")
    .replace("[tile+16], 128", "[tile+16], 1")
    + "add.u32 %r8, %r3, 64;\nmov.u32 %r6, 0;\nsetp.eq.u32 %p5, %r1, 32;\n@!%p1 bra SECOND;\n"
    + f"{STORE}{STORED}@%p2 {MULTIPLY}@%p2 {COMMIT}bra LAST;\n"
    + f"SECOND:\n{FULL}{AFTER}{FROM_TENSOR.replace('%p2', '%p5')}@%p5 {COMMIT.replace('tile+8', 'tile+16')}"
    + f"LAST:\n{DONE}{TAIL}"
)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([], []),
        ([(FULL + AFTER, FULL)], [("reading", PRODUCT_PENDING), ("reading", UNFENCED)]),
        ([(STORED, "")], [("likely", STORE_PENDING)]),
    ],
    ids=["right", "no fence behind the wait", "no wait for the store"],
)
def test_a_commit_is_the_fence_before_what_it_makes_known(lines: Lines, expected: Told) -> None:
    """A warp stores, multiplies elsewhere and commits; another one waits for that, and multiplies by what was
    stored.
    """
    assert told(BEHIND_A_COMMIT, lines) == expected


SECOND = "tile+24"
OTHER = LOAD.replace("[%r4]", "[%r4+64]")
TWO_PRODUCTS = (
    PIPELINE.replace(
        "mbarrier.init.shared::cta.b64 [tile+8], 1;",
        f"mbarrier.init.shared::cta.b64 [tile+8], 1;\n@%p2 mbarrier.init.shared::cta.b64 [{SECOND}], 1;",
    )
    .replace("mov.u32 %r5, 0;\n", "mov.u32 %r5, 0;\nadd.u32 %r8, %r3, 64;\n")
    .replace(COMMIT, COMMIT + MULTIPLY.replace("[%r3]", "[%r8]") + COMMIT.replace("tile+8", SECOND))
    .replace(
        "@%p4 bra LOADS;\n", f"@%p4 bra LOADS;\n{waited('LAST', SECOND, '%r6')}{AFTER}{OTHER}{LOADED}{USE}"
    )
)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([], []),
        ([(waited("LAST", SECOND, "%r6"), "")], [("error", PRODUCT_PENDING)]),
        ([(waited("LAST", SECOND, "%r6"), waited("LAST", SECOND, "1"))], [("error", PRODUCT_PENDING)]),
    ],
    ids=["right", "no wait", "the phase before the last one"],
)
def test_who_knows_of_a_commit_knows_of_those_before_it(lines: Lines, expected: Told) -> None:
    """The second product of every round has a barrier of its own, for which the others wait once, behind the
    last round: they know by the first barrier of that round that the phase before is over.
    """
    assert told(TWO_PRODUCTS, lines) == expected


ALLOCATED = "@%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [tile], 128;\n"
FREED = "@%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r3, 128;\n"
READ = "ld.shared.b32 %r3, [tile];\n"
FIRST = LOAD.replace("%r4", "%r12").replace("{%v0,%v1,%v2,%v3}", "{%v8,%v9,%v10,%v11}")
TWO_ALLOCATIONS = (
    BLOCK.replace(ALLOCATED, "COUNT" + ALLOCATED.replace("[tile], 128", "[tile+32], %r10") + ALLOCATED)
    .replace(READ, READ + "ld.shared.b32 %r11, [tile+32];\n")
    .replace("add.u32 %r8,", "sub.u32 %r12, %r4, %r3;\nadd.u32 %r12, %r12, WHERE;\nadd.u32 %r8,")
    .replace(FULL + AFTER + LOAD, FIRST + FULL + AFTER + LOAD)
    .replace(FREED, FREED + FREED.replace("%r3, 128", "%r11, %r10"))
)


@pytest.mark.parametrize(
    "count", ["mov.u32 %r10, 128;", "ld.param.u32 %r10, [n];", "ld.global.u32 %r10, [%rd3];"]
)
@pytest.mark.parametrize(
    ("where", "expected"), [("%r11", [("reading", UNWRITTEN)]), ("%r3", [("error", PRODUCT_PENDING)])]
)
def test_allocations_have_columns_of_their_own(count: str, where: str, expected: Told) -> None:
    """Between a product and the wait for it, all threads load from one of two allocations: from the first,
    of COUNT columns, or from the second, in which the product lies. Behind a number of columns that nobody
    knows, nobody knows where the second lies.
    """
    found = told(TWO_ALLOCATIONS, [("COUNT", count), ("WHERE", where)])
    assert found == ([] if "global" in count else expected)


@pytest.mark.parametrize("space", ["[tile]", "[tile+4]"])
def test_where_an_address_stood_threads_store_another_one(space: str) -> None:
    """Between a product and the wait for it, all threads read an address of columns behind the product's."""
    text = (
        BLOCK.replace(
            "ROUND:\n",
            f"add.u32 %r13, %r3, 96;\nbar.sync 0;\n@%p2 st.shared.b32 {space}, %r13;\nbar.sync 0;\nROUND:\n",
        )
        .replace(FULL + AFTER + LOAD, f"{READ.replace('%r3', '%r14')}ADD{FIRST}{FULL}{AFTER}{LOAD}")
        .replace("ADD", "sub.u32 %r12, %r4, %r3;\nadd.u32 %r12, %r12, %r14;\n")
    )
    assert told(text, []) == ([] if space == "[tile]" else [("error", PRODUCT_PENDING)])


@pytest.mark.parametrize("name", IN_A_PIPELINE)
def test_one_thread_multiplies_and_others_load(name: str) -> None:
    lines, expected = IN_A_PIPELINE[name]
    assert told(PIPELINE, lines) == sorted(expected)


@pytest.mark.parametrize("name", IN_A_BLOCK)
def test_a_block_stores_and_multiplies_and_loads(name: str) -> None:
    lines, expected = IN_A_BLOCK[name]
    assert told(BLOCK, lines) == sorted(expected)
