"""Which files the words of `ptxmma check` name: files, folders, patterns, standard input.

Records are named tuples here and in check_settings: dataclasses take a hundredth of a second more to import.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

__all__ = ["CUDA", "PTX", "STDIN", "AskedFile", "Exclusion", "asked_files", "text_of"]

STDIN = "-"
PTX = (".ptx",)
CUDA = (".cu", ".cuh", ".h", ".hpp", ".inl")
_WILD = frozenset("*?[")
_PATIENCE = 2000  # milliseconds that a pipe may be without a writer


class AskedFile(NamedTuple):
    """A file to check; or a word that names none, and why. `text` is set for standard input."""

    name: str
    problem: str | None = None
    text: str | None = None


class Exclusion(NamedTuple):
    """A pattern for paths relative to a folder. `*` also matches slashes; a pattern without a slash matches
    any part of a path, and what matches a folder matches all below it.
    """

    pattern: str
    folder: str

    def covers(self, name: str) -> bool:
        """Whether the pattern matches a file, or a folder that it lies in."""
        from fnmatch import fnmatchcase

        parts = os.path.relpath(os.path.abspath(name), os.path.abspath(self.folder)).split(os.sep)
        pattern = self.pattern.removeprefix("./").rstrip("/")
        paths = parts if "/" not in pattern else ["/".join(parts[: n + 1]) for n in range(len(parts))]
        return any(fnmatchcase(path, pattern) for path in paths)


def asked_files(
    words: Sequence[str],
    exclusions: Sequence[Exclusion],
    stdin: Callable[[], AskedFile],
    endings: tuple[str, ...] = PTX,
) -> list[AskedFile]:
    """The files in the order of the words, each once. A word that names no file is one with a problem.

    Folders hold the files with these endings. Exclusions concern what is found in folders and by patterns,
    not a file that is named itself.
    """
    found: dict[str, AskedFile] = {}
    for word in words:
        for asked in _named(word, exclusions, stdin, endings):
            found.setdefault(asked.name if asked.text is not None else os.path.abspath(asked.name), asked)
    return list(found.values())


def text_of(path: str) -> str:
    """The text of a file, or what is written to a pipe; raises OSError, also where nobody writes to it."""
    opened: str | int = path
    if stat.S_ISFIFO(os.stat(path).st_mode):
        opened = _pipe(path)
    with open(opened, encoding="utf-8", errors="surrogateescape", newline="") as file:
        return file.read()


def _pipe(path: str) -> int:
    """A descriptor of a pipe that somebody writes to."""
    import select

    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    waiting = select.poll()
    waiting.register(descriptor, select.POLLIN)
    if not waiting.poll(_PATIENCE):
        os.close(descriptor)
        raise OSError(f"it is a pipe, and nobody wrote to it within {_PATIENCE // 1000} seconds")
    os.set_blocking(descriptor, True)
    return descriptor


def _named(
    word: str, exclusions: Sequence[Exclusion], stdin: Callable[[], AskedFile], endings: tuple[str, ...]
) -> Iterator[AskedFile]:
    kinds = ", ".join(f"*{ending}" for ending in endings)
    if word == STDIN:
        yield stdin()
    elif not word:
        yield AskedFile("", "an empty word names no file")
    elif os.path.isdir(word):
        below = list(_below(word, endings))
        yield from _left(word, below, exclusions, kinds, f"no {kinds} file lies in this folder or below it")
    elif _WILD.intersection(word) and not os.path.lexists(word):
        matching = list(_matching(word, endings))
        yield from _left(word, matching, exclusions, kinds, "no file matches this pattern")
    else:
        yield AskedFile(word)


def _left(
    word: str, found: Sequence[AskedFile], exclusions: Sequence[Exclusion], kinds: str, none: str
) -> Iterator[AskedFile]:
    """What the exclusions leave; a problem where nothing is left."""
    left = [f for f in found if f.problem is not None or not any(e.covers(f.name) for e in exclusions)]
    yield from left
    if not left:
        yield AskedFile(word, f"every {kinds} file here is excluded" if found else none)


def _below(folder: str, endings: tuple[str, ...]) -> Iterator[AskedFile]:
    """Every file with one of the endings below a folder, and every folder that cannot be listed."""
    faults: list[OSError] = []
    for place, folders, names in os.walk(folder, onerror=faults.append):
        folders.sort()
        for name in sorted(names):
            if name.endswith(endings):
                yield AskedFile(os.path.normpath(os.path.join(place, name)))
    for fault in faults:
        yield AskedFile(str(fault.filename), f"this folder cannot be listed: {fault.strerror}")


def _matching(pattern: str, endings: tuple[str, ...]) -> Iterator[AskedFile]:
    """Every file that matches a pattern, and every file with an ending below a folder that matches."""
    from glob import glob

    any_file = os.path.basename(pattern) == "**"
    for name in sorted(glob(pattern, recursive=True, include_hidden=True)):
        if os.path.isdir(name):
            yield from _below(name, endings)
        elif not any_file or name.endswith(endings):
            yield AskedFile(os.path.normpath(name))
