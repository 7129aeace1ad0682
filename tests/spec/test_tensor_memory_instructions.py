"""The tcgen05 instructions that are no product, typed from the text: 9.7.16.7 to 9.7.16.9, 9.7.16.11 and
9.7.16.12; what came with PTX ISA 9.4 from what ptxas 13.4.92 takes.
"""

from __future__ import annotations

import re

import pytest

from ptxmma.spec.api import judge, legal
from ptxmma.spec.specification import Specification
from ptxmma.spec.statements import read_statement

WATCHES = ("spec/instructions/tcgen05.*.yaml", "specs.yaml")

# The operands of each form in the order of the text's syntax: in brackets an address, in braces a vector.
FORMS = {
    "tcgen05.alloc": "[dst] nCols; [dst] nCols-exclusive",
    "tcgen05.dealloc": "taddr nCols; taddr nCols-exclusive",
    "tcgen05.relinquish_alloc_permit": "",
    "tcgen05.fence::before_thread_sync": "",
    "tcgen05.fence::after_thread_sync": "",
    "tcgen05.wait::ld": "",
    "tcgen05.wait::st": "",
    "tcgen05.commit": "[mbar]; [mbar] ctaMask; [mbar] ctaMask-wide",
    "tcgen05.shift": "[taddr]",
    "tcgen05.cp": "[taddr] s-desc",
    "tcgen05.ld": "{r} [taddr]; {r} [taddr] immHalfSplitoff",
    "tcgen05.ld.red": "{r} redVal [taddr]; {r} redVal [taddr] immHalfSplitoff",
    "tcgen05.ld.spcompress": "{mdata} {cdata} [taddr]",
    "tcgen05.ld.red.spcompress": "{mdata} {cdata} redVal [taddr]",
    "tcgen05.st": "[taddr] {r}; [taddr] immHalfSplitoff {r}",
}
INTEGER = "b32 u32 s32"
ANY = f"{INTEGER} f32 f16x2"
# Types, what may stand there, and what is written; of the address of tcgen05.dealloc no brackets stand.
OPERANDS = {
    "dst": (f"{INTEGER} b64 u64 s64", "address", "source"),
    "mbar": (f"{INTEGER} b64 u64 s64", "address", "source"),
    "nCols": (INTEGER, "register immediate", "source"),
    "nCols-exclusive": (INTEGER, "register immediate", "source"),
    "ctaMask": ("b16 u16 s16", "register immediate", "source"),
    "ctaMask-wide": (INTEGER, "register immediate", "source"),
    "taddr": (INTEGER, "address", "source"),
    "s-desc": ("b64 u64 s64", "register immediate", "source"),
    "immHalfSplitoff": ("", "immediate", "source"),
    "redVal": (ANY, "register vector", "destination"),
    **dict.fromkeys(("r", "mdata", "cdata"), (ANY, "vector", "destination")),
}
OTHERS = {
    ("tcgen05.dealloc", "taddr"): (INTEGER, "register immediate", "source"),
    ("tcgen05.st", "r"): (ANY, "vector", "source"),
}
PARTS = {
    "dst": "address",
    "mbar": "address",
    "taddr": "address",
    "r": "data",
    "cdata": "data",
    "mdata": "indices",
    "s-desc": "data",
    "immHalfSplitoff": "split",
}


def test_every_instruction_is_here(specification: Specification) -> None:
    names = {name for name in specification.instructions if name.startswith("tcgen05.")}
    assert {name for name in names if not name.startswith("tcgen05.mma")} == set(FORMS)
    assert {name for name, one in specification.instructions.items() if one.apart} == names


@pytest.mark.parametrize("name", FORMS)
def test_operands(specification: Specification, name: str) -> None:
    instruction = specification.instructions[name]
    forms = []
    for form in instruction.forms.values():
        shown = []
        for operand in form.operands:
            one = instruction.operands[operand]
            brackets = {"address": "[{}]", "vector": "{{{}}}"}.get(one.accepts[0], "{}")
            shown.append(brackets.format(operand))
        forms.append(" ".join(shown))
    assert "; ".join(forms) == FORMS[name]
    for operand, one in instruction.operands.items():
        types, accepted, role = OTHERS.get((name, operand)) or OPERANDS[operand]
        assert set(one.types or ()) == set(types.split()), operand
        assert (" ".join(one.accepts), one.role) == (accepted, role), operand
        in_tensor_memory = operand == "taddr" and name != "tcgen05.dealloc"
        assert one.space == ("tensor" if in_tensor_memory else None), operand
        part = None if name == "tcgen05.dealloc" else PARTS.get(operand)
        assert one.part == part, operand
        assert (one.holds, one.contains, one.elements, one.matrix) == (None, None, None, None)


