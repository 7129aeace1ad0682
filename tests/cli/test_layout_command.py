"""ptxmma layout: numbers against the text's formulas typed by hand, and every format against the numbers."""

from __future__ import annotations

import ast
import itertools
import json
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from ptxmma.cli.main import main

Run = Callable[..., str]
Formula = Callable[[int, int, int], tuple[int, int]]

F16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
S8_16 = "mma.sync.aligned.m16n8k16.row.col.s32.s8.u8.s32"
S8_32 = "mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32"
S4_32 = "mma.sync.aligned.m16n8k32.row.col.s32.s4.u4.s32"
S4_64 = "mma.sync.aligned.m16n8k64.row.col.s32.s4.u4.s32"
F6 = "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e3m2.e2m1.f32"
F64 = "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64"
MX4 = "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0"
DENSE = "wgmma.mma_async.sync.aligned.m64n{n}k16.f32.f16.f16"
SPARSE = "wgmma.mma_async.sp.sync.aligned.m64n24k32.f32.f16.f16"
SPARSE_8B = "wgmma.mma_async.sp.sync.aligned.m64n8k64.s32.s8.u8"


@pytest.fixture
def layout(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command, expect exit code 0, return what it printed."""

    def run(*words: str) -> str:
        assert main(["layout", *words]) == 0, capsys.readouterr().err
        return capsys.readouterr().out.rstrip("\n")

    return run


# Sections 9.7.14.5.9, .10 and .11, rows and columns as their formulas have them (g = groupID,
# p = threadID_in_group), with the bits of an element and the number of elements.
TEXT: dict[tuple[str, str], tuple[int, int, Formula]] = {
    (S8_16, "A"): (8, 8, lambda g, p, i: (g if i < 4 else g + 8, p * 4 + (i & 3))),
    (S8_16, "B"): (8, 4, lambda g, p, i: (p * 4 + i, g)),
    (S8_16, "C"): (32, 4, lambda g, p, i: (g if i < 2 else g + 8, p * 2 + (i & 1))),
    (S4_32, "A"): (4, 16, lambda g, p, i: (g if i < 8 else g + 8, p * 8 + (i & 7))),
    (S4_32, "B"): (4, 8, lambda g, p, i: (p * 8 + (i & 7), g)),
    (S8_32, "A"): (
        8,
        16,
        lambda g, p, i: (
            g if 0 <= i < 4 or 8 <= i < 12 else g + 8,
            p * 4 + (i & 3) + (16 if i >= 8 else 0),
        ),
    ),
    (S8_32, "B"): (8, 8, lambda g, p, i: (p * 4 + (i & 3) + (16 if i >= 4 else 0), g)),
    (S8_32, "D"): (32, 4, lambda g, p, i: (g if i < 2 else g + 8, p * 2 + (i & 1))),
    (F6, "A"): (
        8,
        16,
        lambda g, p, i: (
            g if 0 <= i < 4 or 8 <= i < 12 else g + 8,
            p * 4 + (i & 3) + (16 if i >= 8 else 0),
        ),
    ),
    (S4_64, "A"): (
        4,
        32,
        lambda g, p, i: (
            g if 0 <= i < 8 or 16 <= i < 24 else g + 8,
            p * 8 + (i & 7) + (32 if i >= 16 else 0),
        ),
    ),
    (S4_64, "B"): (4, 16, lambda g, p, i: (p * 8 + (i & 7) + (32 if i >= 8 else 0), g)),
}


@pytest.mark.parametrize(("mnemonic", "operand"), TEXT)
def test_fragments_of_the_text(layout: Run, mnemonic: str, operand: str) -> None:
    bits, count, formula = TEXT[mnemonic, operand]
    found = json.loads(layout(mnemonic, "--operand", operand, "--format", "json"))
    wanted = []
    for thread, i in itertools.product(range(32), range(count)):
        row, col = formula(thread >> 2, thread % 4, i)
        wanted.append([thread, i, i // (32 // bits), bits * (i % (32 // bits)), row, col])
    assert list(found) == ["rows", "cols", "threads", "elements", "map"]
    assert found["map"] == wanted
    assert (found["threads"], found["elements"]) == (32, count)
    assert found["rows"] * found["cols"] == 32 * count


def test_f64_registers_are_64_bits(layout: Run) -> None:
    found = json.loads(layout(F64, "--operand", "A", "--format", "json"))
    assert all(register == element and low == 0 for _, element, register, low, *_ in found["map"])


@pytest.mark.parametrize("n", [8, 24, 256])
def test_wgmma_accumulator(layout: Run, n: int) -> None:
    found = json.loads(layout(DENSE.format(n=n), "--operand", "D", "--format", "json"))
    assert (found["rows"], found["cols"], found["threads"], found["elements"]) == (64, n, 128, n // 2)
    at = {(row, col): (thread, i, register) for thread, i, register, _, row, col in found["map"]}
    for row, col in itertools.product(range(64), range(n)):
        thread = row // 16 * 32 + row % 8 * 4 + col % 8 // 2
        element = col // 8 * 4 + row % 16 // 8 * 2 + col % 2
        assert at[row, col] == (thread, element, element)


def test_metadata(layout: Run) -> None:
    for selector in (0, 1):
        words = (SPARSE, "--operand", "metadata", "--selector", str(selector))
        found = json.loads(layout(*words, "--format", "json"))
        assert list(found) == ["selector", "map"]
        assert found["selector"] == selector
        assert {thread % 4 // 2 for thread, *_ in found["map"]} == {selector}
        places = {tuple(entry[2:]) for entry in found["map"]}
        assert places == set(itertools.product(range(64), range(8), range(2), range(2)))
        assert len(found["map"]) == len(places)
    one = json.loads(layout(*words, "--thread", "6", "--bit", "21", "--format", "json"))
    assert one == {"selector": 1, "map": [[6, 21, 9, 1, 0, 1]]}


def test_scale_factors(layout: Run) -> None:
    words = (MX4, "--operand", "scale-a", "--thread-id", "1", "--byte-id", "2")
    found = json.loads(layout(*words, "--format", "json"))
    assert (found["rows"], found["cols"], found["threads"], found["elements"]) == (16, 2, 32, 4)
    assert [0, 0] not in [entry[:2] for entry in found["map"]]
    for thread, byte, register, low, row, col in found["map"]:
        assert thread % 4 in (2, 3)
        assert (byte in (2, 3), register, low) == (True, 0, 8 * byte)
        assert (row, col) == (thread // 4 + 8 * (thread % 2), byte % 2)
    assert len(found["map"]) == 32


def test_one_question(layout: Run) -> None:
    words = (S8_32, "--operand", "A")
    forward = layout(*words, "--thread", "5", "--element", "13")
    assert "\n" not in forward
    for part in ("thread 5", "a13", "row 9", "column 21", "register 3", "bits 8..15"):
        assert part in forward
    assert layout(*words, "--row", "9", "--col", "21") == forward
    one = json.loads(layout(*words, "--row", "9", "--col", "21", "--format", "json"))
    whole = json.loads(layout(*words, "--format", "json"))
    assert one == {**whole, "map": [[5, 13, 3, 8, 9, 21]]}


CASES = [
    (F16, "A"),
    (F16, "B"),
    (S4_64, "A"),
    (F64, "B"),
    (DENSE.format(n=24), "D"),
    (DENSE.format(n=256), "D"),
    (DENSE.format(n=8), "A"),
    (SPARSE, "A"),
    (SPARSE, "metadata", "--selector", "1"),
    (SPARSE_8B, "metadata"),
    (MX4, "scale-a", "--thread-id", "1", "--byte-id", "2"),
    (MX4, "scale-b"),
]
FRAGMENTS = [case for case in CASES if len(case[1]) == 1]


def words_of(case: tuple[str, ...], format_: str) -> tuple[str, ...]:
    return (case[0], "--operand", *case[1:], "--format", format_)


@pytest.mark.parametrize("case", CASES)
def test_csv(layout: Run, case: tuple[str, ...]) -> None:
    heading, *lines = layout(*words_of(case, "csv")).splitlines()
    wanted = "thread,element,register,bit_low,row,col"
    assert heading == ("thread,bit,row,chunk,slot,index_bit" if case[1] == "metadata" else wanted)
    found = json.loads(layout(*words_of(case, "json")))
    assert [[int(word) for word in line.split(",")] for line in lines] == found["map"]


def cells_of(found: Mapping[str, Any], letter: str) -> list[list[str]]:
    """The labels that a figure must have, row by row."""
    cells = {(row, col): f"T{thread}:{letter}{i}" for thread, i, _, _, row, col in found["map"]}
    return [[cells[row, col] for col in range(found["cols"])] for row in range(found["rows"])]


@pytest.mark.parametrize("case", FRAGMENTS)
def test_figures_have_every_cell(layout: Run, case: tuple[str, ...]) -> None:
    wanted = cells_of(json.loads(layout(*words_of(case, "json"))), case[1].lower())
    table = [line for line in layout(*words_of(case, "markdown")).splitlines() if line.startswith("|")]
    assert [[cell.strip() for cell in line.split("|")[2:-1]] for line in table[2:]] == wanted
    root = ElementTree.fromstring(layout(*words_of(case, "svg")))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    drawn = [node.text or "" for node in root.iter("{http://www.w3.org/2000/svg}text")]
    labels = [text.replace(" ", "") for text in drawn if text.startswith("T")]
    bands = [[row[start : start + 32] for row in wanted] for start in range(0, len(wanted[0]), 32)]
    assert labels == [label for band in bands for row in band for label in row]


def inputs_of(
    found: Mapping[str, Any], case: tuple[str, ...]
) -> Iterator[tuple[list[int], list[int], list[int]]]:
    """Each point as inputs, places in registers and outputs."""
    for entry in found["map"]:
        if case[1] == "metadata":
            yield entry[:2], [], entry[2:]
        else:
            yield entry[:2], entry[2:4], entry[4:]


@pytest.mark.parametrize("case", CASES)
def test_python_functions(layout: Run, case: tuple[str, ...]) -> None:
    space: dict[str, Any] = {}
    exec(compile(layout(*words_of(case, "python")), "generated", "exec"), space)
    functions = {name.rsplit("_", 1)[1]: f for name, f in space.items() if callable(f)}
    found = json.loads(layout(*words_of(case, "json")))
    for given, place, position in inputs_of(found, case):
        assert list(functions["position"](*given)) == position
        assert list(functions["holder"](*position)) == given
        if place:
            assert list((functions.get("register") or functions["place"])(given[1])) == place
    if "holds" in functions:
        taking_part = {tuple(entry[:2]) for entry in found["map"]}
        size = 32 if case[1] == "metadata" else found["elements"]
        for point in itertools.product(range(128), range(size)):
            if point[0] < max(thread for thread, _ in taking_part):
                assert functions["holds"](*point) == (point in taking_part)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")
@pytest.mark.parametrize("case", CASES)
def test_c_functions(layout: Run, tmp_path: Path, case: tuple[str, ...]) -> None:
    """The CUDA functions compiled as C, without a warning, and asked about every point."""
    text = layout(*words_of(case, "cuda"))
    found = json.loads(layout(*words_of(case, "json")))
    stem = next(line for line in text.splitlines() if "_row(" in line).split("_row(")[0].split()[-1]
    outputs = ["row", "chunk", "slot", "index_bit"] if case[1] == "metadata" else ["row", "col"]
    second = "bit" if case[1] == "metadata" else "element"
    calls = [f"{stem}_{name}(a[0], a[1])" for name in outputs]
    if case[1] != "metadata":
        calls = [f"{stem}_register(a[1])", f"{stem}_bit_low(a[1])", *calls]
    back = ", ".join(f"a[{6 - len(outputs) + at}]" for at in range(len(outputs)))
    points = ",".join("{" + ",".join(map(str, entry)) + "}" for entry in found["map"])
    tests = [f"{call} != a[{2 + at}]" for at, call in enumerate(calls)]
    tests += [f"{stem}_thread({back}) != a[0]", f"{stem}_{second}({back}) != a[1]"]
    program = (
        f"#define __host__\n#define __device__\n{text}\n"
        f"static const unsigned points[][6] = {{{points}}};\n"
        "int main(void) {\n"
        f"  for (unsigned p = 0; p < {len(found['map'])}; p++) {{\n"
        f"    const unsigned *a = points[p];\n    if ({' || '.join(tests)}) return 1;\n"
        "  }\n  return 0;\n}\n"
    )
    (tmp_path / "map.c").write_text(program)
    command = ["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-o", "map", "map.c"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert subprocess.run([tmp_path / "map"]).returncode == 0


def flat(tree: Any) -> list[int]:
    return [tree] if isinstance(tree, int) else list(itertools.chain.from_iterable(map(flat, tree)))


def cute_index(shape: Any, stride: Any, index: int) -> int:
    """A CuTe layout at a coordinate: the colexicographic order of its modes, then the dot product."""
    position = 0
    for extent, step in zip(flat(shape), flat(stride), strict=True):
        position += index % extent * step
        index //= extent
    assert index == 0
    return position


@pytest.mark.parametrize("case", FRAGMENTS)
def test_cute(layout: Run, case: tuple[str, ...]) -> None:
    shape, stride = map(ast.literal_eval, layout(*words_of(case, "cute")).split("\n")[0].split(":"))
    found = json.loads(layout(*words_of(case, "json")))
    for thread, element, _, _, row, col in found["map"]:
        position = cute_index(shape[0], stride[0], thread) + cute_index(shape[1], stride[1], element)
        wanted = row * found["cols"] + col if case[1] == "B" else row + col * found["rows"]
        assert position == wanted


def test_a_legend_tells_only_of_lines_that_are_there(layout: Run) -> None:
    rows = ("ldmatrix.sync.aligned.m8n8.x4.shared.b16", "--operand", "p", "--format", "svg")
    assert "thin lines" not in layout(*rows)
    for cut, lines in (("0..7", 0), ("8..15", 0), ("6..9", 1)):
        drawn = layout(F16, "--operand", "D", "--format", "svg", "--rows", cut)
        assert drawn.count("thin lines: every 8 rows and columns") == lines
