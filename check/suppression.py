"""Suppressed findings: accepted by a comment in the PTX, or by a baseline file."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..spec.errors import Place, Question
from .findings import INFO, Finding

__all__ = ["Suppressed", "Suppressions", "baseline_text", "fingerprint", "read_baseline"]

_COMMENT = re.compile(r"//[^\n]*?\bptxmma:\s*ignore\b[ \t]*([^\n]*)")
_RULE = re.compile(r"[\w.-]+")
_VERSION = 1


@dataclass(frozen=True)
class Suppressed:
    """A finding that is not reported; `kind` is `inSource` (a comment) or `external` (a baseline)."""

    finding: Finding
    kind: str


def fingerprint(finding: Finding) -> str:
    """A hash that stays the same when lines move: of function, rule, tier and the witness's statements."""
    import hashlib  # slow to import, and needed only for a baseline

    steps = "|".join(moment.statement for moment in finding.witness)
    text = "\n".join((finding.function, finding.rule, finding.tier, finding.message, steps))
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:24]


class Suppressions:
    """The comments `// ptxmma: ignore RULE, …` of a text; each applies to its line and the next."""

    def __init__(self, text: str, name: str) -> None:
        self.name = name
        self.rules: dict[int, tuple[str, ...]] = {}
        self.columns: dict[int, int] = {}
        self.used: set[int] = set()
        if "ptxmma:" in text:
            for number, line in enumerate(text.split("\n"), 1):
                found = _COMMENT.search(line)
                if found:
                    self.rules[number] = tuple(_RULE.findall(found[1].partition("--")[0]))
                    self.columns[number] = found.start() + 1

    def covers(self, finding: Finding) -> bool:
        """Whether a comment names the finding's rule, or the part of it before a dot."""
        for number in (finding.place.line, finding.place.line - 1):
            for rule in self.rules.get(number, ()):
                if finding.rule == rule or finding.rule.startswith(f"{rule}."):
                    self.used.add(number)
                    return True
        return False

    def idle(self) -> Iterable[Finding]:
        """Comments that suppress nothing."""
        for number, rules in self.rules.items():
            if number not in self.used:
                what = ", ".join(rules) if rules else "no rule: name one, as in `ptxmma: ignore proxy-fence`"
                place = Place(self.name, number, self.columns[number])
                yield Finding(
                    "idle-suppression", INFO, place, "", f"this comment suppresses nothing ({what})"
                )


def baseline_text(findings: Iterable[Finding]) -> str:
    """The text of a baseline file: by PTX file, how often each finding occurs."""
    import json

    known: dict[str, Counter[str]] = {}
    for finding in findings:
        if finding.tier != INFO:
            known.setdefault(Path(finding.place.file).name, Counter())[fingerprint(finding)] += 1
    files = {name: dict(sorted(counts.items())) for name, counts in sorted(known.items())}
    return json.dumps({"ptxmma-baseline": _VERSION, "files": files}, indent=1) + "\n"


def read_baseline(path: str) -> Mapping[str, Mapping[str, int]]:
    """The findings in a baseline file; raises Question for any other file."""
    import json

    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise Question(f"{path}: this is not a baseline file: {error}") from None
    right = isinstance(found, dict) and found.get("ptxmma-baseline") == _VERSION
    files = found.get("files") if right else None
    if not isinstance(files, dict) or not all(
        isinstance(counts, dict) and all(isinstance(count, int) for count in counts.values())
        for counts in files.values()
    ):
        raise Question(
            f"{path}: this is not a baseline file; `ptxmma check --write-baseline FILE` writes one"
        )
    return files
