"""A process reads a file once: what changed is read anew, and said as if everything were."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ptxmma.spec.errors import SpecError
from ptxmma.spec.loading import load_files
from ptxmma.spec.read_before import forget_read

MOVMATRIX, LAYOUTS = "spec/instructions/movmatrix.yaml", "spec/layouts/matrix.yaml"


@pytest.fixture(autouse=True)
def fresh() -> None:
    forget_read()


def spoil(root: Path, file: str, old: str, new: str) -> None:
    text = (root / file).read_text(encoding="utf-8")
    assert old in text
    (root / file).write_text(text.replace(old, new, 1), encoding="utf-8")


def test_the_same_bytes_are_not_read_again(files: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(files, tmp_path / "copy")
    first = load_files(files)
    assert load_files(files) is first
    assert load_files(copy) is first
    forget_read()
    again = load_files(files)
    assert again is not first and again == first


def test_a_changed_file_is_read_anew_and_what_the_others_say_is_kept(files: Path) -> None:
    first = load_files(files)
    spoil(files, MOVMATRIX, 'since: "7.8"', 'since: "8.0"')
    after = load_files(files)
    assert {name for name, one in after.instructions.items() if one is not first.instructions[name]} == {
        "movmatrix"
    }
    assert not after.judge("7.8").judge("movmatrix.sync.aligned.m8n8.trans.b16 %r0, %r1;")
    assert first.judge("7.8").judge("movmatrix.sync.aligned.m8n8.trans.b16 %r0, %r1;")
    forget_read()
    assert load_files(files) == after


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        (MOVMATRIX, "count: 1", "count: 2", "has 1 mnemonics, not 2"),
        (LAYOUTS, "  matrix.m8n8:", "  matrix.m8n9:", "there is no layout 'matrix.m8n8'"),
        ("specs.yaml", '"3.1", "3.2"', '"3.2", "3.1"', "do not ascend"),
    ],
)
def test_a_slip_is_refused_as_in_a_first_reading(
    files: Path, file: str, old: str, new: str, said: str
) -> None:
    load_files(files)
    spoil(files, file, old, new)
    with pytest.raises(SpecError) as second:
        load_files(files)
    forget_read()
    with pytest.raises(SpecError) as first:
        load_files(files)
    assert said in second.value.render() == first.value.render()


def test_a_file_that_goes_or_comes_is_noticed(files: Path) -> None:
    load_files(files)
    (files / "spec" / "new.yaml").write_text("a: 1\n", encoding="utf-8")
    with pytest.raises(SpecError, match="does not list this file"):
        load_files(files)
    (files / "spec" / "new.yaml").unlink()
    (files / MOVMATRIX).unlink()
    with pytest.raises(SpecError, match=f"{MOVMATRIX} cannot be read"):
        load_files(files)


def test_what_was_refused_is_refused_again(files: Path) -> None:
    spoil(files, MOVMATRIX, "count: 1", "count: 2")
    for _ in range(2):
        with pytest.raises(SpecError, match="has 1 mnemonics"):
            load_files(files)
