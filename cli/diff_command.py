"""ptxmma diff: what changed between two PTX ISA versions, or between two states of the specification."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..audit.version_differences import KINDS, Change, changes, renamed_targets
from ..spec.api import load
from ..spec.editions import note
from ..spec.errors import Question
from ..spec.selection import select, unmatched
from ..spec.specification import Specification
from .pages import Page, some

if TYPE_CHECKING:
    from ..audit.assembler_verdicts import FormTally, VersionSide

__all__ = ["add"]

_TITLES = {
    "added": "added",
    "removed": "removed",
    "required": "requirements changed",
    "deprecated": "deprecated",
    "reinstated": "no longer deprecated",
    "widened": "gates widened: old forms on more targets",
    "narrowed": "gates narrowed: old forms on fewer targets",
}


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument("old", help="a PTX ISA version; with --spec a checkout or a git revision")
    parser.add_argument("new", help="the version, checkout or revision to compare it with")
    parser.add_argument("pattern", nargs="?", help="only mnemonics like this, as in `list`")
    parser.add_argument("--spec", action="store_true", help="compare specifications: the meaning of a change")
    parser.add_argument("--target", metavar="T", help="only what changed on this target")
    parser.add_argument("--evidence", action="store_true", help="ask the assemblers of both versions now")
    parser.add_argument("--exit-code", action="store_true", help="exit with 1 when there are differences")
    parser.add_argument("--format", choices=("text", "json", "markdown"), default="text")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print what changed; exit code 0 when the question is answered, 1 with --exit-code for differences."""
    if args.spec:
        from .diff_meaning import compare

        if args.pattern or args.target or args.evidence:
            raise Question("a pattern, --target and --evidence go with two PTX versions, not with --spec")
        differs = compare(args.old, args.new, args.format)
    else:
        differs = _versions(args)
    return 1 if differs and args.exit_code else 0


def _versions(args: argparse.Namespace) -> bool:
    from ..audit.assembler_verdicts import assemblers, observe, recorded, side
    from ..ledger.assembler_record import claims, load_records

    specification = load()
    isa = specification.isa
    old, new = isa.version(args.old), isa.version(args.new)
    target = isa.target(args.target) if args.target else None
    sides = side(specification, old), side(specification, new)
    chosen = list(select(specification, args.pattern, None, None))
    if not chosen:
        raise Question(unmatched(specification, args.pattern))
    found = changes(specification, chosen, old, new, target)
    renamed = renamed_targets(specification, old, new, target)
    known = claims(specification)
    answers = assemblers if args.evidence else recorded(known, load_records(), found)
    evidence = observe(known, found, sides, answers)
    if args.format == "json":
        document = {
            "old": _side_json(sides[0]),
            "new": _side_json(sides[1]),
            "target": target,
            "renamed": [{"old": r.old, "new": r.new, "since": str(r.since)} for r in renamed],
            "counts": {name: dict(counts) for name, counts in _counts(found).items()},
            "changes": [_json(c, e) for c, e in zip(found, evidence, strict=True)],
        }
        print(json.dumps(document, indent=1))
        return bool(found or renamed)
    page = Page(args.format == "markdown")
    page.heading(f"PTX ISA {old} → {new}{f' on {target}' if target else ''}")
    for asked in sides:
        page.item(f"{asked.ptx}: {asked.words}")
    for since in dict.fromkeys(r.since for r in renamed):
        names = ", ".join(f"{r.old} to {r.new}" for r in renamed if r.since == since)
        page.item(f"PTX ISA {since} renamed {names}")
    if found:
        page.item(f"verdicts of these assemblers: {'asked now' if args.evidence else 'from the record'}")
        _silent(page, evidence)
        page.item(note(specification.index))
        _new_targets(page, specification, found, evidence)
        listed = [(c, e) for c, e in zip(found, evidence, strict=True) if not c.fresh]
        if listed:
            _summary(page, [change for change, _ in listed])
            _details(page, listed)
    elif not renamed:
        page.item("no difference")
    print(page.text)
    return bool(found or renamed)


def _silent(page: Page, evidence: Sequence[Sequence[FormTally]]) -> None:
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


def _counts(found: Sequence[Change]) -> dict[str, Counter[str]]:
    """By instruction, how many mnemonics changed in each way; one on several new targets counts once."""
    mnemonics: dict[str, dict[str, set[str]]] = {}
    for change in found:
        kinds = mnemonics.setdefault(change.instruction, {})
        kinds.setdefault(change.kind, set()).update(v.mnemonic for v in change.variants)
    return {name: Counter({k: len(s) for k, s in kinds.items()}) for name, kinds in mnemonics.items()}


def _summary(page: Page, found: Sequence[Change]) -> None:
    page.heading("mnemonics that changed", 2)
    counts = _counts(found)
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


def _side_json(asked: VersionSide) -> dict[str, Any]:
    return {"ptx": str(asked.ptx), "ptxas": asked.ptxas, "own": asked.own, "words": asked.words}


def _json(change: Change, tallies: Sequence[FormTally]) -> dict[str, Any]:
    return {
        "kind": change.kind,
        "instruction": change.instruction,
        "rows": list(change.rows),
        "section": change.section,
        "targets": list(change.targets),
        "new_targets": change.fresh,
        "why": list(change.why),
        "operands": change.form,
        "patterns": [{"pattern": p.text, "mnemonics": p.count} for p in change.patterns],
        "mnemonics": [variant.mnemonic for variant in change.variants],
        "before": [variant.mnemonic for variant in change.before],
        "verdicts": [_tally_json(tally) for tally in tallies],
    }


def _tally_json(tally: FormTally) -> dict[str, Any]:
    return {
        "ptx": str(tally.side.ptx),
        "ptxas": tally.side.ptxas,
        "target": tally.target,
        "target_exists": tally.known,
        "spelling": "before" if tally.without else "mnemonics",
        "statements": tally.statements,
        "accepted": tally.accepted,
        "refused": tally.refused,
        "died": tally.died,
        "words": list(tally.words),
        "unrecorded": tally.unrecorded,
        "not_asked": tally.silent or None,
        "registered": list(tally.registered),
        "against": list(tally.against),
    }
