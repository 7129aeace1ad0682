"""Sparse matrices in scripts: what `ptxmma compress` and `decompress` make of them, and the sentences of both."""

from __future__ import annotations

import base64
import io
import random
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ptxmma.atlas.layout_data import layout_data
from ptxmma.gen.sparse_arrays import SparseA
from ptxmma.spec.api import load
from ptxmma.spec.variants import Variant

from .conftest import Open
from .in_node import in_node
from .processor_time import MOST, processor_time

Run = Callable[..., tuple[int, str, str]]
SCRIPTS = ("layout_maps", "layout_choice", "sparse_codes", "matrix_files")


@cache
def data() -> dict[str, Any]:
    return layout_data(load())


def variants() -> Iterator[Variant]:
    """A sparse variant of each coding, metadata layout and shape but for N."""
    met = set()
    for family in load().families.values():
        for variant in family.variants():
            key = variant.row.row.sparsity, variant.layouts.get("metadata"), variant.fields.get("k")
            if key[0] is not None and key not in met:
                met.add(key)
                yield variant


def sparse_matrix(sparse: SparseA, draw: random.Random, tiles: tuple[int, int]) -> list[list[int]]:
    """A matrix of the right sparsity; one in five chunks has less than it may have."""
    coding = sparse.sparsity
    matrix = []
    for _ in range(sparse.m * tiles[0]):
        row: list[int] = []
        for _ in range(sparse.k * tiles[1] // coding.chunk):
            runs = draw.sample(range(coding.chunk // coding.run), coding.indices - (draw.random() < 0.2))
            row += [
                draw.randrange(1, 9) if column // coding.run in runs else 0 for column in range(coding.chunk)
            ]
        matrix.append(row)
    return matrix


COMPRESSED = """return given.map(([mnemonic, selector, matrix]) => {
  const sparse = ptxmma.sparse.of(ptxmma.data.layouts, mnemonic, selector);
  const made = ptxmma.sparse.compress(sparse, matrix);
  return made.why ? [made.why] : [made.packed, made.words, ptxmma.sparse.decompress(sparse, made.packed, made.words).matrix];
});"""


def test_every_coding_compresses_as_the_command_does() -> None:
    draw = random.Random(2)
    asked, wanted = [], []
    for variant in variants():
        for selector in SparseA(load(), variant).selectors:
            sparse = SparseA(load(), variant, selector)
            matrix = sparse_matrix(sparse, draw, draw.choice([(1, 1), (2, 1), (1, 2)]))
            packed, words = sparse.compress(np.array(matrix, np.int32))
            asked.append([variant.mnemonic, selector, matrix])
            wanted.append([packed.tolist(), words.ravel().tolist(), matrix])
    assert len(wanted) > 20
    assert in_node(SCRIPTS, {"layouts": data()}, asked, COMPRESSED) == wanted


def test_what_is_not_sparse_gets_the_sentence_of_the_command(run: Run, tmp_path: Path) -> None:
    draw = random.Random(5)
    asked, wanted = [], []
    for variant in variants():
        sparse = SparseA(load(), variant)
        dense = sparse_matrix(sparse, draw, (1, 1))
        row = draw.randrange(sparse.m)
        dense[row] = [1] * sparse.k
        for matrix in (dense, dense[:-1], [[0] * (sparse.k + 1)] * sparse.m):
            np.save(tmp_path / "a.npy", np.array(matrix, np.int32))
            code, _, err = run(
                "compress", variant.mnemonic, str(tmp_path / "a.npy"), f"--packed={tmp_path / 'p.npy'}",
                f"--metadata={tmp_path / 'm.npy'}",
            )  # fmt: skip
            assert code == 2
            asked.append([variant.mnemonic, 0, matrix])
            wanted.append(err.strip())
    for (said,), error in zip(in_node(SCRIPTS, {"layouts": data()}, asked, COMPRESSED), wanted, strict=True):
        assert said in error


def test_what_no_matrix_comes_to_gets_the_sentence_of_the_command() -> None:
    draw = random.Random(7)
    asked, wanted = [], []
    for variant in variants():
        sparse = SparseA(load(), variant)
        packed = np.ones((sparse.m, sparse.packed_k), np.int64)
        for words in (
            [draw.randrange(1 << 32) for _ in range(sparse.threads)],
            [0] * (sparse.threads - 1),
            [1 << 32] * sparse.threads,
        ):
            with pytest.raises(Exception) as error:
                sparse.decompress(packed, np.array(words, np.int64))
            asked.append([variant.mnemonic, packed.tolist(), words])
            wanted.append(str(error.value))
    body = """return given.map(([mnemonic, packed, words]) => {
      const { decompress, of } = ptxmma.sparse;
      return decompress(of(ptxmma.data.layouts, mnemonic), packed, words).why;
    });"""
    assert in_node(SCRIPTS, {"layouts": data()}, asked, body) == wanted


@pytest.mark.parametrize("dtype", ["<f2", "<f4", ">f8", "<i1", "<u2", ">i4", "<i8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_numpy_files_are_read(dtype: str, order: Any) -> None:
    array = np.array([[1, 0, 2], [3, 4, 0]], dtype=dtype, order=order)
    file = io.BytesIO()
    np.save(file, array)
    body = """const bytes = Buffer.from(given, "base64");
      return ptxmma.matrices.npy(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length)).matrix;"""
    assert in_node(SCRIPTS, {}, base64.b64encode(file.getvalue()).decode(), body) == array.tolist()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "there are no numbers"),
        ("1 2\n3", "line 2 has 1 numbers; the first has 2"),
        ("1 x", "line 1: x is not a number"),
    ],
)
def test_text_that_is_no_matrix(text: str, why: str) -> None:
    assert in_node(SCRIPTS, {}, text, "return ptxmma.matrices.parse(given).why;") == why


@pytest.mark.slow
def test_a_matrix_goes_there_and_back(open_page: Open) -> None:
    page = open_page("sparse.html")
    page.get_by_role("button", name="An example").click()
    typed = page.locator("#matrix").input_value()
    page.locator("#matrix").fill("")
    page.get_by_role("button", name="Decompress").click()
    assert page.locator("#matrix").input_value() == typed
    page.locator("#full td.kept").first.click()
    assert "holds row 0, column 0" in page.locator("#holder").inner_text()
    assert "of chunk 0 of row 0" in page.locator("#holder").inner_text()


LARGE = "wgmma.mma_async.sp.sync.aligned.m64n8k64.f16.e4m3.e4m3"  # A is 64 x 64


@pytest.mark.slow
def test_the_keys_go_to_every_cell_of_a_large_matrix(open_page: Open) -> None:
    page = open_page(f"sparse.html#mnemonic={LARGE}")
    page.get_by_role("button", name="An example").click()
    rows = [line.split() for line in page.locator("#matrix").input_value().split("\n")]
    grid = page.get_by_role("grid")
    assert grid.get_attribute("aria-rowcount") == grid.get_attribute("aria-colcount") == "65"
    grid.focus()
    for key in ("ArrowDown", "End", "ArrowRight", *["PageDown"] * 8, "ArrowDown"):
        page.keyboard.press(key)
    last = page.locator(f"#{grid.get_attribute('aria-activedescendant')}")
    assert last.inner_text() == rows[63][63] and last.get_attribute("aria-colindex") == "65"
    column = max(c for c in range(64) if rows[63][c] != "0")
    for _ in range(63 - column):
        page.keyboard.press("ArrowLeft")
    assert "holds row 63, column 31" in page.locator("#holder").inner_text()
    assert "of index 1 of chunk 15 of row 63" in page.locator("#holder").inner_text()
    for row, column in ((0, 0), (40, 30)):
        page.evaluate("([r, c]) => document.getElementById('full').scroll(34 * c, 24 * r)", [row, column])
        cell = page.locator(f'#full tr[aria-rowindex="{row + 2}"] [aria-colindex="{column + 2}"]')
        assert cell.inner_text() == rows[row][column]


BUTTONS = ("compress", "decompress", "example")


@pytest.mark.slow
def test_a_large_matrix_takes_fifty_milliseconds_at_most(open_page: Open) -> None:
    page = open_page(f"sparse.html#mnemonic={LARGE}")
    page.get_by_role("button", name="An example").click()
    with processor_time(page) as time:
        took = {name: time.of("(id) => document.getElementById(id).click()", name) for name in BUTTONS}
        took["scroll"] = time.of(
            "() => { const box = document.getElementById('full'); box.scrollTop = 700 - box.scrollTop; }"
        )
    assert min(took.values()) > 0 and max(took.values()) <= MOST, took
