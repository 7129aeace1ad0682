"""The verdict on every statement of the specification inside an asm statement."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from ...spec.constants import SyntaxFault
from ...spec.gates import EffectiveGate
from ...spec.lazy_dataclass import dataclass
from ...spec.legality import ILLEGAL, Verdict
from ...spec.statements import Statement, arguments
from ..findings import ERROR, INFO, LIKELY
from ..ptx.operation import Operations
from ..ptx.source import PtxStatement, declared_types
from .asm_statements import AsmStatement
from .holes import fillable, filled
from .inline_operands import InlineOperand, inline_operands
from .nvcc import Nvcc
from .ptx_statements import InlineBody, inline_body
from .templates import HOLE, NUMBER, PtxTemplate, ptx_template

__all__ = ["HOLED", "LEGAL", "UNJUDGED", "WRONG", "AsmReading", "InlineFault", "StatementVerdict", "read_asm"]

LEGAL, WRONG, HOLED, UNJUDGED = "legal", "illegal", "with holes", "not judged"
_OPEN_TYPE = "a macro spells part of the statement, and no filling was found"
_OPEN_LISTS = "a macro spells the statements around it"
_NEWER = "(nvcc declares other types for newer targets, which pass)"
_ONE = re.compile(r"\{\s*([%\w$]+)\s*\}")
_BRACED = (
    "a vector of one register stands where the specification has a register; "
    "releases of ptxas take it for some targets"
)
_DIVIDED = "the preprocessor chooses parts of the asm statement"


@dataclass(frozen=True)
class InlineFault:
    """What is wrong: the rule, its tier, the index in the asm statement's string, and the sentence."""

    rule: str
    tier: str
    at: int
    message: str
    section: str = ""


@dataclass(frozen=True)
class StatementVerdict:
    """A statement of the specification: its index in the string, its text, what is thought of it, its gate
    where that is known, and why it was not judged.
    """

    at: int
    opcode: str
    text: str
    verdict: str
    faults: tuple[InlineFault, ...] = ()
    gate: EffectiveGate | None = None
    section: str = ""
    why: str = ""


@dataclass(frozen=True)
class AsmReading:
    """What was read of an asm statement: verdicts without gates, and text that is not a statement."""

    statements: tuple[StatementVerdict, ...]
    faults: tuple[InlineFault, ...] = ()
    unread: tuple[tuple[int, str], ...] = ()


def read_asm(
    asm: AsmStatement, operations: Operations, known: Nvcc, opens: Callable[[EffectiveGate], bool]
) -> AsmReading:
    """The verdicts on the statements of an asm statement. `opens` says where a filling of a hole may stand;
    gates of the others are judged by the caller.
    """
    typed = inline_operands(asm.operands or (), known)
    template = ptx_template(asm, typed)
    body = inline_body(template.text)
    reader = _AsmReader(asm, operations, known, typed, template, body, opens)
    found = tuple(reader.statements())
    holed = asm.divided or HOLE in template.text
    if not found and not any(operations.is_held(word) for word in _words(template.text)):
        return AsmReading(())
    unread = [] if holed else [(reader.place(at), what) for at, what in body.unread]
    if holed and body.unread:
        found = (*found, *reader.lost())
    return AsmReading(found, tuple(reader.faults(bool(found))), tuple(unread))


def _words(text: str) -> Iterator[str]:
    """What may be opcodes of a text."""
    for word in text.replace(";", " ").replace(HOLE, f" {HOLE}").split():
        if "." in word and word[0].isalpha():
            yield word


