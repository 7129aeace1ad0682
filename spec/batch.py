"""Many statements, one a line: the same verdicts as one by one, at an assembler's speed."""

from __future__ import annotations

import json
import re

from .legality import ANY_SHAPE, LEGAL, Judge, Verdict

__all__ = ["judge_lines"]

# What most lines are: a mnemonic, operands without comments, declarations, labels or guards.
_PLAIN = re.compile(r"([a-z][\w.:]*)[ \t]+([^;/@]*);")


def _tail(verdict: Verdict) -> str:
    """A verdict as JSON text, behind the line number."""
    reasons = [{"code": r.code, "message": r.message} for r in verdict.reasons]
    return f'"verdict": "{verdict.verdict}", "reasons": {json.dumps(reasons)}}}\n'


def judge_lines(judge: Judge, text: str) -> tuple[str, bool]:
    """One JSON object a line (blank lines are passed over), and whether every line is legal.

    Lines that share a diagnosis share its text; nothing else is shared.
    """
    output: list[str] = []
    tails: dict[int, str] = {}
    kept: list[Verdict] = []
    everything_legal = True
    plain = _PLAIN.fullmatch
    for number, line in enumerate(text.split("\n"), 1):
        line = line.strip()
        if not line:
            continue
        found = plain(line)
        if found:
            verdict, shape = judge.judge_plain(found[1], found[2])
        else:
            verdict, shape = judge.judge(line), ""
        tail = tails.get(id(verdict))
        if tail is None:
            tail = tails[id(verdict)] = _tail(verdict)
            kept.append(verdict)
        if shape:
            tail = tail.replace(ANY_SHAPE, shape)
        if verdict.verdict != LEGAL:
            everything_legal = False
        output.append(f'{{"line": {number}, {tail}')
    return "".join(output), everything_legal
