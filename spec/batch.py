"""Judge many statements, one a line: the same verdicts as one by one, as fast as an assembler."""

from __future__ import annotations

import json
import re

from .legality import ANY_SHAPE, Judge, Verdict

__all__ = ["judge_lines"]

_MNEMONIC = re.compile(r"[a-z][\w.]*(?:::[\w.]+)*")


class _Answers:
    """The answers to lines, each a JSON object without the line's number, and the verdicts that there are.

    What tells no lines apart is judged once, and lines that share a diagnosis share its text.
    """

    def __init__(self, judge: Judge) -> None:
        self.judge = judge
        self.verdicts: set[str] = set()
        self._named: dict[str, str] = {}
        self._others: dict[str, str] = {}
        self._written: dict[int, tuple[Verdict, str]] = {}

    def answer(self, line: str) -> str:
        """The answer to a line; empty where there is no statement: a blank line, or a comment alone.

        Most lines are plain, without comment, declaration, label or guard: they fall apart at a blank. Some
        mnemonics settle the answer, whatever stands behind them.
        """
        stripped = line.strip()
        mnemonic, blank, operands = stripped.partition(" ")
        if blank and "/" not in stripped and "@" not in stripped and stripped.find(";") == len(stripped) - 1:
            known = self._named.get(mnemonic)
            if known:
                return known
            if known is not None or _MNEMONIC.fullmatch(mnemonic):
                return self._plain(mnemonic, operands[:-1].lstrip())
        if not stripped or stripped.startswith("//"):
            return ""
        if stripped not in self._others:
            self._others[stripped] = self._text(self.judge.judge(stripped))
        return self._others[stripped]

    def _plain(self, mnemonic: str, operands: str) -> str:
        verdict, shape = self.judge.judge_plain(mnemonic, operands)
        text = self._text(verdict)
        if shape:
            text = text.replace(ANY_SHAPE, shape)
        self._named[mnemonic] = "" if verdict.variant else text
        return text

    def _text(self, verdict: Verdict) -> str:
        """A verdict as JSON text, to be put behind the line number."""
        known = self._written.get(id(verdict))
        if known is None:
            self.verdicts.add(verdict.verdict)
            reasons = json.dumps([{"code": r.code, "message": r.message} for r in verdict.reasons])
            known = verdict, f'"verdict": "{verdict.verdict}", "reasons": {reasons}}}\n'
            self._written[id(verdict)] = known
        return known[1]


def judge_lines(judge: Judge, text: str) -> tuple[str, frozenset[str]]:
    """One JSON object a line, and the verdicts that there are.

    Blank lines, and those of a comment alone, are passed over.
    """
    answers = _Answers(judge)
    output: list[str] = []
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        answer = answers.answer(line)
        if answer:
            output.append(f'{{"line": {number}, {answer}')
    return "".join(output), frozenset(answers.verdicts)
