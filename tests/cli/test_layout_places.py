"""ptxmma layout of tensor memory: lanes and columns, against numbers typed from the manual's data paths."""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from ptxmma.cli.main import main

from ..answers import valid

Run = Callable[..., tuple[int, str, str]]
WATCHES = ("spec/layouts/tcgen05*.yaml",)


@pytest.fixture
def layout(capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*words: str) -> tuple[int, str, str]:
        code = main(["layout", *words])
        out, err = capsys.readouterr()
        return code, out, err

    return run


def test_a_place_and_its_loads(layout: Run) -> None:
    """Lane 37 of data path F is the sixth of warp 1, so row 21; 16x256b has it in groupID 5."""
    words = ("tcgen05.d.F", "--with", "n=64")
    code, out, _ = layout(*words, "--lane", "37", "--column", "5")
    first, second, *loads, witnesses = out.splitlines()
    assert (code, first) == (0, "lane 37, column 5 holds row 21, col 5")
    assert second == "warp 1 of the warpgroup can load it, from column 0 on:"
    assert len(loads) == 10
    assert witnesses.startswith("witnesses: 9.7.16.10.5.6 (figure); ") and "TVM 0.27" in witnesses
    assert [" ".join(line.split()) for line in loads if "256b." in line or "32x32b." in line] == [
        "tcgen05.ld.sync.aligned.32x32b.x8.b32 or longer, at lane 32: thread 5, element 5",
        "tcgen05.ld.sync.aligned.32x32b.x4.pack::16b.b32 or longer, at lane 32: thread 5, element 5, its lower 16 bits",
        "tcgen05.ld.sync.aligned.16x256b.x1.b32 or longer, at lane 32: thread 22, element 1",
        "tcgen05.ld.sync.aligned.16x256b.x1.pack::16b.b32 or longer, at lane 32: thread 21, element 1, its lower 16 bits",
    ]
    assert layout(*words, "--row", "21", "--col", "5")[1] == out


def test_json_follows_its_schema(layout: Run) -> None:
    for words in (
        ("tcgen05.d.B", "--with", "n=32", "--row", "70", "--col", "20"),
        ("tcgen05.d.G", "--with", "n=64"),
        ("tcgen05.cp.32x128b", "--lane", "40", "--column", "2", "--byte", "3"),
    ):
        code, out, _ = layout(*words, "--format", "json")
        answer = json.loads(out)
        assert code == 0
        valid("layout-place", answer)
    assert answer["map"] == [[40, 2, 3, 1, 8, 11]]
    assert answer["columns"] == ["lane", "column", "byte", "copy", "row", "offset"]
    found = json.loads(
        layout("tcgen05.d.B", "--with", "n=32", "--row", "70", "--col", "20", "--format", "json")[1]
    )
    assert any(name.startswith("JAX") for name in found["peers"])
    assert found["map"] == [[1, 70, 4, 70, 20]]  # CTA 1, the second half of the lanes for the second of N
    assert {"mnemonic": "tcgen05.ld.sync.aligned.32x32b.x8.b32", "layout": "tcgen05.ld.32x32b",
            "parameters": {"num": 8}, "warp": 2, "lane": 64, "column": 0, "thread": 6, "element": 4,
            "halves": False} in found["loads"]  # fmt: skip


def test_csv_and_functions_say_the_same(layout: Run) -> None:
    words = ("tcgen05.d.B", "--with", "n=48")
    rows = list(csv.reader(io.StringIO(layout(*words, "--format", "csv")[1])))
    assert rows[0] == ["cta", "lane", "column", "row", "col"]
    space: dict[str, Callable[..., tuple[int, ...]]] = {}
    exec(layout(*words, "--format", "python")[1], space)
    for row in rows[1:]:
        cta, lane, column, *place = map(int, row)
        assert space["tcgen05_d_b_n48_position"](cta, lane, column) == tuple(place)
        assert space["tcgen05_d_b_n48_holder"](*place) == (cta, lane, column)
    assert len(rows) == 1 + 128 * 48


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_c_functions_compile(layout: Run, tmp_path: Path) -> None:
    source = tmp_path / "place.c"
    text = layout("tcgen05.d.E", "--with", "n=128", "--format", "cuda")[1]
    check = "int main(void) { return tcgen05_d_e_n128_lane(63, 127) == 127 && tcgen05_d_e_n128_col(127, 63) == 127 ? 0 : 1; }"
    source.write_text(f"#define __host__\n#define __device__\n{text}\n{check}\n")
    subprocess.run(
        ["cc", "-Wall", "-Werror", "-Wno-unused-function", str(source), "-o", str(tmp_path / "a")], check=True
    )
    assert subprocess.run([str(tmp_path / "a")], check=False).returncode == 0


