"""A baseline: a file of findings that are accepted, each by the path of its PTX file and by content.

Paths are relative to the baseline's folder. Neither line numbers nor the words of a message count, so that
an entry survives lines inserted above it, and a new release of ptxmma.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from ..spec.errors import Question
from ..spec.lazy_dataclass import dataclass
from .findings import INFO, Finding

__all__ = [
    "AcceptedFinding",
    "AcceptedFindings",
    "baseline_text",
    "fingerprint",
    "read_baseline",
    "relative_path",
]

_VERSION = 2


@dataclass(frozen=True)
class AcceptedFinding:
    """An accepted finding; `count` of them have this fingerprint."""

    fingerprint: str
    rule: str
    tier: str
    function: str
    statement: str
    count: int

    def __str__(self) -> str:
        times = f", {self.count} times" if self.count > 1 else ""
        return f"{self.rule} in {self.function} at `{self.statement}`{times}"


@dataclass(frozen=True)
class AcceptedFindings:
    """The entries of a baseline file by the path of their PTX file."""

    file: str
    entries: Mapping[str, tuple[AcceptedFinding, ...]]

    def counts(self, path: str) -> Mapping[str, int]:
        """How many findings of a PTX file are accepted, by fingerprint."""
        return {entry.fingerprint: entry.count for entry in self.entries.get(path, ())}

    def stale(self, path: str, found: Mapping[str, int]) -> tuple[AcceptedFinding, ...]:
        """The entries of a PTX file that accept more findings than there are; `count` is how many more."""
        return tuple(
            replace(entry, count=entry.count - found.get(entry.fingerprint, 0))
            for entry in self.entries.get(path, ())
            if entry.count > found.get(entry.fingerprint, 0)
        )

    def gone(self) -> tuple[str, ...]:
        """The paths that name no file any more."""
        folder = Path(self.file).parent
        return tuple(path for path in self.entries if path[:1] != "<" and not os.path.lexists(folder / path))


def relative_path(name: str, folder: str) -> str:
    """The path of a PTX file as seen from a folder, with slashes; `<stdin>` stays as it is."""
    if name.startswith("<"):
        return name
    parent, base = os.path.split(os.path.abspath(name))
    return os.path.relpath(os.path.join(os.path.realpath(parent), base), os.path.realpath(folder)).replace(
        os.sep, "/"
    )


def _sha256() -> Callable[[bytes], Any]:
    """SHA-256; Python's own, since hashlib loads OpenSSL, which takes longer than a small file's check."""
    for name in ("_sha2", "_sha256", "hashlib"):  # as Python 3.12 and 3.11 call it
        try:
            return import_module(name).sha256  # type: ignore[no-any-return]
        except ImportError:
            continue
    raise ImportError("hashlib")


def fingerprint(path: str, finding: Finding) -> str:
    """A hash of the file's path and of what was found: function, rule, tier, statement, witness.

    Numbers of lines, registers and labels do not count.
    """
    steps = "|".join(moment.statement for moment in finding.witness)
    code = finding.code or finding.statement
    text = "\n".join((path, finding.function, finding.rule, finding.tier, code, steps))
    return str(_sha256()(text.encode("utf-8", "surrogateescape")).hexdigest())[:24]


def baseline_text(found: Mapping[str, Iterable[Finding]]) -> str:
    """The text of a baseline file that accepts these findings, given by path; the tier info never fails."""
    import json

    files: dict[str, list[dict[str, Any]]] = {}
    for path, findings in sorted(found.items()):
        kept = [(fingerprint(path, finding), finding) for finding in findings if finding.tier != INFO]
        counts = Counter(key for key, _ in kept)
        entries = {
            key: AcceptedFinding(key, f.rule, f.tier, f.function, f.statement, counts[key]) for key, f in kept
        }
        if entries:
            files[path] = [asdict(entry) for entry in entries.values()]
    return json.dumps({"ptxmma-baseline": _VERSION, "files": files}, indent=1) + "\n"


def read_baseline(path: str) -> AcceptedFindings:
    """The baseline in a file; raises Question for any other file, and for a baseline of another version."""
    import json

    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        raise _no_baseline(path) from None
    version = found.get("ptxmma-baseline") if isinstance(found, dict) else None
    if version is not None and version != _VERSION:
        raise Question(
            f"{path}: this is a baseline of version {version}, and this ptxmma reads version {_VERSION}; "
            "write it again with `ptxmma check --write-baseline FILE`"
        )
    try:
        if version is None:
            raise TypeError
        entries = {
            file: tuple(_entry(entry) for entry in _list(entries)) for file, entries in found["files"].items()
        }
    except (AttributeError, KeyError, TypeError):
        raise _no_baseline(path) from None
    return AcceptedFindings(path, entries)


def _no_baseline(path: str) -> Question:
    return Question(f"{path}: this is not a baseline file; `ptxmma check --write-baseline FILE` writes one")


def _list(found: object) -> list[dict[str, Any]]:
    if not isinstance(found, list):
        raise TypeError
    return found


def _entry(found: dict[str, Any]) -> AcceptedFinding:
    entry = AcceptedFinding(**found)
    texts = (entry.fingerprint, entry.rule, entry.tier, entry.function, entry.statement)
    if type(entry.count) is not int or entry.count < 1 or not all(isinstance(text, str) for text in texts):
        raise TypeError
    return entry
