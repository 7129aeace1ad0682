"""The table [tool.ptxmma.check] of a pyproject.toml: it stands in for options that are not given."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ..spec.api import load
from ..spec.errors import Place, Question
from .check_files import Exclusion

__all__ = ["CheckSettings", "read_settings"]

_FILE = "pyproject.toml"
_TABLE = "[tool.ptxmma.check]"
_HEADER = re.compile(r"^\s*\[\s*tool\s*\.\s*[\"']?ptxmma[\"']?\s*\.\s*[\"']?check[\"']?\s*\]", re.M)
# The ways to name the table; a package that depends on ptxmma, or is ptxmma, names it otherwise.
_PERHAPS = re.compile(
    rb"""tool["']? \s*\.\s* ["']?ptxmma["']? \s*[].]
    | (?: (["'])ptxmma\1 | (?<!["'])ptxmma ) \s* (?: \.\s*["']?check | =\s*\{ )""",
    re.X,
)
_LIST, _TEXT, _SWITCH = "a list of texts", "a text", "true or false"
_KEYS = {
    "select": _LIST,
    "ignore": _LIST,
    "exclude": _LIST,
    "baseline": _TEXT,
    "target": _TEXT,
    "readings": _LIST,
    "strict": _SWITCH,
    "info": _SWITCH,
}


class CheckSettings(NamedTuple):
    """What is checked, and what is reported."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    exclude: tuple[Exclusion, ...] = ()
    baseline: str | None = None
    target: str | None = None
    readings: tuple[str, ...] = ()
    strict: bool = False
    info: bool = False


def read_settings(named: str | None) -> CheckSettings:
    """The settings of the named file, or of the nearest pyproject.toml upward that has the table.

    Raises Question, with a place, for a key or a value that is wrong.
    """
    if named is not None:
        found = _table(Path(named))
        if found is None:
            raise Question(f"{named} has no table {_TABLE}")
        return found
    folder = Path.cwd()
    for place in (folder, *folder.parents):
        path = place / _FILE
        if path.is_file():
            found = _table(Path(os.path.relpath(path)))
            if found is not None:
                return found
    return CheckSettings()


def _table(path: Path) -> CheckSettings | None:
    raw = path.read_bytes()
    if not _PERHAPS.search(raw):
        return None  # without an import that takes as long as many checks
    import tomllib

    try:
        text = raw.decode()
        tool = tomllib.loads(text).get("tool")
    except ValueError as error:
        place = re.search(r" \(at line (\d+), column (\d+)\)", str(error))
        where = f"{path}:{place[1]}:{place[2]}" if place else str(path)
        raise Question(
            f"{where}: this is not TOML: {str(error)[: place.start() if place else None]}"
        ) from None
    own = tool.get("ptxmma") if isinstance(tool, Mapping) else None
    if own is None:
        return None
    table = _Table(path, text)
    if not isinstance(own, Mapping):
        raise table.wrong("ptxmma", "tool.ptxmma must be a table")
    table.must_be_known(own, ("check",), "[tool.ptxmma]")
    return table.settings(own["check"]) if "check" in own else None


class _Table(NamedTuple):
    """A file with the table, and where a key or a value of it stands."""

    path: Path
    text: str

    def settings(self, found: Any) -> CheckSettings:
        if not isinstance(found, Mapping):
            raise self.wrong("check", "tool.ptxmma.check must be a table")
        self.must_be_known(found, tuple(_KEYS), _TABLE)
        return CheckSettings(**dict(self._values(found)))

    def _values(self, found: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        folder = str(self.path.parent)
        for key, value in found.items():
            kind = _KEYS[key]
            if not _fits(kind, value):
                raise self.wrong(key, f"{key} must be {kind}, not {value!r}")
            if key in ("select", "ignore"):
                for rule in value:
                    self._ask(key, rule, _one_rule)
            for reading in value if key == "readings" else ():
                self._ask(key, reading, _one_reading)
            if key == "target":
                self._ask(key, value, load().isa.target)
            if key == "exclude":
                value = [Exclusion(pattern, folder) for pattern in value]
            if key == "baseline":
                value = os.path.normpath(os.path.join(folder, value))
            yield key, tuple(value) if kind == _LIST else value

    def _ask(self, key: str, name: str, ask: Callable[[str], object]) -> None:
        """Raise the Question that a name raises, at the place of the name."""
        try:
            ask(name)
        except Question as error:
            raise self.wrong(key, str(error), name) from None

    def must_be_known(self, found: Mapping[str, Any], known: tuple[str, ...], table: str) -> None:
        """Raise Question for a key that is not known, with the nearest that is."""
        for key in found:
            if key not in known:
                from ..spec.nodes import nearest

                guess = nearest(key, known)
                hint = f"did you mean {guess}?" if guess else f"its keys are {', '.join(known)}"
                raise self.wrong(key, f"{table} has no key {key!r}; {hint}")

    def wrong(self, key: str, what: str, value: str | None = None) -> Question:
        """The error about a key, at its place, or at that of a text in its value."""
        header = _HEADER.search(self.text)
        start = header.end() if header else 0
        found = re.compile(rf"^[ \t]*[^\n=#]*?(?=\b{re.escape(key)}\b)", re.M).search(self.text, start)
        offset = found.end() if found else start
        if value is not None:
            offset = max(self.text.find(value, offset), offset)
        line = self.text.count("\n", 0, offset) + 1
        column = offset - (self.text.rfind("\n", 0, offset) + 1) + 1
        return Question(f"{Place(str(self.path), line, column)}: {what}")


def _one_rule(name: str) -> None:
    from ..check.rules import named_rules

    named_rules((name,))


def _one_reading(word: str) -> None:
    from ..check.readings import chosen_readings

    chosen_readings((word,))


def _fits(kind: str, value: object) -> bool:
    if kind == _LIST:
        return isinstance(value, list) and all(isinstance(item, str) and item for item in value)
    return isinstance(value, bool) if kind == _SWITCH else isinstance(value, str) and bool(value)
