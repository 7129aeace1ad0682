"""docs/add-an-instruction.md is right: its YAML is in the files, and its mistakes give the errors that it
shows.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ptxmma.spec.errors import SpecError
from ptxmma.spec.loading import ROOT, load_files
from ptxmma.spec.mnemonics import ILLEGAL, LEGAL, UNKNOWN

PAGE = (ROOT / "docs" / "add-an-instruction.md").read_text(encoding="utf-8")
YAML = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.S | re.M)
MISTAKES = re.findall(r"^<!-- mistake: (.+?) -> (.+?) -->\n```text\n(.*?)\n```", PAGE, re.S | re.M)
FILE = "spec/instructions/movmatrix.yaml"
STATEMENT = "movmatrix.sync.aligned.m8n8.trans.b16 %r0, %r1;"


def test_the_blocks_are_found() -> None:
    assert len(YAML) >= 6
    assert len(MISTAKES) >= 3


@pytest.mark.parametrize("block", YAML)
def test_the_yaml_stands_in_a_file(block: str) -> None:
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "spec").rglob("*.yaml")]
    texts.append((ROOT / "specs.yaml").read_text(encoding="utf-8"))
    assert any(block in text for text in texts)


def test_the_blocks_are_the_whole_file() -> None:
    text = (ROOT / FILE).read_text(encoding="utf-8")
    mine = [block for block in YAML if block in text]
    assert "".join("".join(mine).split()) == "".join(text.split())


@pytest.mark.parametrize(("right", "wrong", "message"), MISTAKES)
def test_a_mistake_is_refused_as_shown(files: Path, right: str, wrong: str, message: str) -> None:
    path = files / FILE
    path.write_text(path.read_text().replace(right, wrong, 1))
    with pytest.raises(SpecError) as raised:
        load_files(files)
    assert raised.value.render() == message


def test_from_a_tree_without_it_to_one_with_it(files: Path) -> None:
    index, line = files / "specs.yaml", f"  - {FILE}\n"
    listed, file = index.read_text(), (files / FILE).read_text()
    assert line in listed
    index.write_text(listed.replace(line, ""))
    with pytest.raises(SpecError, match="does not list this file"):
        load_files(files)
    (files / FILE).unlink()
    assert load_files(files).judge().judge(STATEMENT).verdict == UNKNOWN
    (files / FILE).write_text(file)
    index.write_text(listed)
    specification = load_files(files)
    assert specification.judge("7.8", "sm_75").judge(STATEMENT).verdict == LEGAL
    assert specification.judge("7.7", "sm_75").judge(STATEMENT).verdict == ILLEGAL


def test_the_wrong_layout_makes_two_threads_hold_one_element(files: Path) -> None:
    path = files / "spec" / "layouts" / "matrix.yaml"
    path.write_text(path.read_text().replace("8*matrix + groupID", "8*matrix", 1))
    layout = load_files(files).layouts["matrix.m8n8"]
    held = [(row, col) for _, _, row, col in layout.points({"matrices": 1})]
    assert len(set(held)) < len(held)
