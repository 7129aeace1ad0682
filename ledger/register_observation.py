"""Ask an assembler about every case of the register, and about statements that show its points.

Under the newest .version on every target, and under every .version on the targets that gates name. Many
statements stand in one file. One that kills an assembler may pass in the company of others, so whatever some
release died of on a target is asked alone on the targets of that number.
"""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from .records import bits_of
from .register_record import AskedCase, AskedSetting, CaseOutcome, RegisterRecord, ReleaseObservations
from .register_statements import chosen_statements

__all__ = ["asked_again", "cases_of", "observe_register", "widened"]

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
    """What one assembler does with the statements and cases of a record; what it was asked about is kept.

    Where there are more settings than when it was recorded, it is asked there about all statements.
    """
    sha256 = digest(ptxas.path)
    same = (r for r in record.releases if (r.release, r.sha256) == (ptxas.version, sha256))
    known = next((r for r in same if r.settings), None)
    wanted = _columns(register, ptxas)
    if known is None:
        found = _observed(wanted, record, ptxas, sha256)
    else:
        known = _in_new_settings(wanted, record, ptxas, known)
        rest = {name: every[known.asked.get(name, 0) :] for name, every in record.statements.items()}
        cases = tuple(case for case in record.cases if case not in known.cases)
        some = replace(record, statements=rest, cases=cases)
        found = known.and_also(_observed(_as_columns(known.settings), some, ptxas, sha256))
    return _asked_alone(record.with_release(found), found, ptxas)


def asked_again(record: RegisterRecord, ptxas: Ptxas) -> Iterator[str]:
    """Where an assembler does not do what is recorded, in words: every case, and every statement on each
    target under the newest version of its record.
    """
    recorded = next((r for r in record.releases if r.release == ptxas.version), None)
    if recorded is None:
        return
    outcomes = dict(_cases(replace(record, cases=tuple(recorded.cases)), ptxas))
    for case, outcome in recorded.cases.items():
        if outcomes.get(case) != outcome:
            is_ = " ".join(outcomes[case]) if case in outcomes else "not asked, as nothing is taken"
            yield f"PTX {case[0]}, {case[1]}: {is_}, recorded as {' '.join(outcome)}: {case[2]}"
    statements = {name: every[: recorded.asked.get(name, 0)] for name, every in record.statements.items()}
    newest = {target: (ptx, target) for ptx, target in reversed(recorded.settings)}
    jobs = [(target, (Version.of(ptx),)) for ptx, target in newest.values()]
    asked = replace(record, statements=statements, cases=())
    work = partial(_column, asked, ptxas, before=recorded)
    now = _told(asked, ptxas, recorded.sha256, over_jobs(jobs, work))
    now = _asked_alone(record, now, ptxas)
    for ptx, target in newest.values():
        if (ptx, target) not in now.settings:
            yield f"PTX {ptx}, {target}: nothing is taken, and statements are recorded"
    for which, before, after in (
        ("accepted", recorded.accepted, now.accepted),
        ("died of", recorded.died, now.died),
    ):
        for name, every in statements.items():
            for place, setting in enumerate(now.settings):
                old = recorded.of(before, name)[recorded.settings.index(setting)]
                for number in bits_of(old ^ now.of(after, name)[place]):
                    is_ = "is not" if old >> number & 1 else "is"
                    yield f"PTX {setting[0]}, {setting[1]}: {is_} {which}: {every[number]}"


def _in_new_settings(
    wanted: Sequence[_TargetColumn], record: RegisterRecord, ptxas: Ptxas, known: ReleaseObservations
) -> ReleaseObservations:
    """What is recorded of an assembler, and what it says of the same statements in new settings."""
    asked = {name: every[: known.asked.get(name, 0)] for name, every in record.statements.items()}
    missing = [
        (str(version), target)
        for target, versions in wanted
        for version in versions
        if (str(version), target) not in known.settings
    ]
    some = replace(record, statements=asked)
    told = over_jobs(_as_columns(missing), partial(_column, some, ptxas))
    found = _told(some, ptxas, known.sha256, told)
    return known.and_in(found) if found.settings else known


def _as_columns(settings: Iterable[tuple[str, str]]) -> list[_TargetColumn]:
    """Settings by target, as they are asked."""
    versions: dict[str, list[Version]] = {}
    for ptx, target in settings:
        versions.setdefault(target, []).append(Version.of(ptx))
    return [(target, tuple(some)) for target, some in versions.items()]


def _observed(
    wanted: Sequence[_TargetColumn], record: RegisterRecord, ptxas: Ptxas, sha256: str
) -> ReleaseObservations:
    columns_of = over_jobs(wanted, partial(_column, record, ptxas))
    return replace(_told(record, ptxas, sha256, columns_of), cases=dict(_cases(record, ptxas)))


