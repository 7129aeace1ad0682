"""ptxmma check: legality, execution contract, wmma provenance, constant metadata and descriptors."""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text
from ptxmma.check.ptx.reader import read_module
from ptxmma.spec.specification import Specification

HEAD = ".version 8.5\n.target sm_90a\n.address_size 64\n.shared .align 1024 .b8 tile[32768];\n"
REGISTERS = (
    ".reg .b32 %r<100>;\n.reg .f32 %f<200>;\n.reg .b64 %rd<50>;\n.reg .pred %p<20>;\n.reg .f16x2 %h<50>;\n"
)


def kernel(body: str, head: str = ".maxntid 128, 1, 1", version: str = HEAD) -> str:
    return f"{version}.visible .entry k(.param .u64 out) {head}\n{{\n{REGISTERS}{body}\nret;\n}}\n"


def found(body: str, tiers: tuple[str, ...] = ("error", "likely"), **more: str) -> list[tuple[str, str]]:
    report = check_text(kernel(body, **more), "k.ptx")
    assert not report.faults
    return [(f.tier, f.rule) for f in report.findings if f.tier in tiers]


MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, {%r4,%r5}, {%f4,%f5,%f6,%f7};"
WGMMA_FENCE = "wgmma.fence.sync.aligned;"


def test_every_mnemonic_is_read_as_it_stands(specification: Specification) -> None:
    """One with a ratio behind a double colon too, as in .sp::2:4; a label before it is a label."""
    every = [variant.mnemonic for family in specification.families.values() for variant in family.listed()]
    assert any("::2:4" in mnemonic for mnemonic in every)
    body = "\n".join(f"L{number}:{mnemonic} %r0;" for number, mnemonic in enumerate(every))
    module = read_module(kernel(body), "k.ptx")
    assert not module.faults
    (function,) = module.functions
    assert [one.opcode for one in function.statements] == [*every, "ret"]
    assert len(function.scopes[0].labels) == len(every)


def test_a_legal_statement_is_found_legal() -> None:
    assert found(MMA) == []


def test_an_operand_of_the_wrong_length_is_illegal() -> None:
    assert found(MMA.replace("{%r4,%r5}", "{%r4}")) == [("error", "legality.operand.length")]


def test_declared_types_count() -> None:
    assert found(MMA.replace("%r4", "%f9")) == [("error", "legality.operand.type")]


def test_the_files_target_counts() -> None:
    text = kernel(WGMMA_FENCE).replace("sm_90a", "sm_80")
    assert [f.rule for f in check_text(text, "k").findings] == ["legality.gate.target"]
    assert not check_text(text, "k", "sm_90a").findings


def test_registers_of_a_scope_hide_those_outside() -> None:
    assert found("{ .reg .f32 %r4;\n" + MMA + "}") == [("error", "legality.operand.type")]


# Execution contract (9.7.14.4.5, 9.7.15.7)


def test_a_branch_on_the_lane_parts_a_warp() -> None:
    body = "mov.u32 %r9, %laneid;\nsetp.lt.u32 %p1, %r9, 16;\n@%p1 bra L;\n" + MMA + "\nL:"
    assert found(body) == [("error", "aligned-divergent")]


def test_behind_the_join_all_threads_are_together_again() -> None:
    body = "mov.u32 %r9, %laneid;\nsetp.lt.u32 %p1, %r9, 16;\n@%p1 bra L;\nadd.u32 %r8, %r8, 1;\nL:\n" + MMA
    assert found(body) == []


def test_a_guard_parts_a_warp() -> None:
    body = "mov.u32 %r9, %tid.x;\nsetp.eq.u32 %p1, %r9, 0;\n@%p1 " + MMA
    assert found(body) == [("error", "aligned-divergent")]


def test_the_shape_of_a_block_that_is_not_declared_is_an_assumption() -> None:
    body = "mov.u32 %r9, %tid.x;\nsetp.eq.u32 %p1, %r9, 0;\n@%p1 " + MMA
    assert found(body, head="") == [("likely", "aligned-divergent")]


def test_threads_that_have_exited() -> None:
    body = "mov.u32 %r9, %laneid;\nsetp.gt.u32 %p1, %r9, 20;\n@%p1 exit;\n" + MMA
    assert found(body) == [("error", "aligned-exited")]


def test_whole_warps_may_part() -> None:
    body = "mov.u32 %r9, %tid.x;\nsetp.lt.u32 %p1, %r9, 64;\n@%p1 bra L;\n" + MMA + "\nL:"
    assert found(body) == []


def test_a_warpgroup_may_not_be_split_across_a_wgmma() -> None:
    body = (
        "mov.u32 %r9, %tid.x;\nshr.u32 %r8, %r9, 5;\nsetp.eq.s32 %p1, %r8, 2;\n@%p1 bra L;\n"
        + WGMMA_FENCE
        + "\nL:"
    )
    assert found(body) == [("error", "aligned-divergent")]


