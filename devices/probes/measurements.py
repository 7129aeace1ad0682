"""What is measured of a chip: every distinct map, metadata for every type and selector, memory, matrices.

The survey lists the raw kernels; `measure` runs them all and returns plain values, which are recorded as they
are. Verdicts are elsewhere: nothing here knows a layout.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...gen.kernels.kernel_list import Kernel, choices
from ...spec.specification import Specification
from ...spec.variants import Variant
from ..raw_kernel import Launcher, Raw, of_kernel
from .address_probe import DescriptorSetting, addresses, settings
from .codes import encode
from .fragment_probe import accumulate, accumulator, multiplicands, reach, renamed
from .matrix_probe import loaded, moved, stored
from .metadata_probe import metadata
from .probe_bench import Bench
from .products import NoProduct, ProductMap

__all__ = ["MeasuredKernel", "Measurer", "kernels", "measure", "survey"]

_STRIDES = ((2064, 1168), (640, 2048))


@dataclass(frozen=True)
class MeasuredKernel:
    """A kernel to be measured, and what of it: its maps, its accumulator only, its metadata, memory."""

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
    """Variants of one key have the same maps, by their types and by what the YAML names."""
    fields = variant.fields
    named = [fields.get(name) for name in ("m", "n", "k", "atype", "dtype", "ctype", "op", "spvariant")]
    return variant.row.id, *named, *sorted(variant.layouts.items()), *sorted(map(str, _signature(fields)))


def _signature(fields: Mapping[str, str | int]) -> list[str | int]:
    return [fields[name] for name in ("alayout", "blayout", "trans", "matrices") if name in fields]


def _variants(specification: Specification, target: str) -> list[Variant]:
    """One variant of every key that a target has: A and B of one type, nothing optional."""
    found: dict[tuple[object, ...], Variant] = {}
    for family in specification.families.values():
        for variant in family.listed():
            fields = variant.fields
            plain = fields.get("satfinite", "none") == "none" and fields.get("rnd", "none") == "none"
            alike = fields.get("atype") == fields.get("btype")
            if plain and alike and target in dict(variant.gate.targets) and not variant.gate.removed:
                found.setdefault(_key(variant), variant)
    return list(found.values())


def survey(specification: Specification, target: str = "sm_90a") -> tuple[MeasuredKernel, ...]:
    """Everything that is measured on a target."""
    return tuple(_survey(specification, _variants(specification, target)))


def _survey(specification: Specification, variants: Sequence[Variant]) -> Iterator[MeasuredKernel]:
    least: dict[str, int] = {}
    for variant in variants:
        if "n" in variant.fields:
            n = int(variant.fields["n"])
            least[variant.row.id] = min(n, least.get(variant.row.id, n))
    accumulators = set()
    for variant in variants:
        operands = variant.row.family.instruction.operands
        parts = {operand.part for operand in operands.values()}
        if "address" in parts or variant.row.family.instruction.instruction == "movmatrix":
            if variant.layouts and "opaque" not in variant.layouts.values():
                for kernel in _kernels(variant):
                    yield MeasuredKernel(kernel, "matrices")
            continue
        if "A" not in parts or "opaque" in variant.layouts.values():
            continue
        kernels = [kernel for kernel in _kernels(variant) if _neutral(kernel)]
        smallest = int(variant.fields["n"]) == least[variant.row.id]
        for kernel in kernels:
            descriptors = [name for name in kernel.form.operands if operands[name].descriptor]
            selector = kernel.value("selector") or 0
            if smallest and selector == 0:
                yield MeasuredKernel(kernel, "maps")
            if smallest and kernel.value("selector") is not None and len(descriptors) != 1:
                yield MeasuredKernel(kernel, "metadata")
            named = kernel.instruction.instruction, variant.fields["dtype"], variant.fields["n"]
            if len(descriptors) == 2 and selector == 0 and not smallest and named not in accumulators:
                accumulators.add(named)
                yield MeasuredKernel(kernel, "accumulator")
    for variant in variants:
        yield from _memory_subjects(variant)


def _memory_subjects(variant: Variant) -> Iterator[MeasuredKernel]:
    """B at the largest N with A in registers; A at the least N that shows all of K."""
    ns = [int(n) for n in variant.row.domains.get("n", ())]
    if variant.row.family.instruction.scope != "warpgroup" or "n" not in variant.fields:
        return
    n, k = int(variant.fields["n"]), int(variant.fields["k"])
    if variant.fields.get("dtype") == "f16":
        return
    for kernel in _kernels(variant):
        operands = kernel.instruction.operands
        descriptors = [name for name in kernel.form.operands if operands[name].descriptor]
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
    """Measures one subject after another; what one shows names the elements for the next."""

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
        """The maps of a wgmma with everything in shared memory, at some N."""
        key = (variant.row.id, variant.fields["atype"], n)
        if key not in self._plain:
            fields = {**variant.fields, "n": n}
            if "f32" in variant.row.domains["dtype"]:
                fields["dtype"] = "f32"
            like = Variant(variant.row, fields)
            kernel = next(
                k
                for k in _kernels(like)
                if _neutral(k) and "a-desc" in k.form.operands and not k.value("selector")
            )
            self._plain[key] = multiplicands(self.bench(of_kernel(kernel)), self.codes(variant))
        return self._plain[key]

    def maps(self, subject: MeasuredKernel) -> dict[str, Any]:
        """The maps of A, B, C and D: (row, column) of every element, flat over threads and elements."""
        kernel = of_kernel(subject.kernel)
        bench = self.bench(kernel)
        found, met = multiplicands(bench, self.codes(kernel.variant))
        if "b-desc" in kernel.form.operands:
            anchor, _ = self.plain(kernel.variant, int(kernel.variant.fields["n"]))
            found = renamed(found, _as_wide(anchor, found))
        codes = list(self.codes(kernel.variant))
        value: dict[str, Any] = {"D": found.d, "met": met, "met codes": codes}
        if "a" in kernel.sources:
            value["A"] = found.a
        if "b" in kernel.sources:
            value["B"] = found.b
        if "c" in kernel.sources:
            value["C"] = found.d[accumulate(bench)]
        return value

    def accumulator(self, subject: MeasuredKernel) -> dict[str, Any]:
        """The map of D at another N."""
        kernel = of_kernel(subject.kernel)
        ns = [int(n) for n in kernel.variant.row.domains["n"]]
        anchor, _ = self.plain(kernel.variant, min(ns))
        return {"D": accumulator(self.bench(kernel), anchor.a)}

    def metadata(self, subject: MeasuredKernel) -> dict[str, Any]:
        """Who governs which index bit, and what the other codes do."""
        kernel = of_kernel(subject.kernel)
        bench = self.bench(kernel)
        codes = self.codes(kernel.variant)
        found, met = multiplicands(bench, codes)
        if "b-desc" in kernel.form.operands:
            anchor, _ = self.plain(kernel.variant, int(kernel.variant.fields["n"]))
            found = renamed(found, _as_wide(anchor, found))
        valid = self.specification.codes_of(kernel.variant)
        seen = metadata(bench, found, met, valid)
        named = {
            name: part for name, part in (("A", found.a), ("B", found.b)) if name.lower() in kernel.sources
        }
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
        """The addresses of A or of B for every setting of the descriptor, in bits."""
        kernel = of_kernel(subject.kernel)
        variant = kernel.variant
        operand = subject.what.split()[1]
        modes = self.specification.descriptors["wgmma"].fields["swizzle-mode"].values
        many = variant.fields["atype"] in ("f16", "tf32", "e4m3")
        strides = _STRIDES if many else _STRIDES[:1]
        chosen = settings(modes, strides, many)
        found, met = self._names(kernel)
        where = addresses(self.bench(kernel), operand, chosen, found, met, self.codes(variant) or (0,))
        listed = [list(_tuple(setting)) for setting in chosen]
        return {"operand": operand, "settings": listed, "bits": where}

    def _names(self, kernel: Raw) -> tuple[ProductMap, Any]:
        """The maps of a kernel at its N: A and k as at the least N, D as measured there."""
        variant = kernel.variant
        ns = [int(n) for n in variant.row.domains["n"]]
        anchor, met = self.plain(variant, min(ns))
        descriptor = next(
            k
            for k in _kernels(variant)
            if _neutral(k) and "a-desc" in k.form.operands and not k.value("selector")
        )
        d = accumulator(self.bench(of_kernel(descriptor)), anchor.a)
        a = anchor.a
        if "a" in kernel.sources:
            small = Variant(variant.row, {**variant.fields, "n": min(ns)})
            register = next(
                k
                for k in _kernels(small)
                if _neutral(k) and "a" in k.form.operands and not k.value("selector")
            )
            own, met = multiplicands(self.bench(of_kernel(register)), self.codes(variant))
            a = renamed(own, _as_wide(anchor, own)).a
        b = reach(self.bench(of_kernel(descriptor)), anchor.a, d, anchor.met)
        return ProductMap(a, b, d, anchor.met), met

    def matrices(self, subject: MeasuredKernel) -> dict[str, Any]:
        """Which half word of which row is whose."""
        kernel = of_kernel(subject.kernel)
        if "p" not in kernel.sources:
            return {"source": moved(kernel, self.launcher)}
        if kernel.results:
            return {"memory": loaded(kernel, self.launcher)}
        return {"memory": stored(kernel, self.launcher)}


def _tuple(setting: DescriptorSetting) -> tuple[int, ...]:
    return setting.start, setting.leading, setting.stride, setting.base, setting.swizzle


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
    """Measure every subject. What cannot be measured is said instead: {"failed": why}."""
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
        if variant.row.family.instruction.scope != "warpgroup":
            continue
        ns = [int(n) for n in variant.row.domains["n"]]
        dtypes = {variant.fields["dtype"], *({"f32"} & set(variant.row.domains["dtype"]))}
        for n, dtype in itertools.product((min(ns), variant.fields["n"]), dtypes):
            for kernel in _kernels(Variant(variant.row, {**variant.fields, "n": n, "dtype": dtype})):
                if _neutral(kernel) and not kernel.value("selector"):
                    found.setdefault(kernel.name, kernel)
    return list(found.values())
