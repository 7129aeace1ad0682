"""Wrong maps that no proof refutes: does the measurement of a device refute them?

Two kinds: mutants of the YAML that every theorem lets live, and every layout with two bits of its thread or
element numbers exchanged (another bijection by construction).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ..formal.mutation.mutants import Mutant
from ..gen.suite.files import lacking
from ..spec.expressions import Expression, parse, source, substitute
from ..spec.layout_records import Layout
from ..spec.maps import LayoutMap
from ..spec.nodes import Formula
from ..spec.specification import Specification
from ..spec.variants import Variant
from .device_observations import newest
from .measured_points import judge
from .silicon_record import Observed, Silicon
from .silicon_verdicts import by_mnemonic, claims_of

__all__ = ["Exchange", "Exchanges", "Measurement", "Refutation", "Witness", "exchanges"]


_THREAD = "t"


@dataclass(frozen=True)
class Refutation:
    """The measurement that refutes a map: its name, at how many points it differs, of how many."""

    measurement: str
    points: int
    differing: int
    first: str

    def __str__(self) -> str:
        return f"{self.measurement}: {self.differing} of {self.points} points differ; {self.first}"


@dataclass(frozen=True)
class Exchanges:
    """How many other bijections of one layout were tried, and which of them no measurement refutes."""

    layout: str
    tried: int
    standing: tuple[Exchange, ...]


@dataclass(frozen=True)
class Measurement:
    """One recorded measurement that today's specification agrees with, ready for another specification."""

    specification: Specification
    name: str
    observed: Observed
    variant: Variant

    @property
    def what(self) -> str:
        return self.name.split(": ", 1)[0]

    @cached_property
    def claims(self) -> Mapping[str, str]:
        """What the measurement is about, by name and by hash."""
        return claims_of(self.specification, self.variant, self.what)

    @cached_property
    def agrees(self) -> bool:
        """Whether it shows no fault in today's claims."""
        return not self.faults(self.specification)[1]

    def faults(self, specification: Specification) -> tuple[int, list[str]]:
        """How many points were compared with a specification, and what differs."""
        return judge(specification, self.variant, self.what, self.observed.kernel, self.observed.values)

    def concerns(self, specification: Specification) -> bool:
        """Whether another specification claims something else here."""
        return dict(claims_of(specification, self.variant, self.what)) != dict(self.claims)