def test_whole_warpgroups_may_part() -> None:
    body = "mov.u32 %r9, %tid.x;\nsetp.lt.u32 %p1, %r9, 128;\n@%p1 bra L;\n" + WGMMA_FENCE + "\nL:"
    assert found(body, head=".reqntid 256, 1, 1") == []


def test_the_elected_thread_alone() -> None:
    body = "elect.sync %r9|%p1, -1;\n@!%p1 bra L;\n" + MMA + "\nL:"
    assert found(body) == [("error", "aligned-divergent")]


def test_a_warps_number_from_its_first_lane_is_uniform_in_the_warp() -> None:
    body = (
        "mov.u32 %r9, %tid.x;\nshr.u32 %r8, %r9, 5;\nshfl.sync.idx.b32 %r7, %r8, 0, 31, -1;\n"
        "setp.eq.s32 %p1, %r7, 0;\n@%p1 bra L;\n" + MMA + "\nL:"
    )
    assert found(body) == []


def test_what_is_loaded_is_unknown_and_no_more() -> None:
    body = "ld.global.u32 %r9, [%rd1];\nsetp.eq.u32 %p1, %r9, 0;\n@%p1 bra L;\n" + MMA + "\nL:"
    assert found(body) == []
    assert found(body, tiers=("info",)) == [("info", "aligned-unknown")]


def test_parameters_are_the_same_in_all_threads() -> None:
    body = "ld.param.u32 %r9, [out];\nsetp.eq.u32 %p1, %r9, 0;\n@%p1 bra L;\n" + MMA + "\nL:"
    assert found(body, tiers=("error", "likely", "info")) == []


def test_a_loop_over_a_counter_that_all_threads_share() -> None:
    body = (
        "mov.u32 %r9, 0;\nld.param.u32 %r8, [out];\nL:\n" + MMA + "\nadd.u32 %r9, %r9, 1;\n"
        "setp.lt.u32 %p1, %r9, %r8;\n@%p1 bra L;"
    )
    assert found(body, tiers=("error", "likely", "info")) == []


# wmma provenance (9.7.14.4.5)

LOAD_A = "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%h0,%h1,%h2,%h3,%h4,%h5,%h6,%h7}, [tile], %r1;\n"
LOAD_B = "wmma.load.b.sync.aligned.col.m16n16k16.shared.f16 {%h8,%h9,%h10,%h11,%h12,%h13,%h14,%h15}, [tile], %r1;\n"
LOAD_C = "wmma.load.c.sync.aligned.row.m16n16k16.shared.f32 {%f0,%f1,%f2,%f3,%f4,%f5,%f6,%f7}, [tile], %r1;\n"
WMMA = (
    "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {%f8,%f9,%f10,%f11,%f12,%f13,%f14,%f15}, "
    "{%h0,%h1,%h2,%h3,%h4,%h5,%h6,%h7}, {%h8,%h9,%h10,%h11,%h12,%h13,%h14,%h15}, {%f0,%f1,%f2,%f3,%f4,%f5,%f6,%f7};\n"
)
STORE = "wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [tile+2048], {%f8,%f9,%f10,%f11,%f12,%f13,%f14,%f15}, %r1;"


def test_fragments_that_agree() -> None:
    assert found(LOAD_A + LOAD_B + LOAD_C + WMMA + STORE) == []


def test_a_fragment_of_another_layout() -> None:
    assert found(LOAD_A.replace("row", "col") + LOAD_B + LOAD_C + WMMA + STORE) == [
        ("error", "wmma-fragment")
    ]


def test_a_fragment_of_the_other_matrix() -> None:
    swapped = WMMA.replace("{%h0,", "{%h8,", 1).replace(
        "%h1,%h2,%h3,%h4,%h5,%h6,%h7", "%h9,%h10,%h11,%h12,%h13,%h14,%h15", 1
    )
    assert ("error", "wmma-fragment") in found(LOAD_A + LOAD_B + LOAD_C + swapped + STORE)


def test_a_fragment_of_another_shape_at_the_store() -> None:
    store = STORE.replace("m16n16k16", "m8n32k16")
    assert found(LOAD_A + LOAD_B + LOAD_C + WMMA + store) == [("error", "wmma-fragment")]


def test_the_path_that_disagrees_is_enough() -> None:
    other = "@%p1 bra L;\n" + LOAD_A.replace("row", "col") + "L:\n"
    assert found(LOAD_A + LOAD_B + LOAD_C + other + WMMA + STORE) == [("error", "wmma-fragment")]


def test_elementwise_work_on_an_accumulator_is_free() -> None:
    scale = "".join(f"mul.f32 %f{i}, %f{i}, 0f40000000;\n" for i in range(8, 16))
    assert found(LOAD_A + LOAD_B + LOAD_C + WMMA + scale + STORE) == []


# Metadata and descriptors

SPARSE = (
    "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, "
    "{%r4,%r5,%r6,%r7}, {%f4,%f5,%f6,%f7}, %r20, 0x0;"
)


def test_metadata_that_is_constant_and_valid() -> None:
    assert found("mov.b32 %r20, 0x44444444;\n" + SPARSE.replace("::ordered_metadata", "")) == []


