"""Check a PTX file against the specification: every finding about it."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import replace
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from ..spec.api import load
from ..spec.errors import Place, Question
from ..spec.lazy_dataclass import dataclass
from ..spec.legality import ILLEGAL, Judge, Verdict
from ..spec.quantities import counted
from ..spec.statements import Statement as Read
from .findings import ERROR, INFO, LIKELY, Finding
from .grouping import grouped
from .not_judged import (
    NotJudged,
    accesses_not_judged,
    barriers_not_judged,
    met_in_memory,
    not_judged,
    right_block,
)
from .operands.constants import constant_findings
from .operands.kernel_qualifiers import qualifier_findings
from .operands.lane_masks import mask_findings, masked
from .operands.multiples import has_multiples, multiple_findings
from .operands.opaque_fragments import fragment_findings
from .operands.uniformity import operand_findings
from .order import OrderOutcome, check_order
from .ptx.decode import DecodedFunction
from .ptx.flow import build_flow
from .ptx.generic_addresses import with_known_spaces
from .ptx.inlining import Inlining
from .ptx.literal_branches import without_shut_ways
from .ptx.operation import Operations
from .ptx.reader import read_module
from .ptx.register_names import RegisterNames
from .ptx.source import NAME, Function, PtxModule, PtxStatement, UnreadableFile, UnreadText, declared_types
from .ptx.webs import apart
from .readings import settled
from .suppression import Suppressed, Suppressions
from .values.divergence import acts_together, divergence_findings
from .values.reaching_threads import ReachingThreads
from .values.register_intervals import RegisterIntervals
from .values.register_threads import RegisterThreads

if TYPE_CHECKING:
    from .cuda.counts import InlineCounts
    from .paths.parted_ways import PartedWays

__all__ = ["FileReport", "accepted", "check_text", "unread"]


@dataclass(frozen=True)
class FileReport:
    """The report on a file: its findings, the text that could not be read, and the instructions without a
    rule. `error` says why nothing of the file was judged, if so. Baselines and fingerprints go by `path`.
    `inline` counts the statements in the inline assembly of a CUDA source.

    A report is true if it `holds`. A finding has a `rule`, a `tier` (error, likely, reading or info), a
    `place`, the `function`, a `message`, the `section` of the text, and in `right` what would be right.
    """

    name: str
    version: str
    target: str
    functions: int
    statements: int
    faults: tuple[UnreadText, ...]
    findings: tuple[Finding, ...]
    suppressed: tuple[Suppressed, ...] = ()
    not_judged: tuple[NotJudged, ...] = ()
    error: str | None = None
    path: str = ""
    inline: InlineCounts | None = None

    @property
    def faults_told(self) -> tuple[Finding, ...]:
        """The findings as reports tell them: each fault once, with its other places."""
        return grouped(self.findings)

    @property
    def remarks(self) -> Iterator[tuple[Place, str]]:
        """What a reader must know besides the findings: where, and what was not judged."""
        for one in self.not_judged:
            yield one.place, one.message
        if not self.functions and not self.faults and self.inline is None:
            yield Place(self.name, 1, 1), "the file defines no function, so there was nothing to judge"

    @property
    def holds(self) -> bool:
        """Whether all text was read, and no finding is an error or likely to be one."""
        return not self.faults and all(finding.tier not in (ERROR, LIKELY) for finding in self.findings)

    def __bool__(self) -> bool:
        return self.holds

    def __repr__(self) -> str:
        count = len(self.findings)
        return f"FileReport({self.name}: {counted(count, 'finding')}, holds={self.holds})"


def unread(name: str, place: Place, what: str) -> FileReport:
    """The report on a file of which nothing was judged."""
    return FileReport(name, "", "", 0, 0, (UnreadText(place, what),), (), error=what, path=name)


def check_text(
    text: str,
    name: str,
    target: str | None = None,
    baseline: Mapping[str, int] | None = None,
    path: str | None = None,
    readings: Mapping[str, str] | None = None,
) -> FileReport:
    """Check a PTX file; raises UnreadableFile (a Question, with a place) when it is not PTX or its version is
    unknown.

    `baseline` counts the accepted findings by fingerprint; `path` (None: the name) is part of those.
    `readings` are the settings of switches by which the text is read; the others stay open.
    """
    module = read_module(text, name)
    _must_be_known(module, target)
    operations = _operations(module.version, target or module.target)
    findings: list[Finding] = []
    unjudged: list[NotJudged] = []
    together: set[str] = set()
    judged_order: set[int] = set()
    count = 0
    inlining = Inlining(module, operations)
    wholes = {function.name: inlining.whole(function) for function in module.functions}
    for function in module.functions:
        count += len(function.statements)
        whole = None if function.name in inlining.placed else wholes[function.name]
        found, order = _drained(_check_function(module, function, whole, operations, target or module.target))
        findings += found
        if order.together:
            together.add(function.name)
        judged_order |= order.judged
        if order.unjudged_barriers is not None:
            unjudged += barriers_not_judged(module, function, operations, order.unjudged_barriers)
        if order.met_at is not None:
            unjudged += met_in_memory(module, function, operations, order.met_at)
        if order.unjudged_accesses is not None:
            unjudged.append(accesses_not_judged(module, function, order.unjudged_accesses))
        if order.right_block is not None:
            unjudged.append(right_block(module, function, order.right_block))
    unjudged = [*not_judged(module, operations, together, judged_order), *unjudged]
    judged = (settled(finding, readings or {}) for finding in findings)
    findings = _once(sorted((found for found in judged if found), key=lambda finding: finding.order))
    names: dict[str, RegisterNames] = {}
    findings = [_located(module, finding, names) for finding in findings]
    path = name if path is None else path
    findings, suppressed = accepted(findings, text, name, baseline, path)
    return FileReport(
        name,
        module.version,
        target or module.target,
        len(module.functions),
        count,
        tuple(module.faults),
        tuple(findings),
        tuple(suppressed),
        tuple(unjudged),
        path=path,
    )


def _drained(
    found: Generator[Finding, None, OrderOutcome],
) -> tuple[list[Finding], OrderOutcome]:
    """All that a generator yields, and what it returns."""
    findings: list[Finding] = []
    while True:
        try:
            findings.append(next(found))
        except StopIteration as end:
            return findings, end.value


def _once(findings: list[Finding]) -> list[Finding]:
    """The findings in order, each once: a body that several functions call is judged in each of them."""
    kept: dict[tuple[object, ...], Finding] = {}
    for finding in findings:
        key = finding.rule, finding.place, finding.tier, finding.readings
        known = kept.get(key)
        if known is not None and known.function != finding.function:
            kept[key] = replace(known, more=known.more + finding.more + 1)
        else:
            kept[key if known is None else (*key, len(kept))] = finding
    return list(kept.values())


def _located(module: PtxModule, finding: Finding, names: dict[str, RegisterNames]) -> Finding:
    """The finding with the statement at its place, and the source line that it comes from."""
    offset = module.offset(finding.place)
    written = module.written(finding.place)
    function = module.function_at(offset)
    if function is None:
        return replace(finding, statement=written, code=written)
    if function.name not in names:
        names[function.name] = RegisterNames(function)
    code = names[function.name].renamed(written)
    return replace(finding, statement=written, source=module.source(offset), code=code)


def _must_be_known(module: PtxModule, target: str | None) -> None:
    """Raise UnreadableFile at a .version or .target that the specification does not know."""
    isa, word = load().isa, ".version"
    try:
        isa.version(module.version)
        word = ".target"
        isa.target(module.target if target is None else target)
    except Question as error:
        raise UnreadableFile(module.place(module.heads[word]), str(error)) from None


def accepted(
    findings: list[Finding], text: str, name: str, baseline: Mapping[str, int] | None, path: str
) -> tuple[list[Finding], list[Suppressed]]:
    """The findings that stay, and those that a comment of the text or the baseline accepts."""
    comments, known = Suppressions(text, name), dict(baseline or {})
    kept: list[Finding] = []
    suppressed: list[Suppressed] = []
    for finding in findings:
        if comments.covers(finding):
            suppressed.append(Suppressed(finding, "inSource"))
        elif known and _take(known, finding, path):
            suppressed.append(Suppressed(finding, "external"))
        else:
            kept.append(finding)
    return [*kept, *comments.idle()], suppressed


def _take(known: dict[str, int], finding: Finding, path: str) -> bool:
    """Whether the baseline accepts a finding; then it accepts one fewer."""
    from .baseline import fingerprint  # needed only with a baseline

    key = fingerprint(path, finding)
    known[key] = known.get(key, 0) - 1
    return known[key] >= 0


@lru_cache(maxsize=8)
def _operations(version: str, target: str) -> Operations:
    return Operations(load().judge(version, target))


def _check_function(
    module: PtxModule, function: Function, whole: Function | None, operations: Operations, target: str
) -> Generator[Finding, None, OrderOutcome]:
    """`whole` has the bodies that the function calls; None: its order is judged in its callers. Returns what
    else is known of its order.
    """
    opcodes = {statement.opcode for statement in function.statements}
    judged = set(filter(operations.is_held, opcodes))
    held = [i for i, statement in enumerate(function.statements) if statement.opcode in judged]
    code = with_known_spaces(DecodedFunction(function, operations))
    flow = without_shut_ways(code, build_flow(function, module, operations))
    values = RegisterIntervals(module, code)
    if held:
        yield from _legality(module, function, operations.judge, held)
    order = OrderOutcome()
    if whole is function:
        yield from qualifier_findings(module, code)
        order = yield from check_order(module, code, code, flow, values)
    elif whole is not None and whole is not function:
        again = with_known_spaces(DecodedFunction(whole, operations))
        yield from qualifier_findings(module, again)
        joined = without_shut_ways(again, build_flow(whole, replace(module, faults=[]), operations))
        order = yield from check_order(module, code, again, joined, RegisterIntervals(module, again))
    together = bool(held) or any(map(acts_together, code.used))
    multiples = any(map(has_multiples, code.used))
    masks = masked(code)
    named = code
    if together or multiples or masks:
        named = apart(code, flow)
        values = values if named is code else RegisterIntervals(module, named)
    if multiples:
        yield from multiple_findings(module, named, values)
    if together or masks:
        reaching = ReachingThreads(named, flow, RegisterThreads(named))
        yield from mask_findings(module, reaching, masks)
    if together:
        for finding in divergence_findings(module, reaching, held, _parting(reaching)):
            if finding.rule == "aligned-divergent" and module.offset(finding.place) in order.in_step:
                continue
            if held or finding.tier == ERROR:
                yield finding
    if held:
        yield from fragment_findings(module, code, flow)
        yield from constant_findings(module, named, flow, values, held, operations.judge)
        yield from operand_findings(module, reaching, values, target, held)
    return order


def _parting(reaching: ReachingThreads) -> Callable[[int, int, int], bool]:
    """Whether a branch parts threads before a block; what answers is imported once it is asked."""

    @cache
    def ways() -> PartedWays:
        from .paths.parted_ways import PartedWays

        return PartedWays(reaching)

    return lambda branch, block, size: ways().part(branch, block, size)


def _legality(module: PtxModule, function: Function, judge: Judge, held: list[int]) -> Iterator[Finding]:
    """The verdict on every statement of an instruction of the specification, with declared register types."""
    fine: set[tuple[str, str]] = set()
    same: set[tuple[str, str, str | None, int]] = set()  # of which one with the same text was fine
    for index in held:
        statement = function.statements[index]
        text = statement.written or statement.opcode, statement.operands, statement.guard, statement.scope
        if text in same:
            continue
        types = declared_types(function, statement)
        key = statement.written or statement.opcode, _typed(statement, types, judge.isa.special_types)
        if key in fine:
            same.add(text)
            continue
        read = Read(statement.guard, statement.opcode, statement.operands, types, statement.written)
        verdict = judge.judge_statement(read)
        if verdict.verdict != ILLEGAL and not verdict.notes and verdict.variant is not None:
            fine.add(key)
            same.add(text)
        yield from _verdict(module, function, statement, verdict)


def _typed(statement: PtxStatement, types: Mapping[str, str], special: Mapping[str, str]) -> str:
    """The operands with the types of registers in place of their names; two alike are judged alike."""

    def kind(found: re.Match[str]) -> str:
        name = found[0]
        return f".{types[name]}" if name in types else name if name in special else ".?"

    guard = statement.guard or ""
    return NAME.sub(kind, statement.operands) + "@" + (guard if guard.lstrip("!") not in types else "")


def _verdict(
    module: PtxModule, function: Function, statement: PtxStatement, verdict: Verdict
) -> Iterator[Finding]:
    place = module.place(statement.offset)
    if verdict.variant is None and verdict.verdict != ILLEGAL:
        reasons = "; ".join(reason.message for reason in verdict.reasons)
        yield Finding("legality.unknown", LIKELY, place, function.name, f"{statement.opcode}: {reasons}")
        return
    section = verdict.variant.row.family.instruction.source.section if verdict.variant else ""
    for reason in verdict.reasons:
        yield Finding(
            f"legality.{reason.code}",
            ERROR,
            place,
            function.name,
            f"{statement.opcode}: {reason.message}",
            section,
        )
    for note in verdict.notes:
        if re.match("deprecated", note):
            yield Finding(
                "legality.deprecated", INFO, place, function.name, f"{statement.opcode}: {note}", section
            )
