"""The litmus tests of phases, step by step: phase_programs.txt has each again."""

from __future__ import annotations

from pathlib import Path

from ptxmma.formal.ordering.phases.phase_programs import parse_phases
from ptxmma.gen.litmus.phase_tests import phase_suite
from ptxmma.spec.ordering import phases
from ptxmma.spec.ordering_records import PHASE_RULES

WATCHES = ("spec/ordering/phases.yaml",)
WORDS = {
    "I": "init", "a": "arrive", "a~": "arrive.relaxed", "x": "expect", "A": "wait", "A~": "wait.relaxed", "T": "copy",
    "L": "load", "S": "store", "M": "multiply", "W": "finish", "F": "fence", "j": "join", "B": "meet", "B~": "meet.relaxed",
    "c": "cluster.arrive", "c~": "cluster.arrive.relaxed", "C": "cluster.wait",
}  # fmt: skip


def test_every_program() -> None:
    lines = Path(__file__).with_name("phase_programs.txt").read_text(encoding="utf-8").splitlines()
    wanted = {}
    for line in lines:
        if not line.startswith("#"):
            name, text = line.split(": ", 1)
            head, *threads = text.split(" | ")
            steps = [[step.split(" ", 1) for step in thread.split("; ")] for thread in threads]
            spelled = ["; ".join(" ".join([WORDS[word], *rest]) for word, *rest in one) for one in steps]
            wanted[name] = parse_phases(" | ".join([head.strip("-"), *spelled]))
    assert {test.name: test.program for test in phase_suite()} == wanted


def test_every_thread_has_a_name_of_its_own() -> None:
    assert all(len(test.names) == len(test.program.threads) > 1 for test in phase_suite())
    assert tuple(phases().rules) == PHASE_RULES
