"""`ptxmma explain`: what it prints, and what it refuses."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction

import pytest

import ptxmma
from ptxmma.gen.arithmetic.element_codes import code_of, codes_of, number_text, value_of
from ptxmma.spec.errors import Question
from ptxmma.spec.specification import Specification

from ..answers import valid

Run = Callable[..., tuple[int, str, str]]
MMA = "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32"
FP8 = "mma.sync.aligned.m16n8k16.row.col.f32.e4m3.e4m3.f32"
WGMMA = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"


def test_what_is_cut_is_shown(run: Run) -> None:
    code, out, _ = run("explain", MMA, "--a", "1,0x1p-14", "--b", "1,0x1p-12", "--c", "-1")
    assert code == 0
    assert out.splitlines() == [
        f"{MMA} on sm_90a: 8 products",
        "row mma.float: one window for all products and C",
        "",
        "all terms are cut to one window below the greatest exponent, then added exactly",
        "  k 0  0x3c00 x 0x3c00  = 1",
        "  k 1  0x0400 x 0x0c00  = 2^-26  kept 0",
        "  C    0xbf800000       = -1",
        "  6 products are 0",
        "  window: the greatest exponent is 0; its last place is 2^-25",
        "  sum: 0",
        "  result: 0x00000000 = 0",
        "",
        "D = 0x00000000 = 0",
        "exact: 2^-26; D - exact = -2^-26",
    ]


def test_terms_alike_are_one_line(run: Run) -> None:
    _, out, _ = run("explain", WGMMA, "--a", "-1*16", "--b=2*15,3", "--scale-a", "-1")
    assert "  k 0..14  0xbc00 x 0x4000  = 2\n  k 15     0xbc00 x 0x4200  = 3\n" in out
    assert out.endswith("D = 0x42040000 = 33\nexact: the same\n")


def test_specials(run: Run) -> None:
    _, out, _ = run("explain", MMA, "--a", "inf,nan", "--b", "1*8", "--c", "-inf")
    assert "sum" not in out and out.endswith("D = 0x7fffffff = nan\n")
    assert run("explain", MMA, "--a", "inf", "--b", "-2")[1].endswith("D = 0xff800000 = -inf\n")


def test_as_json(run: Run) -> None:
    _, out, _ = run("explain", FP8, "--a", "1.5,2,3", "--b", "0.125*3", "--c", "0x1p-40", "--format", "json")
    found = json.loads(out)
    valid("explain", found)
    assert [block["type"] for block in found["sums"]] == ["f32"] * 3
    assert [term["term"] for term in found["sums"][1]["terms"]][-1] == "sum 1"
    a, b = ([0x3C, 0x40, 0x44] + [0] * 13), [0x20] * 3 + [0] * 13
    assert ptxmma.dot(FP8, [a], [b], [87 << 23]).tolist() == [found["code"]]
    assert found["exact"] == number_text(Fraction(13, 16) + Fraction(1, 1 << 40))


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ((MMA, "--a", "1*9", "--b", "1"), "--a has more than the 8 elements of a product"),
        ((MMA, "--a", "x", "--b", "1"), "--a: 'x' is not an element"),
        ((MMA, "--a", "", "--b", "1"), "--a: '' is not an element"),
        ((MMA, "--a", "1*x", "--b", "1"), "write VALUE*COUNT"),
        ((MMA, "--a", "1", "--b", "0x13c00"), "--b: 0x13c00 has more than the 16 bits of .f16"),
        ((MMA, "--a", "1", "--b", "1e6"), "--b: 1e6 is not an element of .f16"),
        ((FP8, "--a", "inf", "--b", "1"), "--a: .e4m3 has no inf"),
        ((MMA, "--a", "1", "--b", "1", "--scale-a", "-1"), "cannot negate A"),
        ((MMA, "--a", "1", "--b", "1", "--target", "sm_80"), "no model of"),
        ((MMA, "--a", "1", "--b", "1", "--target", "sm_1"), "sm_1"),
        (("movmatrix.sync.aligned.m8n8.trans.b16", "--a", "1", "--b", "1"), "computes no products"),
        (("tcgen05.mma.cta_group::1.kind::f16", "--a", "1", "--b", "1"), "no chip that has it was measured"),
        (("mma.nosuch", "--a", "1", "--b", "1"), "mma.nosuch"),
        (("wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.u8", "--a", "200", "--b", "1"), "-128 to 127"),
        (("wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.u8", "--a", "1.5", "--b", "1"), "not an integer"),
        (("wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.u8", "--a", "1_0", "--b", "1"), "not an integer"),
        ((MMA, "--a", "\u0663", "--b", "1"), "--a: '\u0663' is not an element"),  # the Arabic digit 3
        ((MMA, "--a", "0x1p\u0663", "--b", "1"), "is not an element"),
    ],
)
def test_what_is_refused(run: Run, words: tuple[str, ...], why: str) -> None:
    code, out, told = run("explain", *words)
    assert (code, out) == (2, "")
    assert why in told and told.count("\n") == 1


@pytest.mark.parametrize(
    ("element", "text", "code"),
    [
        ("f16", "-0", 0x8000), ("f16", "nan", 0x7E00), ("f16", "-inf", 0xFC00), ("f16", "0.1", 0x2E66),
        ("e4m3", "nan", 0x7F), ("e4m3", "-448", 0xFE), ("tf32", "1", 0x3F800000), ("tf32", "-1.5", 0xBFC00000),
        ("f32", "0x1.8p-3", 0x3E400000), ("f32", "-0x1p-149", 0x80000001), ("f64", "1e308", 0x7FE1CCF385EBC8A0),
        ("s8", "-128", 0x80), ("u4", "15", 0xF), ("b1", "1", 1), ("f32", "0xdeadbeef", 0xDEADBEEF),
    ],
)  # fmt: skip
def test_elements(specification: Specification, element: str, text: str, code: int) -> None:
    assert code_of(specification, element, text, "--a") == code


def test_lists(specification: Specification) -> None:
    assert codes_of(specification, "s8", "1, 2*2", 5, "--a") == [1, 2, 2, 0, 0]
    assert codes_of(specification, "s8", "1*0", 1, "--a") == [0]
    with pytest.raises(Question, match="more than the 5"):
        codes_of(specification, "s8", "1*999999999999", 5, "--a")
    assert value_of(specification, "s8", 0x80) == -128


def test_numbers() -> None:
    texts = {
        Fraction(0): "0",
        Fraction(3, 2): "1.5",
        Fraction(-1, 1 << 30): "-2^-30",
        Fraction(3 << 60): "3 * 2^60",
    }
    assert {value: number_text(value) for value in texts} == texts
    assert number_text("nan") == "nan"


def test_it_needs_no_numpy() -> None:
    program = (
        "import sys; from ptxmma.cli.main import main; main(sys.argv[1:]); print('numpy' in sys.modules)"
    )
    words = [sys.executable, "-c", program, "explain", MMA, "--a", "1", "--b", "1"]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout.endswith("False\n")


def test_show_says_it_in_words(run: Run) -> None:
    _, out, _ = run("show", FP8, "--format", "json")
    found = json.loads(out)["arithmetic"]
    assert list(found) == ["sm_90"] and list(found["sm_90"]["steps"]) == ["products", "d"]
    assert "window 25" in found["sm_90"]["steps"]["products"]
    assert "  arithmetic on sm_90: " in run("show", FP8)[1]
    assert json.loads(run("show", "wgmma.fence.sync.aligned", "--format", "json")[1])["arithmetic"] == {}
