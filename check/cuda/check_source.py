"""Check the inline assembly of a CUDA C++ source: every finding about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from ...spec.api import load
from ...spec.effects import load_effects
from ...spec.errors import Place
from ...spec.gates import EffectiveGate
from ..check_file import FileReport, accepted
from ..findings import ERROR, INFO, Finding
from ..not_judged import NotJudged
from ..ptx.operation import Operations
from ..ptx.source import PtxModule, UnreadText
from .asm_statements import AsmStatement, CudaSource, read_source
from .counts import InlineCounts
from .enclosing import enclosing
from .environments import Environments, FileMacros
from .guards import Gates
from .nvcc import Nvcc, nvcc
from .preprocessor import Answer
from .verdicts import HOLED, LEGAL, UNJUDGED, WRONG, AsmReading, InlineFault, StatementVerdict, read_asm

__all__ = ["check_source"]

_LEFT_OUT = "not compiled"
_KEPT = 1 << 14  # readings of asm statements, by their text


@dataclass
class _SourceQuestion:
    """What is asked about: a version (None: any) and a target (None: any)."""

    ptx: str | None
    target: str | None
    known: Nvcc
    operations: Operations
    environments: Environments
    gates: Gates
    readings: dict[object, AsmReading] = field(default_factory=dict)


@lru_cache(maxsize=8)
def _asked(ptx: str | None, target: str | None) -> _SourceQuestion:
    specification, known = load(), nvcc()
    environments = Environments(specification.isa, known, ptx, target)
    operations = Operations(specification.judge(), load_effects())
    return _SourceQuestion(ptx, target, known, operations, environments, Gates(environments))


def check_source(
    text: str,
    name: str,
    ptx: str | None = None,
    target: str | None = None,
    baseline: Mapping[str, int] | None = None,
    path: str | None = None,
) -> FileReport:
    """Check the inline assembly of a source for a PTX ISA version and a target; where one is None, for what
    the conditions of the preprocessor around each statement admit. `baseline` and `path` as in check_text.
    """
    checker = _Checker(text, name, _asked(ptx, target))
    findings = sorted(checker.findings(), key=lambda finding: finding.order)
    path = name if path is None else path
    kept, suppressed = accepted(findings, text, name, baseline, path)
    return FileReport(
        name,
        ptx or "",
        target or "",
        0,
        checker.counted.statements,
        tuple(checker.unread),
        tuple(kept),
        tuple(suppressed),
        tuple(checker.not_judged.values()),
        path=path,
        inline=checker.counted,
    )


class _Checker:
    """A source, and what was found in it."""

    def __init__(self, text: str, name: str, asked: _SourceQuestion) -> None:
        self.text = text
        self.name = name
        self.asked = asked
        self.places = PtxModule(name, text)
        self.unread: list[UnreadText] = []
        self.not_judged: dict[tuple[str, str], NotJudged] = {}
        self.verdicts: Counter[str] = Counter()
        self.asm = 0
        self.functions: dict[int, str] = {}

    @property
    def counted(self) -> InlineCounts:
        return InlineCounts(
            self.asm, *(self.verdicts[kind] for kind in (LEGAL, WRONG, HOLED, UNJUDGED, _LEFT_OUT))
        )

    def findings(self) -> Iterator[Finding]:
        source = read_source(self.text) if "asm" in self.text or "\0" in self.text else CudaSource()
        self.unread += (UnreadText(self.places.place(at), what) for at, what in source.faults)
        macros = FileMacros(self.asked.environments, source.conditionals.defined)
        self.asm = len({asm.offset for asm in source.statements})
        for asm in source.statements:
            yield from self._asm(asm, macros.holds(asm.guard))

    def _asm(self, asm: AsmStatement, holds: Answer) -> Iterator[Finding]:
        reading = self._reading(asm, holds)
        if not reading.statements and not reading.unread:
            return
        if all(one == 0 for one in holds):
            self.verdicts[_LEFT_OUT] += len(reading.statements)
            return
        self.unread += (UnreadText(self._place(asm, at), what) for at, what in reading.unread)
        yield from (self._finding(asm, fault, "") for fault in reading.faults)
        for statement in reading.statements:
            faults = [*statement.faults, *self._gated(statement, holds)]
            yield from (self._finding(asm, fault, statement.text) for fault in faults)
            verdict = WRONG if any(fault.tier == ERROR for fault in faults) else statement.verdict
            self.verdicts[verdict] += 1
            if verdict == UNJUDGED:
                self._leave(statement, self._place(asm, statement.at))

    def _reading(self, asm: AsmStatement, holds: Answer) -> AsmReading:
        """What the asm statement holds; generated sources have the same one many times."""
        key = (tuple(character for character, _ in asm.template), asm.operands, asm.divided, holds)
        found = self.asked.readings.get(key)
        if found is None:
            if len(self.asked.readings) >= _KEPT:
                self.asked.readings.clear()
            opens = self._opens(holds)
            found = read_asm(asm, self.asked.operations, self.asked.known, opens)
            self.asked.readings[key] = found
        return found

    def _opens(self, holds: Answer):  # type: ignore[no-untyped-def]
        def opens(gate: EffectiveGate) -> bool:
            return any(o and h != 0 for o, h in zip(self.asked.gates.open(gate), holds, strict=True))

        return opens

    def _gated(self, statement: StatementVerdict, holds: Answer) -> Iterator[InlineFault]:
        if statement.gate is None:
            return
        ptx, target = self.asked.ptx, self.asked.target
        fault = self.asked.gates.fault(statement.gate, holds)
        if fault is None:
            if ptx is not None and statement.gate.deprecated is not None:
                judge = load().judge(ptx, target)
                if statement.gate.deprecated <= judge.ptx:
                    message = f"{statement.opcode}: deprecated since PTX ISA {statement.gate.deprecated}"
                    yield InlineFault("legality.deprecated", INFO, statement.at, message, statement.section)
            return
        tier, message = fault
        if tier == ERROR and (ptx is not None or target is not None):
            reasons = load().judge(ptx, target).gate_reasons(statement.gate)
            for reason in reasons:
                yield InlineFault(
                    f"legality.{reason.code}",
                    tier,
                    statement.at,
                    f"{statement.opcode}: {reason.message}",
                    statement.section,
                )
            if reasons:
                return
        yield InlineFault(
            "inline.guard", tier, statement.at, f"{statement.opcode}: {message}", statement.section
        )

    def _leave(self, statement: StatementVerdict, place: Place) -> None:
        """Note that a statement was not judged."""
        key = statement.opcode, statement.why
        known = self.not_judged.get(key)
        count = 1 if known is None else known.statements + 1
        self.not_judged[key] = NotJudged(
            statement.opcode, place if known is None else known.place, count, statement.why
        )

    def _place(self, asm: AsmStatement, at: int) -> Place:
        offset = asm.template[at][1] if at < len(asm.template) else asm.offset
        return self.places.place(offset)

    def _finding(self, asm: AsmStatement, fault: InlineFault, text: str) -> Finding:
        if asm.offset not in self.functions:
            self.functions[asm.offset] = enclosing(self.text, asm.offset)
        return Finding(
            fault.rule,
            fault.tier,
            self._place(asm, fault.at),
            self.functions[asm.offset],
            fault.message,
            fault.section,
            statement=text,
            code=text,
        )
