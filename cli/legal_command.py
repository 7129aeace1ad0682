"""ptxmma legal: is a PTX statement legal, since when, and if not, why not."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from typing import Any

from ..spec.api import judge
from ..spec.batch import judge_lines
from ..spec.constants import SyntaxFault
from ..spec.errors import Question
from ..spec.legality import Judge, Verdict
from ..spec.statements import Statement, read_statement
from .options import descriptor_word

__all__ = ["add"]

_EXIT = {"legal": 0, "illegal": 1, "unknown": 2}


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument(
        "statement", nargs="?", help="one PTX statement; register declarations may stand before it"
    )
    parser.add_argument("--ptx", metavar="V", help="the PTX ISA version (default: the newest)")
    parser.add_argument("--target", metavar="T", help="the target (default: any)")
    parser.add_argument(
        "--idesc", metavar="WORD", help="the instruction descriptor that the statement takes, decimal or 0x…"
    )
    parser.add_argument(
        "--batch",
        metavar="FILE",
        help="one statement a line, - for standard input; the answers are lines of JSON",
    )
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Judge one statement, or every line of a file."""
    if (args.statement is None) == (args.batch is None):
        raise Question("give one statement, or --batch FILE")
    asked = judge(args.ptx, args.target)
    if args.batch is not None:
        if args.idesc is not None:
            raise Question("--idesc goes with one statement, not with --batch")
        return _batch(asked, args.batch)
    if args.idesc is not None:
        return _described(args, asked)
    verdict = asked.judge(args.statement)
    suggestion = _suggest(asked, args.statement) if verdict.verdict != "legal" else None
    witnesses = _witnesses(asked, args.statement, verdict)
    if args.format == "json":
        print(json.dumps(as_json(verdict, suggestion) | witnesses, indent=1))
    else:
        print(as_text(verdict, suggestion, _witness_line(witnesses)))
    return _EXIT[verdict.verdict]


def _described(args: argparse.Namespace, asked: Judge) -> int:
    """Judge a statement with the word of its instruction descriptor."""
    from ..spec.api import load
    from ..spec.described_operands import holding, judge_with_word, legal_words
    from .descriptor_command import field_lines, word_json
    from .witness_lines import word_lines

    word = descriptor_word(args.idesc)
    verdict, found, descriptor = judge_with_word(load(), asked, args.statement, word)
    suggestion = _suggest(asked, args.statement) if verdict.variant is None else None
    witnesses = _witnesses(asked, args.statement, verdict)
    about: dict[str, Any] = as_json(verdict, suggestion) | witnesses
    lines = [as_text(verdict, suggestion, _witness_line(witnesses))]
    if found is not None and descriptor is not None:
        counts = list(legal_words(descriptor, found.settings, holding(asked)))
        about["idesc"] = word_json(descriptor, found, counts)
        lines += field_lines(descriptor, found, counts)
        lines += word_lines(about["idesc"]["witnesses"])
    print(json.dumps(about, indent=1) if args.format == "json" else "\n".join(lines))
    return _EXIT[verdict.verdict]


def _suggest(asked: Judge, text: str) -> str | None:
    """The nearest legal form; of a mnemonic without operands too."""
    try:
        return asked.suggest(read_statement(text))
    except SyntaxFault:
        words = text.split()
        return asked.suggest(Statement(None, words[0], "", {})) if len(words) == 1 else None


def _witnesses(asked: Judge, text: str, verdict: Verdict) -> dict[str, Any]:
    """Who witnessed the row that judged a statement; without a row, what is asked beside the nearest ones."""
    from ..spec.api import load
    from .witness_lines import universe_witnesses, variant_witnesses

    if verdict.variant is not None:
        return {"witnesses": variant_witnesses(load(), verdict.variant), "universe": None}
    try:
        mnemonic = read_statement(text).mnemonic
    except SyntaxFault:
        mnemonic = text.split(None, 1)[0] if text.strip() else ""
    closest = asked.closest(mnemonic)
    return {"witnesses": None, "universe": universe_witnesses(closest) if closest else None}


def _witness_line(found: Mapping[str, Any]) -> str | None:
    from .witness_lines import row_line, universe_line

    if found["witnesses"] is not None:
        return row_line(found["witnesses"])
    return universe_line(found["universe"]) if found["universe"] is not None else None


def as_json(verdict: Verdict, suggestion: str | None) -> dict[str, Any]:
    """A verdict as the JSON output has it."""
    variant, form = verdict.variant, verdict.form
    return {
        "verdict": verdict.verdict,
        "reasons": [{"code": r.code, "message": r.message} for r in verdict.reasons],
        "notes": list(verdict.notes),
        "ptx": variant.mnemonic if variant else None,
        "row": variant.row.id if variant else None,
        "since": str(variant.gate.since) if variant else None,
        "operands": list(form.operands) if form else None,
        "nearest": suggestion,
    }


def as_text(verdict: Verdict, suggestion: str | None, witnesses: str | None) -> str:
    """A verdict for a person."""
    lines = [verdict.verdict]
    if verdict.variant and verdict.verdict == "legal":
        gate = verdict.variant.gate
        lines[0] += f": {verdict.variant.mnemonic} (row {verdict.variant.row.id}, since {gate.since})"
    lines += [f"  {reason.code}: {reason.message}" for reason in verdict.reasons]
    lines += [f"  note: {note}" for note in verdict.notes]
    if witnesses:
        lines.append(f"  {witnesses}")
    if suggestion:
        lines.append(f"  nearest legal form: {suggestion}")
    return "\n".join(lines)


def _batch(asked: Judge, name: str) -> int:
    """One JSON object a line; exit code 0 where all are legal, 2 where all are unknown, else 1."""
    if name == "-":
        text = sys.stdin.read()
    else:
        with open(name, encoding="utf-8", errors="replace") as file:
            text = file.read()
    output, verdicts = judge_lines(asked, text)
    if not output:
        raise Question(
            f"{'standard input' if name == '-' else name}: there is no statement; write one a line"
        )
    sys.stdout.write(output)
    return _EXIT[next(iter(verdicts))] if len(verdicts) == 1 else 1