def test_a_mask_of_ctas_has_16_or_32_bits(specification: Specification) -> None:
    """9.7.16.12.1: ctaMask is a 16-bit operand; .multicast::cluster::32b has one of 32 bits."""
    bits = {"ctaMask": 16, "ctaMask-wide": 32}
    variant = next(specification.families["tcgen05.commit"].variants())
    ruled = {name: one.valid for name, one in variant.instruction.operands.items() if one.valid is not None}
    assert set(ruled) == set(bits)
    for name, rule in ruled.items():
        values = (-1, 0, 1, (1 << bits[name]) - 1, 1 << bits[name])
        assert [variant.allows(rule, value) for value in values] == [False, True, True, True, False]


# 9.7.16.2.3.1, 9.7.16.8, 9.7.16.9: a load, a store and a reduction move a shape; a copy fills one, and may unpack.
LAID_OUT = {
    "tcgen05.ld": {"data": "tcgen05.ld.{shape}{pack}"},
    "tcgen05.st": {"data": "tcgen05.ld.{shape}{unpack}"},
    "tcgen05.ld.red": {"data": "tcgen05.ld.{shape}"},
    "tcgen05.cp": {"taddr": "tcgen05.cp.{shape}{multicast}", "s-desc": "{src_fmt}"},
    "tcgen05.shift": {"taddr": "tcgen05.shift"},
}


@pytest.mark.parametrize("name", FORMS)
def test_every_row_has_the_layouts_of_its_instruction(specification: Specification, name: str) -> None:
    for row in specification.instructions[name].rows:
        assert row.layouts == LAID_OUT.get(name, {})


CONDITIONS = {
    "tcgen05.commit": {"commit.sync-restrict"},
    "tcgen05.mma": {"collector-b"},
    "tcgen05.mma.sp": {"collector-b"},
    "tcgen05.mma.block_scale": {"collector-b", "scale-vec", "block-size"},
    "tcgen05.mma.sp.block_scale": {"collector-b", "scale-vec", "block-size"},
}


def test_the_names_of_conditions(specification: Specification) -> None:
    """Messages name them, so they never change."""
    found = {name: {gate.id for gate in one.gates} for name, one in specification.instructions.items()}
    assert {name: ids for name, ids in found.items() if ids and name.startswith("tcgen05.")} == CONDITIONS


PRODUCTS = ("", ".block_scale", ".sp", ".sp.block_scale", ".ws", ".ws.sp")


@pytest.mark.parametrize("name", [*FORMS, *(f"tcgen05.mma{kind}" for kind in PRODUCTS)])
def test_a_kernel_has_one_cta_group(specification: Specification, name: str) -> None:
    """9.7.16.7.1, 9.7.16.9.2, 9.7.16.9.3, 9.7.16.10.9, 9.7.16.12.1: of every instruction that has the qualifier."""
    group = any("cta_group::1" in variant.mnemonic for variant in specification.families[name].variants())
    assert specification.instructions[name].uniform == (("cta_group",) if group else ())


# Table 49 and 50: how many registers .x1 has; .x128 and .x64 are left out where they would be more than 128.
SHAPES = {"16x64b": 1, "16x128b": 2, "16x256b": 4, "32x32b": 1, "16x32bx2": 1}


@pytest.mark.parametrize("name", ["tcgen05.ld", "tcgen05.st", "tcgen05.ld.red"])
def test_registers_of_loads_and_stores(specification: Specification, name: str) -> None:
    lengths = {}
    for variant in specification.families[name].variants():
        shape, times = re.findall(r"\.(\d+x\d+bx?2?)\.x(\d+)\.", variant.mnemonic)[0]
        registers = variant.instruction.operands["r"].registers
        assert registers is not None
        lengths[shape, int(times)] = variant.evaluate(registers)
        (form,) = variant.forms
        assert ("immHalfSplitoff" in form.operands) == (shape == "16x32bx2")
    wanted = {(shape, 1 << n): one << n for shape, one in SHAPES.items() for n in range(8) if one << n <= 128}
    if name == "tcgen05.ld.red":
        wanted = {at: n for at, n in wanted.items() if at[0] in ("32x32b", "16x32bx2") and at[1] > 1}
    assert lengths == wanted


@pytest.mark.parametrize("name", ["tcgen05.ld.spcompress", "tcgen05.ld.red.spcompress"])
def test_registers_of_compressed_loads(specification: Specification, name: str) -> None:
    """Table 60 of PTX ISA 9.4: half of .num for the elements, a 32nd of it, rounded up, for their places."""
    lengths = {}
    for variant in specification.families[name].variants():
        (times,) = re.findall(r"\.32x32b\.x(\d+)\.(?:min|max)\.sp::2:4\.", variant.mnemonic)
        lengths[int(times)] = [
            variant.evaluate(registers)
            for operand in ("mdata", "cdata")
            if (registers := variant.instruction.operands[operand].registers) is not None
        ]
    assert lengths == {4: [1, 2], 8: [1, 4], 16: [1, 8], 32: [1, 16], 64: [2, 32], 128: [4, 64]}


