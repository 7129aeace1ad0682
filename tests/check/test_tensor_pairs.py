"""Products, copies and shifts that meet in tensor memory: pairs by the text, right and wrong ones side by side.

9.7.16.6.2 lists the pairs that execute in the order in which they are issued: products into one accumulator, a
copy or a shift before a product, a product before a shift; later editions add operands that are read before they
are overwritten. A result that another product reads as an operand is not among them. 9.7.16.6.4.3 says what
orders a listed pair of two threads. A case is what two threads, one of each warp, do; all four warps then load.
"""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text

WIDE = 1 << 4 | 1 << 7 | 1 << 10 | 32 >> 3 << 17 | 128 >> 4 << 24  # M = 128, N = 32, D of f32
SCALED = 32 >> 3 << 17 | 1 << 23 | 128 >> 7 << 27
MATRIX = 2 << 61 | 1 << 46 | 64 << 32 | 1 << 16
KERNEL = """.version 8.7
.target sm_100a
.address_size 64
.shared .align 1024 .b8 tile[1024];
.visible .entry k(.param .u64 out)
.reqntid 128, 1, 1
{
.reg .b32 %r<32>;
.reg .b32 %v<8>;
.reg .b64 %rd<8>;
.reg .pred %p<8>;
mov.u32 %r1, %tid.x;
shr.u32 %r2, %r1, 5;
ld.param.u64 %rd3, [out];
mov.b64 %rd1, MATRIX;
setp.eq.u32 %p1, %r2, 0;
setp.eq.u32 %p2, %r1, 0;
setp.eq.u32 %p3, %r1, 32;
@%p2 mbarrier.init.shared::cta.b64 [tile+8], 1;
@%p2 mbarrier.init.shared::cta.b64 [tile+16], 1;
@%p2 mbarrier.init.shared::cta.b64 [tile+24], 1;
@%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [tile], 128;
tcgen05.fence::before_thread_sync;
bar.sync 0;
tcgen05.fence::after_thread_sync;
ld.shared.b32 %r3, [tile];
shl.b32 %r4, %r2, 21;
add.u32 %r4, %r4, %r3;
add.u32 %r5, %r3, 64;
add.u32 %r6, %r3, 68;
@%p3 bra SECOND;
@!%p2 bra LAST;
FIRST
bra LAST;
SECOND:
OTHER
LAST:
bar.warp.sync -1;
ALL
tcgen05.wait::ld.sync.aligned;
st.global.v2.b32 [%rd3], {%v0,%v1};
tcgen05.fence::before_thread_sync;
bar.sync 0;
@%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r3, 128;
ret;
}
""".replace("MATRIX", str(MATRIX))
BEFORE, AFTER = "tcgen05.fence::before_thread_sync;\n", "tcgen05.fence::after_thread_sync;\n"


def multiply(to: str = "%r3", first: str = "%rd1") -> str:
    return f"tcgen05.mma.cta_group::1.kind::f16 [{to}], {first}, %rd1, {WIDE}, 0;\n"


def commit(at: int) -> str:
    return f"tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [tile+{at}];\n"


def waited(at: int, label: str = "WAIT") -> str:
    name = f"{label}{at}"
    return (
        f"{name}:\nmbarrier.try_wait.parity.shared::cta.b64 %p4, [tile+{at}], 0;\n@!%p4 bra {name};\n{AFTER}"
    )


def load(column: int) -> str:
    return f"tcgen05.ld.sync.aligned.32x32b.x2.b32 {{%v0,%v1}}, [%r4+{column}];\n"


CHAINED = multiply("%r3", "[%r5]")  # A in columns 64 to 71
COPY = "tcgen05.cp.cta_group::1.128x256b [%r5], %rd1;\n"
SHIFT = "tcgen05.shift.cta_group::1.down [%r5];\n"
SCALES = "tcgen05.cp.cta_group::1.32x128b.warpx4 [%r5], %rd1;\ntcgen05.cp.cta_group::1.32x128b.warpx4 [%r6], %rd1;\n"
SCALE = (
    "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.scale_vec::1X "
    f"[%r3], %rd1, %rd1, {SCALED}, [%r5], [%r6], 0;\n"
)
RELEASE = f"{BEFORE}mbarrier.arrive.shared::cta.b64 _, [tile+16];\n"
FREED = "@%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r3, 128;\n"
AGAIN = "@%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [tile], 128;\n"
DONE = waited(8, "DONE") + load(0)  # what commits to [tile+8] cover is loaded by all warps
OTHERS = {("error", "allocation-freed"), ("reading", "tensor-freed")}  # of what is deallocated too early
PENDING = "tensor-product-pending"

