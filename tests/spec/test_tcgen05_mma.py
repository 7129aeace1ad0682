"""tcgen05.mma and its siblings against values typed from the text and counted by asking every ptxas.

The counts are those of statements that ptxas 12.8.93 to 13.5.37 accepted of the product of all qualifiers, each
with one list of operands; no row of the specification was used to make them.
"""

from __future__ import annotations

import pytest

import ptxmma
from ptxmma.spec.api import judge, load
from ptxmma.spec.described_operands import descriptor_of, settings_of
from ptxmma.spec.nodes import Version
from ptxmma.spec.parts import computes

WATCHES = ("specs.yaml", "spec/instructions/tcgen05.mma*.yaml", "spec/descriptors.yaml")

NAMES = (
    "tcgen05.mma",
    "tcgen05.mma.block_scale",
    "tcgen05.mma.sp",
    "tcgen05.mma.sp.block_scale",
    "tcgen05.mma.ws",
    "tcgen05.mma.ws.sp",
)

# By PTX ISA version and target: the mnemonics of the four instructions.
ACCEPTED = {
    ("8.5", "sm_100a"): 0,
    ("8.6", "sm_100a"): 344,
    ("8.6", "sm_101a"): 344,
    ("8.7", "sm_100a"): 384,
    ("8.8", "sm_100a"): 464,
    ("8.8", "sm_100f"): 278,
    ("8.8", "sm_101f"): 278,
    ("8.8", "sm_103a"): 398,
    ("8.8", "sm_103f"): 278,
    ("9.0", "sm_110a"): 464,
    ("9.0", "sm_110f"): 278,
    ("9.3", "sm_103a"): 398,
    ("9.4", "sm_100a"): 464,
    ("9.4", "sm_107a"): 1926,
    ("9.4", "sm_107f"): 1326,
    ("9.5", "sm_110a"): 464,
    ("9.5", "sm_100"): 0,
    ("9.5", "sm_107"): 0,
    ("9.5", "sm_120a"): 0,
    ("9.5", "sm_90a"): 0,
}

PLAIN = "[%t0], %d0, %d1, %i0, %p0"
SCALED = "[%t0], %d0, %d1, %i0, [%t1], [%t2], %p0"
FOUR = "{%r0, %r1, %r2, %r3}"
EIGHT = "{%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}"

# 9.7.16.10.9.1 to 9.7.16.10.9.4: syntax, descriptions, target notes.
LEGAL = [
    f"tcgen05.mma.cta_group::1.kind::tf32 [%t0], %d0, %d1, %i0, {FOUR}, %p0;",
    f"tcgen05.mma.cta_group::2.kind::f16 [%t0], %d0, %d1, %i0, {EIGHT}, !%p0, 15;",
    "tcgen05.mma.cta_group::2.kind::f16 [%t0], [%t1], %d1, %i0, %p0, 0;",
    "tcgen05.mma.cta_group::1.kind::f8f6f4.ashift [%t0], [%t1], %d1, %i0, 1;",
    "tcgen05.mma.cta_group::1.kind::i8.ashift.collector::a::lastuse [%t0], [%t1], %d1, %i0, %p0;",
    f"tcgen05.mma.cta_group::1.kind::mxf4.block_scale.collector::a::fill {SCALED};",
    f"tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.scale_vec::1X {SCALED};",
    f"tcgen05.mma.cta_group::2.kind::mxf4nvf4.block_scale.block16 {SCALED};",
    "tcgen05.mma.sp.cta_group::1.kind::f16 [%t0], %d0, %d1, [%t1], %i0, %p0;",
    "tcgen05.mma.sp.cta_group::1.kind::mxf8f6f4.block_scale.collector::a::fill [%t0], [%t1], %d1, [%t2], %i0, [%t3], [%t4], %p0;",
    "tcgen05.mma.ws.cta_group::1.kind::i8.collector::b2::use [%t0], [%t1], %d1, %i0, %p0;",
    "tcgen05.mma.ws.cta_group::1.kind::f16 [%t0], %d0, %d1, %i0, %p0, %d2;",
    "tcgen05.mma.ws.sp.cta_group::1.kind::tf32.collector::b1::fill [%t0], [%t1], %d1, [%t2], %i0, %p0;",
    "tcgen05.mma.kind::f16.cta_group::1 [%t0], %d0, %d1, %i0, %p0;",
]

