"""Odd questions get the answer, or a sentence: no option is passed over, no file is lost, no noun miscounted."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Thread

import numpy as np
import pytest

Run = Callable[..., tuple[int, str, str]]

MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
SP = "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16"
WORD = "0x4000004000000040"
PICTURE = "is for the picture of an operand, as text, markdown, svg"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            ("--operand", "A,B", "--row", "1", "--col", "1"),
            "--row asks about one operand; name one with --operand",
        ),
        (("--operand", "D", "--cols", "0..3", "--format", "csv"), f"--cols {PICTURE}"),
        (("--operand", "D", "--rows", "0..3", "--format", "cuda"), f"--rows {PICTURE}"),
        (("--operand", "D", "--rows", "0", "--row", "1", "--col", "1"), f"--rows {PICTURE}"),
        (("--operand", "D", "--rows", "0", "--latex"), f"--rows {PICTURE}"),
        (("--operand", "D", "--view", "registers", "--format", "json"), f"--view {PICTURE}"),
        (("--operand", "A", "--a-source", "descriptor"), f"{MMA} has no choice of where A comes from"),
        (("--operand", "A", "--thread", "x"), "argument --thread: 'x' is not an integer"),
    ],
)
def test_layout_passes_over_no_option(run: Run, words: tuple[str, ...], says: str) -> None:
    code, out, err = run("layout", MMA, *words)
    assert (code, out) == (2, "") and err.endswith(f"ptxmma: {says}\n")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("encode", "foo=1"), "the descriptor has no field 'foo'; it has start-address, leading-dimension-"),
        (
            ("encode", "start-address=1e3"),
            "'1e3' is not a value; it must be an integer, in decimal or as 0x…",
        ),
        (("decode", "0x4000"), "the reserved bit 14 is set; it must be 0\n"),
        (("decode", "0xc000"), "the reserved bits 14, 15 are set; they must be 0\n"),
        (("decode", "010"), "'010' is not an integer; write it in decimal or as 0x…\n"),
        (("address", WORD, "--row", "9", "--k", "99"), "(9, 99) is outside: the row is 0..255, k is 0..31\n"),
    ],
)
def test_a_descriptor_says_what_would_be_right(run: Run, words: tuple[str, ...], says: str) -> None:
    code, out, err = run("descriptor", *words)
    assert (code, out) == (2, "") and says in err


def test_an_address_within_an_element(run: Run) -> None:
    """Elements of two bytes: 0x897 is the second byte of the one at 0x896."""
    assert run("descriptor", "address", WORD, "--address", "0x896")[1].startswith(
        "element (9, 3) lies at 0x896 ("
    )
    out = run("descriptor", "address", WORD, "--address", "0x897")[1]
    assert out.startswith("byte 1 of element (9, 3) lies at 0x897 (")


def test_no_file_is_written_over_another(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    matrix = np.tile(np.array([0, 1, 2, 0], np.float16), (64, 8))
    np.save("a.npy", matrix)
    for outputs in (("--packed", "a.npy"), ("--metadata", "./a.npy"), ("--packed", "m", "--metadata", "m")):
        code, out, err = run("compress", SP, "a.npy", *outputs)
        assert (code, out) == (
            2,
            "",
        ) and "is named twice; every input and output needs a file of its own" in err
        assert [path.name for path in tmp_path.iterdir()] == ["a.npy"] and (np.load("a.npy") == matrix).all()
    assert run("compress", SP, "a.npy", "--selector", "1")[0] == 0
    code, _, err = run(
        "decompress", SP, "packed.npy", "metadata.npy", "--matrix", "packed.npy", "--selector", "1"
    )
    assert code == 2 and "packed.npy is named twice" in err
    code, _, err = run("decompress", SP, "packed.npy", "metadata.npy", "--selector", "0")
    assert code == 2 and "the code 0b0000 is not valid (with selector 0); valid are 0b0100" in err


def test_one_is_not_counted_as_many(run: Run, tmp_path: Path) -> None:
    code, out, _ = run("gen", "movmatrix", "--out", str(tmp_path / "suite"))
    assert code == 0
    assert " 1 mnemonic  " in out and " 1 kernel  " in out and "\n1 mnemonic, 1 kernel, 3 cases in " in out


def test_a_pipe_is_read_where_somebody_writes_to_it(run: Run, tmp_path: Path, kernel: str) -> None:
    pipe = tmp_path / "x.ptx"
    os.mkfifo(pipe)
    code, _, err = run("check", str(pipe))
    assert code == 2 and f"{pipe}: it is a pipe, and nobody wrote to it within 2 seconds" in err
    writer = Thread(target=pipe.write_text, args=(kernel,))
    writer.start()
    code, _, err = run("check", str(pipe))
    writer.join()
    assert (code, err) == (0, "")


@pytest.fixture
def kernel() -> str:
    return ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k() {\n  ret;\n}\n"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["nosuch.f32 a, b;", "nor.this a;"], 2),
        (["nosuch.f32 a, b;", "wgmma.fence.sync.aligned;"], 1),
        (["wgmma.fence.sync;", "nosuch.f32 a, b;"], 1),
        (["wgmma.fence.sync.aligned;"], 0),
    ],
)
def test_a_batch_of_unknown_lines_ends_as_one_alone(
    run: Run, tmp_path: Path, lines: list[str], expected: int
) -> None:
    (tmp_path / "lines").write_text("\n".join(lines))
    assert run("legal", "--batch", str(tmp_path / "lines"))[0] == expected
    assert len(lines) > 1 or run("legal", *lines)[0] == expected


def test_a_qualifier_with_a_suffix_is_named_as_it_is_written(run: Run) -> None:
    form = "{d0,d1,d2,d3}, {a0,a1,a2,a3}, {b0,b1,b2,b3}, {c0,c1,c2,c3}, e, 0;"
    _, out, _ = run("legal", f"mma.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {form}")
    assert "the qualifier .sp is missing; allowed: .sp, .sp::ordered_metadata" in out
    assert "spvariant" not in out


def test_more_direct_runs_than_anybody_waits_for_are_refused(run: Run) -> None:
    code, out, err = run("ordering", "--direct", "9")
    assert (code, out) == (2, "") and "--direct is at most 4" in err and "40 times as long" in err


def test_a_package_that_is_not_installed_is_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "ptxmma.cli.matrices", raising=False)
    monkeypatch.setitem(sys.modules, "numpy", None)
    code, out, err = run("compress", SP, "a.npy", "--packed", "b.npy", "--metadata", "m.npy")
    assert (code, out) == (2, "")
    assert err == "ptxmma: the Python package numpy is missing; `pip install ptxmma` installs it too\n"
