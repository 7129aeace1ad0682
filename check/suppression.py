"""Findings that are not reported: a comment or a baseline accepts them, or their rule is not selected."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..spec.errors import Place
from ..spec.lazy_dataclass import dataclass
from .findings import INFO, Finding
from .rules import chosen

__all__ = ["Suppressed", "Suppressions"]

_COMMENT = re.compile(r"//[^\n]*?\bptxmma:\s*ignore\b[ \t]*([^\n]*)")
_RULE = re.compile(r"[\w.-]+")


@dataclass(frozen=True)
class Suppressed:
    """A finding that is not reported; `kind` is `inSource` (a comment), `external` (a baseline) or
    `selection` (--select, --ignore).
    """

    finding: Finding
    kind: str


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
            if chosen(finding.rule, self.rules.get(number, ())):
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
