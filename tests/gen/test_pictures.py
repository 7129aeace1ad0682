"""Figures: bands, blocks with a legend, cut-outs, colours and SVG, against numbers typed by hand."""

from __future__ import annotations

import itertools
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator

import pytest

from ptxmma.gen.pictures.colours import colour

Run = Callable[..., tuple[int, str, str]]

MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
WIDE = "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16"
SVG = "{http://www.w3.org/2000/svg}"


def holder(row: int, col: int) -> tuple[int, int]:
    """Thread and element of D of wgmma, from figure 9.7.15.5.1."""
    return row // 16 * 32 + row % 8 * 4 + col % 8 // 2, col // 8 * 4 + row % 16 // 8 * 2 + col % 2


def cells(text: str) -> Iterator[tuple[int, int, int, int]]:
    """Row, column, thread and element of every cell of a picture in bands."""
    columns: list[int] = []
    for line in text.split("\n\n", 1)[1].split("\n"):
        if re.fullmatch(r"[ \d]+", line):
            columns = [int(word) for word in line.split()]
        elif re.match(r" *\d+ +T\d+:", line):
            row, *labels = line.split()
            assert len(labels) == len(columns)
            for col, label in zip(columns, labels, strict=True):
                thread, element = re.fullmatch(r"T(\d+):d(\d+)", label).groups()  # type: ignore[union-attr]
                yield int(row), col, int(thread), int(element)


def test_a_large_matrix_is_a_block_and_a_legend(run: Run) -> None:
    code, out, _ = run("layout", WIDE, "--operand", "D")
    assert code == 0 and len(out.splitlines()) == 22
    legend = out[out.index("64 x 256") :].splitlines()
    assert legend == [
        "64 x 256 in all; the rest repeats this block of 8 x 8:",
        "  columns 8j..8j+7: element + 4j, for j = 1 to 31",
        "  rows 8..15: element + 2",
        "  rows 16..23: thread + 32",
        "  rows 24..31: thread + 32, element + 2",
        "  rows 32..39: thread + 64",
        "  rows 40..47: thread + 64, element + 2",
        "  rows 48..55: thread + 96",
        "  rows 56..63: thread + 96, element + 2",
        "--rows 0..63 prints all of it; --rows, --cols and --thread choose a part",
    ]