def test_the_picture_leaves_unused_lanes_empty(layout: Run) -> None:
    """Data path F uses 16 of each warp's 32 lanes."""
    lines = layout("tcgen05.d.F", "--with", "n=16")[1].splitlines()
    rows = {words[0]: words[1:] for words in map(str.split, lines[3:]) if words and words[0].isdecimal()}
    assert rows["15"] == [f"15,{col}" for col in range(8)]
    assert rows["16"] == ["·"] * 8
    assert "  lanes 32j..32j+31: row + 16j, for j = 1 to 3" in lines


@pytest.mark.parametrize(
    ("words", "cells"),
    [
        (("tcgen05.ld.16x64b", "--with", "num=1"), {"T0:r0", "T31:r0"}),
        (("tcgen05.d.A", "--with", "n=16"), {"0,0", "255,15"}),
        (("tcgen05.scale-a.3X", "--with", "id=3"), {"0,0", "127,1..2"}),
        (("tcgen05.metadata.8b",), {"127,8..15,0..1,0..1"}),
        (("tcgen05.ld.16x32bx2", "--with", "num=2"), {"T16:r1"}),
    ],
)
def test_svg(layout: Run, words: tuple[str, ...], cells: set[str]) -> None:
    code, out, _ = layout(*words, "--format", "svg")
    assert code == 0
    assert cells <= {node.text for node in ElementTree.fromstring(out).iter() if node.text}


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("tcgen05.d.F",), "needs n: one of 8, 16, 24"),
        (("tcgen05.d.F", "--with", "n=9"), "n is 9; it must be one of 8, 16"),
        (("tcgen05.d.F", "--with", "n"), "--with 'n': a name and a number are needed"),
        (("tcgen05.d.F", "--with", "n=8", "--with", "q=1"), "has no q"),
        (("tcgen05.d.F", "--with", "n=8", "--thread", "3"), "has no thread"),
        (("tcgen05.d.F", "--with", "n=8", "--lane", "128"), "it has lane 0..127"),
        (("tcgen05.d.F", "--with", "n=8", "--lane", "16"), "lane 16 takes no part"),
        (("tcgen05.d.F", "--with", "n=8", "--chunk", "1"), "has no chunk; ask by lane, column, row, col"),
        (("tcgen05.d.F", "--with", "n=8", "--view", "registers"), "is drawn as lanes and columns"),
        (("tcgen05.d.F", "--with", "n=8", "--operand", "D"), "--operand goes with a mnemonic"),
        (("mma.m16n8.c",), "is a layout without lanes and columns"),
        (("tcgen05.d.D", "--with", "n=8", "--lane", "1", "--format", "svg"), "answered as text or as json"),
    ],
)
def test_questions_without_an_answer(layout: Run, words: tuple[str, ...], why: str) -> None:
    code, out, err = layout(*words)
    assert (code, out) == (2, "") and why in err


