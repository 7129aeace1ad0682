"""spec/arithmetic/*.yaml is refused where it is wrong, at the place of the fault; what has no row is not guessed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import ptxmma
from ptxmma.spec import arithmetic
from ptxmma.spec.chip_arithmetic import ZERO, C, products_of
from ptxmma.spec.errors import Question, SpecError
from ptxmma.spec.parts import computes

WATCHES = ("spec/arithmetic/*.yaml",)
FILE = "spec/arithmetic/sm_90.yaml"
MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
# Text of the file, the text in its place, and words of the error.
SLIPS = [
    ("targets: [sm_90, sm_90a]", "targets: [sm_90, sm_90b]", "there is no target 'sm_90b'"),
    ("model: window", "model: windows", "there is no model 'windows'"),
    ("adds: [C]", "adds: [E]", "there is no sum 'E'"),
    ("adds: [C, products]", "adds: [C]", "no step adds products"),
    ("type: f32", "type: f33", "there is no element type 'f33'"),
    ("word: 128", "word: 64", "the result of << can exceed 64 bits"),
    ("[wgmma.mma_async, wgmma.mma_async.sp]", "[wgmma.mma_asinc]", "there is no instruction 'wgmma.mma_asinc'"),
    ('when: "d != s32"', 'when: "d == nosuch"', "the row wgmma.float has no variant of wgmma.mma_async"),
    ('when: "d != s32"', 'when: "d != s33"', "belongs to the rows wgmma.float and integer"),
    ('window: "25"', 'windows: "25"', "the model window has the integers window, floor, least, digits"),
    ('window: "25"', 'window: "42"', "the result of << can exceed 64 bits"),
    ('block: "1"', 'block: "i + 2"', "has no products"),
    ('block: "1"', 'block: "where(i > 0, 1, 0)"', "have 15 products in all"),
    ('block: "1"', 'block: "2*i + 1"', "has no products"),
    ("each: addend", "each: product", "the name negative is given twice"),
    ('places: "c_fraction_bits"', 'digits_: "c_fraction_bits"', "products and the addend have other names: digits_, places"),
    ('zero: "where(field', 'vain: "field"\n          zero: "where(field', "no formula reads vain"),
    ("reduce: greatest", "reduce: least", "'least' is not allowed here"),
    ("each: term\n        what: the magnitude", "each: element\n        what: the magnitude", "the stage cut comes too late"),
    ('>> where(below < word, below, word - 1)"', '>> below"', "a word has 64 bits"),
    ('sum: "where(minus > plus, minus - plus, plus - minus)"', 'sum: "plus - minus"', "every value must be at least 0"),
    ('infinite: "where(infinities == 1', 'infinite: "where(infinities', "'infinities' is a number here"),
    ('negative: "a_negative ^ b_negative"', 'negative: "a_negative == b_negative"', "is a truth value"),
    ('half: "where', 'top: "where', "the name top is given twice"),
    ('nan_code: "where(d == f16, 0x7fff, 0x7fffffff)"', 'nan_code: "0x17fffffff"', "the code of the result can be"),
]  # fmt: skip


@pytest.fixture
def spoilt(files: Path) -> Path:
    return files / FILE


@pytest.mark.parametrize(("old", "new", "words"), SLIPS)
def test_what_is_wrong_is_refused_at_its_place(
    files: Path, spoilt: Path, old: str, new: str, words: str
) -> None:
    text = spoilt.read_text(encoding="utf-8")
    assert old in text
    spoilt.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(SpecError, match=words) as raised:
        arithmetic.read(files)
    assert re.match(rf"{FILE}:\d+:\d+: ", str(raised.value))


@pytest.mark.parametrize(
    ("mnemonic", "target", "words"),
    [
        (
            MMA,
            "sm_80",
            "no model of mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 on sm_80: not measured",
        ),
        ("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16", "sm_80", "is not legal on sm_80"),
        (MMA, "sm_91", "sm_91"),
    ],
)
def test_what_is_not_known_is_not_guessed(mnemonic: str, target: str, words: str) -> None:
    (variant,) = ptxmma.variants(mnemonic)
    with pytest.raises(Question, match=re.escape(words)):
        arithmetic.arithmetic_of(variant, target)


def test_a_variant_has_its_row() -> None:
    (variant,) = ptxmma.variants(MMA)
    for target in ("sm_90", "sm_90a"):
        found = arithmetic.arithmetic_of(variant, target)
        assert found.row.id == "mma.float" and found.products == 16
        (block,) = found.blocks
        assert dict(block.integers) == {
            "window": 25, "floor": 133, "least": 0, "digits": 64, "nearest": 0, "nan_code": 0x7FFFFFFF,
        }  # fmt: skip
    (sparse,) = ptxmma.variants("wgmma.mma_async.sp.sync.aligned.m64n8k64.f32.e4m3.e5m2")
    found = arithmetic.arithmetic_of(sparse, "sm_90a")
    assert products_of(ptxmma.load(), sparse) == found.products == 32
    (block,) = found.blocks
    assert (block.integers["window"], block.integers["digits"]) == (13, 14)
    assert dict(found.types) == {"A": "e4m3", "B": "e5m2", "C": "f32", "D": "f32"}


def test_blocks_of_emulated_products() -> None:
    (variant,) = ptxmma.variants("mma.sync.aligned.m16n8k16.row.col.f32.e4m3.e4m3.f32")
    even, odd, last = arithmetic.arithmetic_of(variant, "sm_90a").blocks
    assert even.products == (0, 1, 4, 5, 8, 9, 12, 13) and even.addends == (ZERO,)
    assert odd.products == (2, 3, 6, 7, 10, 11, 14, 15) and odd.addends == (0,)
    assert last.products == () and last.addends == (C, 1) and last.result == "f32"


def test_everything_that_sm_90a_can_compute_has_a_row() -> None:
    for variant in ptxmma.variants(target="sm_90a"):
        if computes(variant.instruction) and variant.fields.get("n", 8) in (8, 16, 32):
            assert arithmetic.arithmetic_of(variant, "sm_90a").products
