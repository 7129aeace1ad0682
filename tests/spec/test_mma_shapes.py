"""Every shape of mma.sync against formulas, gates and vector lengths typed here from the PTX ISA text."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

import ptxmma
from ptxmma.gen.pictures.tables import table_of
from ptxmma.spec.specification import Specification

WATCHES = (
    "specs.yaml",
    "spec/instructions/mma*.yaml",
    "spec/layouts/*.yaml",
    "spec/sparsity.yaml",
    "spec/addresses.yaml",
    "spec/descriptors.yaml",
)

Run = Callable[..., tuple[int, str, str]]
Place = tuple[int, ...]
Formula = Callable[[int, int, int, int], Place]


def mma(rest: str) -> str:
    return f"mma.sync.aligned.{rest}"


# In the formulas, g is groupID = %laneid >> 2, q is threadID_in_group = %laneid % 4, and lane is %laneid.
def quad_pair(lane: int) -> int:
    """9.7.14.5.1: MMA computation 1 is by threads 0-3 and 16-19, 2 by 4-7 and 20-23, and so on."""
    lists = ((0, 16), (4, 20), (8, 24), (12, 28))
    return next(p for p, (low, high) in enumerate(lists) if lane - low in range(4) or lane - high in range(4))


def a_quad_row(lane: int, g: int, q: int, i: int) -> Place:
    return (lane % 4 if lane < 16 else lane % 4 + 4), i, quad_pair(lane)


def a_quad_col(lane: int, g: int, q: int, i: int) -> Place:
    return (i % 4 if lane < 16 else i % 4 + 4), lane % 4, quad_pair(lane)


def b_quad_row(lane: int, g: int, q: int, i: int) -> Place:
    return lane % 4, (i if lane < 16 else i + 4), quad_pair(lane)


def b_quad_col(lane: int, g: int, q: int, i: int) -> Place:
    return i, (lane % 4 if lane < 16 else lane % 4 + 4), quad_pair(lane)


def c_quad_f16(lane: int, g: int, q: int, i: int) -> Place:
    return (lane % 4 if lane < 16 else lane % 4 + 4), i, quad_pair(lane)


def c_quad_f32(lane: int, g: int, q: int, i: int) -> Place:
    x = (lane & 0b1) + (i & 0b10)
    return (x if lane < 16 else x + 4), (i & 0b100) + (lane & 0b10) + (i & 0b1), quad_pair(lane)


def c_m8(lane: int, g: int, q: int, i: int) -> Place:
    return g, q * 2 + (i & 0x1)


def c_m16(lane: int, g: int, q: int, i: int) -> Place:
    return (g if i in (0, 1) else g + 8), q * 2 + (i & 0x1)


def a_m8(per_register: int) -> Formula:
    return lambda lane, g, q, i: (g, q * per_register + i)


def b_one(per_register: int) -> Formula:
    return lambda lane, g, q, i: (q * per_register + i, g)


def a_k4(lane: int, g: int, q: int, i: int) -> Place:
    return (g, g + 8)[i], q


def a_k8_16b(lane: int, g: int, q: int, i: int) -> Place:
    return (g if i in (0, 1) else g + 8), q * 2 + (i & 0x1)


def a_k8_word(lane: int, g: int, q: int, i: int) -> Place:
    return (g if i in (0, 2) else g + 8), (q if i in (0, 1) else q + 4)


def b_k8_word(lane: int, g: int, q: int, i: int) -> Place:
    return (q, q + 4)[i], g


def a_k16_f64(lane: int, g: int, q: int, i: int) -> Place:
    return (g if i % 2 == 0 else g + 8), (i * 2 + q if i % 2 == 0 else i * 2 - 2 + q)


def b_k16_f64(lane: int, g: int, q: int, i: int) -> Place:
    return q + i * 4, g


def a_k128(lane: int, g: int, q: int, i: int) -> Place:
    return (g if i < 32 else g + 8), q * 32 + (i & 0x1F)


def a_k256(lane: int, g: int, q: int, i: int) -> Place:
    row = g if 0 <= i < 32 or 64 <= i < 96 else g + 8
    return row, q * 32 + (i & 0x1F) + (0 if i < 64 else 128)


def b_k256(lane: int, g: int, q: int, i: int) -> Place:
    return q * 32 + (i & 0x1F) + (0 if i < 32 else 128), g


# mnemonic; operand -> (formula, elements a thread, bits an element, bits a register)
CASES: list[tuple[str, dict[str, tuple[Formula, int, int, int]]]] = [
    (
        "m8n8k4.row.row.f32.f16.f16.f16",
        {
            "A": (a_quad_row, 4, 16, 32),
            "B": (b_quad_row, 4, 16, 32),
            "C": (c_quad_f16, 8, 16, 32),
            "D": (c_quad_f32, 8, 32, 32),
        },
    ),
    (
        "m8n8k4.col.col.f16.f16.f16.f16",
        {"A": (a_quad_col, 4, 16, 32), "B": (b_quad_col, 4, 16, 32), "D": (c_quad_f16, 8, 16, 32)},
    ),
    (
        "m8n8k4.col.row.f32.f16.f16.f32",
        {"A": (a_quad_col, 4, 16, 32), "B": (b_quad_row, 4, 16, 32), "C": (c_quad_f32, 8, 32, 32)},
    ),
    (
        "m8n8k4.row.col.f64.f64.f64.f64",
        {"A": (a_m8(1), 1, 64, 64), "B": (b_one(1), 1, 64, 64), "C": (c_m8, 2, 64, 64)},
    ),
    (
        "m8n8k16.row.col.s32.s8.u8.s32",
        {"A": (a_m8(4), 4, 8, 32), "B": (b_one(4), 4, 8, 32), "D": (c_m8, 2, 32, 32)},
    ),
    (
        "m8n8k32.row.col.satfinite.s32.u4.s4.s32",
        {"A": (a_m8(8), 8, 4, 32), "B": (b_one(8), 8, 4, 32), "C": (c_m8, 2, 32, 32)},
    ),
    (
        "m8n8k128.row.col.s32.b1.b1.s32.xor.popc",
        {"A": (a_m8(32), 32, 1, 32), "B": (b_one(32), 32, 1, 32), "D": (c_m8, 2, 32, 32)},
    ),
    (
        "m16n8k4.row.col.f32.tf32.tf32.f32",
        {"A": (a_k4, 2, 32, 32), "B": (b_one(1), 1, 32, 32), "D": (c_m16, 4, 32, 32)},
    ),
    (
        "m16n8k4.row.col.f64.f64.f64.f64",
        {"A": (a_k4, 2, 64, 64), "B": (b_one(1), 1, 64, 64), "D": (c_m16, 4, 64, 64)},
    ),
    (
        "m16n8k8.row.col.f16.f16.f16.f16",
        {"A": (a_k8_16b, 4, 16, 32), "B": (b_one(2), 2, 16, 32), "D": (c_m16, 4, 16, 32)},
    ),
    (
        "m16n8k8.row.col.f32.bf16.bf16.f32",
        {"A": (a_k8_16b, 4, 16, 32), "B": (b_one(2), 2, 16, 32), "C": (c_m16, 4, 32, 32)},
    ),
    (
        "m16n8k8.row.col.f32.tf32.tf32.f32",
        {"A": (a_k8_word, 4, 32, 32), "B": (b_k8_word, 2, 32, 32), "D": (c_m16, 4, 32, 32)},
    ),
    (
        "m16n8k8.row.col.rz.f64.f64.f64.f64",
        {"A": (a_k8_word, 4, 64, 64), "B": (b_k8_word, 2, 64, 64), "C": (c_m16, 4, 64, 64)},
    ),
    (
        "m16n8k16.row.col.f64.f64.f64.f64",
        {"A": (a_k16_f64, 8, 64, 64), "B": (b_k16_f64, 4, 64, 64), "D": (c_m16, 4, 64, 64)},
    ),
    (
        "m16n8k128.row.col.s32.b1.b1.s32.and.popc",
        {"A": (a_k128, 64, 1, 32), "B": (b_one(32), 32, 1, 32), "D": (c_m16, 4, 32, 32)},
    ),
    (
        "m16n8k256.row.col.s32.b1.b1.s32.xor.popc",
        {"A": (a_k256, 128, 1, 32), "B": (b_k256, 64, 1, 32), "D": (c_m16, 4, 32, 32)},
    ),
]


@pytest.mark.parametrize(("rest", "operands"), CASES, ids=[rest for rest, _ in CASES])
def test_fragments(
    specification: Specification, rest: str, operands: dict[str, tuple[Formula, int, int, int]]
) -> None:
    variant = specification.find(mma(rest))
    for operand, (formula, elements, width, word) in operands.items():
        entries = table_of(specification, variant, operand).entries
        assert len(entries) == 32 * elements
        for lane, element, register, low, *place in entries:
            assert tuple(place) == formula(lane, lane >> 2, lane % 4, element)
            assert (register, low) == (element * width // word, element * width % word)


def test_products_share_no_thread(specification: Specification) -> None:
    variant = specification.find(mma("m8n8k4.row.col.f32.f16.f16.f32"))
    for operand in "ABCD":
        table = table_of(specification, variant, operand)
        threads = [{t for t, *_, product in table.entries if product == p} for p in range(4)]
        assert [len(group) for group in threads] == [8] * 4
        assert set.union(*threads) == set(range(32))


# The PTX ISA and Target ISA Notes of 9.7.14.5.14: since which version, from which target on, and a
# target that is too early; then the lengths of d, a, b, c.
GATES = [
    ("m8n8k4.col.row.f16.f16.f16.f16", "6.4", "sm_70", "sm_62", "4 2 2 4"),
    ("m8n8k4.row.row.f32.f16.f16.f16", "6.4", "sm_70", "sm_62", "8 2 2 4"),
    ("m8n8k4.row.col.f32.f16.f16.f32", "6.4", "sm_70", "sm_62", "8 2 2 8"),
    ("m16n8k8.row.col.f16.f16.f16.f16", "6.5", "sm_75", "sm_72", "2 2 1 2"),
    ("m16n8k8.row.col.f32.f16.f16.f32", "6.5", "sm_75", "sm_72", "4 2 1 4"),
    ("m8n8k16.row.col.s32.u8.s8.s32", "6.5", "sm_75", "sm_72", "2 1 1 2"),
    ("m8n8k32.row.col.satfinite.s32.s4.u4.s32", "6.5", "sm_75", "sm_72", "2 1 1 2"),
    ("m8n8k128.row.col.s32.b1.b1.s32.xor.popc", "7.0", "sm_75", "sm_72", "2 1 1 2"),
    ("m8n8k128.row.col.s32.b1.b1.s32.and.popc", "7.1", "sm_80", "sm_75", "2 1 1 2"),
    ("m16n8k128.row.col.s32.b1.b1.s32.xor.popc", "7.0", "sm_80", "sm_75", "4 2 1 4"),
    ("m16n8k128.row.col.s32.b1.b1.s32.and.popc", "7.1", "sm_80", "sm_75", "4 2 1 4"),
    ("m16n8k256.row.col.s32.b1.b1.s32.xor.popc", "7.0", "sm_80", "sm_75", "4 4 2 4"),
    ("m16n8k256.row.col.s32.b1.b1.s32.and.popc", "7.1", "sm_80", "sm_75", "4 4 2 4"),
    ("m8n8k4.row.col.rm.f64.f64.f64.f64", "7.0", "sm_80", "sm_75", "2 1 1 2"),
    ("m16n8k8.row.col.f32.bf16.bf16.f32", "7.0", "sm_80", "sm_75", "4 2 1 4"),
    ("m16n8k4.row.col.f32.tf32.tf32.f32", "7.0", "sm_80", "sm_75", "4 2 1 4"),
    ("m16n8k8.row.col.f32.tf32.tf32.f32", "7.0", "sm_80", "sm_75", "4 4 2 4"),
    ("m16n8k4.row.col.f64.f64.f64.f64", "7.8", "sm_90", "sm_89", "4 2 1 4"),
    ("m16n8k8.row.col.rp.f64.f64.f64.f64", "7.8", "sm_90", "sm_89", "4 4 2 4"),
]
VERSIONS = ["6.3", "6.4", "6.5", "7.0", "7.1", "7.2", "7.7", "7.8", "9.5"]


def statement(mnemonic: str, lengths: str) -> str:
    vectors = ["{" + ", ".join(f"r{j}" for j in range(int(count))) + "}" for count in lengths.split()]
    return f"{mma(mnemonic)} {', '.join(vectors)};"


@pytest.mark.parametrize(("rest", "since", "target", "early", "lengths"), GATES)
def test_gates(rest: str, since: str, target: str, early: str, lengths: str) -> None:
    text = statement(rest, lengths)
    assert ptxmma.legal(text, ptx="9.5", target=target).verdict == "legal"
    assert ptxmma.legal(text, ptx="9.5", target="sm_121a").verdict == "legal"
    assert [r.code for r in ptxmma.legal(text, ptx="9.5", target=early).reasons] == ["gate.target"]
    for version in VERSIONS:
        legal = ptxmma.legal(text, ptx=version).verdict == "legal"
        assert legal == (tuple(map(int, version.split("."))) >= tuple(map(int, since.split("."))))


@pytest.mark.parametrize(("rest", "since", "target", "early", "lengths"), GATES)
def test_wrong_vector_lengths(rest: str, since: str, target: str, early: str, lengths: str) -> None:
    counts = list(map(int, lengths.split()))
    for position in range(4):
        for other in (counts[position] + 1, counts[position] * 2):
            wrong = [*counts[:position], other, *counts[position + 1 :]]
            verdict = ptxmma.legal(statement(rest, " ".join(map(str, wrong))), ptx="9.5", target="sm_90")
            assert [reason.code for reason in verdict.reasons] == ["operand.length"]


@pytest.mark.parametrize(
    "rest",
    [
        "m8n8k4.row.col.f16.f16.f16.f32",  # .ctype .f32 needs .dtype .f32
        "m8n8k4.col.col.f64.f64.f64.f64",
        "m16n8k8.col.row.f16.f16.f16.f16",
        "m16n8k8.row.col.f32.f16.f16.f16",
        "m16n8k8.row.col.f16.bf16.bf16.f16",
        "m16n8k8.row.col.f32.bf16.tf32.f32",
        "m16n8k16.row.col.f32.tf32.tf32.f32",
        "m16n8k4.row.col.f32.f16.f16.f32",
        "m8n8k16.row.col.s32.s8.s4.s32",
        "m8n8k16.row.row.s32.s8.s8.s32",
        "m8n8k32.row.col.s32.s8.s8.s32",
        "m8n8k128.row.col.s32.b1.b1.s32",  # .bitOp.popc is mandatory
        "m8n8k128.row.col.satfinite.s32.b1.b1.s32.xor.popc",
        "m16n8k256.row.col.s32.b1.b1.s32.or.popc",
        "m16n8k8.row.col.satfinite.f16.f16.f16.f16",
        "m8n8k4.row.col.rn.f32.f16.f16.f32",
        "m16n8k8.row.col.rn.f32.tf32.tf32.f32",
        "m8n8k16.row.col.rz.s32.s8.s8.s32",
        "m8n8k4.satfinite.row.col.f64.f64.f64.f64",
        "m8n8k8.row.col.f16.f16.f16.f16",  # no such shape
    ],
)
def test_what_no_row_has(rest: str) -> None:
    verdict = ptxmma.legal(statement(rest, "4 2 1 4"), ptx="9.5", target="sm_90")
    assert verdict.verdict == "illegal"
    assert all(reason.code.startswith("qualifier.") for reason in verdict.reasons)


def test_bit_operations_on_subbyte_types_are_tolerated() -> None:
    text = statement("m8n8k32.row.col.s32.u4.s4.s32.xor.popc", "2 1 1 2")
    verdict = ptxmma.legal(text, ptx="6.5", target="sm_75")
    assert verdict.verdict == "legal" and "ignores" in verdict.notes[0]
    assert not any(
        ".s4." in v.mnemonic and "popc" in v.mnemonic for v in ptxmma.load().families["mma"].listed()
    )


@pytest.mark.parametrize(
    ("rest", "lengths", "declaration", "position", "legal"),
    [
        ("m8n8k16.row.col.s32.s8.s8.s32", "2 1 1 2", "f32", 1, False),
        ("m8n8k16.row.col.s32.s8.s8.s32", "2 1 1 2", "u32", 2, True),
        ("m16n8k16.row.col.s32.s8.s8.s32", "4 2 1 4", "f32", 1, True),
        ("m8n8k4.row.col.f16.f16.f16.f16", "4 2 2 4", "f16x2", 0, True),
        ("m16n8k8.row.col.f32.tf32.tf32.f32", "4 4 2 4", "f32", 1, False),
        ("m16n8k4.row.col.f64.f64.f64.f64", "4 2 1 4", "f64", 3, True),
        ("m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0", "4 4 2 4", "u32", 1, False),
    ],
)
def test_register_types(rest: str, lengths: str, declaration: str, position: int, legal: bool) -> None:
    names = ["{" + ", ".join(f"%{'x' if i == position else 'q'}{j}" for j in range(int(count))) + "}"
             for i, count in enumerate(lengths.split())]  # fmt: skip
    scales = ", s, {0, 0}, s, {0, 0}" if "block_scale" in rest else ""
    text = f".reg .{declaration} %x<8>; {mma(rest)} {', '.join(names)}{scales};"
    verdict = ptxmma.legal(text, ptx="9.5", target="sm_120a")
    assert (verdict.verdict == "legal") is legal
    assert legal or [reason.code for reason in verdict.reasons] == ["operand.type"]


def test_the_commands_know_products(run: Run) -> None:
    mnemonic = mma("m8n8k4.row.col.f32.f16.f16.f32")
    code, out, _ = run("layout", mnemonic, "--operand", "D", "--row", "5", "--col", "6")
    assert code == 0
    # 9.7.14.5.1: row 5 = (lane & 1) + (i & 2) + 4, column 6 = (i & 4) + (lane & 2) + (i & 1)
    assert out.splitlines() == [
        f"thread {lane} d4 (register 4, bits 0..31) holds row 5, column 6 of product {product}"
        for product, lane in enumerate((19, 23, 27, 31))
    ]
    code, out, _ = run("layout", mnemonic, "--operand", "A", "--format", "json")
    record = json.loads(out)
    assert (record["rows"], record["cols"], record["products"]) == (8, 4, 4)
    assert [17, 2, 1, 0, 5, 2, 0] in record["map"]
    code, out, _ = run("layout", mnemonic, "--operand", "B", "--format", "csv")
    assert out.splitlines()[0] == "thread,element,register,bit_low,row,col,product"
    code, out, _ = run("layout", mnemonic, "--operand", "B", "--format", "cute")
    assert code == 0 and out.startswith("((4,4,2),4):((1,32,4),8)")
    code, out, _ = run("layout", mnemonic, "--operand", "C")
    assert "product 3, row 7" in out
    code, out, _ = run("show", mnemonic)
    assert "product = t % 16 // 4" in out and "four independent products" in out


def test_no_shape_is_missing() -> None:
    verdict = ptxmma.legal(statement("m8n16k4.row.col.f32.f16.f16.f32", "8 2 2 8"), ptx="9.5")
    assert verdict.verdict == "illegal"
