"""The comparison with assemblers: it notices a fake ptxas that lies, mumbles, hangs or dies."""

from __future__ import annotations

import json
import os
import shutil
import struct
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

import ptxmma
from ptxmma.assemblers.asking import Asking, kernel
from ptxmma.assemblers.assembler_settings import AssemblerSetting, Job, home
from ptxmma.assemblers.classification import Session, classify
from ptxmma.assemblers.comparison import Comparison, compare, stale
from ptxmma.assemblers.gate_probes import probe, representatives
from ptxmma.assemblers.machine_code import Coded, coded, entries, entry, opcodes
from ptxmma.assemblers.outcomes import AskedBefore, StatementOutcome
from ptxmma.assemblers.toolchains import Ptxas, available
from ptxmma.assemblers.universe import Universe
from ptxmma.assemblers.universe_cache import whole
from ptxmma.assemblers.universe_points import UniversePoint, open_for
from ptxmma.spec.errors import Question
from ptxmma.spec.nodes import Version

from ..answers import valid

Run = Callable[..., tuple[int, str, str]]
PTX = Version(9, 5)

# Reads a file of accepted statements and a mode; answers like ptxas, except where the mode says otherwise.
FAKE = """#!{python} -IS
import os, signal, sys, time
here = os.path.dirname(os.path.abspath(__file__))
if sys.argv[1] == "--version":
    print("ptxas: NVIDIA (R) Ptx optimizing assembler\\nCuda compilation tools, release 13.5, V13.5.37\\n")
    sys.exit(0)
mode = open(here + "/mode").read()
accepted = set(open(here + "/accepted").read().split("\\n"))
out, code, unread = [], 0, []
names = [name for name in sys.argv[1:-2] if name.startswith("/")]
if mode == "single" and len(names) > 1:
    sys.exit("ptxas fatal   : More than one input file")
for place, name in enumerate(names):
    lines = (sys.stdin if name == "/dev/stdin" else open(name)).read().split("\\n")
    if lines[0] == ".version 99.9":
        sys.exit(f"ptxas {{name}}, line 1; fatal   : Unsupported .version 99.9; current version is '9.5'")
    body = [(n, line) for n, line in enumerate(lines, 1) if n > 4 and line and not line.startswith("ret; }}")]
    faults = []
    if "mov.b32 %b0, %bd0;" in lines[3]:
        faults.append(f"ptxas {{name}}, line 4; error   : Arguments mismatch for instruction 'mov'")
    for number, line in body:
        if line.startswith("killer"):
            print("\\n".join(out + faults), file=sys.stderr, flush=True)
            os.kill(os.getpid(), signal.SIGSEGV)
        if line.startswith("sleeper"):
            time.sleep(60)
        if line.startswith("broken") or ".unread" in line:
            faults.append(f"ptxas {{name}}, line {{number}}; fatal   : Parsing error near 'x': syntax error")
            break
        if line.startswith(("later", "macro", "crash")):
            continue
        if line not in accepted:
            faults.append(f"ptxas {{name}}, line {{number}}; error   : Arguments mismatch for {{line[:9]}}")
    if not faults:
        for number, line in body:
            if line.startswith("later"):
                faults.append("ptxas <builtin>, line 7; error   : Call to 'x' requires call prototype")
            if line.startswith("gated") and unread:
                faults.append(f"ptxas {{name}}, line {{number}}; error   : Instruction 'gated' not supported on it")
            if line.startswith("macro"):  # the rest of this file is read at the end of the next but one
                faults.append("ptxas <builtin>, line 9; fatal   : Parsing error near ',': syntax error")
                unread.append(place + 2)
                break
        if len(unread) > 20 and body:
            faults = ["ptxas <builtin>, line 9; fatal   : Parsing error near ';': macro nesting too deep!"]
    if place in unread:
        faults.append(f"ptxas {{name}}, line 6; fatal   : Parsing error near 'ret': syntax error")
    out += faults
    code = code or (255 if faults else 0)
if code == 0 and any(line.startswith("crash") for _, line in body):
    os.kill(os.getpid(), signal.SIGSEGV)
if code == 0:
    out += [f"ptxas /dev/stdin, line {{n}}; warning : slow" for n, line in body if line.startswith("warned")]
    if any(line.startswith("warned") for _, line in body):
        out.append("ptxas info    : (C7519) something about all of it")
elif mode == "reordered":
    out.reverse()
elif mode == "duplicated":
    out += out
elif mode == "truncated":
    out = out[: len(out) // 2 + 1]
    if len(out) > 1:
        out[-1] = out[-1][:25]
elif mode == "mumbling":
    out = ["\\xff segmentation? line; error", "???"]
if code:
    out.append("ptxas fatal   : Ptx assembly aborted due to errors")
if mode == "mumbling":
    out = out[:2]
sys.stderr.write("\\n".join(out) + "\\n")
sys.exit(code)
"""


