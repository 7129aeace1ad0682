"""Files are written whole or not at all, and an error names the file."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from ptxmma.spec.errors import Question
from ptxmma.spec.writing import write_file, write_files, write_folder


def tree(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_what_is_written(tmp_path: Path) -> None:
    write_folder(tmp_path / "a" / "b", [("x", "naïve\n"), ("c/y", b"\0")])
    assert tree(tmp_path) == ["a", "a/b", "a/b/c", "a/b/c/y", "a/b/x"]
    assert (tmp_path / "a/b/x").read_bytes() == "naïve\n".encode()
    assert (tmp_path / "a/b/c/y").read_bytes() == b"\0"
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE((tmp_path / "a/b/x").stat().st_mode) == 0o666 & ~umask


def test_a_link_and_the_mode_stay(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "real").chmod(0o600)
    (tmp_path / "link").symlink_to("real")
    write_file(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "real").read_text() == "new"
    assert stat.S_IMODE((tmp_path / "real").stat().st_mode) == 0o600


def stops(error: BaseException) -> Iterator[tuple[str, str]]:
    yield "x", "new"
    yield "sub/y", "new"
    raise error


@pytest.mark.parametrize("error", [KeyboardInterrupt(), Question("no")])
def test_nothing_is_left_of_what_was_not_finished(tmp_path: Path, error: BaseException) -> None:
    (tmp_path / "x").write_text("old")
    with pytest.raises(type(error)):
        write_folder(tmp_path, stops(error))
    with pytest.raises(type(error)):
        write_folder(tmp_path / "new" / "folder", stops(error))
    assert tree(tmp_path) == ["x"] and (tmp_path / "x").read_text() == "old"


def test_both_or_none(tmp_path: Path) -> None:
    absent = tmp_path / "absent" / "y"
    with pytest.raises(Question, match="absent/y cannot be written: No such file"):
        write_files([(tmp_path / "x", "x"), (absent, "y")])
    assert tree(tmp_path) == []


def test_what_is_no_file_is_written_to_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(Question, match="/dev/full cannot be written: No space left on device"):
        write_file("/dev/full", "x")
    write_file("/dev/null", "x")
    assert not Path("/dev/null").is_file()
    with pytest.raises(Question, match="cannot be written: Is a directory"):
        write_file(tmp_path, "x")


def test_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Question, match="file cannot be written: it is a file"):
        write_folder(tmp_path / "file" / "sub", [("x", "x")])
