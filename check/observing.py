"""Everything that is measured of a device, as observations: maps, metadata, memory, matrices, arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..gen.modules import Module, modules
from ..spec.loading import Specification
from .arithmetic import Dot, arithmetic_kernels, first_tests, kept, second_tests
from .claims import cases_digest
from .measured import Subject, kernels, measure, survey
from .observations import Observed
from .raw import Launcher
from .silicon import claims_of

__all__ = ["Work", "observe"]


class Work:
    """What there is to measure on a target, with the modules that it takes. `newest` is the newest PTX ISA
    version that the driver reads: what is newer cannot be measured."""

    def __init__(
        self, specification: Specification, target: str, newest: str, wanted: Sequence[str] = ()
    ) -> None:
        self.specification, self.target = specification, target
        limit = specification.isa.version(newest)
        readable, self.unreadable = [], []
        for subject in survey(specification, target):
            if wanted and not any(word in f"{subject.what} {subject.id}" for word in wanted):
                continue
            since = dict(subject.kernel.variant.gate.targets)[target]
            (readable if since <= limit else self.unreadable).append(subject)
        self.subjects: tuple[Subject, ...] = tuple(readable)
        chosen = sorted(kernels(specification, readable), key=lambda kernel: kernel.instruction.instruction)
        self.modules: tuple[Module, ...] = tuple(modules(chosen, specification, target))
        self.texts: Mapping[str, str] = {
            kernel.name: text
            for module in self.modules
            for kernel, text in zip(module.kernels, module.entries, strict=True)
        }


def observe(
    work: Work, launcher: Launcher, report: Callable[[str], None] = lambda what: None
) -> tuple[dict[str, Observed], dict[str, Observed]]:
    """Measure it all: the maps and their like, and the arithmetic, by name."""
    specification = work.specification
    subjects: dict[str, Observed] = {}
    for subject, values in measure(specification, launcher, work.subjects, lambda s: report(s.what)):
        claims = claims_of(specification, subject.kernel.variant, subject.what)
        case = cases_digest([work.texts[subject.kernel.name]])
        subjects[f"{subject.what}: {subject.id}"] = Observed(subject.id, case, claims, values)
    arithmetic: dict[str, Observed] = {}
    measured = [subject for subject in work.subjects if subject.what == "maps"]
    ids = {subject.kernel.name: subject.id for subject in measured}
    for kernel in arithmetic_kernels(specification, [subject.kernel for subject in measured]):
        report("arithmetic")
        dot = Dot(specification, kernel, launcher)
        patterns: dict[str, Any] = dict(dot.run(list(first_tests(dot))))
        patterns |= dot.run(list(second_tests(dot, kept(dot, patterns, "block"))))
        case = cases_digest([work.texts[kernel.name]])
        arithmetic[ids[kernel.name]] = Observed(ids[kernel.name], case, {}, patterns)
    return subjects, arithmetic
