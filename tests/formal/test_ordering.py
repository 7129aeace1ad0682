"""The two ordering models: the verdicts of each on known programs, and a slip in either is noticed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ptxmma.formal.ordering.agreement import changing_values, disagreement
from ptxmma.formal.ordering.alphabet import ACCESSES, END, alphabet
from ptxmma.formal.ordering.axioms import hazards
from ptxmma.formal.ordering.notation import parse
from ptxmma.formal.ordering.programs import Mma, MmaShape, Program, RegisterRead, Step, Wait
from ptxmma.formal.ordering.schedules import differ, outcomes
from ptxmma.formal.ordering.verdicts import judge
from ptxmma.gen.litmus.litmus_tests import MAKER, suite
from ptxmma.spec.errors import Question, SpecError
from ptxmma.spec.ordering import ordering, read
from ptxmma.spec.switches import Conduct

from ..answers import valid

MMA = "mma m64n8k16.f32.f16.f16 r0 s0 s0"
EVERY = ordering().every()
Run = Callable[..., tuple[int, str, str]]


def conduct(**changes: Any) -> Conduct:
    """The default conduct of the machine, with some fields otherwise."""
    return replace(ordering().conduct(), **changes)


def rules(text: str, reading: str = "default") -> list[str]:
    return [hazard.rule for hazard in hazards(parse(text), EVERY[reading])]


# Written from 9.7.15.4 and 9.7.15.7; `same`: whether every schedule gives one result.
KNOWN = [
    (f"fence; {MMA}; commit; wait 0; read r0", [], True),
    (f"{MMA}", ["first-fence"], False),
    (f"fence; write r0; {MMA}", ["register-fence"], False),
    (f"fence; {MMA}; read r0", ["accumulator-in-flight"], False),
    (
        f"fence; {MMA}; commit; {MMA}; commit; wait 1; read r0",
        ["accumulator-in-flight", "wait-too-shallow"],
        False,
    ),
    (f"fence; {MMA}; wait 0; read r0", ["accumulator-in-flight", "uncommitted-at-wait"], False),
    ("fence; mma m64n8k16.f32.f16.f16 r0 r1 s0; commit; read r1", ["a-read-in-flight"], True),
    ("fence; mma m64n8k16.f32.f16.f16 r0 r1 s0; commit; write r1", ["a-written-in-flight"], False),
    (f"fence; {MMA}; mma m64n16k16.f32.f16.f16 r0 s0 s0", ["accumulator-reshaped"], False),
    (f"fence; {MMA}; mma m64n8k16.f32.f16.f16 r1 r0 s0", ["accumulator-as-a"], False),
    (f"store s0; proxy-fence; barrier; fence; {MMA}", [], True),
    (f"store s0; barrier; fence; {MMA}", ["proxy-fence"], False),
    (f"other: store s0; other: proxy-fence; other: arrive b0; await b0; fence; {MMA}", [], True),
    (f"other: store s0; other: arrive b0; await b0; proxy-fence; fence; {MMA}", ["proxy-fence"], False),
    (f"other: bulk s0 b0; fence; {MMA}", ["copy-incomplete"], False),
    (f"other: bulk s0 b0; await b0; fence; {MMA}", [], True),
    (f"fence; {MMA}; commit; wait 0; arrive b0; other: await b0; other: bulk s0 b1", [], True),
    (f"fence; {MMA}; commit; arrive b0; other: await b0; other: bulk s0 b1", ["shared-overwritten"], False),
    # One thread stores in bulk, waits and copies; the others must be told.
    ("store s0; proxy-fence; barrier; bulk-store s0; bulk.commit; bulk.wait 0; bulk s0 b0", [], True),
    ("bulk-store s0; bulk.commit; bulk.wait 0; store s0", ["bulk-store-pending"], False),
    ("bulk-store s0; bulk.commit; bulk.wait 0; barrier; store s0", [], True),
    ("bulk-store s0; bulk.commit; barrier; bulk.wait 0; store s0", ["bulk-store-pending"], False),
    ("other: bulk-store s0; bulk.commit; bulk.wait 0; barrier; store s0", ["bulk-store-pending"], False),
    ("bulk-store s0; bulk.commit; bulk-store s1; bulk.commit; bulk.wait 1; bulk s0 b0", [], True),
    (
        "bulk-store s0; bulk.commit; bulk-store s1; bulk.commit; bulk.wait 1; bulk s1 b0",
        ["bulk-store-pending"],
        False,
    ),
    ("store s0; barrier; bulk-store s0", ["bulk-store-fence"], False),
    ("store s0; proxy-fence; bulk-store s0", ["shared-unsynchronised"], False),
    ("other: bulk s0 b0; await b0; bulk-store s0", [], True),
    ("other: bulk s0 b0; bulk-store s0", ["copy-incomplete"], False),
    ("bulk-store s0; load s0; bulk-store s0", [], True),
    ("store s0; bulk-store s1; end", [], True),  # by default the block lasts until the bytes are read
    # Every warp waits for the first copy before one of their threads starts the second, which the other awaits.
    ("bulk s0 b0; await b0; bulk s1 b1; other: await b1; other: load s0", [], True),
]


@pytest.mark.parametrize(("text", "broken", "same"), KNOWN)
def test_known_programs(text: str, broken: list[str], same: bool) -> None:
    assert rules(text) == broken
    assert (differ(parse(text)) is None) is same
    assert (len(outcomes(parse(text))) == 1) is same


# How a block may end where its memory does not last for bulk stores (unwaited-store=must).
ENDS = [
    ("bulk-store s0; end", ["bulk-store-unwaited"]),
    ("bulk-store s0; bulk.commit; end", ["bulk-store-unwaited"]),
    ("bulk-store s0; bulk.wait 0; bulk.commit; end", ["bulk-store-unwaited"]),
    ("bulk-store s0; bulk.commit; bulk.wait 0; end", []),
    ("bulk-store s0; bulk.commit; bulk.commit; bulk.wait 1; end", []),
    ("bulk-store s0; bulk.commit; bulk-store s0; bulk.commit; bulk.wait 1; end", ["bulk-store-unwaited"]),
    ("bulk-store s0; bulk.commit; other: bulk.wait 0; barrier; end", ["bulk-store-unwaited"]),
    ("other: bulk-store s0; other: bulk.commit; other: bulk.wait 0; end", []),
    # What else is under way when the block ends is not asked about.
    ("store s0; cp.async s1; end", []),
    (f"fence; {MMA}; end", []),
]


@pytest.mark.parametrize(("text", "broken"), ENDS)
def test_ends_of_blocks(text: str, broken: list[str]) -> None:
    assert rules(text, "unwaited-store=must") == broken
    assert rules(text) == []
    assert (differ(parse(text), conduct(block_lasts=False)) is not None) == bool(broken)
    assert differ(parse(text)) is None
    if broken:
        assert len(outcomes(parse(text), conduct(block_lasts=False))) > 1


@pytest.mark.parametrize("step", [*alphabet(), END], ids=str)
def test_a_step_is_read_as_it_is_written(step: Step) -> None:
    assert parse(str(step)).steps == (step,)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("frob r0", "no operation is called 'frob'"),
        ("read s0", "not an operand such as r0"),
        ("wait", "takes 1 operands"),
        ("mma m64n8 r0 s0 s0", "not a shape with types"),
        ("mma m64n8k16.f32.f16.f16 r0 r0 s0", "must be different registers"),
        ("other: fence", "the other thread cannot execute it"),
        ("end; load s0", "nothing follows the end of the block"),
    ],
)
def test_what_cannot_be_read(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse(text)


def test_two_schedules_are_told_step_by_step() -> None:
    found = differ(parse(f"fence; {MMA}; commit; read r0"))
    assert found is not None
    assert "step 3 (read r0) of the warp takes effect" in found[0]
    assert found[0] != found[1]
    assert sorted(found[0]) == sorted(found[1])  # the same happens, in another order


def test_a_long_program_is_answered_at_once() -> None:
    steps = parse("fence").steps + parse(f"{MMA}; commit").steps * 60
    assert differ(Program((*steps, Step(Wait(1)), Step(RegisterRead(0)))), suspect=119) is not None


def _program(name: str) -> Program:
    return next(test.program for test in suite() if test.name == name)


@pytest.mark.parametrize("rule", [name for name, rule in ordering().rules.items() if rule.effect == "values"])
def test_a_rule_that_is_dropped_is_missed(rule: str) -> None:
    explains = {"uncommitted-at-wait", "wait-too-shallow"}  # why a wait does not help with another hazard
    alone = [test for test in suite() if test.hazards and set(test.hazards) <= {rule, *explains}]
    if rule in explains:
        assert any(rule in test.hazards for test in suite())
        return
    under = ordering().readings(ordering().rules[rule].under)
    if ordering().rules[rule].under:
        alone = [test for test in suite() if [rule] in map(list, test.under.values())]
    test = min(alone, key=lambda test: len(test.program))
    assert judge(test.program, under).disagreement is None
    assert judge(test.program, under).schedules is not None  # without the rule: no hazard, yet this


@pytest.mark.parametrize(
    ("name", "machine"),
    [
        ("switch-same-shape-k", conduct(same_shape=("n",))),
        ("switch-same-shape-types", conduct(same_shape=("n", "k", "types"))),
        ("switch-reshaped-accumulator", conduct(fence_orders_shapes=True)),
        ("switch-empty-groups", conduct(empty_groups_count=False)),
        ("switch-proxy-fence-side", conduct(proxy_fence_covers_all=True)),
        ("switch-wait-scope", conduct(wait_covers_all=True)),
        ("switch-unwaited-store", conduct(block_lasts=False)),
    ],
)
def test_a_machine_that_behaves_otherwise_is_noticed(name: str, machine: Conduct) -> None:
    program, default = _program(name), EVERY["default"]
    found = [Program(program.steps[:end]) for end in range(1, len(program) + 1)]
    sound = [part for part in found if not changing_values(hazards(Program(part.steps[:-1]), default))]
    assert all(disagreement(part, default) is None for part in sound)
    assert any(disagreement(part, default, machine) for part in sound)


@pytest.mark.parametrize("name", EVERY)
def test_every_setting_changes_some_verdict(name: str) -> None:
    if "=" in name:
        assert any(name in test.under for test in suite() if test.source != MAKER)


def test_conduct_follows_the_readings() -> None:
    known = ordering()
    assert known.conduct() == Conduct(("n", "k"), False, True, False, False, True)
    assert known.conduct(EVERY["unwaited-store=must"]) == conduct(block_lasts=False)
    assert known.conduct(EVERY["wait-scope=warpgroup"]) == conduct(wait_covers_all=True)
    assert known.conduct(EVERY["same-shape=types"]).same_shape == ("n", "k", "types")
    assert len(known.conducts()) == len(set(known.conducts())) == 3 * 2**5


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        (
            "{same_shape: [n]}",
            "{same_shap: [n]}",
            "unknown key 'same_shap'",
        ),
        ("{same_shape: [n]}", "{same_shape: [n, x]}", "'x' is not allowed here"),
        ("{wait_covers_all: true}", "{wait_covers_all: yes please}", "true or false belongs"),
        ("{wait_covers_all: true}", "{}", "wait-scope=warpgroup does not settle wait_covers_all"),
        ("machine: {}", "machine: {wait_covers_all: true}", "settles wait_covers_all, and so does"),
    ],
)
def test_a_wrong_conduct_is_an_error(files: Path, old: str, new: str, fault: str) -> None:
    path = files / "spec" / "ordering" / "switches.yaml"
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(SpecError, match=rf"switches\.yaml:\d+:\d+: .*{re.escape(fault)}"):
        read(files)


def test_unknown_switches_and_settings() -> None:
    with pytest.raises(Question, match="right would be: same-shape"):
        ordering().readings({"same-shap": "m-n"})
    with pytest.raises(Question, match="setting of same-shape"):
        ordering().readings({"same-shape": "none"})


def test_a_rule_under_an_unknown_reading_is_an_error(files: Path) -> None:
    path = files / "spec" / "ordering" / "rules.yaml"
    path.write_text(path.read_text().replace("{completed-mma: fence}", "{completed-mma: never}"))
    with pytest.raises(SpecError, match=r"rules\.yaml:\d+:\d+: there is no reading completed-mma: never"):
        read(files)


def test_the_alphabet() -> None:
    letters = alphabet()
    assert len(set(letters)) == len(letters) == 75
    assert sum(isinstance(letter.operation, Mma) for letter in letters) == 28
    assert sum(isinstance(letter.operation, ACCESSES) for letter in letters) == 52
    shapes = {letter.operation.shape for letter in letters if isinstance(letter.operation, Mma)}
    assert MmaShape.of("m64n8k8.f32.tf32.tf32") in shapes


@pytest.mark.slow
def test_the_command(run: Run) -> None:
    fast = ("--steps", "4", "--direct", "1", "--stride", "40", "--phases", "1", "--length", "0")
    code, out, _ = run("ordering", "default", *fast)
    assert code == 0
    assert "75 steps over 2 registers" in out
    assert "0 disagreements" in out
    assert "of length 1: both models run on 27 programs" in out
    code, out, _ = run("ordering", "strict", *fast[:-1], "3", "--format", "json")
    assert code == 0
    valid("ordering", json.loads(out))
    (record,) = json.loads(out)["readings"]
    assert record["faults"] == []
    assert set(record["z3"].values()) == {"unsat"}
    assert run("ordering", "--alphabet")[1].count("\n") == 75
    assert run("ordering", "nonsense")[0] == 2
    assert run("ordering", "--steps", "0")[0] == run("ordering", "--phases", "5")[0] == 2
