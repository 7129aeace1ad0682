"""`ptxmma numerics`: the table of sums, where 1 is lost, and the bounds of errors."""

from __future__ import annotations

import importlib
import json
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from ptxmma.gen.arithmetic.element_codes import code_of, value_of
from ptxmma.spec.api import find, load
from ptxmma.spec.arithmetic import arithmetic_of
from ptxmma.spec.dot_product import DotProduct, ElementCode
from ptxmma.spec.loading import ROOT

from ..answers import valid

Run = Callable[..., tuple[int, str, str]]
MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
FP8 = "mma.sync.aligned.m16n8k16.row.col.f32.e4m3.e4m3.f32"
WGMMA = "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3"
TF32 = "wmma.mma.sync.aligned.row.row.m16n16k8.f32.tf32.tf32.f32"


def answer(run: Run, *words: str) -> Any:
    code, out, _ = run("numerics", *words, "--format", "json")
    assert code == 0
    found = json.loads(out)
    valid("numerics", found)
    return found


def test_a_line_a_step(run: Run) -> None:
    code, out, _ = run("numerics", FP8)
    shown = [line.split("  ") for line in out.splitlines()]
    cells = [[cell.strip() for cell in line if cell] for line in shown]
    assert code == 0 and out.startswith("sums on sm_90a: 1 set of types\n\nmma.fp8: mma\n")
    assert [line for line in cells if "window" in line[:6] or "fused" in line] == [
        [
            *(
                "e4m3 x e4m3",
                "f32",
                "f32",
                "16",
                "k 0 1 4 5 … + zero, then k 2 3 6 7 …",
                "window",
                "25",
                "133",
            ),
            *("14", "64", "0", "0x7fffffff", "f32", "6.9 * 2^(e - 25) + u24", "2^24"),
        ],
        ["C + products", "fused", "2048", "0x7fffffff", "0", "0", "f32", "u24/2"],
    ]
    assert "  digits: how many significant digits of the sum are kept; 64 keeps all\n" in out


def test_where_one_is_lost(run: Run) -> None:
    """By the digits of a result, and of the 14 that 8-bit wgmma keeps; integers wrap or are clamped."""
    found = answer(run)
    lost: dict[tuple[str, ...], set[tuple[int | None, bool, str]]] = {}
    for one in found["sums"]:
        kind = one["row"], one["types"]["C"], one["types"]["D"]
        lost.setdefault(kind, set()).add((one["one_is_lost_at"], one["wraps"], one["one_times_one"]))
    assert {kind: {last for last, *_ in values} for kind, values in lost.items()} == {
        ("wgmma.float", "f16", "f16"): {1 << 11},
        ("wgmma.float", "f32", "f32"): {1 << 24, 1 << 14},
        ("mma.float", "f16", "f16"): {1 << 11},
        ("mma.float", "f32", "f32"): {1 << 24},
        ("mma.fp8", "f16", "f16"): {1 << 11},
        ("mma.fp8", "f32", "f32"): {1 << 24},
        ("mma.m8n8k4.f16", "f16", "f16"): {1 << 11},
        ("mma.m8n8k4.f32", "f16", "f32"): {None},
        ("mma.m8n8k4.f32", "f32", "f32"): {1 << 24},
        ("wmma.float", "f16", "f16"): {1 << 11},
        ("wmma.float", "f32", "f32"): {1 << 24},
        ("wmma.narrowed", "f32", "f16"): {1 << 11},
        ("wmma.widened", "f16", "f32"): {None},
        ("wmma.tf32", "f32", "f32"): {1 << 24},
        ("f64", "f64", "f64"): {1 << 53, None},
        ("integer", "s32", "s32"): {(1 << 31) - 1},
        ("bits", "s32", "s32"): {(1 << 31) - 1, None},
    }
    assert lost["integer", "s32", "s32"] == {((1 << 31) - 1, wraps, "1") for wraps in (True, False)}
    assert (None, False, "0") in lost["bits", "s32", "s32"]
    assert sum(one["mnemonics"] for one in found["sums"]) > len(found["sums"])


@pytest.mark.parametrize("mnemonic", [MMA, FP8, TF32])
def test_every_product_is_lost_there_and_not_before(run: Run, mnemonic: str) -> None:
    (found,) = answer(run, mnemonic)["sums"]
    arithmetic, last = arithmetic_of(find(mnemonic), "sm_90a"), found["one_is_lost_at"]
    definition = DotProduct(load(), arithmetic)
    for k in range(arithmetic.products):
        for c in (last, last - 1):
            row, column = (
                [
                    ElementCode(code_of(load(), arithmetic.types[part], str(int(i == k)), part))
                    for i in range(16)
                ]
                for part in ("A", "B")
            )
            code = definition.code(row, column, code_of(load(), arithmetic.types["C"], str(c), "C"))
            assert value_of(load(), arithmetic.types["D"], code) == Fraction(last)


def test_no_error_is_beyond_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """On hard inputs; bench/sum_bounds.py tries more. Some error is a half of its bound and more."""
    monkeypatch.syspath_prepend(ROOT / "bench")
    bench: Any = importlib.import_module("sum_bounds")
    kinds = list(bench.kinds(None))
    assert len(kinds) > 40
    found = [sum_ for one in kinds for sum_ in bench.tried(one.arithmetic, 6, random.Random(2))]
    assert len(found) > 500
    assert [sum_ for sum_ in found if sum_.error > sum_.bound] == []
    assert any(sum_.error > sum_.bound / 2 for sum_ in found)


