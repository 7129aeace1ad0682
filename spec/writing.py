"""Write files whole or not at all: each beside its place, and all renamed when all are written.

An error names the file. A place that is a device or a pipe is written to as it is.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

from .errors import Question

__all__ = ["write_file", "write_files", "write_folder"]


def write_file(path: Path | str, content: str | bytes) -> None:
    """Write one file, text as UTF-8; raises Question where that fails, and leaves what was there."""
    write_files([(path, content)])


def write_files(files: Iterable[tuple[Path | str, str | bytes]]) -> None:
    """Write all of the files or none, in folders that exist; raises Question as `write_file` does."""
    with _Writing() as writing:
        for path, content in files:
            writing.write(Path(path), content)


def write_folder(folder: Path | str, files: Iterable[tuple[str, str | bytes]]) -> None:
    """Write all files of a folder, by their paths in it, or none; makes the folders that are missing."""
    with _Writing() as writing:
        writing.make(Path(folder))
        for name, content in files:
            path = Path(folder, name)
            writing.make(path.parent)
            writing.write(path, content)


class _Writing:
    """Files under way: what is written beside each place, and the folders that were made for them."""

    def __init__(self) -> None:
        self.beside: dict[Path, Path] = {}
        self.made: list[Path] = []

    def __enter__(self) -> _Writing:
        return self

    def make(self, folder: Path) -> None:
        """Make a folder and those above it."""
        missing = []
        while not folder.is_dir():
            missing.append(folder)
            folder = folder.parent
        for one in reversed(missing):
            try:
                one.mkdir()
            except FileExistsError:
                raise Question(f"{one} cannot be written: it is a file, and a folder is needed") from None
            except OSError as error:
                raise _refused(one, error) from None
            self.made.append(one)

    def write(self, path: Path, content: str | bytes) -> None:
        """Write a file beside its place."""
        data = content.encode(errors="surrogateescape") if isinstance(content, str) else content
        try:
            place = Path(os.path.realpath(path))  # a link stays one
            if place.exists() and not place.is_file():
                place.write_bytes(data)
                return
            beside = place.with_name(f".{place.name}.{os.getpid()}.part")
            self.beside[beside] = place
            beside.write_bytes(data)
            if place.exists():
                beside.chmod(place.stat().st_mode & 0o7777)
        except OSError as error:
            raise _refused(path, error) from None

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        try:
            if kind is None:
                for beside, place in self.beside.items():
                    try:
                        os.replace(beside, place)
                    except OSError as refusal:
                        raise _refused(place, refusal) from None
                self.made.clear()
        finally:
            for beside in self.beside:
                with contextlib.suppress(OSError):
                    beside.unlink(missing_ok=True)
            for folder in reversed(self.made):
                with contextlib.suppress(OSError):
                    folder.rmdir()


def _refused(path: Path, error: OSError) -> Question:
    return Question(f"{path} cannot be written: {error.strerror or error}")
