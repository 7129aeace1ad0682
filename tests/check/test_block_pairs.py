"""Pairs of blocks that multiply together (.cta_group::2): kernels by the text, right and wrong ones side by side.

9.7.16.5: one thread of one block issues a product for both. It reads half of A and half of B in the shared memory of
each block, at the same addresses, and writes half of the result into the tensor memory of each. A commit arrives
in the block whose mbarrier it names, or with .multicast::cluster at the same address in each block of its mask.
A tensor copy with .cta_group::2 may tell the mbarrier of the other block of the pair: kernels clear the bit of
the address by which the two differ. 128 threads in each block, two stages of 24 KB; the first block multiplies for both,
or each for itself.
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

from .changed_kernels import Lines, told
from .test_tensor_operands import AFTER, FENCE, FREE, FULL, MATRIX, NEXT, RESULT, ROUND, STORES, waited

WATCHES = ("spec/effects.yaml",)
SHAPE = 1 << 4 | 1 << 7 | 1 << 10 | 128 >> 3 << 17 | 256 >> 4 << 24  # M = 256, N = 128, D of f32
MEET = "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n"
CLUSTER = ".explicitcluster\n.reqnctapercluster 2, 1, 1\n"
PUBLISHED = f"fence.mbarrier_init.release.cluster;\n{MEET}"
ALLOCATE = "@%p1 tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [bars+48], 128;\n"
HEAD = f""".version 8.7
.target sm_100a
.address_size 64
.shared .align 1024 .b8 tile[49152];
.shared .align 8 .b8 bars[64];
.visible .entry k(.param .u32 n, .param .u64 out, .param .align 64 .b8 map[128])
.reqntid 128, 1, 1
{CLUSTER}{{
.reg .b32 %r<48>;
.reg .b32 %v<8>;
.reg .b64 %rd<16>;
.reg .b16 %h<4>;
.reg .pred %p<12>;
mov.u32 %r1, %tid.x;
mov.u32 %r40, %cluster_ctarank;
shr.u32 %r2, %r1, 5;
ld.param.u32 %r9, [n];
ld.param.u64 %rd3, [out];
mov.b64 %rd4, map;
setp.eq.u32 %p1, %r2, 0;
setp.eq.u32 %p2, %r1, 0;
setp.eq.u32 %p3, %r1, 32;
setp.eq.u32 %p7, %r40, 0;
and.pred %p8, %p3, %p7;
and.pred %p9, %p2, %p7;
@%p2 mbarrier.init.shared::cta.b64 [bars], 1;
@%p2 mbarrier.init.shared::cta.b64 [bars+8], 1;
@%p2 mbarrier.init.shared::cta.b64 [bars+16], 1;
@%p2 mbarrier.init.shared::cta.b64 [bars+24], 1;
@%p2 mbarrier.init.shared::cta.b64 [bars+40], 1;
{ALLOCATE}tcgen05.fence::before_thread_sync;
{PUBLISHED}tcgen05.fence::after_thread_sync;
ld.shared.b32 %r3, [bars+48];
shl.b32 %r4, %r2, 21;
add.u32 %r4, %r4, %r3;
mov.u32 %r30, bars;
mov.u32 %r5, 0;
mov.b16 %h1, 3;
"""
DESCRIBE = f"""shr.u32 %r14, %r10, 4;
and.b32 %r14, %r14, 16383;
cvt.u64.u32 %rd5, %r14;
or.b64 %rd5, %rd5, {MATRIX};
shr.u32 %r14, %r11, 4;
and.b32 %r14, %r14, 16383;
cvt.u64.u32 %rd6, %r14;
or.b64 %rd6, %rd6, {MATRIX};
"""
PRODUCT = f"tcgen05.mma.cta_group::2.kind::f16 [%r3], %rd5, %rd6, {SHAPE}, 0;\n"
MULTIPLY = "add.s64 %rd5, %rd5, 2;\nadd.s64 %rd6, %rd6, 2;\n".join([PRODUCT] * 4)
TELL = "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [{}], {};\n"
ONE = TELL.replace(".multicast::cluster", "").replace(", {};", ";")
RELEASE, DONE = TELL.format("%r8+16", "%h1"), TELL.format("bars+40", "%h1")
BEFORE = "tcgen05.fence::before_thread_sync;\n"
FREED = "@%p1 tcgen05.dealloc.cta_group::2.sync.aligned.b32 %r3, 128;\n"
TAIL = f"{RESULT}{BEFORE}{MEET}{FREED}ret;\n}}\n"
END = waited("END", "bars+40", "0") + AFTER
EXPECT = "@%p9 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r8], 49152;\n"
LEADER = "and.b32 %r31, %r8, 0xFEFFFFFF;\n"
COPY = (
    "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.cta_group::2 [{}], "
    "[%rd4, {{%r5, %r40}}], [%r31];\n"
)
COPIES = LEADER + COPY.format("%r10") + COPY.format("%r11")
COPIED = (
    f"{HEAD}@%p2 bra COPIES;\n@%p8 bra MULTIPLIES;\nbra JOINS;\n"
    f"COPIES:\n{ROUND}{FREE}{EXPECT}{COPIES}{NEXT}@%p4 bra COPIES;\nbra JOINS;\n"
    f"MULTIPLIES:\n{ROUND}{DESCRIBE}{FULL}{AFTER}{MULTIPLY}{RELEASE}{NEXT}@%p4 bra MULTIPLIES;\n{DONE}"
    f"JOINS:\nbar.warp.sync -1;\n{END}{TAIL}"
)
# All threads of both blocks store their half, and one of each block tells the first block that it is there.
SYNC = "bar.sync 0;\n"
FIRST = "mapa.shared::cluster.u32 %r31, %r8, 0;\n"
FILLED = "@%p2 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r31];\n"
STORED = (
    f"{HEAD}ROUND:\n{ROUND}{DESCRIBE}{FREE}{STORES}{FENCE}{SYNC}{FIRST}{FILLED}@!%p7 bra NEXT;\n"
    f"{FULL}{AFTER}@!%p3 bra NEXT;\n{MULTIPLY}{RELEASE}"
    f"NEXT:\nbar.warp.sync -1;\n{NEXT}@%p4 bra ROUND;\n@%p8 {DONE}{END}{TAIL}"
)
STORED = STORED.replace("[bars], 1", "[bars], 2").replace("[bars+8], 1", "[bars+8], 2")
OVERWRITTEN, INCOMPLETE = ("likely", "shared-overwritten"), ("likely", "copy-incomplete")
STUCK, UNPUBLISHED = ("likely", "barrier-stuck"), ("likely", "barrier-unpublished")
UNFENCED, UNSEEN = ("likely", "proxy-fence"), ("likely", "shared-unsynchronised")
COUNT = ("likely", "barrier-count")
PENDING, OUTSIDE = ("likely", "tensor-product-pending"), ("likely", "tensor-outside")

FIRST_ALONE = "@!%p7 bra {0};\n{1}{0}:\n"  # the second block passes by what stands here
EACH = """mapa.shared::cluster.u32 %r32, %r8, 0;
@%p2 mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%r32], 24576;
"""
TWO = [("[bars], 1", "[bars], 2"), ("[bars+8], 1", "[bars+8], 2")]
WITH_COPIES: dict[str, tuple[Lines, set[tuple[str, str]]]] = {
    "right": ([], set()),
    "the product does not wait for the copies": ([(FULL, "")], {OVERWRITTEN}),
    # The first block alone shows that it copies where an earlier copy is not complete.
    "nobody waits for the products": ([(FREE, "")], {("error", "copy-incomplete"), INCOMPLETE}),
    "the second block does not wait for the products": (
        [(FREE, FIRST_ALONE.format("GO", FREE))],
        {INCOMPLETE, OVERWRITTEN},
    ),
    "the commit leaves the second block out": ([(RELEASE, TELL.format("%r8+16", "1"))], {STUCK}),
    "the commit leaves the first block out": ([(RELEASE, TELL.format("%r8+16", "2"))], {STUCK}),
    "the commit is of one mbarrier": (
        [(RELEASE, ONE.format("%r8+16"))],
        {STUCK},
    ),
    "the last commit leaves the second block out": ([(DONE, TELL.format("bars+40", "1"))], {STUCK}),
    "the commit stands before the product": ([(MULTIPLY + RELEASE, RELEASE + MULTIPLY)], {OVERWRITTEN}),
    "the copies of each block tell its own mbarrier": ([(LEADER, "mov.b32 %r31, %r8;\n")], {INCOMPLETE}),
    "nobody expects the bytes": (
        [(EXPECT, EXPECT.replace(".expect_tx", "").replace(", 49152", ""))],
        {INCOMPLETE},
    ),
    # What tensor copies bring, the PTX does not show: only what both blocks get alike.
    "the bytes of one block are expected": ([("49152;", "24576;")], {INCOMPLETE}),
    "the bytes of A are expected": ([("49152;", "32768;")], set()),
    "each block expects its bytes": ([(EXPECT, EACH), *TWO], set()),
    "each block expects its bytes, and one of them counts": ([(EXPECT, EACH)], {COUNT}),
    "an arrival too many is awaited": ([("[bars], 1", "[bars], 2")], {STUCK}),
    "no barrier of the cluster behind the init": ([(PUBLISHED, "bar.sync 0;\n")], {UNPUBLISHED}),
    "the second block does not wait for the result": ([(END, FIRST_ALONE.format("LOADS", END))], {PENDING}),
    "too few columns": ([("[bars+48], 128", "[bars+48], 64"), ("%r3, 128", "%r3, 64")], {OUTSIDE}),
}


@pytest.mark.parametrize("cluster", [CLUSTER, ""], ids=["of known size", "of unknown size"])
@pytest.mark.parametrize(("lines", "expected"), WITH_COPIES.values(), ids=WITH_COPIES)
def test_copies(lines: Lines, expected: set[tuple[str, str]], cluster: str) -> None:
    found = set(told(COPIED, [*lines, (CLUSTER, cluster)]))
    assert found == expected if cluster else found <= expected  # operands: of known size only


BEHIND = [
    ("bars+40", "bars+32")
]  # what tells of the sum lies behind the stages' mbarriers, in a row with them
WHOLE = TELL.format("bars+32", "{}")


@pytest.mark.parametrize("cluster", [CLUSTER, ""], ids=["of known size", "of unknown size"])
@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([], set()),
        ([(WHOLE.format("%h1"), WHOLE.format("1") + WHOLE.format("2"))], set()),
        ([(WHOLE.format("%h1"), WHOLE.format("1"))], {STUCK}),
        ([(WHOLE.format("%h1"), WHOLE.format("2"))], {STUCK}),
        ([(WHOLE.format("%h1"), ONE.format("bars+32"))], {STUCK}),
    ],
    ids=[
        "right",
        "one commit for each",
        "not for the second block",
        "not for the first block",
        "for one block",
    ],
)
def test_who_releases_stages_does_not_tell_of_the_sum(
    lines: Lines, expected: set[tuple[str, str]], cluster: str
) -> None:
    """In the one block, another statement has told of it."""
    assert set(told(COPIED, [*BEHIND, *lines, (CLUSTER, cluster)])) == expected


NARROW = SHAPE & ~(7 << 7 | 7 << 10)


@pytest.mark.parametrize(
    ("types", "expected"),
    [(0, {INCOMPLETE}), (1 << 7, {INCOMPLETE}), (5 << 7 | 5 << 10, set()), (3 << 7, set()), (4 << 10, set())],
    ids=["e4m3", "e5m2 and e4m3", "e2m1", "e2m3 and e4m3", "e4m3 and e3m2"],
)
def test_elements_that_are_padded_in_shared_memory(types: int, expected: set[tuple[str, str]]) -> None:
    """As many bytes are expected as products read in one block. A tensor copy that gives 16 bytes to 16 elements
    of 4 or 6 bits counts those that it reads: DeepGEMM expects half of what two such matrices have.
    """
    lines = [("kind::f16", "kind::f8f6f4"), (str(SHAPE), str(NARROW | types)), ("49152;", "24576;")]
    assert set(told(COPIED, lines)) == expected


EARLY = f"not.pred %p10, %p7;\nand.pred %p10, %p10, %p2;\n@%p10 {FILLED[5:]}"
WITH_STORES: dict[str, tuple[Lines, set[tuple[str, str]]]] = {
    "right": ([], set()),
    "the second block executes no proxy fence": ([(FENCE, FIRST_ALONE.format("FENCED", FENCE))], {UNFENCED}),
    "the second block tells of its stores before them": (
        [(f"{STORES}{FENCE}{SYNC}{FIRST}{FILLED}", f"{FIRST}{EARLY}{STORES}{FENCE}{SYNC}@%p9 {FILLED[5:]}")],
        {UNSEEN},
    ),
    "the second block does not wait for the products": ([(FREE, FIRST_ALONE.format("GO", FREE))], {UNSEEN}),
    "the product does not wait for the second block": (
        [("[bars], 2", "[bars], 1"), ("[bars+8], 2", "[bars+8], 1"), (FIRST, FIRST.replace("0;", "%r40;"))],
        {UNSEEN},
    ),
    "one arrival of two is counted": ([("[bars], 2", "[bars], 1"), ("[bars+8], 2", "[bars+8], 1")], {UNSEEN}),
    "each block tells itself": ([(FIRST, FIRST.replace("0;", "%r40;"))], {STUCK}),
    "the second block tells nobody": ([(FILLED, FILLED.replace("%p2", "%p9"))], {STUCK}),
    "the commit leaves the second block out": ([(RELEASE, TELL.format("%r8+16", "1"))], {STUCK}),
    "the commit stands before the product": ([(MULTIPLY + RELEASE, RELEASE + MULTIPLY)], {OVERWRITTEN}),
}


def test_other_pairs_may_send_what_one_lacks() -> None:
    """All blocks tell the first one. Nobody says how many the cluster has: with four, all have arrived."""
    lines = [("[bars], 2", "[bars], 4"), ("[bars+8], 2", "[bars+8], 4"), (CLUSTER, "")]
    rest = "shr.u32 %r41, %r40, 1;\nsetp.ne.u32 %p11, %r41, 0;\n"  # the other pairs do nothing else
    lines.append((f"{FREE}{STORES}", f"{rest}@%p11 bra STORED;\n{FREE}{STORES}STORED:\n"))
    assert not told(STORED, [*lines, (END, f"@%p11 bra LOADED;\n{END}LOADED:\n")])
    assert set(told(STORED, [("[bars], 2", "[bars], 3"), (CLUSTER, "")])) == {STUCK}


@pytest.mark.parametrize("cluster", [CLUSTER, ""], ids=["of known size", "of unknown size"])
@pytest.mark.parametrize(("lines", "expected"), WITH_STORES.values(), ids=WITH_STORES)
def test_stores(lines: Lines, expected: set[tuple[str, str]], cluster: str) -> None:
    found = set(told(STORED, [*lines, (CLUSTER, cluster)]))
    assert found == expected if cluster else found <= expected  # operands: of known size only


# Each block multiplies by itself, and copies its half of what both multiply to both: so both release a stage.
ALONE = SHAPE & ~(0x3F << 17 | 0x1F << 24) | 64 >> 3 << 17 | 128 >> 4 << 24  # M = 128, N = 64
SPREAD = (
    "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [{}], "
)
SPREAD += "[%rd4, {{%r5, %r40}}], [%r8], %h1;\n"
HALVES = "mad.lo.u32 %r33, %r40, 8192, %r10;\nmad.lo.u32 %r34, %r40, 4096, %r11;\n"
SHARED = COPIED
for old, new in (
    (COPIES, HALVES + SPREAD.format("%r33") + SPREAD.format("%r34")),
    (EXPECT, "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r8], 24576;\n"),
    ("@%p8 bra MULTIPLIES", "@%p3 bra MULTIPLIES"),
    (DONE, TELL.format("bars+40", "").replace(", ;", ";").replace(".multicast::cluster", "")),
    (str(SHAPE), str(ALONE)),
    ("cta_group::2", "cta_group::1"),
    ("[bars+16], 1", "[bars+16], 2"),
    ("[bars+24], 1", "[bars+24], 2"),
):
    assert old in SHARED
    SHARED = SHARED.replace(old, new)
RELEASED = RELEASE.replace("cta_group::2", "cta_group::1")
OWN = RELEASED.replace(".multicast::cluster", "").replace(", %h1", "")
SHARED_CASES: dict[str, tuple[Lines, set[tuple[str, str]]]] = {
    "right": ([], set()),
    "each commit releases its own block": ([(RELEASED, OWN)], {STUCK}),
    "the same, and one arrival is awaited": (
        [(RELEASED, OWN), ("[bars+16], 2", "[bars+16], 1"), ("[bars+24], 2", "[bars+24], 1")],
        {INCOMPLETE},
    ),
    "a commit is awaited of two": (
        [("[bars+16], 2", "[bars+16], 1"), ("[bars+24], 2", "[bars+24], 1")],
        {INCOMPLETE, OVERWRITTEN},
    ),
    "an arrival too many is awaited": ([("[bars], 1", "[bars], 2")], {STUCK}),
}


@pytest.mark.parametrize(("lines", "expected"), SHARED_CASES.values(), ids=SHARED_CASES)
def test_blocks_that_release_each_other(lines: Lines, expected: set[tuple[str, str]]) -> None:
    assert set(told(SHARED, lines)) == expected


def small(guard: str, most: int) -> str:
    """The kernel with copies, which ends at once with other numbers of rounds."""
    read = "ld.param.u32 %r9, [n];\n"
    ends = f"{read}setp.{guard}.u32 %p11, %r9, {most};\n@%p11 bra.uni OVER;\n"
    return COPIED.replace(read, ends).replace("ret;\n}\n", "OVER:\nret;\n}\n")


def said_of(kernel: str, lines: Lines) -> dict[str, str]:
    """What is said not to be judged, and why, by its name."""
    for old, new in lines:
        assert old in kernel
        kernel = kernel.replace(old, new)
    return {one.instruction: one.why for one in check_text(kernel, "k.ptx").not_judged}


@pytest.mark.parametrize(("guard", "most"), [("gt", 8), ("gt", 4), ("ne", 5), ("ge", 4)])
@pytest.mark.parametrize("cluster", [CLUSTER, ""], ids=["of known size", "of unknown size"])
@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([], set()),
        ([(RELEASE, TELL.format("%r8+16", "1"))], {STUCK}),
        ([("[bars], 1", "[bars], 2")], {STUCK}),
    ],
    ids=["right", "the commit leaves the second block out", "an arrival too many is awaited"],
)
def test_a_kernel_for_few_rounds(
    lines: Lines, expected: set[tuple[str, str]], cluster: str, guard: str, most: int
) -> None:
    """With one round, no stage is used again: a number with which there are more comes first."""
    assert set(told(small(guard, most), [*lines, (CLUSTER, cluster)])) == expected


@pytest.mark.parametrize("lines", [[], [(RELEASE, TELL.format("%r8+16", "1"))]], ids=["right", "stuck"])
def test_a_kernel_for_one_number_of_rounds_is_not_judged(lines: Lines) -> None:
    """No number that is tried leads to what counts, in any block."""
    assert not told(small("ne", 77), lines)
    said = said_of(small("ne", 77), lines)
    assert "no thread comes here" in said["barriers of k"]
    assert "in several" in said["tcgen05.commit"]


# The pairs of the grid take turns: each goes on by as many tiles as there are pairs. A grid has a multiple of
# the cluster's blocks, so there is one at least.
TURNS = [
    (
        "mov.u32 %r5, 0;\n",
        "mov.u32 %r5, 0;\nmov.u32 %r41, %nctaid.x;\nshr.u32 %r41, %r41, 1;\nmov.u32 %r42, 0;\n",
    ),
    (NEXT, "add.u32 %r5, %r5, 1;\nadd.u32 %r42, %r42, %r41;\nsetp.lt.u32 %p4, %r42, %r9;\n"),
]
LAST = (
    "mov.u32 %r43, %ctaid.x;\nmov.u32 %r44, %nctaid.x;\nsetp.ge.u32 %p11, %r43, %r44;\n@%p11 bra.uni JOINS;\n"
)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([], set()),
        ([("@%p2 bra COPIES;\n", f"{LAST}@%p2 bra COPIES;\n")], set()),  # no block lies there
        ([(RELEASE, TELL.format("%r8+16", "1"))], {STUCK}),
        ([("[bars], 1", "[bars], 2")], {STUCK}),
    ],
    ids=["right", "ends behind the grid", "the commit leaves the second block out", "an arrival too many"],
)
def test_pairs_that_take_turns(lines: Lines, expected: set[tuple[str, str]]) -> None:
    assert set(told(COPIED, [*TURNS, *lines])) == expected
    assert "tcgen05.commit" not in said_of(COPIED, [*TURNS, *lines])
