"""The site is written whole, to a folder that is ours, and is the same each time."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from ptxmma.atlas.files import AtlasFile, AtlasPage, data_file
from ptxmma.atlas.site import files, write
from ptxmma.spec.errors import Question
from ptxmma.spec.specification import Specification


def test_the_same_specification_gives_the_same_bytes(specification: Specification) -> None:
    assert list(files(specification)) == list(files(specification))


def test_the_whole_site_is_made_within_a_minute(specification: Specification) -> None:
    begun = time.process_time()
    size = sum(len(one.content.encode()) for one in files(specification))
    assert time.process_time() - begun <= 60
    assert 1_000_000 < size <= 15_000_000


def test_every_path_is_written_once(specification: Specification) -> None:
    paths = [one.path for one in files(specification)]
    assert len(paths) == len(set(paths)) and "index.html" in paths


def test_a_site_replaces_an_earlier_one(tmp_path: Path) -> None:
    folder = tmp_path / "site"
    assert write(folder, [AtlasFile("index.html", "1"), AtlasFile("old/page.html", "2")]) == 2
    (folder / "notes.txt").write_text("mine")
    assert write(folder, [AtlasFile("index.html", "3")]) == 1
    assert (folder / "index.html").read_text() == "3"
    assert not (folder / "old" / "page.html").exists() and (folder / "notes.txt").read_text() == "mine"


def test_a_folder_with_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(Question, match="holds something else"):
        write(tmp_path, [AtlasFile("index.html", "1")])
    assert sorted(os.listdir(tmp_path)) == ["thesis.tex"]
    with pytest.raises(Question, match="is a file"):
        write(tmp_path / "thesis.tex", [AtlasFile("index.html", "1")])


def test_a_list_that_names_files_elsewhere_deletes_none(tmp_path: Path) -> None:
    folder = tmp_path / "site"
    write(folder, [AtlasFile("index.html", "1")])
    (tmp_path / "thesis.tex").write_text("mine")
    (folder / ".ptxmma-atlas").write_text(f"../thesis.tex\n{tmp_path}/thesis.tex\nindex.html\n")
    write(folder, [AtlasFile("index.html", "2")])
    assert (tmp_path / "thesis.tex").exists()


def test_data_cannot_end_its_script() -> None:
    assert "</script" not in data_file("x", {"text": "</script>"}).content


def test_the_way_to_the_root() -> None:
    assert [AtlasPage(path, "", "", "").root for path in ("a.html", "a/b.html", "a/b/c.html")] == [
        "",
        "../",
        "../../",
    ]
