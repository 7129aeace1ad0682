"""Litmus tests: the verdicts, the PTX, and the command's output."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ptxmma.assemblers.litmus_reactions import react
from ptxmma.assemblers.toolchains import available
from ptxmma.formal.ordering.axioms import hazards
from ptxmma.formal.ordering.notation import parse
from ptxmma.formal.ordering.synthesis import renamed
from ptxmma.formal.ordering.verdicts import judge, rules
from ptxmma.gen.litmus.litmus_ptx import module, version
from ptxmma.gen.litmus.litmus_tests import single_settings, suite
from ptxmma.spec.nodes import Version
from ptxmma.spec.ordering import litmus_tests, ordering, synthesised_tests

from ..answers import valid

Run = Callable[..., tuple[int, str, str]]
BY_NAME = {test.name: test for test in suite()}
DEFAULT = ordering().default


@pytest.mark.parametrize("name", litmus_tests())
def test_what_is_written_by_hand(name: str) -> None:
    test = BY_NAME[name]
    verdict = judge(test.program, DEFAULT)
    assert verdict.rules == test.hazards
    assert verdict.disagreement is None
    for setting, readings in single_settings().items():
        assert rules(test.program, readings) == test.under.get(setting, test.hazards), setting


def test_what_is_synthesised() -> None:
    chosen = [BY_NAME[name] for name in list(synthesised_tests())[::25]]
    assert len(chosen) > 50
    seconds = []
    for test in chosen:
        begun = time.process_time()
        verdict = judge(test.program, DEFAULT)
        seconds.append(time.process_time() - begun)
        assert verdict.rules == test.hazards, test.name
        assert verdict.disagreement is None, test.name
    assert statistics.median(seconds) < 0.1


def test_no_two_are_alike() -> None:
    programs = [renamed(BY_NAME[name].program) for name in synthesised_tests()]
    assert len(programs) >= 250
    assert len(set(programs)) == len(programs)
    assert len({test.entry for test in suite()}) == len(suite())


def test_every_step_of_an_ordered_one_is_needed() -> None:
    ordered = [BY_NAME[name] for name, made in synthesised_tests().items() if not made.hazards]
    for test in ordered[::10]:
        accesses = [k for k, step in enumerate(test.program.steps) if str(step).split()[-1][:1] in "rs"]
        assert hazards(test.program) == ()
        for k in range(len(test.program)):
            if k not in accesses and str(test.program.steps[k]).split()[0] in (
                "fence",
                "commit",
                "wait",
                "barrier",
            ):
                assert hazards(test.program.without(k)), f"{test.name} without step {k}"


def test_every_rule_and_every_switch_has_tests() -> None:
    broken = {rule for test in suite() for rule in test.hazards}
    changed = {rule for test in litmus_tests().values() for found in test.under.values() for rule in found}
    assert broken | changed == set(ordering().rules)
    assert {name for test in litmus_tests().values() for name in test.under} == set(single_settings())


@pytest.mark.parametrize(
    "name",
    ["triton-9433", "triton-8964", "fuser-3561", "tilelang-2634", "sglang-39124"],
)
def test_a_published_fault_and_its_mend(name: str) -> None:
    assert BY_NAME[name].hazards
    assert BY_NAME[f"{name}-mended"].hazards == ()


def test_published_programs_that_must_not_be_flagged() -> None:
    assert BY_NAME["fuser-3680"].hazards == ()
    assert BY_NAME["flash-attention-2462"].hazards == ()


def test_the_ptx_of_a_test() -> None:
    text = BY_NAME["fuser-3561"].ptx
    lines = [line.strip() for line in text.split("\n")]
    assert lines[:3] == [".version 8.0", ".target sm_90a", ".address_size 64"]
    assert "// verdict: undefined: shared-overwritten" in lines
    wanted = [
        "wgmma.fence.sync.aligned;",
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%r0_0, %r0_1, %r0_2, %r0_3}, %desc0, %desc0, 1, 1, 1, 0, 0;",
        "wgmma.commit_group.sync.aligned;",
        "mbarrier.arrive.shared.b64 %state, [b1];",
    ]
    assert [lines.index(line) for line in wanted] == sorted(lines.index(line) for line in wanted)
    assert version(BY_NAME["text-sparse"].program) == Version(8, 4)
    assert "wgmma.mma_async.sp.sync.aligned.m64n8k64.s32.s8.u8" in BY_NAME["text-sparse"].ptx


def test_every_statement_is_legal_to_the_specification() -> None:
    from ptxmma.spec.api import legal

    text = module([BY_NAME[name].kernel for name in litmus_tests() if name != "text-sparse"])
    mine = {line.strip() for line in text.split("\n") if line.strip().startswith(("wgmma", "fence.proxy"))}
    assert len(mine) > 15
    for statement in mine:
        declared = ".reg .b64 %desc<3>; " + " ".join(f".reg .b32 %r{k}_<8>;" for k in range(4))
        assert legal(f"{declared} {statement}", "8.0", "sm_90a").verdict == "legal", statement


def test_assemblers_take_them() -> None:
    releases = [ptxas for ptxas in available() if ptxas.ptx >= Version(8, 4)]
    if not releases:
        pytest.skip("no ptxas of PTX ISA 8.4 or later is at hand")
    chosen = [BY_NAME[name] for name in litmus_tests()]
    reactions = {reaction.test: reaction for reaction in react(releases[-1], chosen)}
    assert {reaction.kind for reaction in reactions.values()} <= {"accepts", "warns", "repairs", "serialises"}
    assert reactions["two-groups-one-accumulator"].kind == "accepts"  # undefined, and no word about it
    assert reactions["tilelang-2634"].kind == "accepts"
    assert reactions["triton-8964"].kind in ("repairs", "serialises")


def test_an_assembler_that_is_too_old() -> None:
    old = [ptxas for ptxas in available() if ptxas.ptx < Version(8, 0)]
    if not old:
        pytest.skip("no ptxas older than PTX ISA 8.0 is at hand")
    (reaction,) = react(old[0], [BY_NAME["triton-8964"]])
    assert reaction.kind == "too old"


def test_the_command(run: Run, tmp_path: Path) -> None:
    code, out, _ = run("litmus", "text-*")
    assert code == 0
    assert "ok    text-fence-1: defined" in out
    assert "6 tests, 1 undefined and 5 defined; 0 not as expected" in out
    code, out, _ = run("litmus", "triton-8964", "--format", "json")
    valid("litmus", json.loads(out))
    (record,) = json.loads(out)
    assert record["verdict"] == "undefined"
    assert record["hazards"] == [{"rule": "accumulator-in-flight", "steps": [1, 3]}]
    assert len(record["schedules"]) == 2
    assert parse(record["program"]) == BY_NAME["triton-8964"].program
    assert run("litmus", "text-wait", "--ptx")[1] == BY_NAME["text-wait"].ptx
    assert run("litmus", "text-*", "--emit", str(tmp_path / "ptx"))[0] == 0
    assert len(list((tmp_path / "ptx").glob("*.ptx"))) == 6
    assert "\nSections are those of PTX ISA 9.2; 9.7.14 is 9.7.16 in 9.4; " in run("litmus", "triton-8964")[1]
    code, _, err = run("litmus", "nothing-like-it")
    assert code == 2
    assert "no litmus test matches" in err
    code, out, _ = run("litmus", "--switches")
    assert "m-n-k (default)" in out
    switches = json.loads(run("litmus", "--switches", "--format", "json")[1])
    valid("litmus-switches", switches)
    assert len(switches) == 11