def test_every_cell_follows_from_the_block_and_the_legend(run: Run) -> None:
    out = run("layout", WIDE, "--operand", "D")[1]
    block = {(row, col): (thread, element) for row, col, thread, element in cells(out)}
    assert set(block) == set(itertools.product(range(8), range(8)))
    down = {0: (0, 0)}
    for first, words in re.findall(r"^  rows (\d+)\.\.\d+: (.*)$", out, re.M):
        added = dict(re.findall(r"(thread|element) \+ (\d+)", words))
        down[int(first) // 8] = int(added.get("thread", 0)), int(added.get("element", 0))
    ((step, last),) = re.findall(r"^  columns 8j\.\.8j\+7: element \+ (\d+)j, for j = 1 to (\d+)$", out, re.M)
    assert (len(down), int(last)) == (8, 31)
    for row, col in itertools.product(range(64), range(256)):
        thread, element = block[row % 8, col % 8]
        more = down[row // 8]
        assert (thread + more[0], element + more[1] + int(step) * (col // 8)) == holder(row, col)


def test_all_of_it_in_bands_of_eight_columns(run: Run) -> None:
    out = run("layout", WIDE, "--operand", "D", "--rows", "0..63")[1]
    found = {(row, col): (thread, element) for row, col, thread, element in cells(out)}
    assert found == {at: holder(*at) for at in itertools.product(range(64), range(256))}
    headings = [line.split() for line in out.split("\n") if re.fullmatch(r"[ \d]+", line)]
    assert len(headings) == 32 and all(len(heading) % 8 == 0 for heading in headings)
    assert max(map(len, out.splitlines())) <= 120


def test_rows_and_columns_are_cut_out(run: Run) -> None:
    out = run("layout", WIDE, "--operand", "D", "--rows", "9..10", "--cols", "3")[1]
    assert list(cells(out)) == [(9, 3, *holder(9, 3)), (10, 3, *holder(10, 3))]
    drawn = run("layout", WIDE, "--operand", "D", "--rows", "9..10", "--cols", "3", "--format", "svg")[1]
    labels = [node.text or "" for node in ElementTree.fromstring(drawn).iter(f"{SVG}text")]
    assert [label for label in labels if label.startswith("T")] == ["T5:d3", "T9:d3"]


def test_one_thread_is_picked_out(run: Run) -> None:
    out = run("layout", MMA, "--operand", "D", "--thread", "5")[1]
    assert re.findall(r"T\d+:d\d", out) == ["T5:d0", "T5:d1", "T5:d2", "T5:d3"]
    assert out.count("·") == 16 * 8 - 4
    drawn = run("layout", MMA, "--operand", "D", "--thread", "5", "--format", "svg")[1]
    fills = [node.get("fill") for node in ElementTree.fromstring(drawn).iter(f"{SVG}rect")]
    assert fills.count("#fff") == 16 * 8 - 4


def test_by_register(run: Run) -> None:
    """9.7.14.5.8, A: registers hold two neighbours of a row; 1 is eight rows below 0, 2 eight columns right."""
    out = run("layout", MMA, "--operand", "A", "--view", "registers", "--rows", "5")[1]
    assert out.splitlines()[-1].split() == ["T5", "1,2..3", "9,2..3", "1,10..11", "9,10..11"]
    code, _, err = run(
        "layout", "ldmatrix.sync.aligned.m8n8.x4.shared.b16", "--operand", "p", "--view", "registers"
    )
    assert code == 2 and "not a fragment" in err


@pytest.mark.parametrize(
    "words",
    [
        ("--rows", "x"),
        ("--rows", "3..1"),
        ("--rows", "0..16"),
        ("--rows", "-1..3"),
        ("--rows", ""),
        ("--cols", "8"),
        ("--cols", "1.."),
        ("--cols", "0..1..2"),
        ("--thread", "32"),
        ("--thread", "-1"),
        ("--operand", "A,B", "--format", "svg"),
        ("--operand", "A,B,D", "--format", "json"),
        ("--operand", "A,E"),
    ],
)
def test_a_part_that_is_not_there_is_refused(run: Run, words: tuple[str, ...]) -> None:
    code, out, err = run("layout", MMA, "--operand", "D", *words)
    assert (code, out) == (2, "")
    assert err.strip()


@pytest.mark.parametrize("threads", [32, 128])
def test_no_two_threads_have_one_colour(threads: int) -> None:
    colours = [colour(thread, threads) for thread in range(threads)]
    assert len(set(colours)) == threads
    for red, green, blue in colours:  # black text is read on each: WCAG's contrast of at least 7
        channels = [
            c / 255 / 12.92 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in (red, green, blue)
        ]
        light = sum(part * channel for part, channel in zip((0.2126, 0.7152, 0.0722), channels, strict=True))
        assert (light + 0.05) / 0.05 >= 7


@pytest.mark.parametrize(
    ("mnemonic", "operand"), [(MMA, "D"), (MMA, "A,B,D"), (WIDE, "D"), (WIDE.replace("n256", "n8"), "D")]
)
def test_an_svg_contains_what_it_draws(run: Run, mnemonic: str, operand: str) -> None:
    code, drawn, _ = run("layout", mnemonic, "--operand", operand, "--format", "svg")
    root = ElementTree.fromstring(drawn)
    width, height = float(root.get("width", 0)), float(root.get("height", 0))
    assert code == 0 and width < 2600
    texts = list(root.iter(f"{SVG}text"))
    assert (texts[0].text or "").endswith(mnemonic) and "in a cell, T0:d0" in (texts[1].text or "")
    for node in texts:
        # A monospaced character is 0.6 of the size wide.
        length = len(node.text or "") * 0.6 * float(node.get("font-size", 0))
        x = (
            float(node.get("x", 0))
            - {"start": 0, "middle": length / 2, "end": length}[node.get("text-anchor", "")]
        )
        assert x >= 0 and x + length <= width and 0 < float(node.get("y", 0)) < height
    for node in root.iter(f"{SVG}rect"):
        assert float(node.get("x", 0)) + float(node.get("width", 0)) <= width
        assert float(node.get("y", 0)) + float(node.get("height", 0)) <= height


def test_a_b_and_d_stand_as_one_multiplies(run: Run) -> None:
    drawn = run("layout", MMA, "--operand", "A,B,D", "--format", "svg")[1]
    places = {
        node.text: (float(node.get("x", 0)), float(node.get("y", 0)))
        for node in ElementTree.fromstring(drawn).iter(f"{SVG}text")
    }
    assert places["T0:a0"][1] == places["T0:d0"][1] > places["T3:b3"][1]
    assert places["T0:b0"][0] == places["T0:d0"][0] > places["T3:a5"][0]
    out = run("layout", MMA, "--operand", "A,B,D")[1]
    assert [len(set(re.findall(rf"T\d+:{letter}\d", out))) for letter in "abd"] == [256, 128, 128]
