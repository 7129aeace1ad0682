"""Ask an assembler about every case of the register, and about statements that show its points.

Under the newest .version on every target, and under every .version on the targets that gates name.
"""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from ..assemblers.assembler_settings import columns
from ..assemblers.classification import Session
from ..assemblers.outcomes import AskedBefore, SilentAssembler
from ..assemblers.toolchains import Ptxas, digest
from ..spec.nodes import Version
from ..spec.specification import Specification
from ..spec.workers import over_jobs
from .contradictions import ContradictionRegister
from .register_record import AskedCase, CaseOutcome, RegisterRecord, ReleaseObservations
from .register_statements import chosen_statements

__all__ = ["cases_of", "observe_register", "widened"]

_TargetColumn = tuple[str, tuple[Version, ...]]
_SettingAnswer = Mapping[str, tuple[int, int]]


def cases_of(register: ContradictionRegister) -> tuple[AskedCase, ...]:
    """Every case as it is asked, each once."""
    return tuple(
        dict.fromkeys(
            (str(case.ptx), case.target, case.text)
            for entry in register.entries.values()
            for case in entry.cases
        )
    )


def widened(record: RegisterRecord, register: ContradictionRegister) -> RegisterRecord:
    """The record with today's statements and cases."""
    return record.with_asked(chosen_statements(register), cases_of(register))


def observe_register(
    register: ContradictionRegister, record: RegisterRecord, ptxas: Ptxas
) -> ReleaseObservations:
    """What one assembler does with the statements and cases of a record; what it was asked about is kept."""
    sha256 = digest(ptxas.path)
    known = next((r for r in record.releases if (r.release, r.sha256) == (ptxas.version, sha256)), None)
    if known is None:
        return _observed(register, record, ptxas, sha256)
    rest = {name: every[known.asked.get(name, 0) :] for name, every in record.statements.items()}
    cases = tuple(case for case in record.cases if case not in known.cases)
    return known.and_also(_observed(register, replace(record, statements=rest, cases=cases), ptxas, sha256))


def _observed(
    register: ContradictionRegister, record: RegisterRecord, ptxas: Ptxas, sha256: str
) -> ReleaseObservations:
    jobs = _columns(register, ptxas)
    found = list(over_jobs(jobs, partial(_column, record, ptxas)))
    settings = [setting for column in found for setting in column]
    answers = [answer for column in found for answer in column.values()]
    return ReleaseObservations(
        ptxas.version,
        sha256,
        datetime.datetime.now(datetime.UTC).date().isoformat(),
        tuple(settings),
        {name: tuple(answer[name][0] for answer in answers) for name in record.statements},
        {name: tuple(answer[name][1] for answer in answers) for name in record.statements},
        {name: len(every) for name, every in record.statements.items()},
        dict(_cases(record, ptxas)),
    )


def _columns(register: ContradictionRegister, ptxas: Ptxas) -> list[_TargetColumn]:
    """Every target, each with the versions to ask under, newest first; the longest work first."""
    specification = register.specification
    begins = _beginnings(specification) | register.early_targets
    found = [
        (column.target, column.versions if column.target in begins else column.versions[:1])
        for column in columns(specification.isa, [ptxas])
    ]
    return sorted(found, key=lambda column: -len(column[1]))


def _beginnings(specification: Specification) -> frozenset[str]:
    """The targets that gates name: on the others the same is legal as on one of these."""
    return frozenset(
        target
        for family in specification.families.values()
        for variant in family.variants()
        for gate in variant.row.gates_on(variant.fields)
        for target in gate.targets
    )


def _column(
    record: RegisterRecord, ptxas: Ptxas, column: _TargetColumn
) -> dict[tuple[str, str], _SettingAnswer]:
    """By setting and instruction, the bitmaps of what is accepted on one target, and of what it dies of."""
    target, versions = column
    memory = AskedBefore()
    found: dict[tuple[str, str], _SettingAnswer] = {}
    statements = [text for every in record.statements.values() for text in every]
    for version in versions:
        session = Session(ptxas, version, target, memory=memory)
        if session.mute() is None:
            outcomes = iter(session.classify(statements))
            answer = {}
            for name, every in record.statements.items():
                own = list(itertools.islice(outcomes, len(every)))
                taken, killing = ([one.verdict == verdict for one in own] for verdict in ("accepted", "died"))
                answer[name] = _bits(taken), _bits(killing)
            found[str(version), target] = answer
    return found


def _bits(which: Sequence[bool]) -> int:
    return sum(1 << place for place, bit in enumerate(which) if bit)


def _cases(record: RegisterRecord, ptxas: Ptxas) -> Iterator[tuple[AskedCase, CaseOutcome]]:
    """The outcome of every case under whose version and on whose target the assembler takes anything."""
    groups: dict[tuple[str, str], list[AskedCase]] = {}
    for case in record.cases:
        groups.setdefault(case[:2], []).append(case)
    for (ptx, target), cases in groups.items():
        try:
            session = Session(ptxas, Version.of(ptx), target)
            if session.mute() is not None:
                continue
            outcomes = session.classify([text for _, _, text in cases])
        except SilentAssembler:
            continue
        for case, outcome in zip(cases, outcomes, strict=True):
            yield case, (outcome.verdict, outcome.words)
