"""Measure a device: observations of maps, metadata, memory, matrices and arithmetic.

Each group of subjects is measured in a process of its own: a failure of the device or a hang spoils no other.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from ..devices.gpu import Device, DeviceFault
from ..devices.probes.arithmetic_probe import Dot, arithmetic_kernels
from ..devices.probes.arithmetic_summary import kept
from ..devices.probes.arithmetic_tests import first_tests, second_tests
from ..devices.probes.measurements import MeasuredKernel, kernels, measure, survey
from ..devices.raw_kernel import Launcher
from ..gen.kernels.kernel_list import Kernel
from ..gen.kernels.modules import KernelModule, code_of, modules
from ..gen.suite.cases import groups as apart_in_n
from ..gen.suite.cases import opaque_of
from ..gen.suite.files import Suite, emitted, suite_of
from ..spec.api import load
from ..spec.cache import PACKAGE, cached, yaml_files
from ..spec.errors import Question
from ..spec.nodes import Version
from ..spec.parts import computes, element_type
from ..spec.specification import Specification
from ..spec.variants import Variant
from ..spec.workers import cores, leave_signals, over_jobs
from .claims import cases_digest
from .silicon_record import DeviceRecord as Described
from .silicon_record import Observed

__all__ = [
    "Observations",
    "Work",
    "current_cases",
    "current_suite",
    "groups",
    "measurable",
    "newest",
    "observe",
    "observe_device",
    "suite_for",
]

_SHARE = 12  # variants that are worth a process of their own

Observations = tuple[dict[str, Observed], dict[str, Observed]]


def measurable(
    specification: Specification, target: str, newest: str, rows: Collection[str] | None = None
) -> tuple[list[MeasuredKernel], list[MeasuredKernel]]:
    """What can be measured on a target, of some rows or of all; and the subjects for which a driver that
    reads PTX ISA `newest` is too old for."""
    limit = specification.isa.version(newest)
    can: list[MeasuredKernel] = []
    cannot: list[MeasuredKernel] = []
    instructions = None if rows is None else {row.split("/")[0] for row in rows}
    for subject in survey(specification, target, instructions):
        if rows is None or subject.kernel.variant.row.id in rows:
            since = dict(subject.kernel.variant.gate.targets)[target]
            (can if since <= limit else cannot).append(subject)
    return can, cannot


def newest(specification: Specification, driver: str) -> Version:
    """The newest PTX ISA version that a driver reads: the version of the toolkit with the driver's CUDA
    (`13.0`).
    """
    number = [int(part) for part in driver.rsplit(" ", 1)[-1].split(".")]
    return max(
        release.ptx
        for release in specification.index.releases
        if any([int(p) for p in a.toolkit.split(".")[:2]] <= number for a in release.assemblers)
    )


def current_cases(
    specification: Specification, device: Described, rows: Collection[str] | None = None
) -> dict[str, str]:
    """What is measured today of some rows of a recorded device, by name, with each kernel's hash."""
    read = str(newest(specification, device.driver))
    subjects, _ = measurable(specification, device.target, read, rows)
    work = Work(specification, device.target, subjects)
    return {f"{s.what}: {s.id}": work.case(s.kernel) for s in subjects}


def suite_for(specification: Specification, device: Described) -> Suite:
    """All of today's cases for a device."""
    chosen, listed = _variants_for(specification, device)
    return suite_of(specification, chosen, listed, device.target)


def _variants_for(
    specification: Specification, device: Described, rows: AbstractSet[str] | None = None
) -> tuple[list[Variant], list[Variant]]:
    """The variants of some rows, or of all, that a device runs and its driver reads; and all it runs."""
    limit, target = newest(specification, device.driver), device.target
    families = specification.families.values()
    listed = [v for f in families for v in f.listed() if emitted(v) and target in dict(v.gate.targets)]
    chosen = [v for v in listed if rows is None or v.row.id in rows]
    return [v for v in chosen if dict(v.gate.targets)[target] <= limit], listed


