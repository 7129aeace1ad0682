"""What each rule of `ptxmma check` means, with an example each way: check/rules.yaml and ordering rules."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from ..spec.cache import PACKAGE, cached
from ..spec.lazy_dataclass import dataclass
from ..spec.ordering import Ordering
from ..spec.switches import Switch

__all__ = ["FILES", "CheckRule", "RuleTexts", "check_rules", "rule_texts"]

_NAME = "check/rules.yaml"
_DIRECTIVE = re.compile(r"\.(?:version|target|reqntid)\b")
Tier = Literal["error", "likely", "reading", "info"]


@dataclass(frozen=True)
class RuleText:
    """A rule of the checker's own: its texts, the tiers it is found with, and an example each way."""

    title: str
    """The fault, in a phrase.
    Noticed by: readers. Example: `a wait that covers no group`. Refuses: `null` (text must stand)."""
    says: str
    """When a kernel has the fault, in a sentence or two.
    Noticed by: readers. Example: `A wait covers no group.`. Refuses: `null` (text must stand)."""
    mend: str
    """What a programmer should do.
    Noticed by: readers. Example: `wait for fewer groups`. Refuses: `null` (text must stand)."""
    tiers: tuple[Tier, ...]
    """How sure a finding can be; the example is found with the first.
    Noticed by: tests. Example: `[error, likely]`. Refuses: `[warning]` (not in the list)."""
    wrong: str
    """Statements with the fault; a test finds it in them.
    Noticed by: readers. Example: `ret;`. Refuses: `null` (text must stand)."""
    right: str
    """Statements without the fault; a test finds none in them.
    Noticed by: readers. Example: `ret;`. Refuses: `null` (text must stand)."""
    cuda: bool = False
    """Whether the examples are CUDA C++, not PTX.
    Noticed by: tests. Example: `true`. Refuses: `often` (neither true nor false)."""
    section: str | None = None
    """Where the text forbids it, if it does.
    Noticed by: readers. Example: `"9.7.15.7"`. Refuses: `9.7` (without quotes it is a number)."""


@dataclass(frozen=True)
class OrderingExample:
    """The tiers and examples of a rule that spec/ordering/rules.yaml explains."""

    tiers: tuple[Tier, ...]
    """How sure a finding can be; the example is found with the first.
    Noticed by: tests. Example: `[error, likely]`. Refuses: `[warning]` (not in the list)."""
    wrong: str
    """Statements with the fault; a test finds it in them.
    Noticed by: readers. Example: `ret;`. Refuses: `null` (text must stand)."""
    right: str
    """Statements without the fault; a test finds none in them.
    Noticed by: readers. Example: `ret;`. Refuses: `null` (text must stand)."""


@dataclass(frozen=True)
class RuleTexts:
    """check/rules.yaml."""

    address: str
    """Where the atlas has the pages of the rules, NAME.html each.
    Noticed by: readers. Example: `https://atlas.example/rules/`. Refuses: `null` (text must stand)."""
    frame: str
    """The file around an example.
    Noticed by: readers. Example: `BODY`. Refuses: `null` (text must stand)."""
    cuda_frame: str
    """The file around an example in CUDA C++.
    Noticed by: tests. Example: `BODY`. Refuses: `null` (text must stand)."""
    switches: Mapping[str, Switch]
    """Questions that the text leaves open and no model follows.
    Noticed by: tests. Example: `{}`. Refuses: `{mine: {}}` (the key question is missing)."""
    rules: Mapping[str, RuleText]
    """The checker's own rules by name.
    Noticed by: tests. Example: `{}`. Refuses: `{mine: {}}` (the key title is missing)."""
    ordering: Mapping[str, OrderingExample]
    """Examples of the rules of spec/ordering/rules.yaml, by name.
    Noticed by: tests. Example: `{}`. Refuses: `{mine: {}}` (the key tiers is missing)."""

    def file(self, example: str, cuda: bool) -> str:
        """The whole file of an example; its own .version, .target and .reqntid replace the frame's."""
        if cuda:
            return self.cuda_frame.replace("BODY", example.rstrip("\n"))
        lines, frame = example.rstrip("\n").split("\n"), self.frame
        while lines and _DIRECTIVE.match(lines[0]):
            word = re.escape(lines[0].split()[0])
            frame = re.sub(rf"^{word} .*$", lines.pop(0), frame, flags=re.M)
        return frame.replace("BODY", "\n".join(lines))


FILES: Mapping[str, type] = {_NAME: RuleTexts}


@dataclass(frozen=True)
class CheckRule:
    """A rule as reports show it. `wrong` and `right` are files, of CUDA C++ or PTX; `…_lines` are what the
    frame lacks.
    """

    name: str
    title: str
    says: str
    section: str
    mend: str
    tiers: tuple[str, ...]
    wrong_lines: str
    right_lines: str
    wrong: str
    right: str
    address: str
    cuda: bool


def rule_texts() -> RuleTexts:
    """The file, from the cache if it has not changed; raises SpecError, with a place, where it is wrong."""
    path = PACKAGE / _NAME
    return cached("rules", RuleTexts, lambda: _read(path), (path, Path(__file__)))


def _read(path: Path) -> RuleTexts:
    from ..spec.nodes import compose, structure

    return structure(compose(path, _NAME), RuleTexts, _NAME)


def check_rules(ordering: Ordering) -> Mapping[str, CheckRule]:
    """Every rule by name, sorted."""
    texts = rule_texts()
    found = [
        _rule(texts, name, (rule.title, rule.says, rule.section or "", rule.mend), rule)
        for name, rule in texts.rules.items()
    ]
    for name, example in texts.ordering.items():
        law = ordering.rules[name]
        found.append(
            _rule(texts, name, (law.title, f"{law.says}: {law.why}", law.section, law.mend), example)
        )
    return {rule.name: rule for rule in sorted(found, key=lambda rule: rule.name)}


def _rule(
    texts: RuleTexts, name: str, words: tuple[str, str, str, str], example: RuleText | OrderingExample
) -> CheckRule:
    title, says, section, mend = words
    cuda = isinstance(example, RuleText) and example.cuda
    return CheckRule(
        name,
        title,
        says[0].upper() + says[1:].removesuffix(".") + ".",
        section,
        mend,
        example.tiers,
        example.wrong,
        example.right,
        texts.file(example.wrong, cuda),
        texts.file(example.right, cuda),
        f"{texts.address}{name}.html",
        cuda,
    )