@dataclass(frozen=True)
class _AsmReader:
    asm: AsmStatement
    operations: Operations
    known: Nvcc
    typed: tuple[InlineOperand, ...]
    template: PtxTemplate
    body: InlineBody
    opens: Callable[[EffectiveGate], bool]

    def place(self, at: int) -> int:
        """The index in the string of a character of the PTX."""
        places = self.template.places
        return places[min(max(at, 0), len(places) - 1)] if places else 0

    def statements(self) -> Iterator[StatementVerdict]:
        """The statements of the specification, each with its verdict."""
        named: set[str] = set()
        for statement in self.body.statements:
            found = self._statement(statement, named)
            if found is not None:
                yield found
            named |= _operands_in(statement)

    def lost(self) -> Iterator[StatementVerdict]:
        """The statements of the specification in text that could not be read, since a macro spells a part."""
        read = {statement.opcode for statement in self.body.statements}
        for word in dict.fromkeys(_words(self.template.text)):
            if word not in read and HOLE not in word and self.operations.is_held(word):
                yield StatementVerdict(0, word, word, UNJUDGED, why=_OPEN_LISTS)

    def faults(self, relevant: bool) -> Iterator[InlineFault]:
        """What is wrong with the lists, where the string holds a statement of the specification."""
        if not relevant or self.asm.divided:
            return
        for at, what in self.template.faults:
            yield InlineFault("inline.operand-number", ERROR, at, what)
        for operand in self.typed:
            if operand.fault:
                yield InlineFault("inline.constraint", ERROR, 0, f"%{operand.number}: {operand.fault}")
        if self.asm.operands is not None and HOLE not in self.template.text:
            tied = {one.constraint.strip() for one in self.typed}
            for operand in self.typed:
                if operand.number not in self.template.named and str(operand.number) not in tied:
                    word = f'%{operand.number} ("{operand.constraint}")'
                    message = f"{word} stands in the lists, and not in the string"
                    yield InlineFault("inline.operand-unused", INFO, 0, message)

    def _statement(self, statement: PtxStatement, named: set[str]) -> StatementVerdict | None:
        opcode, operands = statement.opcode, statement.operands
        at = self.place(statement.offset)
        text = " ".join(f"{opcode} {operands}".split())
        if HOLE in opcode or NUMBER in opcode or (HOLE in operands and not self.operations.is_held(opcode)):
            return self._holed(statement, at, text)
        if not self.operations.is_held(opcode):
            return None
        if self.asm.divided:
            return StatementVerdict(at, opcode, text, UNJUDGED, why=_DIVIDED)
        if HOLE in operands:
            return self._holed(statement, at, text)
        verdict = self._typed_verdict(statement)
        if verdict.variant is None and verdict.verdict != ILLEGAL:
            message = f"{opcode}: {'; '.join(reason.message for reason in verdict.reasons)}"
            unknown = InlineFault("legality.unknown", LIKELY, at, message)
            return StatementVerdict(at, opcode, text, UNJUDGED, (unknown,), why=message)
        section = verdict.variant.row.family.instruction.source.section if verdict.variant else ""
        faults = [
            InlineFault(f"legality.{reason.code}", ERROR, at, f"{opcode}: {reason.message}", section)
            for reason in verdict.reasons
            if not (reason.code.startswith("gate.") and verdict.variant is not None)
        ]
        broken = {fault.rule for fault in faults}
        if broken == {"legality.operand.kind"} and self._without_braces(statement):
            return StatementVerdict(at, opcode, text, UNJUDGED, section=section, why=_BRACED)
        if broken == {"legality.operand.type"}:
            faults = self._newer(statement, faults)
        if not faults:
            faults += self._accesses(verdict, statement, at, named)
            if self.body.unended and statement is self.body.statements[-1]:
                message = f"{opcode}: the string ends without ';'"
                faults.append(InlineFault("inline.semicolon", ERROR, at, message))
        gate = _gate(self.operations, verdict)
        kind = WRONG if faults else HOLED if NUMBER in operands else LEGAL
        return StatementVerdict(at, opcode, text, kind, tuple(faults), gate, section)

    def _holed(self, statement: PtxStatement, at: int, text: str) -> StatementVerdict | None:
        """A statement that a macro spells in part: legal for some filling, or not judged."""
        opcode = statement.opcode
        if not self.operations.is_held(opcode.split(HOLE)[0].split(NUMBER)[0].rstrip(".") or opcode):
            rest = f"{opcode} {statement.operands}".replace(HOLE, " ")
            words = [word for word in _words(rest) if self.operations.is_held(word)]
            if not words:
                return None
            return StatementVerdict(at, words[0], text, UNJUDGED, why=_OPEN_LISTS)
        if self.asm.divided:
            return StatementVerdict(at, opcode, text, UNJUDGED, why=_DIVIDED)
        shown = opcode.replace(HOLE, "…").replace(NUMBER, "…")
        for types in self._types(statement):
            read = Statement(statement.guard, opcode, statement.operands, types)
            if fillable(self.operations.judge, read, self.opens):
                return StatementVerdict(at, shown, text, HOLED)
        return StatementVerdict(at, shown, text, UNJUDGED, why=_OPEN_TYPE)

    def _typed_verdict(self, statement: PtxStatement) -> Verdict:
        """The verdict with the register types that fit best of those that the constraints allow."""
        verdict = None
        for types in self._types(statement):
            read = Statement(statement.guard, statement.opcode, statement.operands, types)
            if NUMBER in statement.operands:
                found = filled(self.operations.judge, read)
            else:
                found = self.operations.judge.judge_statement(read)
            verdict = found if verdict is None else verdict
            if all(reason.code != "operand.type" for reason in found.reasons):
                return found
        assert verdict is not None
        return verdict

    def _without_braces(self, statement: PtxStatement) -> bool:
        """Whether the statement is legal once the braces around one register are gone."""
        text = statement.operands
        plain = (text[: one.start()] + one[1] + text[one.end() :] for one in _ONE.finditer(text))
        return any(not self._typed_verdict(replace(statement, operands=one)).reasons for one in plain)

    def _newer(self, statement: PtxStatement, faults: list[InlineFault]) -> list[InlineFault]:
        """Faults of types: doubtful ones where nvcc declares other types for newer targets."""
        types = next(self._types(statement)).items()
        newer = {word: self.known.newer_types.get(kind, kind) for word, kind in types}
        read = Statement(statement.guard, statement.opcode, statement.operands.replace(NUMBER, "1"), newer)
        reasons = self.operations.judge.judge_statement(read).reasons
        if any(reason.code == "operand.type" for reason in reasons):
            return faults
        return [
            replace(fault, rule="inline.constraint", tier=LIKELY, message=f"{fault.message} {_NEWER}")
            for fault in faults
        ]

    def _types(self, statement: PtxStatement) -> Iterator[Mapping[str, str]]:
        """The types of registers: first as nvcc declares operands, then as it might."""
        declared = declared_types(self.body.function, statement)
        named = _operands_in(statement)
        mine = [one for one in self.typed if one.types and f"%{one.number}" in named]
        for number in range(max((len(one.types) for one in mine), default=1)):
            yield {
                **declared,
                **{f"%{one.number}": one.types[min(number, len(one.types) - 1)] for one in mine},
            }

    def _accesses(
        self, verdict: Verdict, statement: PtxStatement, at: int, named: set[str]
    ) -> Iterator[InlineFault]:
        """Inputs that the statement writes, and outputs that it reads before anything has written them."""
        if verdict.variant is None or verdict.form is None:
            return
        try:
            given = arguments(statement.operands.replace(NUMBER, "1"))
        except SyntaxFault:
            return
        operands = verdict.variant.row.family.instruction.operands
        by_name = {f"%{one.number}": one for one in self.typed if one.kind == "register"}
        for name, argument in zip(verdict.form.operands, given, strict=False):
            role = operands[name].role
            for register in argument.registers:
                operand = by_name.get(register)
                if operand is None:
                    continue
                if role != "source" and argument.shape != "address" and not operand.written:
                    what = f'{register} ({name}), an input ("{operand.constraint}")'
                    message = f"{statement.opcode}: it writes {what}"
                    yield InlineFault("inline.input-written", ERROR, at, message)
                    break
                if role == "source" and not operand.read and register not in named and not self.body.labelled:
                    message = (
                        f"{statement.opcode}: it reads {register} ({name}), an output "
                        f'("{operand.constraint}") that nothing has written yet'
                    )
                    yield InlineFault("inline.output-read", ERROR, at, message)
                    break


def _operands_in(statement: PtxStatement) -> set[str]:
    """The operands of the asm statement that a statement names."""
    words = statement.operands.replace("%", " %")
    found = set()
    for part in words.split("%")[1:]:
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if digits:
            found.add(f"%{digits}")
    return found


def _gate(operations: Operations, verdict: Verdict) -> EffectiveGate | None:
    """When the form of a verdict is legal."""
    variant, form = verdict.variant, verdict.form
    if variant is None:
        return None
    gates = [*variant.row.gates_on(variant.fields), *([form.gate] if form and form.gate else [])]
    return operations.judge.isa.effective(gates)