GROUP = "sm_100f sm_100a sm_101f sm_101a sm_103f sm_103a sm_107f sm_107a sm_110f sm_110a"
SM_107 = "sm_107f sm_107a"
EXACT = "sm_100a sm_101a sm_103a sm_107a sm_110a"
B, ONE = "tcgen05.", "cta_group::1"
BEGINS = {
    "fence::after_thread_sync": ("8.6", GROUP),
    "wait::st.sync.aligned": ("8.6", GROUP),
    f"alloc.{ONE}.sync.aligned.b32": ("8.6", GROUP),
    f"alloc.exclusive.{ONE}.sync.aligned.shared::cta.b32": ("9.4", GROUP),
    f"dealloc.exclusive.{ONE}.sync.aligned.b32": ("9.4", GROUP),
    f"shift.{ONE}.down": ("8.6", EXACT),
    f"cp.{ONE}.64x128b.warpx2::02_13.b8x16.b6x16_p32": ("8.6", GROUP),
    "ld.sync.aligned.16x256b.x32.pack::16b.b32": ("8.6", GROUP),
    "st.sync.aligned.16x128b.x64.unpack::16b.b32": ("8.6", GROUP),
    "ld.red.sync.aligned.16x32bx2.x128.max.abs.NaN.f32": (
        "8.8",
        "sm_101f sm_101a sm_103f sm_103a sm_107f sm_107a sm_110f sm_110a",
    ),
    "ld.spcompress.sync.aligned.32x32b.x4.min.sp::2:4.f32.b2": ("9.4", "sm_107a"),
    "ld.red.spcompress.sync.aligned.32x32b.x128.max.sp::2:4.abs.NaN.f32.b2": ("9.4", "sm_107a"),
    f"commit.{ONE}.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64": ("8.6", GROUP),
    f"commit.{ONE}.mbarrier::arrive::one.multicast::cluster::16b.b64": ("9.4", GROUP),
    f"commit.{ONE}.mbarrier::arrive::one.multicast::cluster::32b.b64": ("9.4", SM_107),
    f"commit.{ONE}.mbarrier::arrive::one.sync_restrict::shared::read::mma::a.b64": ("9.4", SM_107),
}


@pytest.mark.parametrize("mnemonic", BEGINS)
def test_gates(specification: Specification, mnemonic: str) -> None:
    since, targets = BEGINS[mnemonic]
    variant = specification.judge().variant_of(B + mnemonic)
    assert variant is not None
    gate = variant.gate
    assert (str(gate.since), gate.deprecated, gate.removed) == (since, None, None)
    assert {name for name, _ in gate.targets} == set(targets.split())
    for target, begins in gate.targets:
        born = (
            "8.6"
            if target in ("sm_100a", "sm_101a")
            else "9.4"
            if "107" in target
            else "9.0"
            if "110" in target
            else "8.8"
        )
        assert str(begins) == max(since, born)


