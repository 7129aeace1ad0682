"""Tests that hold values typed by hand, as a witness: they are run on the specification with a slip.

A test module says in `WATCHES` which files its values are about, as patterns ("spec/instructions/*.yaml").
Its slow tests are left out. The tests run in this process, which reads the changed file.
"""

from __future__ import annotations

import ast
import contextlib
import os
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
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
    """The test modules that watch a file: those of few files and the short ones first, and those that ask
    assemblers last.
    """
    found = [path for path, patterns in _watches().items() if any(fnmatchcase(file, p) for p in patterns)]
    asking = {path: path.parent.name == "assemblers" for path in found}
    return tuple(sorted(found, key=lambda path: (asking[path], len(_watches()[path]), path.stat().st_size)))


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


@dataclass
class _Collected:
    """The tests about a file, and how often each was the first to notice a slip."""

    items: list[Any]
    first: _First
    noticed: Counter[str] = field(default_factory=Counter)


_COLLECTED: dict[str, _Collected] = {}


def first_failure(file: str) -> str | None:
    """The first test about a file that fails in this process; None where all pass, or none is about it.

    Those that noticed other slips are run first.
    """
    collect([file])
    collected = _COLLECTED[file]
    first, noticed = collected.first, collected.noticed
    items = sorted(collected.items, key=lambda item: -noticed[item.nodeid])
    with _silence():
        for item, following in zip(items, [*items[1:], None], strict=True):
            if first.name is None:
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
    return first.name


def remember(file: str, test: str) -> None:
    """A test noticed a slip in a file; processes forked later run it early."""
    if file in _COLLECTED:
        _COLLECTED[file].noticed[test] += 1


def collect(files: Collection[str]) -> None:
    """Import and collect the tests about these files, so that processes forked later need not."""
    for file in files:
        if file not in _COLLECTED:
            _COLLECTED[file] = _collected(watching(file))


def _collected(paths: Sequence[Path]) -> _Collected:
    """The quick tests of some modules, ready to run."""
    first = _First()
    if not paths:
        return _Collected([], first)
    import pytest  # only a checkout with its development tools has tests
    from _pytest.config import _prepareconfig

    options = ["-q", "-s", "-m", "not slow", "--rootdir", str(PACKAGE)]
    options += [word for plugin in _NEEDLESS for word in ("-p", f"no:{plugin}")]
    with _silence():
        config = _prepareconfig([*options, *map(str, paths)], plugins=[first])
        config._do_configure()
        session = pytest.Session.from_config(config)
        config.hook.pytest_sessionstart(session=session)
        config.hook.pytest_collection(session=session)
    if first.name is None and not session.items:
        raise RuntimeError(f"there are no tests in {', '.join(map(str, paths))}")
    return _Collected(session.items, first)


_NOWHERE = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 (what is collected writes to it)


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    with contextlib.redirect_stdout(_NOWHERE), contextlib.redirect_stderr(_NOWHERE):
        yield
