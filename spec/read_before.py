"""What this process read before: files of the same bytes, under the same index, say the same again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from .index import INDEX, Index
from .lazy_dataclass import dataclass
from .specification import Specification

__all__ = ["FileContents", "contents_of", "forget_read", "keep_read", "read_before"]

FileContents = Mapping[str, bytes | None]  # by the file's name; None where it cannot be read
_LIMIT = 4


@dataclass(frozen=True)
class _ReadFiles:
    contents: FileContents
    specification: Specification


_READ: dict[bytes | None, _ReadFiles] = {}  # by the bytes of the index


def contents_of(root: Path, index: Index) -> FileContents:
    """The bytes of the index and of every file that it names."""
    return _contents(root, (INDEX, *(named.text for named in index.files())))


def read_before(root: Path) -> tuple[Specification, frozenset[str]] | None:
    """A right specification with the index that is under `root`, and the names of the files that differ."""
    read = _READ.get(_content(root / INDEX))
    if read is None:
        return None
    now = _contents(root, read.contents)
    return read.specification, frozenset(name for name in now if now[name] != read.contents[name])


def keep_read(contents: FileContents, specification: Specification) -> None:
    """Remember a specification that is right, by the bytes of its files; the oldest is dropped."""
    _READ[contents[INDEX]] = _ReadFiles(contents, specification)
    for old in list(_READ)[:-_LIMIT]:
        del _READ[old]


def forget_read() -> None:
    """Let every file be read anew."""
    _READ.clear()


def _contents(root: Path, names: Iterable[str]) -> FileContents:
    return {name: _content(root / name) for name in names}


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None