class Fake:
    """A fake ptxas, what it accepts, and how it answers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        path = folder / "ptxas"
        path.write_text(FAKE.format(python=sys.executable))
        path.chmod(0o755)
        self.ptxas = Ptxas(path, "13.5.37", PTX)
        self.setting = AssemblerSetting(self.ptxas, PTX, "sm_90a")
        self.accept([])
        self.be("honest")

    def accept(self, statements: list[str]) -> None:
        (self.folder / "accepted").write_text("\n".join(statements))

    def be(self, mode: str) -> None:
        (self.folder / "mode").write_text(mode)

    def classify(self, statements: list[str], limit: float = 20) -> list[StatementOutcome]:
        return classify(self.ptxas, statements, PTX, "sm_90a", limit)


@pytest.fixture
def fake(tmp_path: Path) -> Fake:
    return Fake(tmp_path / "fake")


@pytest.fixture(scope="module")
def universe() -> Universe:
    return Universe(ptxmma.load())


@pytest.fixture(scope="module")
def real() -> Ptxas:
    found = available()
    if not found:
        pytest.skip("NO PTXAS: the extra dev brings one, `ptxmma toolchain fetch` others")
    return found[-1]


def verdicts(outcomes: list[StatementOutcome]) -> str:
    return " ".join(outcome.verdict[0] for outcome in outcomes)


# How the answers of an assembler are read.


@pytest.mark.parametrize("mode", ["honest", "reordered", "duplicated", "truncated"])
def test_every_statement_gets_its_own_verdict(fake: Fake, mode: str) -> None:
    statements = [f"s{n};" for n in range(40)]
    good = [s for n, s in enumerate(statements) if n % 3 == 0]
    fake.accept(good)
    fake.be(mode)
    outcomes = fake.classify(statements)
    assert [o.verdict == "accepted" for o in outcomes] == [s in good for s in statements]
    assert outcomes[1].words == "Arguments mismatch for s1;"


def test_what_cannot_be_read_is_a_death_of_one_statement(fake: Fake) -> None:
    fake.accept(["a;", "b;", "d;"])
    fake.be("mumbling")
    outcomes = fake.classify(["a;", "b;", "c;", "d;"])
    assert verdicts(outcomes) == "a a d a"
    assert outcomes[2].words == "exit code 255 without a fault that can be read"


def test_a_death_is_laid_at_the_door_of_its_statement(fake: Fake) -> None:
    fake.accept(["a;", "b;", "c;"])
    statements = ["a;", "x;", "killer 1;", "b;", "y;", "killer 2;", "killer 3;", "c;", "z;"]
    outcomes = fake.classify(statements)
    assert verdicts(outcomes) == "a r d a r d d a r"
    assert outcomes[2].words == "killed by signal 11"


@pytest.mark.parametrize(
    ("words", "verdict"),
    [("(C7907) Internal compiler error", "died"), ("Unknown symbol '__cuda_mma_internal_s4'", "refused")],
)
def test_an_internal_error_is_a_death_and_a_symbol_of_that_name_is_none(
    fake: Fake, monkeypatch: pytest.MonkeyPatch, words: str, verdict: str
) -> None:
    def assemble(*_: object) -> tuple[int, str, bytes]:
        return 255, f"ptxas fatal   : {words}\n", b""

    session = Session(fake.ptxas, PTX, "sm_90a")
    monkeypatch.setattr(Session, "mute", lambda self: None)
    monkeypatch.setattr(Asking, "_run", assemble)
    assert session.classify(["a;"]) == [StatementOutcome(verdict, (words,))]  # type: ignore[arg-type]


def test_a_hang_is_laid_at_the_door_of_its_statement(fake: Fake) -> None:
    fake.accept(["a;", "b;"])
    outcomes = fake.classify(["a;", "sleeper;", "b;"], limit=2)
    assert verdicts(outcomes) == "a d a"
    assert outcomes[1].words == "no answer within the limit of time"


def test_a_syntax_error_hides_nothing_behind_it(fake: Fake) -> None:
    fake.accept(["a;", "b;"])
    outcomes = fake.classify(["x;", "broken 1;", "a;", "broken 2;", "broken 3;", "y;", "b;"])
    assert verdicts(outcomes) == "r r a r r r a"
    assert "syntax error" in outcomes[1].words


def test_a_word_that_cannot_be_read_is_asked_about_once(fake: Fake) -> None:
    fake.accept(["a;", "b;"])
    session = Session(fake.ptxas, PTX, "sm_90a")
    outcomes = session.classify(["a;", *(f"s.x.unread::y {n};" for n in range(200)), "t.z;", "b;"])
    assert verdicts(outcomes) == "a " + "r " * 201 + "a"
    assert outcomes[-3].words.startswith(".unread::y cannot be read: Parsing error")
    assert session.runs < 8


def test_a_statement_clean_beside_refused_ones_may_be_refused_later(fake: Fake) -> None:
    fake.accept(["a;", "b;"])
    outcomes = fake.classify(["x;", "later;", "a;", "b;"])
    assert verdicts(outcomes) == "r r a a"
    assert outcomes[1].words == "Call to 'x' requires call prototype"


def test_many_later_faults_take_few_runs(fake: Fake) -> None:
    good = [f"a{n};" for n in range(300)]
    fake.accept(good)
    session = Session(fake.ptxas, PTX, "sm_90a")
    mixed = [one for n, text in enumerate(good) for one in (text, f"later {n};")]
    assert verdicts(session.classify(mixed)) == " ".join("ar" * 300)
    assert session.runs < 12


def test_known_deaths_take_a_process_each_and_end_no_other(fake: Fake) -> None:
    fake.accept(good := [f"a{n};" for n in range(120)])
    deaths = [f"killer {n};" for n in range(10)]
    later = [f"later {n};" for n in range(120)]
    session = Session(fake.ptxas, PTX, "sm_90a", memory=AskedBefore(deadly=frozenset(deaths)))
    outcomes: dict[int, StatementOutcome] = {}
    left = session._each(asked := [*good, *deaths, *later], list(range(250)), outcomes)
    assert [asked[number] for number in left] == good
    assert {asked[n] for n, one in outcomes.items() if one.verdict == "died"} == {*deaths}
    assert {asked[n] for n, one in outcomes.items() if one.verdict == "refused"} == {*later}
    assert session.runs == 10 + 1 + 2  # the deaths, an empty kernel, groups and single files


@pytest.mark.parametrize("likely", ["all", "none", "some"])
def test_what_is_expected_changes_no_verdict(fake: Fake, likely: str) -> None:
    fake.accept(good := [f"a{n};" for n in range(60)])
    mixed = [one for n, text in enumerate(good) for one in (text, f"later {n};", f"x{n};")]
    mixed += ["crash;", "killer;"]
    expected = {"all": mixed, "none": [], "some": mixed[::2]}[likely]
    memory = AskedBefore(apart=set(expected), deadly=frozenset(expected[::3]))
    session = Session(fake.ptxas, PTX, "sm_90a", memory=memory)
    assert verdicts(session.classify(mixed)) == " ".join("arr" * 60 + "dd")


def test_there_are_no_answers_where_nothing_is_taken(fake: Fake) -> None:
    fake.accept(many := [f"a{n};" for n in range(80)])
    for statements in (many, many[:2], ["x;"], []):
        assert Session(fake.ptxas, Version(99, 9), "sm_90a").answers(statements) is None
        answers = Session(fake.ptxas, PTX, "sm_90a").answers(statements)
        assert answers is not None
        assert verdicts(answers) == " ".join("r" if text == "x;" else "a" for text in statements)


@pytest.mark.slow
def test_what_reads_one_file_only_is_asked_as_often_as_that_takes(fake: Fake) -> None:
    fake.accept(good := [f"a{n};" for n in range(30)])
    fake.be("single")
    mixed = [one for n, text in enumerate(good) for one in (text, f"later {n};")]
    assert verdicts(fake.classify(mixed)) == " ".join("ar" * 30)


def test_an_assembler_may_be_a_script_that_calls_one(fake: Fake) -> None:
    fake.accept(good := [f"a{n};" for n in range(30)])
    script = fake.folder / "script"
    call = f"subprocess.call([{str(fake.ptxas.path)!r}, *sys.argv[1:]])"
    script.write_text(f"#!{sys.executable}\nimport subprocess, sys\nsys.exit({call})\n")
    script.chmod(0o755)
    session = Session(Ptxas(script, "13.5.37", PTX), PTX, "sm_90a")
    mixed = [one for n, text in enumerate(good) for one in (text, f"later {n};")]
    assert verdicts(session.classify(mixed)) == " ".join("ar" * 30)
    assert session.runs < 8


def test_what_a_macros_fault_leaves_unread_is_no_fault_of_the_next(fake: Fake) -> None:
    fake.accept(["a;", "b;", "c;"])
    outcomes = fake.classify(["macro 1;", "a;", "macro 2;", "macro 3;", "b;", "later;", "c;"])
    assert verdicts(outcomes) == "r a r r a r a"
    assert outcomes[0].words == "Parsing error near ',': syntax error"
    assert outcomes[5].words == "Call to 'x' requires call prototype"


def test_behind_a_macros_fault_an_instruction_of_one_architecture_is_asked_again(fake: Fake) -> None:
    fake.accept(["gated 1;", "gated 2;", "a;"])
    outcomes = fake.classify(["macro 1;", "gated 1;", "macro 2;", "a;", "gated 2;", "later;"])
    assert verdicts(outcomes) == "r a r a a r"


def test_what_stands_behind_a_fragment_without_a_type_is_not_refused(real: Ptxas) -> None:
    load, fence = "wmma.load.a.sync.aligned.row.m8n32k16 {%b0}, [%bd0];", "wgmma.fence.sync.aligned;"
    for ptxas in available():  # 12.0 to 12.9 would
        if ptxas.ptx >= Version(8, 0):
            outcomes = classify(ptxas, [load, fence, load, fence], ptxas.ptx, "sm_90a")
            assert verdicts(outcomes) == "r a r a", ptxas.version


def test_what_macros_leave_unread_may_pile_up_too_high(fake: Fake) -> None:
    fake.accept(good := [f"a{n};" for n in range(60)])
    mixed = [one for n, text in enumerate(good) for one in (f"macro {n};", text)]
    outcomes = fake.classify(mixed)
    assert verdicts(outcomes) == " ".join("ra" * 60)
    assert {outcome.words for outcome in outcomes[::2]} == {"Parsing error near ',': syntax error"}


def test_a_death_in_code_generation_is_found_among_later_faults(fake: Fake) -> None:
    good = [f"a{n};" for n in range(120)]
    fake.accept(good)
    outcomes = fake.classify([*good[:70], "later 1;", "crash;", "killer;", *good[70:], "later 2;"])
    assert verdicts(outcomes) == " ".join("a" * 70 + "rdd" + "a" * 50 + "r")


def test_warnings_go_with_their_statement_and_advisories_with_the_session(fake: Fake) -> None:
    fake.accept(["a;", "warned;"])
    session = Session(fake.ptxas, PTX, "sm_90a")
    outcomes = session.classify(["a;", "warned;"])
    assert outcomes == [StatementOutcome("accepted"), StatementOutcome("accepted", ("slow",))]
    assert session.advisories == Counter({"(C7519) something about all of it": 1})


def test_a_file_that_cannot_be_run_cannot_be_asked(fake: Fake) -> None:
    fake.ptxas.path.chmod(0o644)
    with pytest.raises(Question, match="cannot be run"):
        fake.classify(["a;"])
    gone = Ptxas(fake.folder / "none", "1.2.3", PTX)
    with pytest.raises(Question, match="cannot be run"):
        classify(gone, ["a;"], PTX, "sm_90a")


@pytest.mark.parametrize("text", ["a", "a; // b;", "a /* b;", "a\nb;"])
def test_what_is_not_one_statement_is_an_error_of_the_caller(fake: Fake, text: str) -> None:
    with pytest.raises(ValueError, match="not one statement"):
        fake.classify([text])


# The comparison.


def fence(universe: Universe, fake: Fake) -> tuple[tuple[UniversePoint, ...], list[str]]:
    points = universe.whole(universe.specification.families["fence.proxy.async"])
    legal = [p.statement for p in points if open_for(p.gate, PTX, "sm_90a")]
    assert len(legal) == 4
    fake.accept(legal)
    return points, legal


def test_agreement_is_found(universe: Universe, fake: Fake) -> None:
    points, _ = fence(universe, fake)
    found = compare([Job(fake.setting, points)], None)
    assert found.disagreements == [] and found.classified == len(points)
    assert found.counts["fence.proxy.async", "13.5.37", True, "accepted"] == 4


@pytest.mark.slow
def test_one_lie_in_either_direction_is_caught(universe: Universe, fake: Fake) -> None:
    points, legal = fence(universe, fake)
    for point in points:
        told = (
            [s for s in legal if s != point.statement]
            if point.statement in legal
            else [*legal, point.statement]
        )
        fake.accept(told)
        found = compare([Job(fake.setting, points)], None)
        assert [(d.statement, d.legal) for d in found.disagreements] == [
            (point.statement, point.statement in legal)
        ]


def test_a_lie_among_thousands_is_caught(universe: Universe, fake: Fake) -> None:
    points = universe.whole(universe.specification.families["stmatrix"])
    legal = [p.statement for p in points if open_for(p.gate, PTX, "sm_90a")]
    wrong = next(p.statement for p in points if p.statement not in legal)
    fake.accept([*legal[1:], wrong])
    found = compare([Job(fake.setting, points)], None)
    assert {d.statement for d in found.disagreements} == {legal[0], wrong}


class Entries:
    """A register with one entry."""

    def __init__(self, statement: str, instruction: str = "fence.proxy.async") -> None:
        self.statement, self.instruction = statement, instruction

    def explains(
        self, instruction: str, statement: str, release: str, ptx: Version, target: str, direction: str
    ) -> str | None:
        return "known" if (statement, direction) == (self.statement, "accepted") else None

    def expected(self, release: str, ptx: Version, target: str) -> dict[str, dict[str, bool]]:
        return {"known": {self.instruction: True}}


def test_a_registered_disagreement_is_explained_and_one_that_no_longer_shows_is_stale(
    universe: Universe, fake: Fake
) -> None:
    points, legal = fence(universe, fake)
    wrong = next(p.statement for p in points if p.statement not in legal)
    register = Entries(wrong)
    found = compare([Job(fake.setting, points)], register)
    assert stale(found, register) == ["known"]
    assert stale(found, Entries(wrong, "mma")) == []
    fake.accept([*legal, wrong])
    found = compare([Job(fake.setting, points)], register)
    assert found.unregistered() == [] and found.explained() == Counter({"known": 1})
    assert stale(found, register) == []


def test_deaths_are_told_apart_from_refusals(fake: Fake) -> None:
    gate = ptxmma.load().find("fence.proxy.async").gate
    points = [
        UniversePoint("x", "killer 1;", None),
        UniversePoint("x", "killer 2;", gate),
        UniversePoint("x", "bad;", None),
    ]
    found = compare([Job(fake.setting, points)], None)
    assert [d.statement for d in found.deaths] == ["killer 1;"]
    assert [d.statement for d in found.disagreements] == ["killer 2;"]
    assert found.counts["x", "13.5.37", False, "refused"] == 1


def test_a_setting_that_cannot_be_asked_is_named(fake: Fake) -> None:
    fake.accept(["a;"])
    fake.folder.joinpath("ptxas").write_text('#!/bin/sh\necho "ptxas fatal   : no such target" >&2\nexit 1\n')
    found = compare([Job(fake.setting, [UniversePoint("x", "a;", None)])], None)
    assert "no such target" in found.refused[fake.setting]
    assert found.classified == 0


def test_parts_add_up() -> None:
    found, other = Comparison(), Comparison(runs=2)
    other.counts["a", "1", True, "accepted"] = 3
    found.add(other)
    found.add(other)
    assert (found.classified, found.runs) == (6, 4)


# The universe.


@pytest.mark.slow
def test_the_universe_has_every_legal_form_and_no_repetitions(universe: Universe) -> None:
    for name, family in universe.specification.families.items():
        if name in ("mma", "mma.sp", "wmma.mma"):
            continue  # the same code, and large
        points = whole(universe, family)
        statements = {p.statement for p in points}
        assert len(statements) == len(points)
        assert {p.statement for p in universe.forms(family)} <= statements
        assert all(p.gate is not None for p in universe.forms(family))


def test_every_field_takes_every_value_and_some_outside(universe: Universe) -> None:
    family = universe.specification.families["wgmma.mma_async.sp"]
    mnemonics = {p.statement.split(" ")[0] for p in whole(universe, family)}
    for n in (*range(8, 257, 8), 4, 252, 264, 512):
        assert any(f".m64n{n}k32.f16.f16.f16" in m for m in mnemonics), n
    for kind in universe.specification.index.types:  # b2 is tcgen05.ld.spcompress's alone, which stands apart
        other = f"wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.{kind}.f16"
        assert (other in mnemonics) == (kind != "b2"), kind


def test_immediates_vectors_kinds_and_counts_are_off_by_one(universe: Universe) -> None:
    family = universe.specification.families["wgmma.mma_async.sp"]
    head = "wgmma.mma_async.sp.sync.aligned.m64n8k64.s32.s8.s8 "
    operands = [p.statement[len(head) :] for p in whole(universe, family) if p.statement.startswith(head)]
    legal = "{%b0, %b1, %b2, %b3}, %bd0, %bd1, %b4, 0, %p0;"
    assert legal in operands
    for changed in (
        "{%b0, %b1, %b2}, %bd0, %bd1, %b4, 0, %p0;",
        "{%b0, %b1, %b2, %b3, %b0}, %bd0, %bd1, %b4, 0, %p0;",
        "{%b0, %b1, %b2, %b3}, %bd0, %bd1, %b4, 2, %p0;",
        "{%b0, %b1, %b2, %b3}, %bd0, %bd1, %b4, -1, %p0;",
        "{%b0, %b1, %b2, %b3}, %bd0, %bd1, %b4, 0;",
        "{%b0, %b1, %b2, %b3}, %bd0, %bd1, %b4, 0, %p0, 0;",
        "%bd0, {%b0, %b1, %b2, %b3}, %bd1, %b4, 0, %p0;",
        "{%b0, %b1, %b2, %b3}, %bd0, %bd1, %b4, 0, !%p1;",
        "{%f0, %f1, %f2, %f3}, %bd0, %bd1, %b4, 0, %p0;",
    ):
        assert changed in operands, changed


def test_the_gates_of_points_are_the_judges_verdicts(universe: Universe) -> None:
    family = universe.specification.families["ldmatrix"]
    for version, target in (("7.7", "sm_80"), ("8.6", "sm_100a"), ("9.5", "sm_120f")):
        judge = universe.specification.judge(version, target)
        for point in whole(universe, family)[::7]:
            declared = " ".join(
                f".reg .{kind} {register};"
                for register, kind in universe.declared.items()
                if register in point.statement
            )
            legal = judge.judge(f"{declared} {point.statement}").verdict == "legal"
            assert open_for(point.gate, Version.of(version), target) == legal, point.statement


# What is emitted.

KERNEL = """.version 8.2
.target sm_90a
.address_size 64
.entry kernel() { DECLARED
wgmma.fence.sync.aligned;
wgmma.wait_group.sync.aligned 0;
ret; }
"""
LEGAL = {
    "mma": "mma.sync.aligned.m8n8k4.row.row.f16.f16.f16.f16 {%b0, %b1, %b2, %b3}, {%b4, %b5}, {%b6, %b7}, {%b8, %b9, %b10, %b11};",
    "mma.sp": "mma.sp.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%b0, %b1}, {%b2, %b3}, {%b4, %b5}, {%b6, %b7}, %b8, 0;",
    "wgmma.mma_async": "wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {%b0, %b1}, %bd0, %bd1, %p0, -1, -1, 0, 0;",
    "wgmma.mma_async.sp": "wgmma.mma_async.sp.sync.aligned.m64n8k32.f16.f16.f16 {%b0, %b1}, %bd0, %bd1, %b2, 0, %p0, -1, -1, 0, 0;",
    "wgmma.wait_group": "wgmma.wait_group.sync.aligned 0;",
    "fence.proxy.async": "fence.proxy.async;",
    "ldmatrix": "ldmatrix.sync.aligned.m8n8.x1.b16 {%b0}, [%bd0];",
    "stmatrix": "stmatrix.sync.aligned.m8n8.x1.b16 [%bd0], {%b0};",
    "movmatrix": "movmatrix.sync.aligned.m8n8.trans.b16 %b0, %b1;",
    "wmma.load.a": "wmma.load.a.sync.row.m16n16k16.f16 {%b0, %b1, %b2, %b3, %b4, %b5, %b6, %b7}, [%bd0];",
    "wmma.store.d": "wmma.store.d.sync.row.m16n16k16.f16 [%bd0], {%b0, %b1, %b2, %b3};",
}
STORED = """.visible .entry with0(.param .u64 out) {
.reg .b64 %to;
.reg .b32 %b0;
.reg .b32 %b1;
ld.param.u64 %to, [out];
ld.global.v2.b32 {%b0, %b1}, [%to+0];
movmatrix.sync.aligned.m8n8.trans.b16 %b0, %b1;
st.global.b32 [%to+0], %b0;
ret;
}"""


def test_the_kernel_is_as_it_was() -> None:
    text = kernel(["wgmma.fence.sync.aligned;", "wgmma.wait_group.sync.aligned 0;"], Version(8, 2), "sm_90a")
    head, declared, rest = text.partition(".reg .pred %p<8>;")
    assert head + "DECLARED\n" + (declared + rest).partition("\n")[2] == KERNEL
    assert ".reg .b32 %b<160>; .reg .u32 %u<160>;" in rest and ".reg .f64 %fd<160>;" in rest


@pytest.mark.parametrize("name", LEGAL)
def test_the_first_legal_statement_is_as_it_was(universe: Universe, name: str) -> None:
    assert universe.forms(universe.specification.families[name])[0].statement == LEGAL[name]


def test_a_result_is_stored_and_its_twin_lacks_the_statement_only() -> None:
    one = Coded("movmatrix.sync.aligned.m8n8.trans.b16 %b0, %b1;", ("%b0",))
    assert entry("with0", one, True) == STORED
    twin = STORED.replace("with0", "without0").replace(one.statement + "\n", "")
    assert entry("without0", one, False) == twin
    assert entries([one], Version(7, 8), "sm_75") == (
        f".version 7.8\n.target sm_75\n.address_size 64\n{STORED}\n{twin}\n"
    )


def test_immediates_all_of_them_once_and_pairwise_elsewhere(universe: Universe) -> None:
    family = universe.specification.families["wgmma.mma_async"]
    texts = [one.statement for one, _ in coded(universe, family)]
    least = [t for t in texts if ".m64n8k16.f16.f16.f16 " in t and ", %bd1, " in t]
    assert len(least) == 16
    other = [t for t in texts if ".m64n16k16.f16.f16.f16 " in t and ", %bd1, " in t]
    tails = {tuple(t.rstrip(";").split(", ")[-4:]) for t in other}
    assert 4 <= len(tails) < 16
    for i in range(4):
        for j in range(i):
            assert len({(tail[i], tail[j]) for tail in tails}) == 4


def test_code_is_read_from_the_file_or_not_at_all() -> None:
    with pytest.raises(ValueError, match="no ELF"):
        opcodes(b"")
    broken = b"\x7fELF" + bytes(36) + struct.pack("<Q", 1000) + bytes(10) + struct.pack("<3H", 64, 3, 1)
    with pytest.raises(ValueError, match="broken off"):
        opcodes(broken + bytes(8))


# A ptxas that is not fake.


def test_the_specification_agrees_with_an_assembler(universe: Universe, real: Ptxas) -> None:
    families = universe.specification.families
    for name in ("wgmma.wait_group", "fence.proxy.async", "wgmma.fence"):
        points = universe.forms(families[name])
        target = home(universe.specification.isa, points, real)
        assert target is not None
        found = compare([Job(AssemblerSetting(real, real.ptx, target), points)], None)
        assert found.disagreements == []


def test_gates_are_probed_from_both_sides(universe: Universe, real: Ptxas) -> None:
    families = [universe.specification.families[name] for name in ("fence.proxy.async", "wgmma.fence")]
    found = probe(universe, families, [real])
    assert found.failed == [] and found.elsewhere == []
    assert found.gates == found.both_sides == len(list(representatives(universe, families)))


def test_machine_code_holds_the_instruction(universe: Universe, real: Ptxas) -> None:
    from ptxmma.assemblers.machine_code import assembled

    families = [universe.specification.families[name] for name in ("movmatrix", "wgmma.wait_group")]
    for _, code in assembled(universe, families, [real]):
        assert code.opcodes, code


# The command.


@pytest.fixture
def alone(fake: Fake, universe: Universe, monkeypatch: pytest.MonkeyPatch) -> Fake:
    """A fake ptxas that agrees about fence.proxy.async, and an empty register."""
    from ptxmma.ledger import contradictions

    empty = contradictions.ContradictionRegister(universe.specification, {})
    monkeypatch.setattr(contradictions, "register", lambda: empty)
    fence(universe, fake)
    return fake


def test_the_command_says_that_they_agree(run: Run, alone: Fake) -> None:
    code, out, _ = run("assemble", "fence.proxy.async", "--ptxas", str(alone.ptxas.path))
    assert code == 0
    assert "0 disagreements" in out


def test_the_command_shows_a_disagreement_in_full(run: Run, alone: Fake) -> None:
    alone.accept([])
    arguments = ("assemble", "fence.proxy.async", "--ptxas", str(alone.ptxas.path), "--target", "sm_90a")
    code, out, _ = run(*arguments)
    assert code == 1
    assert "fence.proxy.async.global;" in out and "Arguments mismatch" in out
    code, out, _ = run(*arguments, "--format", "json")
    assert code == 1
    report = json.loads(out)
    valid("assemble", report)
    assert len(report["disagreements"]) == 4
    assert report["disagreements"][0] == {
        "instruction": "fence.proxy.async",
        "statement": "fence.proxy.async;",
        "release": "13.5.37",
        "ptx": "9.5",
        "target": "sm_90a",
        "specification": "legal",
        "reasons": [],
        "ptxas": "refused",
        "words": "Arguments mismatch for fence.pro",
        "contradiction": None,
    }


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("no.such.instruction",), "no instruction matches"),
        (("ldmatrix", "--target", "sm_1"), "sm_1"),
        (("ldmatrix", "--release", "1.2"), "1.2"),
        (("ldmatrix", "--ptxas", "/no/such/file"), "cannot be run"),
        (("movmatrix", "--release", "11.7.99", "--target", "sm_90a"), "nothing could be asked"),
    ],
)
def test_what_cannot_be_asked(run: Run, arguments: tuple[str, ...], words: str) -> None:
    if "11.7.99" in arguments and all(ptxas.version != "11.7.99" for ptxas in available()):
        pytest.skip("NO PTXAS 11.7.99: `ptxmma toolchain fetch 11.7.99` brings it")
    code, _, err = run("assemble", *arguments)
    assert code == 2
    assert words in err


def test_nothing_is_left_on_the_disk(fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    fake.accept(["a;"])
    before = sorted(os.listdir(fake.folder))
    fake.classify(["a;", "b;"])
    assert os.listdir(tmp_path / "tmp") == [] and sorted(os.listdir(fake.folder)) == before
    shutil.rmtree(tmp_path / "tmp")
