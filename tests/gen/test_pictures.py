"""Figures: bands, blocks with a legend, cut-outs, colours and SVG, against numbers typed by hand."""

from __future__ import annotations

import itertools
import math
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator

import pytest

from ptxmma.gen.pictures.colours import colour
from ptxmma.gen.pictures.grid import lanes_of
from ptxmma.gen.pictures.tables import table_of
from ptxmma.spec.specification import Specification

Run = Callable[..., tuple[int, str, str]]

MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
WIDE = "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16"
NARROW = "wgmma.mma_async.sync.aligned.m64n24k16.f32.f16.f16"
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


# What people see of linear red, green and blue: Machado, Oliveira and Fernandes 2009, severity 1.
VISIONS = {
    "normal": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
XYZ = (
    (0.4124564, 0.3575761, 0.1804375),
    (0.2126729, 0.7151522, 0.0721750),
    (0.0193339, 0.1191920, 0.9503041),
)


def seen(vision: str, red: int, green: int, blue: int) -> tuple[float, float, float]:
    """A colour in CIELAB, as people with this vision see it."""

    def times(matrix: tuple[tuple[float, ...], ...], vector: list[float]) -> list[float]:
        return [sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix]

    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
        for c in (red / 255, green / 255, blue / 255)
    ]
    white = times(XYZ, [1.0, 1.0, 1.0])
    light = times(XYZ, [min(1.0, max(0.0, c)) for c in times(VISIONS[vision], linear)])
    x, y, z = (
        (q ** (1 / 3) if q > 0.008856 else 7.787 * q + 16 / 116)
        for q in (part / of for part, of in zip(light, white, strict=True))
    )
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def test_colours_as_they_are_seen() -> None:
    """Black and white are 100 apart in lightness, and greys stay grey in every vision."""
    for vision in VISIONS:
        assert math.dist(seen(vision, 255, 255, 255), (100, 0, 0)) < 0.1
        assert math.dist(seen(vision, 0, 0, 0), (0, 0, 0)) < 0.1
        assert max(map(abs, seen(vision, 119, 119, 119)[1:])) < 0.1
    assert math.dist(seen("deuteranopia", 255, 0, 0), seen("deuteranopia", 0, 160, 0)) < 40
    assert math.dist(seen("normal", 255, 0, 0), seen("normal", 0, 160, 0)) > 120


@pytest.mark.parametrize("vision", VISIONS)
def test_colours_differ_for_every_colour_vision(vision: str) -> None:
    """A difference of 2.3 in CIELAB is just noticed. Two warps, and two threads of a group, differ by far more."""
    wide = [seen(vision, *colour(thread, 128)) for thread in range(128)]
    for one, other in itertools.combinations(range(4), 2):
        for lane in range(32):
            assert math.dist(wide[32 * one + lane], wide[32 * other + lane]) > 12
    alone = [seen(vision, *colour(thread, 32)) for thread in range(32)]
    assert min(math.dist(a, b) for a, b in itertools.combinations(alone, 2)) > 2.3
    for group in range(0, 32, 4):
        assert min(math.dist(a, b) for a, b in itertools.combinations(alone[group : group + 4], 2)) > 12


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


def lines_of(svg: str) -> tuple[list[float], list[float]]:
    """Where the lines across and the lines down of an SVG are, in cells from the first."""
    across: list[float] = []
    down: list[float] = []
    for path in ElementTree.fromstring(svg).iter(f"{SVG}path"):
        x1, y1, _, y2 = map(float, re.findall(r"-?[\d.]+", path.get("d", "")))
        (across if y1 == y2 else down).append(y1 if y1 == y2 else x1)
    return across, down


def test_lines_stand_at_multiples_of_eight_of_the_matrix(run: Run) -> None:
    """The edges and row 8 of rows 4 to 11; of a matrix with four rows, its edges."""
    drawn = run("layout", MMA, "--operand", "A", "--rows", "4..11", "--cols", "3..9", "--format", "svg")[1]
    across, down = lines_of(drawn)
    assert [round((y - across[0]) / 20) for y in across] == [0, 4, 8]
    wide = (down[-1] - down[0]) / 7
    assert [round((x - down[0]) / wide) for x in down] == [0, 5, 7]
    small = "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64"
    across, _ = lines_of(run("layout", small, "--operand", "B", "--format", "svg")[1])
    assert [round((y - across[0]) / 20) for y in across] == [0, 4]


@pytest.mark.parametrize(
    ("words", "rows"),
    [((NARROW, "--operand", "D"), [16, 32, 48]), (("tcgen05.d.F", "--with", "n=16"), [32, 64, 96])],
    ids=["a warp has 16 rows", "and 16 lanes that hold nothing"],
)
def test_thick_lines_stand_where_the_warp_changes(run: Run, words: tuple[str, ...], rows: list[int]) -> None:
    drawn = run("layout", *words, "--format", "svg")[1]
    first, *_ = lines_of(drawn)[0]
    thick = [
        path for path in ElementTree.fromstring(drawn).iter(f"{SVG}path") if path.get("stroke-width") == "2.4"
    ]
    places = [float(re.findall(r"-?[\d.]+", path.get("d", ""))[1]) for path in thick]
    assert [round((y - first) / 20) for y in places] == rows


def test_the_legend_shows_the_colours(run: Run) -> None:
    """A swatch a warp in the colours of lane 16, and one a groupID in those of warp 0."""
    drawn = run("layout", WIDE, "--operand", "D", "--format", "svg")[1]
    fills = [node.get("fill") for node in ElementTree.fromstring(drawn).iter(f"{SVG}rect")]
    swatches = [*range(16, 128, 32), *range(0, 32, 4)]
    assert fills[1:13] == ["#{:02x}{:02x}{:02x}".format(*colour(thread, 128)) for thread in swatches]


def test_threads_that_hold_nothing_stand_as_points(specification: Specification) -> None:
    variant = next(v for v in specification.families["mma"].variants() if "scale-a" in v.layouts)
    grid = lanes_of(table_of(specification, variant, "scale-a"))
    held = {entry[0] for entry in table_of(specification, variant, "scale-a").entries}
    assert {int(name[1:]) for name, cells in grid.rows if cells[0].label != "·"} == held != set(range(32))