def test_metadata_that_names_one_element_twice() -> None:
    assert found("mov.b32 %r20, 0x44444440;\n" + SPARSE) == [("error", "metadata-code")]


def test_metadata_in_descending_order() -> None:
    body = "mov.b32 %r20, 0x44444441;\n" + SPARSE
    assert found(body) == [("error", "metadata-code")]
    assert found(body.replace("::ordered_metadata", ""), tiers=("error", "likely", "strict")) == []


WGMMA = (
    "wgmma.fence.sync.aligned;\nwgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3}, %rd1, %rd2, 0, 1, 1, 0, 0;\n"
    "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;"
)


def descriptor(register: str, offset: int = 0, fields: int = 0x4000004000000000) -> str:
    n = register[-1]
    return (
        f"mov.u32 %r1{n}, tile;\nadd.u32 %r2{n}, %r1{n}, {offset};\nand.b32 %r3{n}, %r2{n}, 262128;\n"
        f"shr.u32 %r4{n}, %r3{n}, 4;\ncvt.u64.u32 %rd1{n}, %r4{n};\nor.b64 {register}, %rd1{n}, {fields};\n"
    )


def test_a_descriptor_that_is_right() -> None:
    assert found(descriptor("%rd1") + descriptor("%rd2", 8192) + WGMMA) == []


@pytest.mark.parametrize(
    ("fields", "faults"),
    [
        (0x4010004000000000, [("error", "descriptor-field")]),
        (0x400000400000C000, []),  # bits 14 and 15: the text names neither, and kernels that work set both
        (0x401000400000C000, [("error", "descriptor-field")]),
        (0x4000004040000000, [("error", "descriptor-field")]),  # bit 30
    ],
    ids=["bit 52", "bits 14 and 15", "these and bit 52", "bit 30"],
)
def test_a_reserved_bit_of_a_descriptor(fields: int, faults: list[tuple[str, str]]) -> None:
    """9.7.15.5.1.2.2 lists fields, and says nothing of the bits between them."""
    body = descriptor("%rd1") + descriptor("%rd2", 8192, fields) + WGMMA
    assert found(body) == faults


BLACKWELL = HEAD.replace("8.5", "8.7").replace("sm_90a", "sm_100a")


@pytest.mark.parametrize(
    ("word", "faults"),
    [
        (0x4000404000400000, []),
        (0x4000004000400000, []),  # bits 46 to 48, which are 1 in the text: released compilers leave them 0
        (0x4200404000400000, [("error", "descriptor-field")]),  # bit 57 is reserved
    ],
)
def test_a_descriptor_of_tcgen05(word: int, faults: list[tuple[str, str]]) -> None:
    """9.7.16.4.1, Table 40."""
    body = f"""mov.b64 %rd1, {word:#x};
      mov.b64 %rd2, 0x4000404000400000;
      mov.b32 %r1, 0x08200490;
      tcgen05.mma.cta_group::1.kind::f16 [%r2], %rd1, %rd2, %r1, %p1;"""
    assert found(body, version=BLACKWELL) == faults


def test_a_matrix_that_does_not_begin_at_a_multiple_of_16() -> None:
    body = descriptor("%rd1", 8) + WGMMA
    assert ("error", "descriptor-alignment") in found(body)


# Operands that all threads give alike, addresses of rows

TID = "mov.u32 %r9, %tid.x;\nshr.u32 %r8, %r9, {bits};\ncvt.u64.u32 %rd3, %r8;\nor.b64 %rd1, %rd3, 0x4000004000000000;\n"


def test_a_descriptor_of_the_warp() -> None:
    same = "mov.b64 %rd2, 0x4000004000000000;\n" + WGMMA
    assert found(TID.format(bits=5) + same) == [("error", "descriptor-divergent")]
    assert found(TID.format(bits=7) + same, head=".reqntid 256, 1, 1") == []


def test_a_stride_of_the_lane() -> None:
    lane = "mov.u32 %r1, %laneid;\n"
    assert ("error", "wmma-divergent") in found(lane + LOAD_A + LOAD_B + LOAD_C + WMMA + STORE)


def test_rows_are_aligned_and_in_shared_memory() -> None:
    row = (
        "mov.u64 %rd1, {where};\nldmatrix.sync.aligned.m8n8.x4{space}.b16 {{%r0,%r1,%r2,%r3}}, [%rd1+{at}];\n"
    )
    assert found(row.format(where="tile", space=".shared", at=16)) == []
    assert found(row.format(where="tile", space=".shared", at=8)) == [("error", "matrix-alignment")]
    elsewhere = HEAD + ".global .align 16 .b8 table[64];\n"
    body = row.format(where="table", space="", at=16)
    assert found(body, version=elsewhere) == [("error", "matrix-space")]


def test_every_lane_of_sm_75_gives_an_address() -> None:
    body = "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [tile];\n"
    assert found(body, tiers=("info",)) == []
    assert found(body, tiers=("info",), version=HEAD.replace("sm_90a", "sm_75")) == [("info", "matrix-lanes")]
