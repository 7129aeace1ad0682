"""Answers show themselves in a notebook, with every text escaped; the example notebook runs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as xml

import pytest

import ptxmma
from ptxmma.spec import html
from ptxmma.spec.loading import ROOT

NOTEBOOK = ROOT / "docs" / "notebooks" / "tour.ipynb"
MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
SPARSE = "wgmma.mma_async.sp.sync.aligned.m64n8k64.s32.u8.s8 {a,b,c,d}, da, db, meta, 1, p;"
EXECUTE = """
import json, sys, nbclient, nbformat
notebook = nbformat.read(sys.argv[1], 4)
nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
print(json.dumps([cell.get("outputs", []) for cell in notebook.cells]))
"""


def test_a_verdict() -> None:
    shown = ptxmma.legal(SPARSE, ptx="8.3", target="sm_90a")._repr_html_()
    assert shown.startswith("<p>illegal</p><table>")
    assert "gate.since" in shown and "it needs PTX ISA 8.4 or later, not 8.3" in shown
    assert "<b>" not in ptxmma.legal("wgmma.<b> x;")._repr_html_()


def test_variants_are_a_tuple_and_a_table() -> None:
    found = ptxmma.variants("wgmma.mma_async.sp.*m64n8k16*")
    assert isinstance(found, tuple) and len(found) == 1
    shown = found._repr_html_()  # type: ignore[attr-defined]
    assert found[0].mnemonic in shown and "since 8.2" in shown and "sm_90a" in shown
    many = ptxmma.variants("wgmma")._repr_html_()  # type: ignore[attr-defined]
    assert many.count("<tr>") == 101 and "of which 100 are shown" in many


def test_a_layout_is_a_picture() -> None:
    layout = ptxmma.layout(MMA, "A")
    assert xml.fromstring(layout._repr_svg_()).tag == "{http://www.w3.org/2000/svg}svg"
    assert layout._repr_html_() == f'<div style="overflow-x:auto">{layout._repr_svg_()}</div>'


def test_a_sum_is_its_steps() -> None:
    found = ptxmma.explain(MMA, "1,0x1p-14", "1,0x1p-12", -1)
    assert str(found).endswith("D = 0x00000000 = 0\nexact: 2^-26; D - exact = -2^-26")
    assert found.explanation.code == 0
    shown = found._repr_html_()
    assert "kept 0" in shown and "D - exact = -2^-26" in shown
    assert ptxmma.explain(MMA, [1, "0x1p-14"], [1.0, 2.0**-12], -1).explanation == found.explanation


def test_an_element_that_is_none() -> None:
    with pytest.raises(ptxmma.Question, match="a: "):
        ptxmma.explain(MMA, "one", "1")
    with pytest.raises(ptxmma.Question):
        ptxmma.explain("wgmma.fence.sync.aligned", "1", "1")


def test_texts_are_escaped() -> None:
    assert html.table(["<i>"], [["<b>&"]]).count("&lt;") == 2
    assert html.code("<") == "<code>&lt;</code>" and "&lt;" in html.paragraph("<")


@pytest.mark.slow
def test_the_example_notebook_runs() -> None:
    surroundings = {**os.environ, "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
    words = [sys.executable, "-W", "ignore", "-c", EXECUTE, str(NOTEBOOK)]
    done = subprocess.run(words, capture_output=True, text=True, env=surroundings)
    assert done.returncode == 0, done.stderr[-2000:]
    outputs = [output for cell in json.loads(done.stdout.splitlines()[-1]) for output in cell]
    kinds = {kind for output in outputs for kind in output.get("data", {})}
    assert {"text/html", "image/svg+xml", "text/plain"} <= kinds
    text = json.dumps(outputs)
    assert "gate.since" in text and "2^-26" in text and "9 repaired" in text


def test_the_example_notebook_holds_no_outputs() -> None:
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    assert [cell["id"] for cell in cells if cell.get("outputs")] == []
    assert re.search(r"import ptxmma", "".join(map(str, cells)))