def _told(
    record: RegisterRecord,
    ptxas: Ptxas,
    sha256: str,
    found: Iterable[Mapping[tuple[str, str], _SettingAnswer]],
) -> ReleaseObservations:
    """What an assembler said in the settings of some columns."""
    answered = [(setting, answer) for column in found for setting, answer in column.items()]
    settings, answers = [setting for setting, _ in answered], [answer for _, answer in answered]
    return ReleaseObservations(
        ptxas.version,
        sha256,
        datetime.datetime.now(datetime.UTC).date().isoformat(),
        tuple(settings),
        {name: tuple(answer[name][0] for answer in answers) for name in record.statements},
        {name: tuple(answer[name][1] for answer in answers) for name in record.statements},
        {name: len(every) for name, every in record.statements.items()},
        {},
    )


def _asked_alone(record: RegisterRecord, observed: ReleaseObservations, ptxas: Ptxas) -> ReleaseObservations:
    """The same, where statements that killed some release on a target are asked in a file of their own."""
    suspects = [
        (name, number, place)
        for name, targets_of in _lethal(record).items()
        for place, (taken, (_, target)) in enumerate(
            zip(observed.of(observed.accepted, name), observed.settings, strict=True)
        )
        for number, targets in targets_of.items()
        if _number(target) in targets and taken >> number & 1
    ]
    asked = [(observed.settings[place], record.statements[name][number]) for name, number, place in suspects]
    accepted, died = (
        {n: list(maps) for n, maps in which.items()} for which in (observed.accepted, observed.died)
    )
    for (name, number, place), dead in zip(suspects, over_jobs(asked, partial(_dies, ptxas)), strict=True):
        if dead:
            accepted[name][place] &= ~(1 << number)
            died.setdefault(name, [0] * len(observed.settings))[place] |= 1 << number
    return replace(
        observed,
        accepted={name: tuple(maps) for name, maps in accepted.items()},
        died={name: tuple(maps) for name, maps in died.items()},
    )


def _dies(ptxas: Ptxas, asked: tuple[tuple[str, str], str]) -> bool:
    """Whether an assembler dies of a file with this statement alone."""
    (ptx, target), text = asked
    return Session(ptxas, Version.of(ptx), target).classify([text])[0].verdict == "died"


def _lethal(record: RegisterRecord) -> dict[str, dict[int, set[str]]]:
    """By instruction and number of the statement, the numbers of the targets on which some release died."""
    found: dict[str, dict[int, set[str]]] = {}
    for release in record.releases:
        for name, bitmaps in release.died.items():
            for bitmap, (_, target) in zip(bitmaps, release.settings, strict=False):
                for number in bits_of(bitmap):
                    found.setdefault(name, {}).setdefault(number, set()).add(_number(target))
    return found


def _number(target: str) -> str:
    """A target without the letter of its family or of features that are its own."""
    return target.rstrip("fa")


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
    record: RegisterRecord, ptxas: Ptxas, column: _TargetColumn, before: ReleaseObservations | None = None
) -> dict[tuple[str, str], _SettingAnswer]:
    """By setting and instruction, the bitmaps of what is accepted on one target, and of what it dies of.

    What was recorded `before` says which statements to ask apart from the others, and no more.
    """
    target, versions = column
    memory = AskedBefore() if before is None else _likely(record, before, (str(versions[0]), target))
    found: dict[tuple[str, str], _SettingAnswer] = {}
    statements = [text for every in record.statements.values() for text in every]
    for version in versions:
        outcomes = Session(ptxas, version, target, memory=memory).answers(statements)
        if outcomes is not None:
            answer, rest = {}, iter(outcomes)
            for name, every in record.statements.items():
                own = list(itertools.islice(rest, len(every)))
                taken, killing = ([one.verdict == verdict for one in own] for verdict in ("accepted", "died"))
                answer[name] = _bits(taken), _bits(killing)
            found[str(version), target] = answer
    return found


def _likely(record: RegisterRecord, before: ReleaseObservations, setting: AskedSetting) -> AskedBefore:
    """A memory that expects what is recorded of one setting."""
    place = before.settings.index(setting)
    refused: set[str] = set()
    deadly: set[str] = set()
    for name, every in record.statements.items():
        accepted, died = (before.of(which, name)[place] for which in (before.accepted, before.died))
        refused |= {text for number, text in enumerate(every) if not accepted >> number & 1}
        deadly |= {every[number] for number in bits_of(died)}
    return AskedBefore(apart=refused, deadly=frozenset(deadly))


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
