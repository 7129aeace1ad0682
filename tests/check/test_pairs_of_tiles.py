"""Pairs of blocks that multiply tile after tile: whoever waits for a tile gets its commit in both blocks.

9.7.16.12: a commit arrives in the block whose mbarrier it names, or with .multicast::cluster at the same address in
each block of its mask. Two stages, two accumulators, n tiles of n rounds: thread 0 of each block copies, thread 32
of the first multiplies for both, warps 2 and 3 of both load. All mbarriers that commits complete lie in a row, those
of the stages first: what releases stages does not tell of accumulators. Right and wrong kernels stand side by side.
"""

from __future__ import annotations

import pytest

from .changed_kernels import Lines, told
from .test_block_pairs import (
    BEFORE,
    CLUSTER,
    COPIES,
    DESCRIBE,
    EXPECT,
    FREED,
    HEAD,
    MEET,
    MULTIPLY,
    ONE,
    RELEASE,
    STUCK,
    TELL,
)
from .test_tensor_operands import AFTER, FREE, FULL, ROUND, waited

INITS = "".join(
    f"@%p2 mbarrier.init.shared::cta.b64 [bars+{at}], {count};\n"
    for at, count in ((32, 1), (40, 1), (48, 128), (56, 128))
)
NEXT = "add.u32 %r5, %r5, 1;\nadd.u32 %r45, %r45, 1;\nsetp.lt.u32 %p4, %r45, %r9;\n"
TILE = """and.b32 %r20, %r46, 1;
shl.b32 %r21, %r20, 3;
add.u32 %r22, %r30, %r21;
shr.u32 %r23, %r46, 1;
and.b32 %r23, %r23, 1;
xor.b32 %r24, %r23, 1;
shl.b32 %r25, %r20, 7;
"""
NEXT_TILE = "add.u32 %r46, %r46, 1;\nsetp.lt.u32 %p11, %r46, %r9;\n"
ACCUMULATED = TELL.format("%r22+32", "%h1")
LOADED = waited("LOADED", "%r22+48", "%r24") + AFTER
ACCUMULATOR = waited("ACCUMULATOR", "%r22+32", "%r23") + AFTER
LOAD = """add.u32 %r26, %r4, %r25;
tcgen05.ld.sync.aligned.32x32b.x2.b32 {%v0,%v1}, [%r26];
tcgen05.wait::ld.sync.aligned;
st.global.v2.b32 [%rd3], {%v0,%v1};
"""
TAKEN = "add.u32 %r27, %r22, 48;\nmapa.shared::cluster.u32 %r28, %r27, 0;\n"
TAKEN += "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r28];\n"
TILES = (
    HEAD.replace("bars[64]", "bars[128]")
    .replace("@%p2 mbarrier.init.shared::cta.b64 [bars+40], 1;\n", INITS)
    .replace("bars+48], 128;\ntcgen05", "bars+72], 256;\ntcgen05")
    .replace("%r3, [bars+48]", "%r3, [bars+72]")
    + "mov.u32 %r46, 0;\nsetp.ge.u32 %p10, %r2, 2;\n"
    + "@%p2 bra COPIES;\n@%p8 bra MULTIPLIES;\n@%p10 bra LOADS;\nbra JOINS;\n"
    + f"COPIES:\nmov.u32 %r45, 0;\nCOPY:\n{ROUND}{FREE}{EXPECT}{COPIES}{NEXT}@%p4 bra COPY;\n{NEXT_TILE}@%p11 bra COPIES;\nbra JOINS;\n"
    + f"MULTIPLIES:\n{TILE}{LOADED}add.u32 %r29, %r3, %r25;\nmov.u32 %r45, 0;\n"
    + f"MULTIPLY:\n{ROUND}{DESCRIBE}{FULL}{AFTER}{MULTIPLY.replace('[%r3]', '[%r29]')}{RELEASE}{NEXT}@%p4 bra MULTIPLY;\n"
    + f"{ACCUMULATED}{NEXT_TILE}@%p11 bra MULTIPLIES;\nbra JOINS;\n"
    + f"LOADS:\n{TILE}{ACCUMULATOR}{LOAD}{BEFORE}{TAKEN}{NEXT_TILE}@%p11 bra LOADS;\n"
    + f"JOINS:\nbar.warp.sync -1;\n{BEFORE}{MEET}{FREED.replace('128', '256')}ret;\n}}\n"
)
CASES: dict[str, tuple[Lines, set[tuple[str, str]]]] = {
    "right": ([], set()),
    "one commit for each block": (
        [(ACCUMULATED, TELL.format("%r22+32", "1") + TELL.format("%r22+32", "2"))],
        set(),
    ),
    "a commit for the own block, and one for an address in the other one": (
        [
            (ACCUMULATED, ONE.format("%r22+32") + "mapa.shared::cluster.u32 %r28, %r22, 1;\n" + ONE.format("%r28+32")),
        ],
        set(),
    ),
    "the accumulators first, then the stages": (
        [("%r22+32", "%r22"), ("[%r8+16]", "[%r8+24]"), ("[%r8]", "[%r8+16]"), ("%r31, %r8, 0xFE", "%r31, %r33, 0xFE"),
         ("and.b32 %r31, %r33", "add.u32 %r33, %r8, 16;\nand.b32 %r31, %r33"), ("[%r8+24]", "[%r8+32]")],
        set(),
    ),
    "only the first block loads, and it alone is told": (
        [(ACCUMULATED, TELL.format("%r22+32", "1")), ("setp.ge.u32 %p10, %r2, 2;\n", "setp.ge.u32 %p10, %r2, 2;\nand.pred %p10, %p10, %p7;\n"), ("[bars+48], 128", "[bars+48], 64"), ("[bars+56], 128", "[bars+56], 64")],
        set(),
    ),
    "the commit of a tile leaves the second block out": ([(ACCUMULATED, TELL.format("%r22+32", "1"))], {STUCK}),
    "the commit of a tile leaves the first block out": ([(ACCUMULATED, TELL.format("%r22+32", "2"))], {STUCK}),
    "the commit of a tile is of one mbarrier": ([(ACCUMULATED, ONE.format("%r22+32"))], {STUCK}),
    "the commit of a stage leaves the second block out": ([(RELEASE, TELL.format("%r8+16", "1"))], {STUCK}),
    "the second block's loads release its own accumulator": ([(TAKEN, TAKEN.replace("%r27, 0", "%r27, %r40"))], {STUCK}),
}  # fmt: skip


@pytest.mark.parametrize("cluster", [CLUSTER, ""], ids=["of known size", "of unknown size"])
@pytest.mark.parametrize(("lines", "expected"), CASES.values(), ids=CASES)
def test_tiles(lines: Lines, expected: set[tuple[str, str]], cluster: str) -> None:
    assert set(told(TILES, [*lines, (CLUSTER, cluster)])) == expected