# Each with the code of a reason.
ILLEGAL = {
    f"tcgen05.mma.cta_group::2.kind::f16 [%t0], %d0, %d1, %i0, {FOUR}, %p0;": "operand.length",
    f"tcgen05.mma.cta_group::1.kind::f16 [%t0], %d0, %d1, %i0, {EIGHT}, %p0;": "operand.length",
    "tcgen05.mma.cta_group::1.kind::f16 [%t0], %d0, %d1, %i0, %p0, 16;": "operand.range",
    "tcgen05.mma.cta_group::1.kind::f8f6f4 [%t0], %d0, %d1, %i0, %p0, 1;": "operand.count",
    "tcgen05.mma.cta_group::1.kind::f16.ashift [%t0], %d0, %d1, %i0, %p0;": "operand.kind",
    "tcgen05.mma.cta_group::1.kind::f16.ashift.collector::a::use [%t0], [%t1], %d1, %i0, %p0;": "qualifier.unexpected",
    f"tcgen05.mma.cta_group::1.kind::mxf8f6f4 {SCALED};": "qualifier.missing",
    f"tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale {SCALED};": "qualifier.missing",
    f"tcgen05.mma.cta_group::1.kind::mxf4.block_scale.block16 {SCALED};": "qualifier.unexpected",
    f"tcgen05.mma.cta_group::1.kind::f16.collector::b::fill {PLAIN};": "gate.target",
    f"tcgen05.mma.cta_group::1.kind::ti16 {PLAIN};": "gate.target",
    f"tcgen05.mma.ws.cta_group::2.kind::f16 {PLAIN};": "qualifier.unknown",
    f"tcgen05.mma.ws.cta_group::1.kind::f16.collector::a::fill {PLAIN};": "qualifier.unknown",
    f"tcgen05.mma.sp.cta_group::1.kind::f16 {PLAIN};": "operand.count",
    f"tcgen05.mma.sync.cta_group::1.kind::f16 {PLAIN};": "qualifier.unknown",
}


@pytest.mark.parametrize(("ptx", "target"), ACCEPTED)
def test_there_are_as_many_mnemonics_as_ptxas_accepts(ptx: str, target: str) -> None:
    variants = [variant for name in NAMES for variant in load().families[name].listed()]
    version = Version(*map(int, ptx.split(".")))
    assert sum(variant.gate.opens(version, target) for variant in variants) == ACCEPTED[ptx, target]


# 9.7.16.10.9.1 to 9.7.16.10.9.4, syntax: every operand in its place, what it is, and what may stand there.
OPERANDS = {
    "d-tmem": ("D", "both", "tensor", "address", "b32"),
    "a-desc": ("A", "source", None, "register immediate", "b64 u64 s64"),
    "a-tmem": ("A", "source", "tensor", "address", "b32"),
    "b-desc": ("B", "source", None, "register immediate", "b64 u64 s64"),
    "lut-tmem": ("lookup", "source", "tensor", "address", "b32"),
    "sp-meta-tmem": ("metadata", "source", "tensor", "address", "b32"),
    "idesc": ("instruction", "source", None, "register immediate", "b32 u32 s32"),
    "scale-A-tmem": ("scale-a", "source", "tensor", "address", "b32"),
    "scale-B-tmem": ("scale-b", "source", "tensor", "address", "b32"),
    "disable-output-lane": ("lanes", "source", None, "vector", "b32 u32 s32 f32 f16x2"),
    "enable-input-d": ("scale-d", "source", None, "register negated immediate", "pred"),
    "scale-input-d": ("exponent-d", "source", None, "immediate", ""),
    "zero-column-mask-desc": ("zero-columns", "source", None, "register immediate", "b64 u64 s64"),
}


@pytest.mark.parametrize("name", NAMES)
def test_operands_stand_in_the_order_of_the_syntax(name: str) -> None:
    instruction = load().families[name].instruction
    order = list(OPERANDS)
    for form in instruction.forms.values():
        assert list(form.operands) == sorted(form.operands, key=order.index)
    for operand, one in instruction.operands.items():
        said = one.part, one.role, one.space, " ".join(one.accepts), " ".join(one.types or ())
        assert said[:4] == OPERANDS[operand][:4]
        assert set(said[4].split()) == set(OPERANDS[operand][4].split()), operand


# 9.7.16.4.1: shared memory descriptor; 9.7.16.4.3: zero-column mask descriptor.
DESCRIPTORS = {
    "a-desc": "tcgen05.shared",
    "b-desc": "tcgen05.shared",
    "zero-column-mask-desc": "tcgen05.zero-columns",
}


@pytest.mark.parametrize("name", NAMES)
def test_which_descriptor_an_operand_is(name: str) -> None:
    operands = load().families[name].instruction.operands
    assert {n: one.descriptor for n, one in operands.items() if one.descriptor} == {
        n: descriptor for n, descriptor in DESCRIPTORS.items() if n in operands
    }


@pytest.mark.parametrize("statement", LEGAL)
def test_what_the_text_has_is_legal(statement: str) -> None:
    assert judge("8.8", "sm_100a").judge(statement)


@pytest.mark.parametrize("statement", ILLEGAL)
def test_what_the_text_rules_out_is_illegal(statement: str) -> None:
    verdict = judge("8.8", "sm_100a").judge(statement)
    assert ILLEGAL[statement] in {reason.code for reason in verdict.reasons}


@pytest.mark.parametrize(("target", "legal"), [("sm_100f", True), ("sm_103a", True), ("sm_110a", False)])
def test_scale_input_d_belongs_to_the_family_of_sm_100(target: str, legal: bool) -> None:
    verdict = judge("9.0", target).judge(f"tcgen05.mma.cta_group::1.kind::f16 {PLAIN}, 3;")
    assert bool(verdict) == legal