class Witness:
    """What one device showed, asked about other specifications."""

    def __init__(self, specification: Specification, silicon: Silicon) -> None:
        self.specification = specification
        self.device = silicon.device
        known = by_mnemonic(specification)
        self.measurements = tuple(
            Measurement(specification, name, observed, known[observed.kernel.split()[0]])
            for name, observed in silicon.subjects.items()
        )

    def about(self, specification: Specification) -> Iterator[Measurement]:
        """The measurements that agree today, for which another specification claims something else."""
        for measurement in self.measurements:
            if measurement.concerns(specification) and measurement.agrees:
                yield measurement

    def against(
        self, specification: Specification, measurements: Iterable[Measurement] | None = None
    ) -> Refutation | None:
        """The first measurement (of all that are about it) that refutes another specification; or None."""
        about = self.about(specification) if measurements is None else measurements
        for measurement in about:
            points, faults = measurement.faults(specification)
            if faults:
                return Refutation(measurement.name, points, len(faults), faults[0])
        return None

    def exchanged(self, name: str) -> Exchanges:
        """Every exchange of two input bits of a layout, at the smallest measured parameters (and the first
        selector); none where nothing that was measured rests on it."""
        layout = self.specification.layouts[name]
        about = [m for m in self.measurements if name in m.claims and m.agrees]
        if _THREAD not in layout.inputs or not about:
            return Exchanges(name, 0, ())
        about.sort(key=lambda m: int(m.variant.fields.get("n", 0)))
        values = {p: int(about[0].variant.fields.get(p, 0)) for p in layout.parameters}
        tried = list(exchanges(layout, values))
        standing = [one for one in tried if self.against(one.put(self.specification), about) is None]
        return Exchanges(name, len(tried), tuple(standing))

    def silent(self, name: str) -> str:
        """Why no measurement depends on a layout; empty if one does, or if the layout has no threads."""
        layout = self.specification.layouts[name]
        if _THREAD not in layout.inputs or any(name in m.claims and m.agrees for m in self.measurements):
            return ""
        target, limit = self.device.target, newest(self.specification, self.device.driver)
        rows = [v for f in self.specification.families.values() for v in f.rows if name in v.layouts]
        variants = [v for row in rows for v in row.variants() if name in v.layouts.values()]
        begins = [dict(v.gate.targets)[target] for v in variants if target in dict(v.gate.targets)]
        if begins and min(begins) <= limit:
            return "rows that use it run there, and it was not measured"
        if begins:
            return f"its rows need PTX ISA {min(begins)}, and the driver reads {limit}"
        return (
            "; ".join(f"{row}: {why}" for row, why in lacking(variants, target).items()) or "no row uses it"
        )

    def judge(self, mutant: Mutant) -> tuple[Refutation | None, str]:
        """The measurement that refutes a mutant, or else why none does."""
        mutated = mutant.put(self.specification)
        refutation = self.against(mutated)
        if refutation is not None:
            return refutation, ""
        count = sum(1 for _ in self.about(mutated))
        if count:
            return None, f"{count} measurements are about it, and none refutes it"
        name = mutant.subject.name
        if name in self.specification.layouts:
            return None, self.silent(name)
        return None, f"nothing that was measured on {self.device.target} rests on it"


@dataclass(frozen=True)
class Exchange:
    """A layout with two bits of its inputs exchanged: ("t", 2) for bit 2 of the thread's number."""

    layout: str
    one: tuple[str, int]
    other: tuple[str, int]

    def __str__(self) -> str:
        (x, p), (y, q) = self.one, self.other
        return f"{self.layout}: bit {p} of {x} exchanged with bit {q} of {y}"

    def put(self, specification: Specification) -> Specification:
        """The specification with this layout in place of the right one."""
        record = _substituted(specification.layouts[self.layout].layout, self._inputs())
        return replace(specification, layouts={**specification.layouts, self.layout: LayoutMap(record)})

    def _inputs(self) -> dict[str, Expression]:
        (x, p), (y, q) = self.one, self.other
        differ = f"(({x} >> {p} ^ {y} >> {q}) & 1)"
        if x == y:
            return {x: parse(f"{x} ^ {differ} * {1 << p | 1 << q}")}
        return {x: parse(f"{x} ^ {differ} * {1 << p}"), y: parse(f"{y} ^ {differ} * {1 << q}")}


def _substituted(layout: Layout, inputs: Mapping[str, Expression]) -> Layout:
    def changed(formula: Formula) -> Formula:
        tree = substitute(formula.tree, inputs)
        return Formula(source(tree), tree, formula.place)

    return replace(
        layout,
        map={name: changed(formula) for name, formula in layout.map.items()},
        let={name: changed(formula) for name, formula in layout.let.items()},
        where=changed(layout.where) if layout.where else None,
    )


def exchanges(layout: LayoutMap, values: Mapping[str, int]) -> Iterator[Exchange]:
    """Every exchange of two input bits that makes another map of a layout, at some parameters."""
    identifier = layout.layout.id
    bits: Sequence[tuple[str, int]] = [
        (name, bit)
        for name, size in layout.domain(values).items()
        for bit in range(size.bit_length())
        if size % (2 << bit) == 0
    ]
    before = set(layout.points(values))
    for one, other in itertools.combinations(bits, 2):
        exchange = Exchange(identifier, one, other)
        record = _substituted(layout.layout, exchange._inputs())
        if set(LayoutMap(record).points(values)) != before:
            yield exchange
