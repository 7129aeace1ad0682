"""The number of mnemonics of each family in PTX ISA 9.5, against counts worked out by hand from the text's
syntax.
"""

from __future__ import annotations

from collections import Counter

import pytest

from ptxmma.spec.selection import select
from ptxmma.spec.specification import Specification

WATCHES = ("specs.yaml", "spec/instructions/*.yaml")

SPACES = 4  # generic, .global, .shared, .shared::cta
SHARED = 3  # generic, .shared, .shared::cta
ROUNDING = 5  # absent, .rn, .rz, .rm, .rp
LAYOUTS = 2 * 2  # .row or .col, of A and of B
COLLECTOR_A = COLLECTOR_B = 5  # absent, ::fill, ::use, ::lastuse, ::discard

COUNTS = {
    # 9.7.15.5.2: per N; f16 has two accumulators, fp8 two and two types a side; the integer N are 18
    "wgmma.mma_async": 32 * (2 + 1 + 1 + 2 * 4) + 18 * (2 * 4 + 1),
    "wgmma.mma_async.sp": 32 * (2 + 1 + 1 + 2 * 4) + 18 * (2 * 4),
    "wgmma.fence": 1,
    "wgmma.commit_group": 1,
    "wgmma.wait_group": 1,
    "fence.proxy.async": 4,
    "mma": (
        LAYOUTS * (1 + 2)  # m8n8k4 .f16: C .f16 with D .f16 or .f32, C .f32 with D .f32
        + 4 * ROUNDING  # .f64: m8n8k4, m16n8k4, m16n8k8, m16n8k16
        + (1 + 1)  # .tf32: m16n8k4, m16n8k8
        + 2 * (2 + 1)  # .f16 and .bf16: m16n8k8, m16n8k16
        + 3 * 2 * 4  # 8-bit integers: m8n8k16, m16n8k16, m16n8k32; .satfinite; four pairs
        + 3 * 2 * 4  # 4-bit integers: m8n8k32, m16n8k32, m16n8k64
        + 3 * 2  # .b1: m8n8k128, m16n8k128, m16n8k256; .xor and .and
        + 2 * 2 * 4  # .e4m3 and .e5m2 without a .kind: m16n8k16, m16n8k32; two accumulators
        + 2 * 4  # with .kind::f8f6f4, m16n8k16
        + 2 * 25  # .kind::f8f6f4, m16n8k32: five types a side
        + 2 * 25  # .kind::mxf8f6f4: .scale_vec::1X may be absent
        + 2  # .kind::mxf4: .scale_vec::2X may be absent
        + 3  # .kind::mxf4nvf4: 2X with .ue8m0; 4X with .ue4m3 or .ue8m0
    ),
    # ptxas 13.5.37 takes 221 mnemonics on sm_120a, 28 of which the text does not have
    "mma.sp": 221 - 28,
    "wmma.mma": (
        3 * LAYOUTS * (4 + 2 * 2 + 1)  # three shapes: .f16; .u8 and .s8 with .satfinite; .bf16
        + LAYOUTS  # .tf32
        + LAYOUTS * ROUNDING  # .f64
        + 2 * 2  # .u4 and .s4 with .satfinite
        + 2  # .b1: .xor and .and
    ),
    "wmma.load.a": SPACES * (3 * 2 * (1 + 2 + 1) + 2 + 2 + 2 + 1),
    "wmma.load.b": SPACES * (3 * 2 * (1 + 2 + 1) + 2 + 2 + 2 + 1),
    "wmma.load.c": SPACES * 2 * (3 * 3 + 1 + 1 + 1 + 1),
    "wmma.store.d": SPACES * 2 * (3 * 3 + 1 + 1 + 1 + 1),
    # m8n8 with or without .trans, m16n16.trans of .b8 and two sub-byte formats, m8n16 of three formats
    "ldmatrix": SHARED * (3 * 2 + 2 * 3 + 3 * 3),
    "stmatrix": SHARED * (3 * 2 + 3),
    "movmatrix": 1,
    # 9.7.16.10.9: two .cta_group; .ashift excludes ::fill and ::use; .kind::i8 has no .collector::b; .decompress::lut::b
    "tcgen05.mma": 2 * (4 * (COLLECTOR_A + 3) * COLLECTOR_B + (COLLECTOR_A + 3) + COLLECTOR_A * COLLECTOR_B),
    # .kind::mxf8f6f4 and .kind::mxf4 with two sizes or none, .kind::mxf4nvf4 with four; .decompress::lut::b with one or none
    "tcgen05.mma.block_scale": 2 * (3 + 3 + 4 + 2) * COLLECTOR_A * COLLECTOR_B,
    "tcgen05.mma.sp": 2 * (4 * (COLLECTOR_A + 3) * COLLECTOR_B + (COLLECTOR_A + 3)),
    "tcgen05.mma.sp.block_scale": 2 * (3 + 3 + 4) * COLLECTOR_A * COLLECTOR_B,
    "tcgen05.mma.ws": 5 * (1 + 4 * 4),  # four buffers
    "tcgen05.mma.ws.sp": 5 * (1 + 4 * 4),
    # 9.7.16.7.1: two .cta_group; alloc with or without .shared::cta; from 9.4 on .exclusive
    "tcgen05.alloc": 2 * 2 * 2,
    "tcgen05.dealloc": 2 * 2,
    "tcgen05.relinquish_alloc_permit": 2,
    "tcgen05.fence::before_thread_sync": 1,
    "tcgen05.fence::after_thread_sync": 1,
    "tcgen05.wait::ld": 1,
    "tcgen05.wait::st": 1,
    # two .cta_group, with or without .shared::cluster and .sync_restrict; no multicast or three
    "tcgen05.commit": 2 * 2 * 2 * (1 + 3),
    "tcgen05.shift": 2,
    # three shapes alone, .64x128b with two multicasts, .32x128b with one; two formats or none
    "tcgen05.cp": 2 * (3 + 2 + 1) * 3,
    # Tables 49 and 50: eight .num of three shapes, seven and six of the others; .pack::16b or not
    "tcgen05.ld": (3 * 8 + 7 + 6) * 2,
    "tcgen05.st": (3 * 8 + 7 + 6) * 2,
    # two shapes from .x2 on; .min and .max; .f32 with .abs and .NaN, .u32, .s32
    "tcgen05.ld.red": 2 * 7 * 2 * (4 + 2),
    # from .x4 on; .min and .max; .abs, and .NaN where elements are reduced
    "tcgen05.ld.spcompress": 6 * 2 * 2,
    "tcgen05.ld.red.spcompress": 6 * 2 * 2 * 2,
}


@pytest.fixture(scope="module")
def listed(specification: Specification) -> Counter[str]:
    variants = select(specification, None, "9.5", None)
    return Counter(variant.row.family.instruction.instruction for variant in variants)


@pytest.mark.parametrize("family", COUNTS)
def test_count(listed: Counter[str], family: str) -> None:
    assert listed[family] == COUNTS[family]


def test_there_is_no_other_family(listed: Counter[str]) -> None:
    assert set(listed) == set(COUNTS)
