"""ptxmma diff: what changed between two PTX ISA versions, or between two states of the specification."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..audit.assembler_verdicts import FormTally, VersionSide, assemblers, observe, recorded, side
from ..audit.version_differences import KINDS, Change, changes
from ..ledger.assembler_record import load_records
from ..spec.api import load
from ..spec.editions import note
from ..spec.errors import Question
from ..spec.selection import select, unmatched
from .pages import Page, some

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
    specification = load()
    isa = specification.isa
    old, new = isa.version(args.old), isa.version(args.new)
    target = isa.target(args.target) if args.target else None
    sides = side(specification, old), side(specification, new)
    chosen = list(select(specification, args.pattern, None, None))
    if not chosen:
        raise Question(unmatched(specification, args.pattern))
    found = changes(specification, chosen, old, new, target)
    answers = assemblers if args.evidence else recorded(specification, load_records())
    evidence = observe(specification, found, sides, answers)
    if args.format == "json":
        document = {
            "old": _side_json(sides[0]),
            "new": _side_json(sides[1]),
            "target": target,
            "counts": {name: dict(counts) for name, counts in _counts(found).items()},
            "changes": [_json(c, e) for c, e in zip(found, evidence, strict=True)],
        }
        print(json.dumps(document, indent=1))
        return bool(found)
    page = Page(args.format == "markdown")
    page.heading(f"PTX ISA {old} → {new}{f' on {target}' if target else ''}")
    for asked in sides:
        page.item(f"{asked.ptx}: {asked.words}")
    if not found:
        page.item("no difference")
    else:
        page.item(f"verdicts of these assemblers: {'asked now' if args.evidence else 'from the record'}")
        page.item(note(specification.index))
        _summary(page, found)
        _details(page, found, evidence, bool(args.pattern))
    print(page.text)
    return bool(found)


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


def _details(
    page: Page, found: Sequence[Change], evidence: Sequence[Sequence[FormTally]], whole: bool
) -> None:
    last = None
    for change, tallies in zip(found, evidence, strict=True):
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
        if change.fresh and not whole:
            page.item(f"{_number(len(change.variants))} that the other targets have", 1)
        else:
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
    return f"{subject}: {words}"


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
        "registered": list(tally.registered),
        "against": list(tally.against),
    }
