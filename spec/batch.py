"""Judge many statements, one a line: the same verdicts as one by one, as fast as an assembler."""

from __future__ import annotations

import json
import re

from .legality import ANY_SHAPE, Judge, Verdict

__all__ = ["judge_lines"]

_MNEMONIC = re.compile(r"[a-z][\w.]*(?:::[\w.]+)*")


def _plain(line: str) -> tuple[str, str] | None:
    """Mnemonic and operands of a plain line: one without comment, declaration, label or guard. Most lines are
    plain.
    """
    mnemonic, space, operands = line.partition(" ")
    if not space or "/" in line or "@" in line or line.find(";") != len(line) - 1:
        return None
    if _MNEMONIC.fullmatch(mnemonic) is None:
        return None
    return mnemonic, operands[:-1].lstrip()


def _tail(verdict: Verdict) -> str:
    """A verdict as JSON text, to be put behind the line number."""
    reasons = [{"code": r.code, "message": r.message} for r in verdict.reasons]
    return f'"verdict": "{verdict.verdict}", "reasons": {json.dumps(reasons)}}}\n'


def judge_lines(judge: Judge, text: str) -> tuple[str, frozenset[str]]:
    """One JSON object a line, and the verdicts that there are.

    Blank lines, and those of a comment alone, are passed over. Lines that are alike are judged once, and
    those that share a diagnosis share its text.
    """
    output: list[str] = []
    answers: dict[str, str] = {}
    tails: dict[int, str] = {}
    kept: list[Verdict] = []
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        answer = answers.get(line)
        if answer is None:
            stripped = line.strip()
            if not stripped or stripped.startswith("//"):
                continue
            found = _plain(stripped)
            if found:
                verdict, shape = judge.judge_plain(*found)
            else:
                verdict, shape = judge.judge(stripped), ""
            tail = tails.get(id(verdict))
            if tail is None:
                tail = tails[id(verdict)] = _tail(verdict)
                kept.append(verdict)
            answer = answers[line] = tail.replace(ANY_SHAPE, shape) if shape else tail
        output.append(f'{{"line": {number}, {answer}')
    return "".join(output), frozenset(verdict.verdict for verdict in kept)
