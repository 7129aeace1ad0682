"""The register of contradictions is held against what is recorded: it says neither too much nor too little."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal

import pytest

from ptxmma.assemblers.outcomes import AskedBefore, StatementOutcome
from ptxmma.assemblers.toolchains import Ptxas, available
from ptxmma.ledger import register_observation
from ptxmma.ledger.contradiction_file import Contradiction, Points
from ptxmma.ledger.contradictions import ContradictionRegister, register
from ptxmma.ledger.covered_meaning import cover_the_same
from ptxmma.ledger.listed import NameRange, VersionRange
from ptxmma.ledger.register_faults import RegisterFaults
from ptxmma.ledger.register_observation import asked_again
from ptxmma.ledger.register_record import RegisterRecord, ReleaseObservations, load_register, write_register
from ptxmma.spec.errors import Question
from ptxmma.spec.nodes import Scalars, Version

Change = Callable[[Contradiction], Contradiction]


@pytest.fixture(scope="module")
def faults() -> RegisterFaults:
    return RegisterFaults(register(), load_register())


def test_the_register_is_tight(faults: RegisterFaults) -> None:
    assert [str(fault) for fault in faults.every()] == []
    assert len(faults.record.releases) == 17
    asked = {name: len(every) for name, every in faults.record.statements.items()}
    assert all(one.settings and one.asked == asked for one in faults.record.releases)
    assert sum(map(len, faults.record.statements.values())) > 2000


def points(**changes: object) -> Change:
    """The first points changed."""

    def changed(entry: Contradiction) -> Contradiction:
        first: Points = replace(entry.points[0], **changes)  # type: ignore[arg-type]
        return replace(entry, points=(first, *entry.points[1:]))

    return changed


def case(**changes: object) -> Change:
    """The first case changed."""
    return lambda entry: replace(entry, cases=(replace(entry.cases[0], **changes), *entry.cases[1:]))  # type: ignore[arg-type]


def ignored(**changes: object) -> Change:
    """The first of what is ignored everywhere changed."""

    def changed(entry: Contradiction) -> Contradiction:
        first = replace(entry.everywhere[0], **changes)  # type: ignore[arg-type]
        return replace(entry, everywhere=(first, *entry.everywhere[1:]))

    return changed


version = register().specification.isa.version
WORDS = "asm-words-ignored"  # of testp by every release, on every instruction
SELECTORS = "silicon-sp-k32-selectors"  # accepted by every release: selectors 2 and 3 of m16n8k32 with .f16
FAULTS: list[tuple[str, Change, str]] = [
    (SELECTORS, points(written=("2",)), "no entry explains"),
    (SELECTORS, points(written=("2", "3", "4")), "the part 4 explains nothing"),
    (SELECTORS, points(fields={}), "covers what is recorded otherwise"),
    (SELECTORS, points(fields={"dtype": Scalars(("f16",), register().entries[SELECTORS].place)}), "covers what is recorded otherwise"),
    (SELECTORS, points(releases=NameRange("11.8.89")), "no entry explains"),
    (SELECTORS, points(targets=NameRange("sm_75")), "the target sm_75 explains nothing"),
    (SELECTORS, points(targets=NameRange("sm_86")), "the version 7.1 explains nothing"),
    (SELECTORS, points(direction="refused"), "explains nothing"),
    (SELECTORS, points(operand="e"), "explains nothing"),
    (SELECTORS, points(rows=("m16n8k32.f16", "m16n8k16.f16")), "the row m16n8k16.f16 explains nothing"),
    (SELECTORS, lambda entry: replace(entry, points=()), "no entry explains"),
    ("asm-wgmma-f16x2", points(written=("{%hh*4}", "{%hh*3, %b0}")), "the part {%hh*3, %b0} explains nothing"),
    ("asm-surplus-types", lambda entry: replace(entry, points=(*entry.points, replace(entry.points[0], surplus=("s4",)))), "explains what asm-surplus-types explains"),
    ("asm-wmma-load-type-absent", lambda entry: replace(entry, points=(*entry.points, replace(entry.points[0], releases=("11.7.99",), ptx=VersionRange(version("6.3"), version("7.7")), targets=NameRange("sm_70", "sm_87"), qualifiers={"none": "f16", "shared::cta": "shared"}))), "other points explain together"),
    ("asm-m8n8k4-literal-dies", points(fields={"ctype": Scalars(("f32",), register().entries[SELECTORS].place)}), "the field ctype leaves nothing out"),
    ("asm-sm-70-early", points(since=register().specification.isa.version("6.1")), "the since 6.1 explains nothing"),
    ("asm-sm-88-early", points(like="sm_75"), "covers what is recorded otherwise"),
    (WORDS, ignored(surplus=("finite", "infinite", "normal", "notanumber", "number")), "explains nothing that is recorded"),
    (WORDS, ignored(surplus=("finite", "infinite", "normal", "notanumber", "number", "subnormal", "bogus")), "the part bogus explains nothing"),
    (WORDS, ignored(releases=NameRange("11.8.89")), "no entry explains"),
    (WORDS, ignored(targets=NameRange("sm_35")), "the target sm_35 explains nothing"),
    (WORDS, ignored(ptx=VersionRange(version("6.4"))), "no entry explains"),
    (WORDS, lambda entry: replace(entry, everywhere=(*entry.everywhere[:1], replace(entry.everywhere[1], releases=NameRange("12.1.105")), *entry.everywhere[2:])), "covers what is recorded otherwise"),
    (WORDS, lambda entry: replace(entry, everywhere=(*entry.everywhere, replace(entry.everywhere[0], surplus=("finite",)))), "the instruction wgmma.mma_async explains nothing"),
    (WORDS, lambda entry: replace(entry, everywhere=(*entry.everywhere, replace(entry.everywhere[0], releases=NameRange("11.8.89")))), "explains what asm-words-ignored explains"),
    ("asm-matrix-repeats", points(qualifiers={"<x8|x16|x32|x64>": "<x1|x2|x4>"}), "no entry explains"),
    ("asm-matrix-repeats", points(qualifiers={"<x8|x16|x32|x64|x128|x256>": "<x1|x2|x4>"}), "the part x256 explains nothing"),
    ("asm-tcgen05-two-predicates", points(written=("%p0, <it>", "!%p0, <it>")), "no entry explains"),
    ("asm-tcgen05-two-predicates", points(written=("%p0, <it>", "!%p0, <it>", "<integer>, <it>", "%b0, <it>")), "the part %b0, <it> explains nothing"),
    ("text-mma-m8n84", case(accepted=()), "nothing is listed for ptxas 11.7.99"),
    ("text-mma-m8n84", case(specification="illegal"), "a case is legal, not illegal"),
    ("text-mma-m8n84", case(target="sm_90"), "a case is illegal, not legal"),
    ("text-mma-m8n84", lambda entry: replace(entry, cases=entry.cases[1:]), "is recorded that no entry has"),
]  # fmt: skip


@pytest.mark.parametrize(("identifier", "change", "said"), FAULTS)
def test_a_change_is_contradicted(faults: RegisterFaults, identifier: str, change: Change, said: str) -> None:
    entry = faults.register.entries[identifier]
    assert faults.after(identifier, entry) is None
    found = faults.after(identifier, change(entry))
    assert found is not None and said in str(found)


def test_several_entries_explain_together() -> None:
    """Surplus .row, and a target that 13.0.88 takes before its time; neither entry has both."""
    statement = "movmatrix.sync.aligned.m8n8.trans.b16.row %b0, %b1;"
    explains = register().explains
    asked = ("movmatrix", statement, "13.0.88", version("8.8"), "sm_88", "accepted")
    assert explains(*asked) == "asm-matrix-layouts-ignored"  # type: ignore[arg-type]
    for lost in ("asm-matrix-layouts-ignored", "asm-sm-88-early"):
        rest = {name: entry for name, entry in register().entries.items() if name != lost}
        assert ContradictionRegister(register().specification, rest).explains(*asked) is None  # type: ignore[arg-type]
    assert explains("movmatrix", statement, "13.1.115", version("8.8"), "sm_88", "accepted") is None


FENCE = "wgmma.fence"


@pytest.mark.parametrize(("target", "taken", "said"), [("sm_90", True, "no entry explains"), ("sm_90a", False, "covers what is recorded otherwise")])  # fmt: skip
def test_recording_swallows_no_hole(  # type: ignore[no-untyped-def]
    tmp_path, monkeypatch: pytest.MonkeyPatch, target: str, taken: bool, said: str
) -> None:
    """An assembler that does otherwise is recorded as it is, and that differs: nothing is set aside."""
    monkeypatch.setattr("ptxmma.ledger.records.require_writable", lambda folder: None)
    known, entry = load_register(), register().entries["asm-surplus-formats"]
    own = tuple(one for one in entry.points if one.instruction == FENCE)
    alone = ContradictionRegister(register().specification, {"own": replace(entry, points=own, cases=())})
    some = RegisterRecord({FENCE: known.statements[FENCE]}, (), ())
    newest = replace(known.releases[-1], asked={FENCE: 3}, died={}, cases={})
    bitmaps = newest.accepted[FENCE]
    others = [
        replace(one, asked={FENCE: 3}, died={}, cases={}) for one in known.releases[:-1] if one.settings
    ]
    for which, expected in ((bitmaps, []), (flipped(newest, target, taken), [said])):
        record = replace(some, releases=(*others, replace(newest, accepted={FENCE: which})))
        write_register(record, tmp_path)
        found = list(RegisterFaults(alone, load_register(tmp_path)).every())
        assert len(found) == len(expected) and all(word in str(found[0]) for word in expected)


def flipped(release: ReleaseObservations, target: str, taken: bool) -> tuple[int, ...]:
    """The bitmaps of wgmma.fence, where the first statement is taken, or is not, under the newest version."""
    place = next(place for place, (_, name) in enumerate(release.settings) if name == target)
    bitmaps = list(release.accepted[FENCE])
    bitmaps[place] = bitmaps[place] | 1 if taken else bitmaps[place] & ~1
    return tuple(bitmaps)


def test_an_entry_that_is_lost_is_missed(faults: RegisterFaults) -> None:
    """But for two, whose cases others have too: tests/ledger/ids.yaml lists them."""
    entries = faults.register.entries.items()
    missed = [name for name, one in entries if one.cases and faults.after(name, None) is None]
    assert missed == ["text-sp-k64-self-reference", "silicon-fp8-sparse-accumulation"]


SETTINGS = (("8.0", "sm_80"), ("8.0", "sm_90"))
FIRST = ReleaseObservations(
    "12.0.140", "0" * 64, "2026-01-01", SETTINGS, {"mma": (0b01, 0b11)}, {"mma": (0b10, 0)}, {"mma": 2},
    {("8.0", "sm_80", "x;"): ("refused", "Unknown modifier")},
)  # fmt: skip


def test_a_record_is_read_as_it_was_written(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr("ptxmma.ledger.records.require_writable", lambda folder: None)
    record = RegisterRecord({"mma": ("a;", "b;")}, (("8.0", "sm_80", "x;"),), ()).with_release(FIRST)
    write_register(record, tmp_path)
    assert load_register(tmp_path) == record
    assert load_register(tmp_path / "empty") == RegisterRecord({}, (), ())


def test_what_is_asked_later_stands_behind(tmp_path) -> None:  # type: ignore[no-untyped-def]
    later = replace(FIRST, accepted={"mma": (1, 0)}, died={"mma": (0, 1)}, asked={"mma": 1}, cases={})
    both = FIRST.and_also(later)
    assert both.accepted == {"mma": (0b101, 0b011)} and both.died == {"mma": (0b010, 0b100)}
    assert both.asked == {"mma": 3} and both.cases == FIRST.cases
    with pytest.raises(Question, match="record it anew"):
        FIRST.and_also(replace(later, settings=SETTINGS[:1]))


RECORDED = RegisterRecord({"mma": ("a;", "b;")}, tuple(FIRST.cases), (FIRST,))
Verdict = Literal["accepted", "refused", "died"]
SaidOfRecord = dict[tuple[str, str], Verdict]  # by target and statement, where it is not "refused"
AS_RECORDED: SaidOfRecord = {
    ("sm_80", "a;"): "accepted", ("sm_80", "b;"): "died", ("sm_90", "a;"): "accepted", ("sm_90", "b;"): "accepted",
}  # fmt: skip


class StandIn:
    """Answers for an assembler, as one release is recorded, or otherwise."""

    said: SaidOfRecord = AS_RECORDED
    words = "Unknown modifier"
    silent = ""  # the target on which it takes nothing

    def __init__(self, ptxas: Ptxas, version: object, target: str, memory: object = None) -> None:
        assert ptxas.version == FIRST.release and str(version) == "8.0"
        self.target = target

    def mute(self) -> str | None:
        return "no such target" if self.target == self.silent else None

    def classify(self, statements: Sequence[str]) -> list[StatementOutcome]:
        verdicts = [self.said.get((self.target, text), "refused") for text in statements]
        return [StatementOutcome(verdict, (self.words,)) for verdict in verdicts]

    def answers(self, statements: Sequence[str]) -> list[StatementOutcome] | None:
        return None if self.mute() else self.classify(statements)


def differences(monkeypatch: pytest.MonkeyPatch, **answers: object) -> list[str]:
    """What an assembler does otherwise than is recorded, if it answers so."""
    monkeypatch.setattr(register_observation, "Session", type("Answers", (StandIn,), answers))
    return list(asked_again(RECORDED, Ptxas(Path("ptxas"), FIRST.release, version("8.0"))))


def test_an_assembler_that_does_what_is_recorded_is_not_blamed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert differences(monkeypatch) == []
    unknown = replace(RECORDED, releases=(replace(FIRST, release="11.7.99"),))
    assert list(asked_again(unknown, Ptxas(Path("ptxas"), FIRST.release, version("8.0")))) == []


AGAIN: list[tuple[dict[str, object], list[str]]] = [
    ({"said": {**AS_RECORDED, ("sm_80", "a;"): "refused"}}, ["PTX 8.0, sm_80: is not accepted: a;"]),
    ({"said": {**AS_RECORDED, ("sm_90", "b;"): "died"}}, ["PTX 8.0, sm_90: is not accepted: b;", "PTX 8.0, sm_90: is died of: b;"]),
    ({"said": {**AS_RECORDED, ("sm_80", "b;"): "refused"}}, ["PTX 8.0, sm_80: is not died of: b;"]),
    ({"said": {**AS_RECORDED, ("sm_80", "x;"): "accepted"}}, ["PTX 8.0, sm_80: accepted Unknown modifier, recorded as refused Unknown modifier: x;"]),
    ({"words": "Another"}, ["PTX 8.0, sm_80: refused Another, recorded as refused Unknown modifier: x;"]),
    ({"silent": "sm_90"}, ["PTX 8.0, sm_90: nothing is taken, and statements are recorded"]),
    ({"silent": "sm_80"}, ["PTX 8.0, sm_80: not asked, as nothing is taken, recorded as refused Unknown modifier: x;",
                           "PTX 8.0, sm_80: nothing is taken, and statements are recorded"]),
]  # fmt: skip


@pytest.mark.parametrize(("answers", "said"), AGAIN)
def test_an_assembler_that_does_otherwise_is_named(
    monkeypatch: pytest.MonkeyPatch, answers: dict[str, object], said: list[str]
) -> None:
    assert differences(monkeypatch, **answers) == said


def test_what_is_recorded_as_refused_or_deadly_is_asked_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    told: dict[str, tuple[set[str], frozenset[str]]] = {}

    class Answers(StandIn):
        def __init__(self, ptxas: Ptxas, version: object, target: str, memory: object = None) -> None:
            super().__init__(ptxas, version, target)
            if isinstance(memory, AskedBefore):
                told[target] = memory.apart, memory.deadly

    monkeypatch.setattr(register_observation, "over_jobs", lambda jobs, work: map(work, jobs))
    monkeypatch.setattr(register_observation, "Session", Answers)
    assert list(asked_again(RECORDED, Ptxas(Path("ptxas"), FIRST.release, version("8.0")))) == []
    assert told == {"sm_80": ({"b;"}, frozenset({"b;"})), "sm_90": (set(), frozenset())}


def test_new_settings_are_asked_about_old_statements(monkeypatch: pytest.MonkeyPatch) -> None:
    """sm_89 comes between those that are recorded: it alone is asked about a and b, and all three about c."""
    asked: list[tuple[str, tuple[str, ...]]] = []

    class Answers(StandIn):
        def classify(self, statements: Sequence[str]) -> list[StatementOutcome]:
            asked.append((self.target, tuple(statements)))
            return super().classify(statements)

    new: SaidOfRecord = {("sm_89", "a;"): "accepted", ("sm_89", "c;"): "died", ("sm_90", "c;"): "accepted"}
    monkeypatch.setattr(StandIn, "said", {**AS_RECORDED, **new})
    now = [(target, (version("8.0"),)) for target in ("sm_89", "sm_80", "sm_90")]
    ptxas = Ptxas(Path("ptxas"), FIRST.release, version("8.0"))
    monkeypatch.setattr(register_observation, "Session", Answers)
    monkeypatch.setattr(register_observation, "digest", lambda path: FIRST.sha256)
    monkeypatch.setattr(register_observation, "_columns", lambda register, ptxas: now)
    record = replace(RECORDED, statements={"mma": ("a;", "b;", "c;")})
    found = register_observation.observe_register(register(), record, ptxas)
    assert found.settings == (*SETTINGS, ("8.0", "sm_89"))
    assert found.asked == {"mma": 3} and found.cases == FIRST.cases
    assert (found.accepted, found.died) == ({"mma": (0b001, 0b111, 0b001)}, {"mma": (0b010, 0, 0b100)})
    whole = [(target, texts) for target, texts in asked if len(texts) > 1]
    assert whole == [("sm_89", ("a;", "b;"))]


SCALES = "asm-scale-selectors"
WRITTEN = register().entries[SCALES].points[0].written


@pytest.mark.parametrize(
    ("identifier", "change", "same"),
    [
        (SCALES, points(written=("{1.0, %bh7}", *WRITTEN[1:])), True),  # the number of a register
        (SCALES, points(written=("{1.0, %h0}", *WRITTEN[1:])), False),  # its type
        (SCALES, points(written=("{0f00000000, %bh0}", *WRITTEN[2:])), False),
        (SCALES, points(rows=register().entries[SCALES].points[0].rows[1:]), False),
        ("asm-mixed-vectors", points(operand="a"), False),
        ("asm-mixed-vectors", lambda entry: replace(entry, cases=entry.cases[1:]), False),
        (SELECTORS, points(releases=tuple(release.release for release in load_register().releases)), True),
        (SELECTORS, points(fields={}), False),
    ],
)
def test_points_that_cover_the_same_are_equal(identifier: str, change: Change, same: bool) -> None:
    entry = register().entries[identifier]
    assert cover_the_same(register().specification, entry, change(entry)) is same


@pytest.mark.parametrize("ptxas", available(), ids=lambda ptxas: ptxas.version)
def test_a_version_without_the_target_is_no_setting(ptxas: Ptxas) -> None:
    """Some statement of the register hides this from who asks about all of them at once."""
    observe = partial(register_observation._column, load_register(), ptxas)
    before, since = Version(6, 5), Version(7, 0)  # of sm_80
    assert observe(("sm_80", (before,))) == {}
    assert observe(("sm_80", (since, before))).keys() == {("7.0", "sm_80")}
