"""Layouts as other codebases write them: printed where there is one, refused with the reason, and read back."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

Run = Callable[..., tuple[int, str, str]]
MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
WGMMA = "wgmma.mma_async.sync.aligned.m64n{}k16.f32.f16.f16"
# Triton's layout of A of mma.m16n8k16, as its linear layouts print it.
A = "#ttg.linear<{register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], block = []}>"
# CuTe's of SM80_16x8x16_F32F16F16F32_TN, from cute/atom/mma_traits_sm80.hpp: D, (T32,V4) -> (M16,N8).
D = "((4,8),(2,2)):((32,1),(16,8))"


def test_the_layout_that_triton_has(run: Run) -> None:
    code, out, _ = run("layout", MMA, "--operand", "A", "--format", "triton")
    assert (code, out.splitlines()[0]) == (0, A)
    assert "equal to the specification at all 256 points" in out
    out = run("layout", WGMMA.format(16), "--operand", "D", "--format", "triton")[1]
    assert "warp = [[16, 0], [32, 0]]" in out


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ((WGMMA.format(24), "--operand", "D"), "12 elements are not a power of two"),
        (
            (
                "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16",
                "--operand",
                "metadata",
                "--selector",
                "0",
            ),
            "metadata has no linear layout",
        ),
    ],
)
def test_what_is_no_linear_layout(run: Run, words: tuple[str, ...], why: str) -> None:
    code, out, err = run("layout", *words, "--format", "triton")
    assert (code, out) == (2, "") and why in err


def claims(folder: Path, *listed: object) -> str:
    (folder / "claims.json").write_text(json.dumps(listed))
    return str(folder / "claims.json")


def test_right_and_wrong_claims(run: Run, tmp_path: Path) -> None:
    right = [
        {"mnemonic": MMA, "operand": "A", "linear": A},
        {"mnemonic": MMA, "operand": "D", "cute": D},
    ]
    code, out, _ = run("prove", "--claims", claims(tmp_path, *right))
    assert code == 0 and "ok    A of" in out and out.endswith("2 claims, 0 not equal to the specification\n")
    wrong = [
        {"mnemonic": MMA, "operand": "A", "linear": A.replace("[0, 8]", "[0, 9]")},
        {"mnemonic": MMA, "operand": "D", "cute": D.replace("(16,8)", "(8,16)")},
        {"mnemonic": MMA, "operand": "D", "cute": "((4,8),(2,4)):((32,1),(16,8))"},
        {"mnemonic": MMA, "operand": "A", "linear": A.replace("[0, 1], ", "")},
    ]
    code, out, _ = run("prove", "--claims", claims(tmp_path, *wrong))
    assert code == 1 and out.count("WRONG") == 4
    assert "element 4 of thread 0 is at row 0, col 8, not at row 0, col 9" in out
    assert "element 1 of thread 0 is at index 16, not 8" in out and "it has 8 values, not 4" in out
    records = json.loads(run("prove", "--claims", claims(tmp_path, *right, wrong[0]), "--format", "json")[1])
    assert [record["differs"] is None for record in records] == [True, True, False]
    schema = json.loads(run("schema", "--answers", "prove-claims")[1])
    jsonschema.validate(records, schema)


@pytest.mark.parametrize(
    ("claim", "says"),
    [
        ({"mnemonic": MMA, "operand": "A"}, "claim 1 needs"),
        ({"mnemonic": MMA, "operand": "A", "linear": "nosuch"}, "is not a linear layout"),
        ({"mnemonic": MMA, "operand": "A", "cute": "(4,8"}, "is not a CuTe layout"),
        ({"mnemonic": "nosuch", "operand": "A", "cute": D}, "claim 1: "),
        ({"mnemonic": MMA, "operand": "A", "cute": D, "selectors": [1]}, "selectors are numbers"),
        (7, "claim 1 needs"),
    ],
)
def test_what_is_no_claim(run: Run, tmp_path: Path, claim: object, says: str) -> None:
    code, out, err = run("prove", "--claims", claims(tmp_path, claim))
    assert (code, out) == (2, "") and says in err


def test_files_that_hold_no_claims(run: Run, tmp_path: Path) -> None:
    (tmp_path / "no.json").write_text("{]")
    assert "no.json:1:2: not JSON" in run("prove", "--claims", str(tmp_path / "no.json"))[2]
    assert run("prove", "--claims", str(tmp_path / "none.json"))[0] == 2
    (tmp_path / "deep.json").write_text("[" * 100_000)
    assert "nests brackets too deeply" in run("prove", "--claims", str(tmp_path / "deep.json"))[2]
    assert "no list of claims" in run("prove", "--claims", claims(tmp_path))[2]
    assert run("prove", "wgmma", "--claims", claims(tmp_path))[0] == 2


def test_a_table_of_every_form(run: Run) -> None:
    code, out, _ = run("list", "wgmma.mma_async.sp.*m64n8k16*", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert code == 0 and [row["a"] for row in rows] == ["descriptor", "register"]
    assert {row["targets"] for row in rows} == {"sm_90a>=8.2"} and {row["since"] for row in rows} == {"8.2"}
    assert rows[1]["operands"].startswith("d, a, b-desc, sp-meta")
    assert run("list", "nosuch", "--format", "csv")[:2] == (1, "")