CASES: dict[str, tuple[str, str, str, tuple[str, ...]]] = {
    "a copy, and the product that reads it": (COPY + CHAINED + commit(8), "", DONE, ()),
    "a product, and the copy over what it reads": (COPY + CHAINED + COPY + CHAINED + commit(8), "", DONE, ()),
    "products into one accumulator": (multiply() + multiply() + commit(8), "", DONE, ()),
    "a shift between two products that read": (COPY + CHAINED + SHIFT + CHAINED + commit(8), "", DONE, ()),
    "a product over what one before it reads": (COPY + CHAINED + multiply("%r5") + commit(8), "", DONE, ()),
    "a result is read as an operand": (
        multiply("%r5") + CHAINED + commit(8),
        "",
        DONE,
        ("likely", PENDING),
    ),
    "a result is read as an operand behind the wait for it": (
        multiply("%r5") + commit(16) + waited(16) + CHAINED + commit(8),
        "",
        DONE,
        (),
    ),
    "a result is read as an operand behind the wait for another product": (
        multiply("%r3") + commit(16) + multiply("%r5") + waited(16) + CHAINED + commit(8),
        "",
        DONE,
        ("likely", PENDING),
    ),
    "another warp reads a result as an operand behind the wait for it": (
        multiply("%r5") + commit(16),
        waited(16) + CHAINED + commit(8),
        DONE,
        (),
    ),
    "another warp reads a result as an operand behind the wait for it, without a fence": (
        multiply("%r5") + commit(16),
        waited(16).replace(AFTER, "") + CHAINED + commit(8),
        DONE,
        ("reading", PENDING),
    ),
    "another warp reads a result as an operand behind an arrival": (
        multiply("%r5") + RELEASE,
        waited(16) + CHAINED + commit(8),
        DONE,
        ("likely", PENDING),
    ),
    "another warp reads a result as an operand": (
        multiply("%r5") + commit(16),
        CHAINED + commit(8),
        DONE,
        ("error", PENDING),
    ),
    "scale factors, and the product that reads them": (SCALES + SCALE + commit(8), "", DONE, ()),
    "another warp copies scale factors, and arrives": (
        SCALES + RELEASE,
        waited(16) + SCALE + commit(8),
        DONE,
        (),
    ),
    "another warp copies scale factors, and arrives without a fence": (
        SCALES + RELEASE.replace(BEFORE, ""),
        waited(16) + SCALE + commit(8),
        DONE,
        ("reading", "tensor-unfenced"),
    ),
    "another warp copies scale factors, and no fence stands behind the wait": (
        SCALES + RELEASE,
        waited(16).replace(AFTER, "") + SCALE + commit(8),
        DONE,
        ("reading", "tensor-unfenced"),
    ),
    "another warp copies scale factors": (SCALES, SCALE + commit(8), DONE, ("error", PENDING)),
    "scale factors in the accumulator": (
        SCALES.replace("[%r5]", "[%r3+16]") + (SCALE + SCALE).replace("[%r5]", "[%r3+16]") + commit(8),
        "",
        DONE,
        ("likely", PENDING),
    ),
    "two warps multiply into one accumulator": (
        multiply() + commit(16),
        multiply() + commit(8),
        waited(16, "BOTH") + DONE,
        ("error", PENDING),
    ),
    "two warps multiply into one accumulator one behind the other": (
        multiply() + RELEASE + commit(24),
        waited(16) + multiply() + commit(8),
        waited(24, "BOTH") + DONE,
        (),
    ),
    "two warps multiply into two accumulators": (
        multiply() + commit(16),
        multiply("%r5") + commit(8),
        waited(16, "BOTH") + DONE,
        (),
    ),
    "what is copied is loaded behind the wait for it": (COPY + commit(8), "", waited(8) + load(64), ()),
    "what is copied is loaded behind a barrier": (
        COPY,
        "",
        f"{BEFORE}bar.sync 0;\n{AFTER}{load(64)}",
        ("error", PENDING),
    ),
    "what is copied is loaded, and the commit stands before the copy": (
        commit(8) + COPY,
        "",
        waited(8) + load(64),
        ("error", PENDING),
    ),
    "beside what is copied": (
        COPY,
        "",
        f"{BEFORE}bar.sync 0;\n{AFTER}{load(72)}",
        ("reading", "tensor-unwritten"),
    ),
    "what another warp copies is read by a product, whose commit covers both": (
        COPY + RELEASE,
        waited(16) + CHAINED + commit(8),
        waited(8) + load(64),
        (),
    ),
    "a commit of another warp covers no copy that its products do not read": (
        COPY + RELEASE,
        waited(16) + multiply() + commit(8),
        waited(8) + load(64),
        ("error", PENDING),
    ),
    "what is deallocated is loaded": (
        "",
        "",
        f"{BEFORE}bar.sync 0;\n{FREED}bar.sync 0;\n{load(0)}",
        ("error", "tensor-outside"),
    ),
    "what is deallocated is loaded in another warp, and nothing orders the two": (
        "",
        "",
        f"{BEFORE}bar.sync 0;\n{FREED}{load(0)}",
        ("error", "tensor-outside"),
    ),
    "what is deallocated and allocated again is loaded": (
        "",
        "",
        f"{BEFORE}bar.sync 0;\n{FREED}{AGAIN}{BEFORE}bar.sync 0;\n{AFTER}{load(0)}",
        (),
    ),
    "what is allocated again is deallocated before it is loaded": (
        "",
        "",
        f"{BEFORE}bar.sync 0;\n{FREED}{AGAIN}{FREED}bar.sync 0;\n{load(0)}",
        ("error", "tensor-outside"),
    ),
    "lanes that there are not": ("", "", load(128 << 16), ("likely", "tensor-lanes")),
    "what is shifted is loaded behind the wait for it": (SHIFT + commit(8), "", waited(8) + load(64), ()),
    "what is shifted is loaded behind a barrier": (
        SHIFT,
        "",
        f"{BEFORE}bar.sync 0;\n{AFTER}{load(64)}",
        ("error", PENDING),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_meets_in_tensor_memory(name: str) -> None:
    first, other, everyone, told = CASES[name]
    text = KERNEL.replace("FIRST\n", first).replace("OTHER\n", other).replace("ALL\n", everyone)
    found = {(one.tier, one.rule) for one in check_text(text, "k.ptx").findings}
    assert found - OTHERS == ({told} if told else set())


def test_a_finding_names_the_columns_of_each_access() -> None:
    everyone = CASES["what is deallocated is loaded"][2]
    text = KERNEL.replace("FIRST\n", "").replace("OTHER\n", "").replace("ALL\n", everyone)
    message = next(one.message for one in check_text(text, "k.ptx").findings if one.rule == "tensor-outside")
    assert "deallocates columns 0 to 127 of what is allocated" in message
    assert "loads columns 0 to 1 of what is allocated" in message
