"""Measure a chip: every distinct map, metadata for every type and selector, memory, matrix moves.

`survey` lists the raw kernels; `measure` runs them and returns plain values, which are recorded unchanged.
Nothing here knows a layout; verdicts are made elsewhere.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...gen.kernels.kernel_list import Kernel, choices
from ...spec.addresses import matrix_atoms, mode_of
from ...spec.descriptor import encode as encoded
from ...spec.descriptor import fields_of
from ...spec.errors import Question
from ...spec.fragments import register_operand
from ...spec.parts import computes, element_type, moves
from ...spec.specification import Specification
from ...spec.variants import OPAQUE, Family, Variant
from ..raw_kernel import Launcher, Raw, of_kernel
from .address_probe import WIDE, WINDOW, DescriptorSetting, addresses, settings, turned
from .codes import encode
from .fragment_probe import accumulate, accumulator, multiplicands, reach, renamed
from .matrix_probe import loaded, moved, stored
from .metadata_probe import metadata
from .probe_bench import Bench
from .products import NoProduct, ProductMap

__all__ = ["MeasuredKernel", "Measurer", "kernels", "measure", "survey"]

_STRIDES = ((2064, 1168), (640, 2048))
# Fields that change a variant's spelling or values, but not its maps.
_SPELLED = ("space", "kind", "block_scale", "scale_vec", "stype")


@dataclass(frozen=True)
class MeasuredKernel:
    """A kernel to measure, and what to measure: maps, accumulator only, metadata, or memory."""

    kernel: Kernel
    what: str

    @property
    def id(self) -> str:
        """The mnemonic, with its form and its immediates where it has any."""
        words = [self.kernel.variant.mnemonic]
        if len(self.kernel.variant.row.row.forms) > 1:
            words.append(self.kernel.form_name)
        words += [f"{name}={value}" for name, value in self.kernel.immediates.items()]
        return " ".join(words)


def _neutral(kernel: Kernel, transposed: tuple[int, int] = (0, 0)) -> bool:
    """Whether nothing is negated, and A and B are transposed as asked where they can be."""
    wanted = {"negate-A": 1, "negate-B": 1, "transpose-A": transposed[0], "transpose-B": transposed[1]}
    return all(kernel.value(part) in (None, value) for part, value in wanted.items())


def _kernels(variant: Variant) -> Iterator[Kernel]:
    for form, immediates in choices(variant):
        yield Kernel("raw", variant, form, immediates)


def _key(variant: Variant) -> tuple[object, ...]:
    """Variants of one key have the same maps: they differ in `_SPELLED` fields only."""
    return variant.row.id, *(value for name, value in variant.fields.items() if name not in _SPELLED)


def _alike(variant: Variant) -> bool:
    """Whether A and B have one type, if there are an A and a B."""
    if not computes(variant.instruction):
        return True
    return element_type(variant, "A") == element_type(variant, "B")


def _widest(specification: Specification, variant: Variant) -> Variant:
    """The variant with the widest D of its row: what an element of it holds is never rounded."""
    field = register_operand(variant, "D").holds or ""
    types = specification.index.types
    widest = max(variant.row.domains[field], key=lambda name: types[str(name)].bits)
    return Variant(variant.row, {**variant.fields, field: widest})


def _variants(families: Iterable[Family], target: str) -> list[Variant]:
    """One variant of every key of a target: A and B of one type, no optional qualifier."""
    found: dict[tuple[object, ...], Variant] = {}
    for family in families:
        for variant in family.listed():
            fields = variant.fields
            plain = fields.get("satfinite", "none") == "none" and fields.get("rnd", "none") == "none"
            if (
                plain
                and _alike(variant)
                and target in dict(variant.gate.targets)
                and not variant.gate.removed
            ):
                found.setdefault(_key(variant), variant)
    return list(found.values())


def survey(
    specification: Specification, target: str = "sm_90a", instructions: Collection[str] | None = None
) -> tuple[MeasuredKernel, ...]:
    """Everything that is measured on a target, of some instructions or of all."""
    named = specification.families if instructions is None else instructions
    families = [family for name, family in specification.families.items() if name in named]
    return tuple(_survey(specification, _variants(families, target)))


def _survey(specification: Specification, variants: Sequence[Variant]) -> Iterator[MeasuredKernel]:
    least: dict[str, int] = {}
    for variant in variants:
        if "n" in variant.fields:
            n = int(variant.fields["n"])
            least[variant.row.id] = min(n, least.get(variant.row.id, n))
    accumulators = set()
    for variant in variants:
        if not variant.layouts or OPAQUE in variant.layouts.values():
            continue
        if moves(variant.instruction):
            for kernel in _kernels(variant):
                yield MeasuredKernel(kernel, "matrices")
        if not computes(variant.instruction):
            continue
        kernels = [kernel for kernel in _kernels(variant) if _neutral(kernel)]
        smallest = int(variant.fields["n"]) == least[variant.row.id]
        for kernel in kernels:
            described = _described(kernel)
            selector = kernel.value("selector") or 0
            if smallest and selector == 0:
                yield MeasuredKernel(kernel, "maps")
            if smallest and kernel.value("selector") is not None and len(described) != 1:
                yield MeasuredKernel(kernel, "metadata")
            named = kernel.instruction.instruction, element_type(variant, "D"), variant.fields["n"]
            if len(described) == 2 and selector == 0 and not smallest and named not in accumulators:
                accumulators.add(named)
                yield MeasuredKernel(kernel, "accumulator")
    for variant in variants:
        yield from _memory_subjects(specification, variant)


def _described(kernel: Kernel) -> list[str]:
    """The parts that lie in shared memory, behind a descriptor."""
    return [str(operand.part) for _, operand in kernel.operands() if operand.descriptor]


def _memory_subjects(specification: Specification, variant: Variant) -> Iterator[MeasuredKernel]:
    """B at the largest N with A in registers; A at the least N that shows all of K."""
    ns = [int(n) for n in variant.row.domains.get("n", ())]
    if variant.instruction.scope != "warpgroup" or "n" not in variant.fields:
        return
    n, k = int(variant.fields["n"]), int(variant.fields["k"])
    if _widest(specification, variant).fields != variant.fields:
        return
    for kernel in _kernels(variant):
        descriptors = _described(kernel)
        if kernel.value("selector"):
            continue
        for transposed in (0, 1):
            can_a, can_b = (
                transposed == 0 or kernel.value(f"transpose-{letter}") is not None for letter in "AB"
            )
            if can_b and len(descriptors) == 1 and n == max(ns) and _neutral(kernel, (0, transposed)):
                yield MeasuredKernel(kernel, "memory B")
            wide = n == min(n for n in ns if n >= k)
            if can_a and len(descriptors) == 2 and wide and _neutral(kernel, (transposed, 0)):
                yield MeasuredKernel(kernel, "memory A")


class Measurer:
    """Measures one kernel after another; a later measurement names elements by the maps of an earlier one."""

    def __init__(self, specification: Specification, launcher: Launcher) -> None:
        self.specification, self.launcher = specification, launcher
        self._plain: dict[tuple[object, ...], tuple[ProductMap, Any]] = {}

    def unit(self, element: str) -> int:
        """The code of 1."""
        return encode(self.specification, element, 1.0)

    def bench(self, kernel: Raw) -> Bench:
        """A bench for a kernel."""
        return Bench.of(self.specification, kernel, self.launcher, self.unit)

    def codes(self, variant: Variant) -> tuple[int, ...]:
        """The valid codes that together reach every position once: the first, and the last."""
        if not variant.row.row.sparsity:
            return ()
        valid = self.specification.codes_of(variant)
        return valid[0], valid[-1]

    def plain(self, variant: Variant, n: int) -> tuple[ProductMap, Any]:
        """The maps of a product with everything in shared memory, at some N."""
        key = (variant.row.id, element_type(variant, "A"), n)
        if key not in self._plain:
            like = _widest(self.specification, Variant(variant.row, {**variant.fields, "n": n}))
            kernel = _first(like, "A", described=True)
            self._plain[key] = multiplicands(self.bench(of_kernel(kernel)), self.codes(variant))
        return self._plain[key]

    def maps(self, subject: MeasuredKernel) -> dict[str, Any]:
        """The maps of A, B, C and D: (row, column) of every element, flat over threads and elements."""
        kernel = of_kernel(subject.kernel)
        bench = self.bench(kernel)
        found, met = multiplicands(bench, self.codes(kernel.variant))
        if "B" in kernel.descriptors:
            anchor, _ = self.plain(kernel.variant, int(kernel.variant.fields["n"]))
            found = renamed(found, _as_wide(anchor, found))
        codes = list(self.codes(kernel.variant))
        ones = {letter: bench.one(letter) for letter in "AB"}
        value: dict[str, Any] = {"ones": ones, "D": found.d, "met": met, "met codes": codes}
        if "A" in kernel.sources:
            value["A"] = found.a
        if "B" in kernel.sources:
            value["B"] = found.b
        if "C" in kernel.sources:
            value["C"] = found.d[accumulate(bench)]
        return value

    def accumulator(self, subject: MeasuredKernel) -> dict[str, Any]:
        """The map of D at another N."""
        kernel = of_kernel(subject.kernel)
        ns = [int(n) for n in kernel.variant.row.domains["n"]]
        anchor, _ = self.plain(kernel.variant, min(ns))
        return {"D": accumulator(self.bench(kernel), anchor.a)}

    def metadata(self, subject: MeasuredKernel) -> dict[str, Any]:
        """The owner of every index bit, and the effect of the other codes."""
        kernel = of_kernel(subject.kernel)
        bench = self.bench(kernel)
        codes = self.codes(kernel.variant)
        found, met = multiplicands(bench, codes)
        if "B" in kernel.descriptors:
            anchor, _ = self.plain(kernel.variant, int(kernel.variant.fields["n"]))
            found = renamed(found, _as_wide(anchor, found))
        valid = self.specification.codes_of(kernel.variant)
        seen = metadata(bench, found, met, valid)
        named = {name: part for name, part in (("A", found.a), ("B", found.b)) if name in kernel.sources}
        return {
            **named,
            "D": found.d,
            "met": met,
            "met codes": list(codes),
            "owner": seen.owner,
            "ks": seen.ks,
            "codes": seen.codes,
            "rows alike": seen.alike,
            "jobs": seen.jobs,
            "checked": seen.checked,
            "wrong": seen.wrong,
        }

    def memory(self, subject: MeasuredKernel) -> dict[str, Any]:
        """The addresses of A or of B for every descriptor, a 64-bit word, in bits from the image's start.

        For some, also for words with any one bit turned: they show where each field begins and ends.
        """
        kernel = of_kernel(subject.kernel)
        variant = kernel.variant
        operand = subject.what.split()[1]
        kind = kernel.descriptors[operand]
        many = self._first_of_size(kind, element_type(variant, "A"))
        strides = _STRIDES if many else _STRIDES[:1]
        descriptor = self.specification.descriptors[kind]
        chosen = settings(descriptor, strides, many)
        given = [encoded(descriptor, setting) for setting in chosen]
        found, met = self._names(kernel)
        bench, codes = self.bench(kernel), self.codes(variant) or (0,)
        where = addresses(bench, operand, given, found, met, codes)
        if (where < 0).any():
            raise NoProduct(f"an element lies outside of {WINDOW} bytes")
        value = {"operand": operand, "words": _hexadecimal(given), "bits": where}
        if many and operand == "A" and not bench.sparse:
            others = [w for w in turned(self._one_a_mode(kind, chosen)) if self._inside(kernel, w)]
            value["turned words"] = _hexadecimal(others)
            value["turned bits"] = addresses(bench, operand, others, found, met, codes, WIDE)
        return value

    def _one_a_mode(self, kind: str, chosen: Sequence[DescriptorSetting]) -> list[int]:
        """The first descriptor of each swizzling mode."""
        descriptor = self.specification.descriptors[kind]
        mode = descriptor.field_of("mode") or ""
        firsts = {setting.get(mode, 0): setting for setting in reversed(chosen)}
        return [encoded(descriptor, setting) for setting in reversed(firsts.values())]

    def _inside(self, kernel: Raw, word: int) -> bool:
        """Whether all of A lies in shared memory, as far as is known: a chip stops at other addresses."""
        specification, kind, width = self.specification, kernel.descriptors["A"], kernel.width("A")
        rules, descriptor = specification.rules_of(kind), specification.descriptors[kind]
        fields, size = fields_of(descriptor, word), max(1, width // 8)
        shape = int(kernel.variant.fields["m"]), int(kernel.variant.fields["k"]) * width // 8 // size
        major = "MN" if kernel.values.get("transpose-A") else "K"
        try:
            mode = mode_of(rules, descriptor, fields)
            atoms = matrix_atoms(rules, specification.layouts, major, mode, size, shape)
        except Question:
            return True  # the chip shows what the specification does not have
        return fields[str(descriptor.field_of("start"))] + atoms.extent(fields) <= WIDE

    def _first_of_size(self, kind: str, element: str) -> bool:
        """Whether an element type is the first of its size in bytes among those of a descriptor's rules."""
        sizes: dict[int, str] = {}
        for rule in self.specification.rules_of(kind).values():
            for name in rule.types:
                sizes.setdefault(max(1, self.specification.index.types[name].bits // 8), name)
        return element in sizes.values()

    def _names(self, kernel: Raw) -> tuple[ProductMap, Any]:
        """The maps of a kernel at its N: A and k as at the least N, D as measured there."""
        variant = kernel.variant
        ns = [int(n) for n in variant.row.domains["n"]]
        anchor, met = self.plain(variant, min(ns))
        descriptor = _first(variant, "A", described=True)
        d = accumulator(self.bench(of_kernel(descriptor)), anchor.a)
        a = anchor.a
        if "A" in kernel.sources:
            small = Variant(variant.row, {**variant.fields, "n": min(ns)})
            register = _first(small, "A", described=False)
            own, met = multiplicands(self.bench(of_kernel(register)), self.codes(variant))
            a = renamed(own, _as_wide(anchor, own)).a
        b = reach(self.bench(of_kernel(descriptor)), anchor.a, d, anchor.met)
        return ProductMap(a, b, d, anchor.met), met

    def matrices(self, subject: MeasuredKernel) -> dict[str, Any]:
        """The source or destination of every half word of every row."""
        kernel = of_kernel(subject.kernel)
        if "address" not in kernel.sources:
            return {"source": moved(kernel, self.launcher)}
        if kernel.results:
            return {"memory": loaded(kernel, self.launcher)}
        return {"memory": stored(kernel, self.launcher)}


def _hexadecimal(given: Iterable[int]) -> list[str]:
    return [f"{word:#018x}" for word in given]


def _first(variant: Variant, part: str, described: bool) -> Kernel:
    """The first kernel that negates, transposes and selects nothing, with a part in shared memory, or not."""
    return next(
        kernel
        for kernel in _kernels(variant)
        if _neutral(kernel) and not kernel.value("selector") and (part in _described(kernel)) == described
    )


def _as_wide(anchor: ProductMap, found: ProductMap) -> Any:
    """D's rows as another kernel of the same N named them."""
    if len(anchor.d) != len(found.d):
        raise NoProduct("D has another size")
    return anchor.d


def measure(
    specification: Specification,
    launcher: Launcher,
    subjects: Sequence[MeasuredKernel],
    report: Callable[[MeasuredKernel], None] = lambda subject: None,
) -> Iterator[tuple[MeasuredKernel, dict[str, Any]]]:
    """Measure every kernel. A measurement that fails becomes {"failed": why}."""
    measurer = Measurer(specification, launcher)
    ways: Mapping[str, Callable[[MeasuredKernel], dict[str, Any]]] = {
        "maps": measurer.maps,
        "accumulator": measurer.accumulator,
        "metadata": measurer.metadata,
        "memory": measurer.memory,
        "matrices": measurer.matrices,
    }
    for subject in subjects:
        report(subject)
        try:
            yield subject, ways[subject.what.split()[0]](subject)
        except NoProduct as why:
            yield subject, {"failed": str(why)}


def kernels(specification: Specification, subjects: Sequence[MeasuredKernel]) -> list[Kernel]:
    """The kernels that measuring launches: the subjects' own, and those that name elements for them."""
    found = {subject.kernel.name: subject.kernel for subject in subjects}
    for subject in subjects:
        variant = subject.kernel.variant
        if variant.instruction.scope != "warpgroup":
            continue
        ns = [int(n) for n in variant.row.domains["n"]]
        alike = [variant]
        if _widest(specification, variant).fields != variant.fields:
            alike.append(_widest(specification, variant))
        for n, like in itertools.product((min(ns), variant.fields["n"]), alike):
            for kernel in _kernels(Variant(like.row, {**like.fields, "n": n})):
                if _neutral(kernel) and not kernel.value("selector"):
                    found.setdefault(kernel.name, kernel)
    return list(found.values())
