"""The machine's answers that several conducts share are those that each conduct would have had."""

from __future__ import annotations

import random

import pytest

from ptxmma.formal.ordering import machine_answers, schedules
from ptxmma.formal.ordering.alphabet import ACCESSES, alphabet
from ptxmma.formal.ordering.machine_answers import MachineAnswers
from ptxmma.formal.ordering.notation import parse
from ptxmma.formal.ordering.programs import Program
from ptxmma.formal.ordering.schedules import differ
from ptxmma.spec.ordering import ordering

CONDUCTS = tuple(dict.fromkeys(ordering().conduct(readings) for readings in ordering().every().values()))
MMA = "mma m64n8k16.f32.f16.f16 r0 s0 s0"


def _programs() -> list[Program]:
    source = random.Random(13)
    accesses = [step for step in alphabet() if isinstance(step.operation, ACCESSES)]
    drawn = [
        Program((*source.choices(alphabet(), k=source.randrange(1, 5)), source.choice(accesses)))
        for _ in range(150)
    ]
    return [
        *drawn,
        # One program for each field of a conduct: its answer changes with that field alone.
        parse(f"fence; {MMA}; mma m64n8k8.f32.tf32.tf32 r0 s0 s0"),
        parse(f"fence; {MMA}; mma m64n8k16.f32.bf16.bf16 r0 s0 s0"),
        parse(f"fence; {MMA}; fence; mma m64n16k16.f32.f16.f16 r0 s0 s0"),
        parse(f"fence; {MMA}; commit; commit; wait 1; read r0"),
        parse(f"fence; other: store s0; barrier; proxy-fence; barrier; {MMA}"),
        parse(f"fence; store s0; barrier; other: proxy-fence; barrier; {MMA}"),
        parse(f"fence; {MMA}; commit; wait 0; store s0"),
        parse("store s0; proxy-fence; barrier; bulk-store s0; bulk.commit; end"),
    ]


def test_a_shared_answer_is_that_of_every_conduct() -> None:
    answers = MachineAnswers()
    changing = set()
    for program in _programs():
        said = [answers.differ(program, conduct) for conduct in CONDUCTS]
        assert said == [differ(program, conduct) is not None for conduct in CONDUCTS], str(program)
        changing |= {conduct for conduct, one in zip(CONDUCTS, said, strict=True) if one != said[0]}
    assert changing == set(CONDUCTS[1:])  # a program tells each from the first


@pytest.mark.parametrize(
    "text",
    [
        f"fence; {MMA}; read r0",
        f"fence; {MMA}; {MMA}; read r0",  # one shape is alike whatever makes shapes alike
        "load s0; wait 0; other: store s0",  # no group is waited for
        "cp.async s0; cp.async.commit; cp.async.commit; other: load s0",  # no empty group of wgmmas
        "bulk s0 b0; proxy-fence; other: load s0",  # nothing lands that a fence could cover
        "bulk s0 b0; await b0; end",  # no bulk store that the block could end before
    ],
)
def test_a_program_that_depends_on_nothing_open_runs_once(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    real = schedules.differs

    def counting(*arguments: object) -> object:
        asked.append(arguments[0])
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(machine_answers, "differs", counting)
    answers = MachineAnswers()
    program = parse(text)
    assert len({answers.differ(program, conduct) for conduct in CONDUCTS}) == 1
    assert len(asked) == 1