def test_the_digits_that_are_kept_are_in_the_bound(run: Run) -> None:
    """32 products of 1.875 and a C that fits the window, but not the 14 digits of 112.5."""
    _, out, _ = run(
        "explain", WGMMA, "--a", "1.875*32", "--b", "1.875*32", "--c", "0x1.f8p-8", "--format", "json"
    )
    assert json.loads(out)["value"] == "112.5"
    error = Fraction(63, 1 << 13)
    (found,) = answer(run, WGMMA)["sums"]
    lost = 32 * Fraction(63, 64) + Fraction(1023, 1024)
    (bound,) = found["steps"][0]["bounds"]
    assert bound == {
        "cut": str(lost),
        "window": 13,
        "digits": 14,
        "nearest": False,
        "text": "31.5 * 2^(e - 13) + u14",
    }
    cut = lost / (1 << 13)
    assert cut + Fraction(1, 1 << 23 - 6) < error <= cut + Fraction((1 << 6) - 1, 1 << 13)


def test_a_term_that_the_result_has_is_not_rounded(run: Run) -> None:
    """A product of two f16 is a number of f32, and so is C in f16."""
    (found,) = answer(run, "mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16")["sums"]
    said = {one["step"]: [bound["text"] for bound in one["bounds"]] for one in found["steps"]}
    pairs = {name: ["u24/2"] for name in ("pair0", "pair2", "first", "both")}
    assert said == {"product0": [], "product2": [], **pairs, "d": ["u11/2"]}
    (found,) = answer(run, "wmma.mma.sync.aligned.row.row.m16n16k16.f32.f16")["sums"]
    assert [len(one["bounds"]) for one in found["steps"]] == [0, 1]


def sum_by_hand(mnemonic: str, terms: list[tuple[str, str]], c: str) -> tuple[Fraction, Fraction]:
    """What the definition gives of products and C in words, and the exact sum."""
    arithmetic = arithmetic_of(find(mnemonic), "sm_90a")
    codes = [
        [ElementCode(code_of(load(), arithmetic.types[part], words[at], part)) for words in terms]
        for at, part in enumerate("AB")
    ]
    addend = code_of(load(), arithmetic.types["C"], c, "C")
    values = [
        [value_of(load(), arithmetic.types[part], one.code) for one in each]
        for part, each in zip("AB", codes, strict=True)
    ]
    exact = value_of(load(), arithmetic.types["C"], addend)
    code = DotProduct(load(), arithmetic).code(codes[0], codes[1], addend)
    found = value_of(load(), arithmetic.types["D"], code)
    assert isinstance(found, Fraction) and isinstance(exact, Fraction)
    for x, y in zip(*values, strict=True):
        assert isinstance(x, Fraction) and isinstance(y, Fraction)
        exact += x * y
    return found, exact


def test_bounds_are_reached_by_hand(run: Run) -> None:
    """C = 16 - 2^-20 begins a window that ends at 2^-10, and loses 2^-10 - 2^-20; each of 32 products of
    63 * 2^-16 loses 63/64 of 2^-10: all that they may. The sum is 16 - 2^-10, which has 14 digits. And
    of f16: one, 15 products of 1025 * 2046 * 2^-46 and C, just below 2^-23, the last digit of the sum."""
    found, exact = sum_by_hand(WGMMA, [("0x1.cp-5", "0x1.2p-6")] * 32, "0x1.fffffep3")
    (sums,) = answer(run, WGMMA)["sums"]
    assert found == 16 - Fraction(1, 1 << 10)
    assert exact - found == Fraction(sums["steps"][0]["bounds"][0]["cut"]) / (1 << 10)
    small = ("0x1.004p-12", "0x1.ff8p-14")
    found, exact = sum_by_hand(MMA, [("1", "1"), *[small] * 15], "0x1.fffffep-24")
    (sums,) = answer(run, MMA)["sums"]
    bound = (
        Fraction(sums["steps"][0]["bounds"][0]["cut"]) / (1 << 25)
        + Fraction(1, 1 << 23)
        - Fraction(1, 1 << 25)
    )
    assert found == 1 and bound - (exact - found) == Fraction(3, 1 << 25 + 24)


def test_integers_have_no_bound(run: Run) -> None:
    (found,) = answer(run, "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32")["sums"]
    assert found["steps"][0]["bounds"] == [] and found["steps"][0]["integers"] == {"clamps": 0}


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["nosuch"], "nothing matches 'nosuch'"),
        (["movmatrix"], "nothing that matches 'movmatrix' computes products"),
        ([MMA, "--target", "sm_80"], f"no model of {MMA} on sm_80: not measured"),
        (["wgmma.mma_async", "--target", "sm_80"], "is on sm_80"),
        (["--target", "sm_1"], "sm_1"),
    ],
)
def test_refusals(run: Run, words: list[str], why: str) -> None:
    code, out, told = run("numerics", *words)
    assert (code, out) == (2, "") and why in told