def current_suite(
    specification: Specification, device: Described, rows: AbstractSet[str]
) -> dict[str, list[str]]:
    """The hashes of today's cases that exercise some rows on a recorded device, by row.

    Those of the specification that ships are kept for the user: making them takes seconds.
    """
    make = partial(_suite_hashes, specification, device, rows)
    if specification is not load():
        return make()
    asked = cases_digest([device.target, str(newest(specification, device.driver)), *sorted(rows)])
    return cached(f"suite-{asked}", dict, make, (*_suite_code(), *yaml_files()))


def _suite_code() -> list[Path]:
    """The code that writes cases."""
    return [Path(__file__), *sorted((PACKAGE / "gen").rglob("*.py"))]


def _suite_hashes(
    specification: Specification, device: Described, rows: AbstractSet[str]
) -> dict[str, list[str]]:
    chosen, listed = _variants_for(specification, device, rows)
    work = partial(_hashes, specification, listed, device.target, rows)
    found: dict[str, list[str]] = {}
    for part in over_jobs(_shares(specification, chosen), work):
        for row, hashes in part.items():
            found.setdefault(row, []).extend(hashes)
    return found


def _shares(specification: Specification, variants: Sequence[Variant]) -> list[list[Variant]]:
    """Variants in parts whose cases do not depend on one another; few variants are one part."""
    families = specification.families.values()
    opaque = {name for family in families for name in opaque_of(family.instruction)}
    together = [v for v in variants if v.row.family.instruction.instruction in opaque]
    apart = apart_in_n([v for v in variants if v.row.family.instruction.instruction not in opaque])
    count = min(len(variants) // _SHARE + 1, 4 * cores())
    shares = [list(chain.from_iterable(apart[number::count])) for number in range(count)]
    return [share for share in (together, *shares) if share] if count > 1 else [list(variants)]


def _hashes(
    specification: Specification,
    listed: Sequence[Variant],
    target: str,
    rows: AbstractSet[str],
    variants: Sequence[Variant],
) -> dict[str, list[str]]:
    """The hashes of the cases of some variants, by row."""
    suite = suite_of(specification, variants, listed, target)
    found: dict[str, list[str]] = {}
    for module in suite.modules:
        for kernel in module.kernels:
            accesses = (access.variant.row.id for access in kernel.accesses.values())
            for row in rows & {kernel.variant.row.id, *accesses}:
                found.setdefault(row, []).extend(h for h, _ in suite.identified[kernel.name])
    return found


def _multiplicand(variant: Variant) -> str:
    """The element type of A; "" without an A."""
    return element_type(variant, "A") if computes(variant.instruction) else ""


def groups(subjects: Sequence[MeasuredKernel]) -> list[list[MeasuredKernel]]:
    """Subjects that are measured together: those of one row and type of A, split by what is measured."""
    found: dict[tuple[str, str, str], list[MeasuredKernel]] = {}
    for subject in subjects:
        variant = subject.kernel.variant
        key = variant.row.id, _multiplicand(variant), subject.what
        found.setdefault(key, []).append(subject)
    return list(found.values())


@dataclass(frozen=True)
class Work:
    """Some subjects, with the modules that measuring them takes."""

    specification: Specification
    target: str
    subjects: Sequence[MeasuredKernel]

    @cached_property
    def modules(self) -> tuple[KernelModule, ...]:
        """The PTX files."""
        chosen = kernels(self.specification, self.subjects)
        chosen.sort(key=lambda kernel: kernel.instruction.instruction)
        return tuple(modules(chosen, self.specification, self.target))

    @cached_property
    def texts(self) -> Mapping[str, str]:
        """The text of every kernel."""
        return {
            kernel.name: text
            for module in self.modules
            for kernel, text in zip(module.kernels, module.entries, strict=True)
        }

    def case(self, kernel: Kernel) -> str:
        """The hash of a kernel's code."""
        return cases_digest([code_of(self.texts[kernel.name])])


def observe(work: Work, launcher: Launcher) -> Observations:
    """Measure all subjects, and the arithmetic of those whose maps are measured."""
    specification = work.specification
    subjects: dict[str, Observed] = {}
    for subject, values in measure(specification, launcher, work.subjects):
        row, case = subject.kernel.variant.row.id, work.case(subject.kernel)
        subjects[f"{subject.what}: {subject.id}"] = Observed(subject.id, row, case, values)
    arithmetic: dict[str, Observed] = {}
    measured = [subject for subject in work.subjects if subject.what == "maps"]
    ids = {subject.kernel.name: subject.id for subject in measured}
    for kernel in arithmetic_kernels(specification, [subject.kernel for subject in measured]):
        dot = Dot(specification, kernel, launcher)
        patterns: dict[str, Any] = dict(dot.run(list(first_tests(dot))))
        patterns |= dot.run(list(second_tests(dot, kept(dot, patterns, "block"))))
        row, case = kernel.variant.row.id, work.case(kernel)
        arithmetic[ids[kernel.name]] = Observed(ids[kernel.name], row, case, patterns)
    return subjects, arithmetic


def observe_device(
    target: str,
    number: int,
    subjects: Sequence[MeasuredKernel],
    limit: float,
    report: Callable[[MeasuredKernel], None] = lambda subject: None,
) -> Observations:
    """Measure subjects on a device, a group a process, as many at a time as there are processors.

    For a subject that a failure or a hang (longer than `limit` seconds) prevented, the reason stands instead.
    """
    found: Observations = {}, {}

    def run(group: Sequence[MeasuredKernel]) -> None:
        answer = _answer(target, number, group, limit)
        if isinstance(answer, Question):
            raise answer
        for known, new in zip(found, answer, strict=True):
            known.update(new)
        for subject in group:
            report(subject)

    listed = sorted(groups(subjects), key=_weight, reverse=True)
    with ThreadPoolExecutor(os.cpu_count(), initializer=leave_signals) as pool:
        list(pool.map(run, listed))
    order = {f"{subject.what}: {subject.id}": place for place, subject in enumerate(subjects)}
    ids = {subject.id: place for place, subject in enumerate(subjects)}
    return (
        dict(sorted(found[0].items(), key=lambda item: order[item[0]])),
        dict(sorted(found[1].items(), key=lambda item: ids[item[0]])),
    )


def _weight(group: Sequence[MeasuredKernel]) -> int:
    """A measure of how long a group takes: the elements of the largest product."""
    fields = group[0].kernel.variant.fields
    sizes = [int(fields.get(name, 1)) for name in ("m", "n", "k")]
    return len(group) * sizes[0] * sizes[1] * sizes[2]


def _answer(
    target: str, number: int, group: Sequence[MeasuredKernel], limit: float
) -> Observations | Question:
    """The observations of one process; where it failed, the reason for every subject."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    names = [f"{subject.what}: {subject.id}" for subject in group]
    process = context.Process(target=_work, args=(theirs, target, number, names), daemon=True)
    process.start()
    theirs.close()
    why = f"it did not end within {limit:g} s"
    try:
        if ours.poll(limit):
            answer: Observations | Question | str = ours.recv()
            if not isinstance(answer, str):
                return answer
            why = answer
    except EOFError:
        why = "the process ended without an answer"
    finally:
        process.kill()
        process.join()
    return {
        name: Observed(subject.id, subject.kernel.variant.row.id, "", {"failed": why})
        for name, subject in zip(names, group, strict=True)
    }, {}


def _work(answer: Connection, target: str, number: int, names: Sequence[str]) -> None:
    """In the process: measure the subjects of these names."""
    specification = load()
    wanted = set(names)
    subjects = [s for s in survey(specification, target) if f"{s.what}: {s.id}" in wanted]
    work = Work(specification, target, subjects)
    try:
        with Device(number) as device:
            for module in work.modules:
                device.load(module)
            answer.send(observe(work, device))
    except Question as question:
        answer.send(question)
    except DeviceFault as fault:
        answer.send(str(fault))
