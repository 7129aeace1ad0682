"""ptxmma diff: what changed between two PTX ISA versions, or between two states of the specification."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..audit.pages import Page
from ..audit.version_differences import Change, changes, renamed_targets
from ..audit.version_pages import counts_of, say_changes, say_renamed, say_silent
from ..spec.api import load
from ..spec.editions import note
from ..spec.errors import Question
from ..spec.selection import select, unmatched

if TYPE_CHECKING:
    from ..audit.assembler_verdicts import FormTally, VersionSide

__all__ = ["add"]


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
            "counts": {name: dict(counts) for name, counts in counts_of(found).items()},
            "changes": [_json(c, e) for c, e in zip(found, evidence, strict=True)],
        }
        print(json.dumps(document, indent=1))
        return bool(found or renamed)
    page = Page(args.format == "markdown")
    page.heading(f"PTX ISA {old} → {new}{f' on {target}' if target else ''}")
    for asked in sides:
        page.item(f"{asked.ptx}: {asked.words}")
    say_renamed(page, renamed)
    if found:
        page.item(f"verdicts of these assemblers: {'asked now' if args.evidence else 'from the record'}")
        say_silent(page, evidence)
        page.item(note(specification.index))
        say_changes(page, specification, found, evidence)
    elif not renamed:
        page.item("no difference")
    print(page.text)
    return bool(found or renamed)


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
