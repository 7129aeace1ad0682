"""What a rule means, for people: `ptxmma check --list-rules`, `--explain RULE` and docs/rules.md."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from typing import Any

from ..spec.api import load
from ..spec.editions import brief, cited, note
from ..spec.ordering import litmus_tests
from .findings import TIERS
from .rule_texts import CheckRule, rule_texts
from .rules import rules

__all__ = [
    "as_explanation",
    "as_list",
    "as_list_json",
    "as_page",
    "help_text",
    "published",
    "suppression",
]

_WIDTH = 100


def as_list() -> str:
    """A line a rule: its name, its tiers, its title."""
    known = rules()
    names = max(map(len, known))
    tiers = max(len(", ".join(rule.tiers)) for rule in known.values())
    lines = [f"{r.name:<{names}}  {', '.join(r.tiers):<{tiers}}  {r.title}" for r in known.values()]
    return "\n".join([*lines, f"{len(known)} rules; `ptxmma check --explain RULE` explains one"])


def as_list_json(asked: Iterable[CheckRule]) -> list[dict[str, Any]]:
    """The same, with all texts and examples."""
    return [
        {
            "rule": rule.name,
            "title": rule.title,
            "says": rule.says,
            "section": rule.section,
            "tiers": list(rule.tiers),
            "mend": rule.mend,
            "published": published(rule),
            "wrong": rule.wrong,
            "right": rule.right,
            "address": rule.address,
        }
        for rule in asked
    ]


def as_explanation(rule: CheckRule) -> str:
    """A page about one rule."""
    lines = [f"{rule.name}: {rule.title}", "", *textwrap.wrap(rule.says, _WIDTH)]
    if rule.section:
        lines += ["", f"text: {cited(load().index, rule.section)}"]
    if reports := published(rule):
        lines += ["", "published:", *(f"  {report}" for report in reports)]
    lines += ["", "found as:", *(f"  {tier}: {TIERS[tier]}" for tier in rule.tiers)]
    lines += ["", "examples (docs/rules.md shows the file around them; --format json prints whole files)"]
    lines += ["wrong:", textwrap.indent(rule.wrong_lines.rstrip(), "  ")]
    lines += ["right:", textwrap.indent(rule.right_lines.rstrip(), "  ")]
    lines += ["", *textwrap.wrap(f"what to do: {rule.mend}", _WIDTH)]
    return "\n".join([*lines, f"to suppress it: {suppression(rule)}", f"page: {rule.address}"])


def published(rule: CheckRule) -> list[str]:
    """The public reports of such faults, each with what its litmus test shows."""
    return [
        f"{test.source}: {test.title}"
        for test in litmus_tests().values()
        if rule.name in test.hazards and "#" in test.source
    ]


def suppression(rule: CheckRule) -> str:
    """How a finding is suppressed."""
    return (
        f"`// ptxmma: ignore {rule.name}` in the line or the one before; --ignore {rule.name}; or a baseline"
    )


def help_text(rule: CheckRule, markdown: bool = False) -> str:
    """What SARIF viewers show beside a finding."""
    if markdown:
        return "\n".join(_body(rule))
    return f"{rule.says} What to do: {rule.mend}. To suppress it: {suppression(rule)}."


def _body(rule: CheckRule) -> Iterator[str]:
    yield rule.says
    yield ""
    if rule.section:
        yield f"Section: {brief(load().index, rule.section)}. Found as: {', '.join(rule.tiers)}."
    else:
        yield f"Found as: {', '.join(rule.tiers)}."
    yield ""
    language = "cuda" if rule.cuda else "ptx"
    yield f"Wrong:\n```{language}\n{rule.wrong_lines.rstrip()}\n```"
    yield f"Right:\n```{language}\n{rule.right_lines.rstrip()}\n```"
    yield f"What to do: {rule.mend}."


def as_page() -> str:
    """docs/rules.md."""
    parts = [
        "# Rules of the checker",
        "",
        "What `ptxmma check` may find. `ptxmma schema --write .` makes this page from `check/rules.yaml` and",
        "`spec/ordering/rules.yaml`. Tests hold every example: its rule finds the wrong one,",
        "and none finds the right one.",
        "",
        "| tier | meaning |",
        "|---|---|",
        *(f"| `{tier}` | {meaning} |" for tier, meaning in TIERS.items()),
        "",
        "To suppress a finding: `// ptxmma: ignore RULE` in its line or the one before; `--ignore RULE,…`;",
        "or a baseline.",
        "A name before a dot means all rules behind it: `legality`, `legality.gate`.",
        "",
        f"An example stands in this file. {note(load().index)}",
        "```ptx",
        rule_texts().frame.rstrip().replace("BODY", "// the example"),
        "```",
        "An example of `inline` stands in this one, for `ptxmma check --cuda`:",
        "```cuda",
        rule_texts().cuda_frame.rstrip().replace("BODY", "// the example"),
        "```",
        "",
        "| rule | title |",
        "|---|---|",
        *(f"| [{rule.name}](#{rule.name.replace('.', '')}) | {rule.title} |" for rule in rules().values()),
    ]
    for rule in rules().values():
        parts += ["", f"## {rule.name}", f"{rule.title[0].upper()}{rule.title[1:]}.", "", *_body(rule)]
        if reports := published(rule):
            parts += ["", f"Published: {'; '.join(reports)}."]
    return "\n".join(parts) + "\n"
