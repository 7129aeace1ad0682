"""The site is written whole, to a folder that is ours, and is the same each time."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from ptxmma.atlas.files import AtlasFile, AtlasPage, data_file
from ptxmma.atlas.site import files, write
from ptxmma.spec.errors import Question
from ptxmma.spec.specification import Specification


@pytest.fixture(scope="module")
def again(specification: Specification) -> tuple[list[AtlasFile], float]:
    """All files of the site, and the seconds of a processor that they take."""
    begun = time.process_time()
    return list(files(specification)), time.process_time() - begun


def test_the_same_specification_gives_the_same_bytes(
    again: tuple[list[AtlasFile], float], made: Mapping[str, str]
) -> None:
    """Also in another process, which may have written the site."""
    assert {one.path: one.content for one in again[0]} == made


def test_the_whole_site_is_made_within_a_minute(again: tuple[list[AtlasFile], float]) -> None:
    found, seconds = again
    assert 0 < seconds <= 60
    assert 1_000_000 < sum(len(one.content) for one in found) <= 15_000_000


def test_every_path_is_written_once(again: tuple[list[AtlasFile], float]) -> None:
    paths = [one.path for one in again[0]]
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