@pytest.mark.parametrize("ptx", ["9.3", "9.4"])
def test_what_sm_107_brings_begins_with_9_4(ptx: str) -> None:
    statements = [
        f"tcgen05.mma.cta_group::1.kind::ti16.collector::b::fill {PLAIN};",
        "tcgen05.mma.cta_group::1.kind::f8f6f4.decompress::lut::b [%t0], %d0, %d1, [%t1], %i0, %p0;",
        f"tcgen05.mma.ws.cta_group::1.kind::ti16 {PLAIN};",
    ]
    assert all(bool(judge(ptx, "sm_107f").judge(text)) == (ptx == "9.4") for text in statements)


def test_the_instruction_descriptor_says_what_is_multiplied() -> None:
    """The mnemonic says neither shape nor types, so nothing that needs them takes it for a product."""
    assert not any(computes(load().families[name].instruction) for name in NAMES)
    # 9.7.16.4.2: D of f32 in bits 4 and 5, N >> 3 from bit 17, M >> 4 from bit 24.
    word = 1 << 4 | (128 >> 3) << 17 | (128 >> 4) << 24
    statement = f"tcgen05.mma.cta_group::1.kind::f16 {PLAIN};"
    assert ptxmma.legal(statement, "8.8", "sm_100a", idesc=word)
    small = word - (64 >> 4 << 24)  # an M of 64 needs one CTA
    assert ptxmma.legal(statement, "8.8", "sm_100a", idesc=small)
    assert not ptxmma.legal(statement.replace("::1", "::2"), "8.8", "sm_100a", idesc=small)
    sparse = statement.replace(".mma", ".mma.sp").replace("%i0", "[%t1], %i0")
    assert not ptxmma.legal(sparse, "8.8", "sm_100a", idesc=word)
    assert ptxmma.legal(sparse, "8.8", "sm_100a", idesc=word | 4)


@pytest.mark.parametrize("name", NAMES)
def test_what_the_instruction_descriptor_is(name: str) -> None:
    """9.7.16.4.2: one descriptor a kind; what else it depends on stands in the mnemonic."""
    specification = load()
    asked = 0
    for variant in specification.families[name].variants():
        text = variant.mnemonic
        kind = text.split("kind::")[1].split(".")[0]
        (operand,) = [
            one for one in variant.row.family.instruction.operands.values() if one.part == "instruction"
        ]
        descriptor = descriptor_of(operand, variant)
        assert descriptor == f"tcgen05.{kind}", text
        said = {
            "cta_group": 2 if "cta_group::2" in text else 1,
            "ws": int(".ws" in text),
            "sp": int(".sp" in text),
            "ashift": int(".ashift" in text),
            "lookup": int("lut::b" in text),
            "block": 16 if "block16" in text or "scale_vec::4X" in text else 32,
        }
        settings = settings_of(operand, variant, specification.descriptors[descriptor])
        known = SETTINGS[kind]
        assert settings == {setting: said[setting] for setting in known}, text
        asked += 1
    assert asked > 10


# What a kind's descriptor depends on beside its fields, tables 42 to 44 and the shapes of 9.7.16.2.1.
PLAIN_SETTINGS = ("cta_group", "ws", "sp", "ashift")
SETTINGS = {
    "f16": PLAIN_SETTINGS,
    "tf32": PLAIN_SETTINGS,
    "f8f6f4": (*PLAIN_SETTINGS, "lookup"),
    "i8": PLAIN_SETTINGS,
    "ti16": PLAIN_SETTINGS,
    "mxf8f6f4": ("cta_group", "sp", "lookup"),
    "mxf4": ("cta_group", "sp", "block"),
    "mxf4nvf4": ("cta_group", "sp", "block"),
}


def test_words_of_a_k_of_96() -> None:
    """On sm_103a alone; N is a multiple of 16 then (9.7.16.4.2, Table 44)."""
    statement, word = f"tcgen05.mma.cta_group::1.kind::mxf4.block_scale {SCALED};", 0x88900480
    assert ptxmma.legal(statement, "8.8", "sm_103a", idesc=word)
    assert not ptxmma.legal(statement, "8.8", "sm_100a", idesc=word)
    assert not ptxmma.legal(statement, "8.8", "sm_103a", idesc=word ^ 9 << 17)  # an N of 8


def test_each_word_stands_apart_and_d_is_read_and_written() -> None:
    """Words of tcgen05 are on no other instruction: 9.7.16. D = A*B + D."""
    instructions = load().instructions
    assert {name for name in instructions if name.startswith("tcgen05.mma")} == set(NAMES)
    apart = {name for name, instruction in instructions.items() if instruction.apart}
    assert apart == {name for name in instructions if name.startswith("tcgen05.")}
    assert {instructions[name].operands["d-tmem"].role for name in NAMES} == {"both"}