ILLEGAL = {
    "alloc.cta_group::1.sync.aligned.b32 [%bd0], 96;": "operand.range",
    "alloc.cta_group::1.sync.aligned.b32 [%bd0], 1024;": "operand.range",
    "dealloc.cta_group::2.sync.aligned.b32 [%b0], 32;": "operand.kind",
    "alloc.sync.aligned.b32 [%bd0], 32;": "qualifier.missing",
    "wait::ld.sync;": "qualifier.missing",
    "fence::before_thread_sync.sync;": "qualifier.unknown",
    "ld.sync.aligned.16x256b.x64.b32 {%b0}, [%b1];": "qualifier",
    "ld.sync.aligned.16x128b.x2.b32 {%b0, %b1}, [%b4];": "operand.length",
    "ld.sync.aligned.32x32b.x2.b32 {%b0, _}, [%b4];": "operand.sink",
    "ld.sync.aligned.32x32b.x1.b32 {%b0}, [%b4], 0;": "operand.count",
    "ld.sync.aligned.16x32bx2.x1.b32 {%b0}, [%b4];": "operand.count",
    "ld.sync.aligned.32x32b.x1.b32 %b0, [%b4];": "operand.kind",
    "st.sync.aligned.32x32b.x2.b32 [%b0], {%b0, 1.0};": "operand.literal",
    "st.sync.aligned.32x32b.x1.b32 [%b0], {0};": "operand.vector",
    "ld.red.sync.aligned.32x32b.x1.min.u32 {%b0}, %b1, [%b2];": "qualifier",
    "ld.spcompress.sync.aligned.32x32b.x2.min.sp::2:4.f32.b2 {%b0}, {%b1}, [%b2];": "qualifier",
    "ld.spcompress.sync.aligned.32x32b.x4.min.sp::2:4.NaN.f32.b2 {%b0}, {%b1, %b2}, [%b3];": "qualifier",
    "ld.spcompress.sync.aligned.32x32b.x4.min.sp::2:4.b2.f32 {%b0}, {%b1, %b2}, [%b3];": "qualifier",
    "ld.spcompress.sync.aligned.32x32b.x4.min.sp::2:4.f32.b2 {%b0}, {%b1, _}, [%b3];": "operand.sink",
    "ld.spcompress.sync.aligned.32x32b.x4.min.sp::2:4.f32.b2 %b0, {%b1, %b2}, [%b3];": "operand.kind",
    "ld.spcompress.sync.aligned.32x32b.x64.min.sp::2:4.f32.b2 {%b0}, {%b1}, [%b3];": "operand.length",
    "cp.cta_group::1.64x128b [%b0], %bd0;": "qualifier",
    "cp.cta_group::1.128x256b.warpx4 [%b0], %bd0;": "qualifier",
    "cp.cta_group::1.128x256b.b6x16_p32 [%b0], %bd0;": "qualifier",
    "shift.cta_group::1 [%b0];": "qualifier.missing",
    "commit.cta_group::1.mbarrier::arrive::one.b64 [%bd0], %bh0;": "operand.count",
    "commit.cta_group::1.mbarrier::arrive::one.multicast::cluster.b64 [%bd0];": "operand.count",
    "commit.cta_group::1.mbarrier::arrive::one.multicast::cluster.b64 [%bd0], 65536;": "operand.range",
    "alloc.exclusive.cta_group::1.sync.aligned.b32 [%bd0], 608;": "operand.range",
}


@pytest.mark.parametrize("statement", ILLEGAL)
def test_what_is_illegal(statement: str) -> None:
    target = "sm_107a" if ".spcompress." in statement else "sm_110a"
    verdict = legal(B + statement, ptx="9.5", target=target)
    assert verdict.verdict == "illegal"
    assert any(reason.code.startswith(ILLEGAL[statement]) for reason in verdict.reasons), verdict
    assert judge("9.5", target).suggest(read_statement(B + statement))


LEGAL = (
    "alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r0], %r1;",
    "dealloc.cta_group::1.sync.aligned.b32 0, 512;",
    "relinquish_alloc_permit.sync.aligned.cta_group::2;",
    "ld.b32.32x32b.x1.sync.aligned {%f0}, [%r0+16];",
    "ld.red.sync.aligned.16x32bx2.x2.u32.max {%r0, %r1}, {%r2}, [%r3], -1;",
    "st.sync.aligned.16x32bx2.x2.b32 [%r0], 16, {0, %r1};",
    "cp.cta_group::2.warpx4.32x128b [%r0], 5;",
    "shift.down.cta_group::1 [taddr0];",
    "commit.cta_group::1.mbarrier::arrive::one.multicast::cluster.b64 [%rd0], 65535;",
)


@pytest.mark.parametrize("statement", LEGAL)
def test_what_is_legal(statement: str) -> None:
    assert legal(B + statement, ptx="9.4", target="sm_110a").verdict == "legal"


def test_compressed_loads() -> None:
    """The example of 9.7.18.8.3 of PTX ISA 9.4, on the one target that has it."""
    kept = ", ".join(f"%r{i}" for i in range(1, 17))
    text = f"tcgen05.ld.red.spcompress.sync.aligned.32x32b.x32.max.sp::2:4.abs.f32.b2 {{%r0}}, {{{kept}}}, %r17, [%r18];"
    assert legal(text, ptx="9.4", target="sm_107a").verdict == "legal"
    for ptx, target, code in (("9.4", "sm_107f", "gate.target"), ("9.4", "sm_110a", "gate.target")):
        assert code in {reason.code for reason in legal(text, ptx=ptx, target=target).reasons}


def test_columns_of_an_exclusive_allocation() -> None:
    """A multiple of 32, up to the 576 of sm_107: ptxas takes as many everywhere."""
    for opcode, address in (("alloc", "[%rd0]"), ("dealloc", "%r0")):
        for columns, right in ((32, True), (544, True), (576, True), (560, False), (608, False), (0, False)):
            text = f"tcgen05.{opcode}.exclusive.cta_group::1.sync.aligned.b32 {address}, {columns};"
            assert bool(legal(text, ptx="9.4", target="sm_107f")) == right
