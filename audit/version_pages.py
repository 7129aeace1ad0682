"""The differences between two PTX ISA versions as a page, with what the assemblers of both say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from ..spec.specification import Specification
from .assembler_verdicts import FormTally
from .pages import Page, some
from .version_differences import KINDS, Change, RenamedTarget

__all__ = ["counts_of", "say_changes", "say_renamed", "say_silent"]

_TITLES = {
    "added": "added",
    "removed": "removed",
    "required": "requirements changed",
    "deprecated": "deprecated",
    "reinstated": "no longer deprecated",
    "widened": "gates widened: old forms on more targets",
    "narrowed": "gates narrowed: old forms on fewer targets",
}


def say_renamed(page: Page, renamed: Sequence[RenamedTarget]) -> None:
    """A line for each version that renamed targets."""
    for since in dict.fromkeys(r.since for r in renamed):
        names = ", ".join(f"{r.old} to {r.new}" for r in renamed if r.since == since)
        page.item(f"PTX ISA {since} renamed {names}")


def say_changes(
    page: Page,
    specification: Specification,
    found: Sequence[Change],
    evidence: Sequence[Sequence[FormTally]],
) -> None:
    """New targets, how many mnemonics changed, and each change with its verdicts."""
    _new_targets(page, specification, found, evidence)
    listed = [(c, e) for c, e in zip(found, evidence, strict=True) if not c.fresh]
    if listed:
        _summary(page, [change for change, _ in listed])
        _details(page, listed)


def counts_of(found: Sequence[Change]) -> dict[str, Counter[str]]:
    """By instruction, how many mnemonics changed in each way; one on several new targets counts once."""
    mnemonics: dict[str, dict[str, set[str]]] = {}
    for change in found:
        kinds = mnemonics.setdefault(change.instruction, {})
        kinds.setdefault(change.kind, set()).update(v.mnemonic for v in change.variants)
    return {name: Counter({k: len(s) for k, s in kinds.items()}) for name, kinds in mnemonics.items()}


def say_silent(page: Page, evidence: Sequence[Sequence[FormTally]]) -> None:
    """Name every assembler and target that could not be asked: nothing is known there."""
    why: dict[tuple[str, str], list[str]] = {}
    for tally in (tally for tallies in evidence for tally in tallies if tally.silent):
        words = tally.silent.replace(tally.target, "TARGET")
        targets = why.setdefault((tally.side.ptxas, words), [])
        if tally.target not in targets:
            targets.append(tally.target)
    for (ptxas, words), targets in why.items():
        page.item(f"NOT ASKED: ptxas {ptxas} about {', '.join(targets)}: {words}")


def _new_targets(
    page: Page,
    specification: Specification,
    found: Sequence[Change],
    evidence: Sequence[Sequence[FormTally]],
) -> None:
    """One line for each target that only one version has: how many old forms it takes, and verdicts."""
    by_target: dict[str, list[tuple[Change, FormTally]]] = {}
    for change, tallies in zip(found, evidence, strict=True):
        for tally in tallies if change.fresh else ():
            if tally.known:
                by_target.setdefault(tally.target, []).append((change, tally))
    for kind, title in (
        (("widened", "added"), "new targets, and the old forms that they take"),
        (("narrowed", "removed"), "targets that the second version has not, and the forms that they took"),
    ):
        lines: dict[tuple[str, ...], list[str]] = {}
        for name in specification.index.targets:
            mine = [pair for pair in by_target.get(name, ()) if pair[0].kind in kind]
            if mine:
                lines.setdefault(_target_lines(specification, name, mine), []).append(name)
        if lines:
            page.heading(title, 2)
        for (since, forms, *verdicts), names in lines.items():
            page.item(f"{', '.join(names)} (since {since}): {forms}")
            for verdict in verdicts:
                page.item(verdict, 1)


def _target_lines(
    specification: Specification, name: str, mine: Sequence[tuple[Change, FormTally]]
) -> tuple[str, ...]:
    """Since when there is a target, how many mnemonics it takes, and a line of verdicts for each side."""
    spelled: dict[str, set[str]] = {}
    for change, _ in mine:
        spelled.setdefault(change.instruction, set()).update(v.mnemonic for v in change.variants)
    total = sum(map(len, spelled.values()))
    forms = ", ".join(f"{instruction} {len(names)}" for instruction, names in spelled.items())
    sides = dict.fromkeys(tally.side for _, tally in mine)
    joined = (_joined([tally for _, tally in mine if tally.side == asked]) for asked in sides)
    since = specification.index.targets[name].since
    verdicts = (f"{t.side.ptx} by ptxas {t.side.ptxas}: {_verdict(t)}" for t in joined)
    return str(since), f"{_number(total)} ({forms})", *verdicts


def _joined(tallies: Sequence[FormTally]) -> FormTally:
    """The verdicts of one side on one target, added up."""
    return replace(
        tallies[0],
        statements=sum(t.statements for t in tallies),
        accepted=sum(t.accepted for t in tallies),
        refused=sum(t.refused for t in tallies),
        died=sum(t.died for t in tallies),
        words=tuple(dict.fromkeys(word for t in tallies for word in t.words)),
        against=tuple(text for t in tallies for text in t.against),
        registered=tuple(dict.fromkeys(entry for t in tallies for entry in t.registered)),
        unrecorded=sum(t.unrecorded for t in tallies),
    )


def _summary(page: Page, found: Sequence[Change]) -> None:
    page.heading("mnemonics that changed", 2)
    counts = counts_of(found)
    kinds = [kind for kind in KINDS if any(kind in counter for counter in counts.values())]
    rows = [["", *(kind for kind in kinds)]]
    rows += [[name, *(str(counter[kind]) for kind in kinds)] for name, counter in counts.items()]
    rows.append(["all", *(str(sum(counter[kind] for counter in counts.values())) for kind in kinds)])
    page.table(rows)


def _details(page: Page, listed: Sequence[tuple[Change, Sequence[FormTally]]]) -> None:
    last = None
    for change, tallies in listed:
        if change.kind != last:
            page.heading(_TITLES[change.kind], 2)
            last = change.kind
        rows = "row" if len(change.rows) == 1 else "rows"
        where = f"{change.instruction}, {rows} {some(change.rows)} ({change.section})"
        page.item(f"{where}, on {some(change.targets)}")
        if change.form:
            page.item(f"with the operands {change.form}", 1)
        for reason in change.why:
            page.item(reason, 1)
        for pattern in change.patterns:
            page.item(f"{page.code(pattern.text)}: {_number(pattern.count)}", 1)
        for line in _verdicts(tallies):
            page.item(line, 1)


def _number(count: int) -> str:
    return f"{count:,} mnemonic{'' if count == 1 else 's'}"


def _verdicts(tallies: Sequence[FormTally]) -> list[str]:
    """One line of verdicts for each assembler; targets with the same verdicts stand together."""
    alike: dict[FormTally, list[str]] = {}
    for tally in tallies:
        alike.setdefault(replace(tally, target=""), []).append(tally.target)
    return [_tally(tally, targets) for tally, targets in alike.items()]


def _tally(tally: FormTally, targets: Sequence[str]) -> str:
    subject = f"{tally.side.ptx} by ptxas {tally.side.ptxas}, {', '.join(targets)}"
    if tally.without:
        subject += ", as it was spelled"
    if not tally.known:
        return f"{subject}: there is no such target"
    return f"{subject}: {_verdict(tally)}"


def _verdict(tally: FormTally) -> str:
    """A tally in words, without who gives it."""
    if tally.silent:
        return f"NOT ASKED: {tally.silent}"
    counts = (("accepts", tally.accepted), ("refuses", tally.refused), ("dies of", tally.died))
    words = ", ".join(f"{verb} {count} of {tally.statements}" for verb, count in counts if count)
    if tally.words:
        words += f" ({'; '.join(tally.words)})"
    if tally.unrecorded:
        words += f"{', ' if words else ''}{tally.unrecorded} not recorded (--evidence asks)"
    if tally.registered:
        words += f"; registered: {', '.join(tally.registered)}"
    if tally.against:
        words += f"; AGAINST the specification {len(tally.against)} times, first {tally.against[0]}"
    return words
