"""ptxmma contradictions: where text, assemblers, silicon and others disagree, and whether they still do."""

from __future__ import annotations

import argparse
import json
import textwrap
from collections.abc import Sequence
from typing import Any

from ..ledger.contradiction_file import Contradiction, MinimalCase, Party
from ..ledger.contradictions import ContradictionRegister, register
from ..spec.editions import cited, note
from ..spec.quantities import counted

__all__ = ["add"]

_VERDICTS = ("accepted", "refused", "died")


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument("id", nargs="?", help="one entry in full, with its PTX files")
    parser.add_argument("--run", action="store_true", dest="again", help="ask the assemblers again")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the list or one entry; with --run, exit code 1 when one no longer shows."""
    known = register()
    identifiers = [args.id] if args.id else list(known.entries)
    chosen = {identifier: known.entry(identifier) for identifier in identifiers}
    if args.again:
        return _again(known, identifiers, args.format)
    if args.format == "json":
        print(json.dumps([_record(known, name, entry) for name, entry in chosen.items()], indent=1))
    elif args.id:
        print("\n".join(_in_full(known, args.id, chosen[args.id])))
    else:
        for name, entry in chosen.items():
            print(f"{name} ({entry.kind}; {entry.section})")
            print(f"  {entry.title}; taken: {entry.reading.takes}")
        print(note(known.specification.index))
        print(counted(len(chosen), "contradiction"))
    return 0


def _again(known: ContradictionRegister, identifiers: Sequence[str], form: str) -> int:
    results, missing = known.run(identifiers)
    gone = [result for result in results if not result.shows]
    if form == "json":
        records = [
            {
                "id": result.id,
                "ptx": result.case.text,
                "version": str(result.case.ptx),
                "target": result.case.target,
                "release": result.release,
                "recorded": result.recorded,
                "verdict": result.outcome.verdict,
                "words": result.outcome.words,
                "shows": result.shows,
            }
            for result in results
        ]
        print(json.dumps(records, indent=1))
        return 1 if gone else 0
    for result in gone:
        print(f"{result.id}: no longer shows on ptxas {result.release}")
        print(f"  .version {result.case.ptx}, .target {result.case.target}: {result.case.statement}")
        wanted = f" ({result.words!r})" if result.recorded == "refused" and result.words else ""
        said = f": {result.outcome.words}" if result.outcome.words else ""
        print(f"  recorded: {result.recorded}{wanted}; now: {result.outcome.verdict}{said}")
    if missing:
        print(f"not asked, for they are not here: ptxas {', '.join(missing)}")
    entries = len({result.id for result in results})
    asked = f"{counted(len(results), 'verdict')} of {counted(entries, 'contradiction')}"
    print(f"{asked} asked again, {len(gone)} differ")
    return 1 if gone else 0


def _record(known: ContradictionRegister, name: str, entry: Contradiction) -> dict[str, Any]:
    return {
        "id": name,
        "title": entry.title,
        "section": entry.section,
        "parties": [_party(party) for party in entry.parties],
        "witness": _party(entry.witness),
        "reading": {"takes": entry.reading.takes, "why": entry.reading.why},
        "cases": [
            {
                "ptx": case.text,
                "version": str(case.ptx),
                "target": case.target,
                "specification": case.specification,
                "verdicts": dict(known.verdicts(case)),
                "file": case.file,
            }
            for case in entry.cases
        ],
        "questions": [{"asks": one.asks, "answers": dict(one.answers)} for one in entry.questions],
        "peers": [
            {"package": one.package, "part": one.part, "function": one.function} for one in entry.peers
        ],
    }


def _party(party: Party) -> dict[str, str]:
    return {"who": party.who, "where": party.where, "says": party.says}


def _in_full(known: ContradictionRegister, name: str, entry: Contradiction) -> list[str]:
    lines = [f"{name}: {entry.title}", f"section {cited(known.specification.index, entry.section)}", ""]
    for party in entry.parties:
        lines += _said(party.who, party)
    lines += _said("a second witness", entry.witness)
    lines += _wrapped(f"the specification takes the {entry.reading.takes}: {entry.reading.why}")
    for number, case in enumerate(entry.cases, 1):
        lines += ["", *_case(number, case, known)]
    for question in entry.questions:
        lines += ["", *_wrapped(f"asked: {question.asks}")]
        for who, answer in question.answers.items():
            lines += _wrapped(f"  {who}: {answer}")
    for peer in entry.peers:
        lines += ["", *_wrapped(f"explains {peer.part} of {peer.package}: {peer.function}")]
    return lines


def _said(label: str, party: Party) -> list[str]:
    return _wrapped(f"{label} ({party.where}): {party.says}")


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, 110, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def _case(number: int, case: MinimalCase, known: ContradictionRegister) -> list[str]:
    lines = [f"case {number}, {case.specification or 'not judged'} to the specification"]
    said: dict[str, list[str]] = {}
    for release, verdict in sorted(known.verdicts(case).items(), key=lambda pair: _VERDICTS.index(pair[1])):
        words = known.words(case, release) if verdict == "refused" else None
        said.setdefault(f"{verdict} ({words})" if words else verdict, []).append(release)
    for words, releases in said.items():
        lines += _wrapped(f"  {words} by ptxas {', '.join(releases)}")
    return [*lines, "", *case.file.rstrip().split("\n")]
