"""The exact reference against numpy, on inputs that plans draw."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy
import pytest

from ptxmma.formal.plans import InputPlan, plans
from ptxmma.gen.suite.reference import Reference, drawn
from ptxmma.spec.errors import Question
from ptxmma.spec.specification import Specification

VIEWS: dict[str, tuple[type, type]] = {
    "f16": (numpy.uint16, numpy.float16),
    "f32": (numpy.uint32, numpy.float32),
    "tf32": (numpy.uint32, numpy.float32),
    "f64": (numpy.uint64, numpy.float64),
    "s8": (numpy.uint8, numpy.int8),
    "u8": (numpy.uint8, numpy.uint8),
    "s32": (numpy.uint32, numpy.int32),
    "b1": (numpy.uint8, numpy.uint8),
}


def seen(patterns: Any, name: str) -> Any:
    """Patterns as numpy has them: integers as int64, floats as float64."""
    word, kind = VIEWS[name]
    if name == "tf32":
        patterns = [[x & ~0x1FFF for x in row] for row in patterns]
    values: Any = numpy.array(patterns, dtype=word).view(kind)
    return values.astype(numpy.float64 if kind in (numpy.float16, numpy.float32) else kind).astype(
        numpy.int64 if numpy.issubdtype(kind, numpy.integer) else numpy.float64
    )


def draw(reference: Reference, plan: InputPlan, k: int, random: Random) -> tuple[Any, Any, Any]:
    packed = reference.computed.terms
    return tuple(
        drawn(reference, plan, letter, *shape, random)
        for letter, shape in (("A", (16, packed)), ("B", (k, 8)), ("C", (16, 8)))
    )  # type: ignore[return-value]


@pytest.mark.parametrize(
    "mnemonic",
    [
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
        "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16",
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
        "wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32",
        "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64",
        "mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32",
        "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.u8.s8.s32",
        "mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.and.popc",
        "mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.xor.popc",
    ],
)
def test_dense(specification: Specification, mnemonic: str) -> None:
    variant = specification.find(mnemonic)
    reference = Reference(specification, variant)
    random = Random(11)
    for plan in plans(specification, variant):
        a, b, c = draw(reference, plan, reference.computed.terms, random)
        x, y, z = (seen(m, reference.types[letter]) for m, letter in zip((a, b, c), "ABC", strict=True))
        xor = mnemonic.endswith("xor.popc")
        product = (x[:, :, None] ^ y[None]).sum(axis=1) if xor else x @ y  # exact: as the plans have it
        for addend, expected in ((c, product + z), (None, product)):
            if ".satfinite" in mnemonic:
                expected = expected.clip(-(2**31), 2**31 - 1)
            elif ".s32" in mnemonic:
                expected = (expected + 2**31) % 2**32 - 2**31
            ours = seen(reference.result(a, b, addend), reference.types["D"])
            assert (ours == expected).all(), plan.name


@pytest.mark.parametrize(
    ("mnemonic", "codes"),
    [
        ("mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", [0b0100, 0b1000, 0b1100, 0b1001, 0b1101, 0b1110]),
        ("mma.sp.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", [0b0100, 0b1110]),
        ("mma.sp.sync.aligned.m16n8k64.row.col.s32.s8.s8.s32", [0b0100, 0b1101]),
    ],
)  # fmt: skip
def test_sparse(specification: Specification, mnemonic: str, codes: list[int]) -> None:
    variant = specification.find(mnemonic)
    reference = Reference(specification, variant)
    k = int(variant.fields["k"])
    chunk = 2 if ".tf32" in mnemonic else 4
    random = Random(13)
    for plan in plans(specification, variant):
        a, b, c = draw(reference, plan, k, random)
        chosen = [[random.choice(codes) for _ in range(k // chunk)] for _ in range(16)]
        x = numpy.zeros((16, k), dtype=seen(a, reference.types["A"]).dtype)
        for row in range(16):
            for number, code in enumerate(chosen[row]):
                places = [{0b0100: 0, 0b1110: 1}[code]] if chunk == 2 else [code & 3, code >> 2]  # 9.7.15.6.1
                for slot, place in enumerate(places):
                    stored = [[a[row][number * len(places) + slot]]]
                    x[row, number * chunk + place] = seen(stored, reference.types["A"])[0, 0]
        expected = x @ seen(b, reference.types["B"]) + seen(c, reference.types["C"])
        if ".s32" in mnemonic:
            expected = (expected + 2**31) % 2**32 - 2**31
        ours = seen(reference.result(a, b, c, codes=chosen), reference.types["D"])
        assert (ours == expected).all(), plan.name
    with pytest.raises(Question, match="goes with metadata codes"):
        reference.result(a, b, c)
    with pytest.raises(Question, match="0b0101 is not valid"):
        reference.result(a, b, c, codes=[[0b0101] * (k // chunk)] * 16)


def test_scale_factors(specification: Specification) -> None:
    """9.7.14.3: each chunk of K with its own pair; e2m1 ones, scales 2 and 4 against 1 and 8."""
    mnemonic = (
        "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0"
    )
    reference = Reference(specification, specification.find(mnemonic))
    ones = [[0x2] * 64] * 16, [[0x2] * 8] * 64
    ours = reference.result(*ones, scale_a=[[0x80, 0x81]] * 16, scale_b=[[0x7F] * 8, [0x82] * 8])
    assert seen(ours, "f32").tolist() == [[32 * 2 * 1 + 32 * 4 * 8] * 8] * 16


def test_negated_and_of_either_zero(specification: Specification) -> None:
    variant = specification.find("wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16")
    reference = Reference(specification, variant)
    a, b = [[0x3C00] * 16] * 64, [[0x4000] * 8] * 16
    assert reference.result(a, b) == [[0x5000] * 8] * 64
    assert reference.result(a, b, negate_a=True) == [[0xD000] * 8] * 64
    assert reference.result(a, b, negate_a=True, negate_b=True) == [[0x5000] * 8] * 64
    assert reference.same(0x8000, 0x0000)
    assert not reference.same(0x3C00, 0xBC00)
