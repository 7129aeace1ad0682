"""Tests that hold values typed by hand, as a witness: they are run on the specification with a slip.

A test module says in `WATCHES` which files its values are about, as patterns ("spec/instructions/*.yaml").
Its slow tests are left out. The tests run in this process, which reads the changed file.
"""

from __future__ import annotations

import ast
import contextlib
import os
from collections.abc import Collection, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

from ...spec.cache import PACKAGE

__all__ = ["collect", "first_failure", "watching"]

_TESTS = PACKAGE / "tests"
# Plugins of pytest that a witness has no use for; one of them walks all objects of the process.
_NEEDLESS = ("cacheprovider", "unraisableexception", "threadexception", "faulthandler")


@cache
def _watches() -> Mapping[Path, tuple[str, ...]]:
    """By test module, the patterns of the files that it watches."""
    found = {}
    for path in sorted(_TESTS.rglob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        if "\nWATCHES" in text:
            for statement in ast.parse(text).body:
                match statement:
                    case ast.Assign(targets=[ast.Name(id="WATCHES")], value=value):
                        found[path] = tuple(ast.literal_eval(value))
    return found


def watching(file: str) -> tuple[Path, ...]:
    """The test modules that watch a file: the short ones first, those that ask assemblers last."""
    found = (path for path, patterns in _watches().items() if any(fnmatchcase(file, p) for p in patterns))
    return tuple(sorted(found, key=lambda path: (path.parent.name == "assemblers", path.stat().st_size)))


class _First:
    """Remembers the first test that fails."""

    def __init__(self) -> None:
        self.name: str | None = None

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed and self.name is None:
            self.name = report.nodeid

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed and self.name is None:
            self.name = f"{report.nodeid} (is not collected)"


def first_failure(file: str) -> str | None:
    """The first test about a file that fails in this process; None where all pass, or none is about it."""
    paths = watching(file)
    if not paths:
        return None
    return _run(["-x", *map(str, paths)])


def collect(files: Collection[str]) -> None:
    """Import the test modules about these files, so that processes forked later need not."""
    paths = dict.fromkeys(path for file in files for path in watching(file))
    if paths:
        _run(["--collect-only", *map(str, paths)])


def _run(arguments: list[str]) -> str | None:
    import pytest  # only a checkout with its development tools has tests

    first = _First()
    options = ["-q", "-m", "not slow", "--rootdir", str(PACKAGE)]
    options += [word for plugin in _NEEDLESS for word in ("-p", f"no:{plugin}")]
    with _silence():
        ended = pytest.main([*options, *arguments], plugins=[first])
    if first.name is None and ended != pytest.ExitCode.OK:
        raise RuntimeError(f"the tests do not run: {ended!r}")
    return first.name


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    with (
        open(os.devnull, "w", encoding="utf-8") as nowhere,
        contextlib.redirect_stdout(nowhere),
        contextlib.redirect_stderr(nowhere),
    ):
        yield