PRODUCT = "tcgen05.mma.cta_group::1.kind::f16"
# D of f32, A and B of f16, N = 128, M = 128; the same with M = 64.
WORDS = ("0x08200010", "0x04200010")
UNPACKED = "tcgen05.cp.cta_group::1.64x128b.warpx2::02_13.b8x16.b6x16_p32"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((PRODUCT, "--operand", "D", "--idesc", WORDS[0], "--lane", "70", "--column", "3"),
         "lane 70, column 3 holds row 70, col 3"),
        ((PRODUCT, "--operand", "D", "--with", "m=128", "--with", "n=16", "--lane", "70", "--column", "3"),
         "lane 70, column 3 holds row 70, col 3"),
        ((PRODUCT, "--operand", "d-tmem", "--idesc", WORDS[1], "--with", "half=1", "--row", "20", "--col", "5"),
         "lane 52, column 5 holds row 20, col 5"),
        ((PRODUCT, "--operand", "A", "--idesc", WORDS[0], "--row", "9", "--col", "11"),
         "lane 9, column 5, element 1 holds row 9, col 11"),
        (("tcgen05.mma.sp.cta_group::1.kind::tf32", "--operand", "metadata", "--with", "m=128", "--selector", "1",
          "--lane", "8", "--column", "1", "--bit", "17"),
         "lane 8, column 1, bit 17 holds row 8, chunk 4, slot 0, index_bit 1"),
        (("tcgen05.ld.sync.aligned.16x64b.x8.pack::16b.b32", "--operand", "r", "--thread", "5", "--element", "3"),
         "thread 5, element 3 lies at lane 9, column 5"),
        (("tcgen05.ld.red.sync.aligned.32x32b.x8.min.f32", "--operand", "r", "--lane", "5", "--column", "3"),
         "thread 5, element 3 lies at lane 5, column 3"),
        (("tcgen05.st.sync.aligned.16x128b.x2.b32", "--operand", "data", "--lane", "9", "--column", "6"),
         "thread 6, element 3 lies at lane 9, column 6"),
        ((UNPACKED, "--operand", "taddr", "--lane", "70", "--column", "1", "--byte", "2"),
         "lane 70, column 1, byte 2 holds copy 1, row 6, offset 6"),
        ((UNPACKED, "--operand", "s-desc", "--byte", "3", "--bit", "1"), "byte 3, bit 1 holds source_bit 19"),
        (("tcgen05.shift.cta_group::2.down", "--operand", "taddr", "--lane", "3", "--column", "1"),
         "lane 3, column 1 holds source_lane 4, source_column 1"),
    ],
)  # fmt: skip
def test_from_the_mnemonic(layout: Run, words: tuple[str, ...], said: str) -> None:
    code, out, _ = layout(*words)
    assert (code, out.splitlines()[0]) == (0, said)


def test_pictures_from_the_mnemonic(layout: Run) -> None:
    for words, cell in (
        ((PRODUCT, "--operand", "D", "--idesc", WORDS[0]), "127,127"),
        (("tcgen05.ld.sync.aligned.32x32b.x2.b32", "--operand", "r"), "T31:r1"),
        ((UNPACKED, "--operand", "s-desc"), "95"),
    ):
        code, out, _ = layout(*words, "--format", "svg")
        assert code == 0
        assert cell in {node.text for node in ElementTree.fromstring(out).iter()}
    title = layout(PRODUCT, "--operand", "A", "--with", "m=128", "--rows", "0..1")[1].splitlines()[0]
    assert title == f"A (tcgen05.a.D, bytes 32, width 16) of {PRODUCT}"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ((PRODUCT,), f"name an operand of {PRODUCT} with --operand: D, A"),
        ((PRODUCT, "--operand", "D"), "m must be given: 64 or 128"),
        ((PRODUCT, "--operand", "a-desc", "--idesc", WORDS[0]), "lies in shared memory"),
        ((PRODUCT, "--operand", "B"), "lies in shared memory"),
        ((PRODUCT, "--operand", "enable-input-d", "--idesc", WORDS[0]), "it has: D, A"),
        ((PRODUCT, "--operand", "D", "--idesc", "0x"), "'0x' is not an integer"),
        ((PRODUCT, "--operand", "D", "--idesc", "-1"), "is not a 32-bit word"),
        ((PRODUCT, "--operand", "A", "--with", "m=128", "--a-source", "register"), "in no register"),
        (("tcgen05.d.F", "--idesc", "1"), "--idesc goes with a mnemonic"),
        (("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "--operand", "A", "--idesc", "1"),
         "takes no instruction descriptor"),
        ((UNPACKED.partition(".b8x16")[0], "--operand", "s-desc"), "lies in shared memory, behind a matrix descriptor"),
    ],
)  # fmt: skip
def test_mnemonics_without_an_answer(layout: Run, words: tuple[str, ...], why: str) -> None:
    code, out, err = layout(*words)
    assert (code, out) == (2, "") and why in err
