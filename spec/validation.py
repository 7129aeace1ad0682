"""Checks across the files: names that must exist, expressions that must stay in their domain."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from functools import partial
from math import prod

from .addresses import swizzle_bounds, swizzles
from .bridge_checks import check_arrangement, check_bridge
from .contract_records import Consumer
from .described_operands import check_words
from .errors import Place, SpecError
from .gate_checks import check_gate
from .index import INDEX, Index
from .maps import LayoutMap
from .memory_checks import check_memory
from .model import Instruction
from .nodes import bounded, must_exist, written_fields
from .part_checks import check_parts
from .paths import path_values
from .sparse import positions, valid_codes
from .sparsity_records import Sparsity
from .special_registers import late_registers
from .specification import METADATA_ORDER, Specification
from .switches import check_switches

__all__ = ["check_index", "check_layout", "check_references"]

_CODE_BITS = 16  # of one chunk's metadata
_SHA256 = re.compile("[0-9a-f]{64}")


def check_index(index: Index) -> None:
    """Versions ascend, assemblers are named once and their builds have checksums; newer names are targets."""
    _check_releases(index)
    for name, target in index.targets.items():
        if target.renamed:
            must_exist("target", target.renamed.to, index.targets, target.place)
            begins = index.targets[target.renamed.to].since
            if begins != target.renamed.since or not target.since < begins:
                raise SpecError(
                    f"{name} (since {target.since}) is renamed {target.renamed.to} since "
                    f"{target.renamed.since}, but that target begins with {begins}",
                    target.place,
                    "the version with which the new name begins",
                )
    for release in index.releases:
        for assembler in release.assemblers:
            for platform, build in assembler.builds.items():
                for digest in (build.wheel, build.ptxas):
                    if not _SHA256.fullmatch(digest):
                        raise SpecError(
                            f"{digest!r} (of {platform}) is not a SHA-256",
                            assembler.place,
                            "64 hexadecimal digits",
                        )


def _check_releases(index: Index) -> None:
    """Every version stands once, in order, up to the newest; every assembler stands once."""
    start = Place(INDEX, 1, 1)
    if list(index.earlier) != sorted(set(index.earlier)):
        raise SpecError("the versions under earlier do not ascend", start, "each version once, in order")
    before = max(index.earlier, default=None)
    named: set[str] = set()
    for release in index.releases:
        if before is not None and release.ptx <= before:
            what = f"PTX ISA {release.ptx} stands behind {before}"
            raise SpecError(what, release.place, "each version once, in order")
        before = release.ptx
        for assembler in release.assemblers:
            if assembler.version in named:
                what = f"the assembler {assembler.version} stands twice"
                raise SpecError(what, assembler.place, "each assembler once")
            named.add(assembler.version)
    if index.isa != before:
        what = f"isa is {index.isa}, and the newest of the releases {before}"
        raise SpecError(what, start, f'isa: "{before}"')


def check_layout(layout: LayoutMap) -> None:
    """Every name is bound, no value leaves its domain, map and codomain name the same outputs."""
    record = layout.layout
    if list(record.map) != list(record.codomain):
        raise SpecError(
            f"the layout {record.id} maps to ({', '.join(record.map)}) "
            f"but its codomain is ({', '.join(record.codomain)})",
            record.place,
            "the same names in the same order",
        )
    for name in record.cases:
        must_exist("parameter", name, record.params, record.place)
        if len(record.params[name].values) == 1:
            what = f"{name}, which is taken one value at a time, has one value"
            raise SpecError(what, record.place, "cases: parameters with several values")
    if len(set(record.cases)) < len(record.cases):
        raise SpecError("a parameter stands twice under cases", record.place, "each once")
    for name, formula in record.arguments.items():
        must_exist("parameter", name, record.params, formula.place)
    bounds = dict(layout.bounds)
    for name, formula in record.let.items():
        bounds[name] = bounded(formula, bounds)
    for formula in record.map.values():
        bounded(formula, bounds)
    for formula in record.codomain.values():
        bounded(formula, layout.parameter_bounds)
    if record.inverse:
        _check_inverse(layout)
    if record.where:
        bounded(record.where, bounds)
    elif record.kind == "injection" and all(map(_full, layout.assignments(), itertools.repeat(layout))):
        raise SpecError(
            f"the layout {record.id} has as many points as places, and is called an injection",
            record.place,
            "kind: bijection, which need not be written",
        )


def _check_inverse(layout: LayoutMap) -> None:
    """A written inverse has the layout's inputs, over the outputs and the parameters."""
    written = layout.layout.inverse
    if set(written) != set(layout.inputs):
        raise SpecError(
            f"the inverse of {layout.layout.id} gives ({', '.join(written)})",
            layout.layout.place,
            f"({', '.join(layout.inputs)}), the inputs of the map",
        )
    parameters = layout.parameter_bounds
    bounds = parameters | {
        name: (0, bounded(size, parameters)[1] - 1) for name, size in layout.layout.codomain.items()
    }
    for formula in written.values():
        bounded(formula, bounds)


def _full(values: Mapping[str, int], layout: LayoutMap) -> bool:
    """Whether a layout has as many points as places, for some values of its parameters."""
    return prod(layout.domain(values).values()) == layout.count(values)


_SIGNED = {"float": True, "scale": False}  # the kinds of element types that have a format


def check_numerics(specification: Specification) -> None:
    """Every format fills its element type; every guarantee has a clause and names formats or fields."""
    types = specification.index.types
    for name, form in specification.formats.items():
        must_exist("element type", name, types, form.place)
        bits = form.signed + form.exponent + form.fraction + form.ignored
        if bits != types[name].bits and (form.signed or bits != types[name].bits - 1):
            raise SpecError(
                f"the format {name} has {bits} bits, its element type {types[name].bits}",
                form.place,
                "a sign, exponent, fraction and ignored bits that fill the element",
            )
    for name, element in types.items():
        if element.kind in _SIGNED:
            must_exist("format", name, specification.formats, element.place)
            if specification.formats[name].signed != _SIGNED[element.kind]:
                what = f"{name} is of the kind {element.kind}, which its format's sign contradicts"
                raise SpecError(what, element.place, "float for a signed format, scale for an unsigned one")
        elif name in specification.formats:
            what = f"{name} is of the kind {element.kind}, and has a format"
            raise SpecError(what, element.place, "float for a signed format, scale for an unsigned one")
    fields = {f for family in specification.families.values() for view in family.rows for f in view.domains}
    for name, guarantee in specification.guarantees.items():
        must_exist("clause", name, specification.clauses, guarantee.place)
        for precision in guarantee.precision:
            must_exist("format or field", precision, {*specification.formats, *fields}, guarantee.place)


def _check_sparsity(specification: Specification) -> None:
    """Every formula of a coding stays in its domain, and the default setting allows the codes."""
    check_switches(specification.switches)
    order = specification.switches[METADATA_ORDER]
    for name, sparsity in specification.sparsities.items():
        sizes = (sparsity.chunk, sparsity.slots, sparsity.index_bits, sparsity.granule, sparsity.run)
        whole = min(sizes) > 0 and not (sparsity.chunk % sparsity.run or sparsity.slots % sparsity.run)
        if not whole or sparsity.slots > sparsity.chunk or sparsity.code_bits > _CODE_BITS:
            raise SpecError(
                f"the coding {name} stores {sparsity.slots} of {sparsity.chunk} elements in runs of "
                f"{sparsity.run}, with indices of {sparsity.index_bits} bits",
                sparsity.place,
                f"whole runs, at least 1 of each, and codes of at most {_CODE_BITS} bits",
            )
        if sparsity.index_bits != 2 * sparsity.granule:
            bits, granule = sparsity.index_bits, sparsity.granule
            what = f"an index of {name} has {bits} bits, and an element {granule} positions"
            raise SpecError(what, sparsity.place, "two bits for each position that an element takes")
        if not sparsity.codes or len(set(sparsity.codes)) < len(sparsity.codes):
            raise SpecError(f"the codes of {name} are not different ones", sparsity.place, "each once")
        codes = {"code": (0, (1 << sparsity.code_bits) - 1)}
        bounded(sparsity.position, {**codes, "slot": (0, sparsity.slots - 1)})
        for formula in sparsity.valid.values():
            bounded(formula, codes)
        for setting in order.settings:
            must_exist("setting of the coding", setting, sparsity.valid, sparsity.place)
        allowed = valid_codes(sparsity, order.default)
        for code in sparsity.codes:
            if code not in allowed:
                raise SpecError(
                    f"the setting {order.default} does not allow the code {code:#b}",
                    sparsity.place,
                    "some of " + ", ".join(f"{valid:#b}" for valid in allowed),
                )
        check_code_order(name, sparsity)


def check_code_order(name: str, sparsity: Sparsity) -> None:
    """Raise SpecError where the codes do not stand in the order of the columns that they store."""
    ordered = sorted(sparsity.codes, key=partial(positions, sparsity))
    if list(sparsity.codes) != ordered:
        what = f"the codes of {name} are not in the order of the columns that they store"
        raise SpecError(what, sparsity.place, ", ".join(f"0b{code:04b}" for code in ordered))


def _check_clauses(specification: Specification) -> None:
    """Every clause has consumers, each of one kind."""
    for name, clause in specification.clauses.items():
        if not clause.consumers:
            raise SpecError(
                f"nothing would notice that {name} is wrong", clause.place, "at least one consumer"
            )
        for consumer in clause.consumers:
            written = [kind for kind in written_fields(Consumer) if getattr(consumer, kind) is not None]
            if len(written) != 1:
                raise SpecError(
                    f"a consumer has {len(written)} keys",
                    consumer.place,
                    "one of: " + ", ".join(written_fields(Consumer)),
                )


def _check_registers(specification: Specification, instruction: Instruction) -> None:
    """An instruction says of an element type's registers what the type does not, and of types that it has."""
    rows = specification.families[instruction.instruction].rows
    fields = {operand.holds for operand in instruction.operands.values()} - {None}
    held = {str(value) for view in rows for name in fields for value in view.domains.get(str(name), ())}
    for element, types in instruction.registers.items():
        if element not in held:
            what = f"{instruction.instruction} has no operand with elements .{element}"
            raise SpecError(what, instruction.place, f"registers without {element}")
        if set(types) == set(specification.index.types[element].registers):
            what = f"the registers of .{element} are those that {INDEX} gives it"
            raise SpecError(what, instruction.place, f"registers without {element}")


def check_references(specification: Specification) -> None:
    """Every layout, clause, sparsity, type and shape of a row exists, and every late special register."""
    index = specification.index
    late_registers(index)
    for late in index.late_registers:
        check_gate(late.gate, specification.isa)
    for instruction in specification.instructions.values():
        check_parts(instruction, specification.instructions)
        for clause in instruction.execution:
            must_exist("clause", clause, specification.clauses, instruction.place)
        for element in instruction.registers:
            must_exist("element type", element, index.types, instruction.place)
        _check_registers(specification, instruction)
        for name, settled in instruction.readings.items():
            must_exist("switch", name, specification.switches, instruction.place)
            for setting in settled:
                must_exist("setting", setting, specification.switches[name].settings, instruction.place)
        for operand in instruction.operands.values():
            if operand.descriptor:
                must_exist("descriptor", operand.descriptor, specification.descriptors, operand.place)
                stated = any(other.part == "instruction" for other in instruction.operands.values())
                if operand.contains is None and operand.part in ("A", "B") and not stated:
                    raise SpecError(
                        "a descriptor says nothing about the elements of its matrix",
                        operand.place,
                        "contains: the field with their element type",
                    )
        for formula in instruction.memory.values():
            bounded(formula, dict.fromkeys(("row", "col", "stride"), (0, 1 << 10)))
        for filled in instruction.fragments.values():
            must_exist("instruction", filled, specification.instructions, instruction.place)
        around = instruction.around
        for statement in (*around.written, *around.before, *around.after):
            mnemonic = statement.split(" ")[0]
            named = [family for name, family in specification.families.items() if mnemonic.startswith(name)]
            spelled = {variant.mnemonic for family in named for variant in family.variants()}
            must_exist("mnemonic", mnemonic, spelled, instruction.place)
        for row in instruction.rows:
            for clause in row.numerical:
                must_exist("clause", clause, specification.clauses, row.place)
            if row.sparsity:
                must_exist("sparsity", row.sparsity, specification.sparsities, row.place)
    for family in specification.families.values():
        check_words(specification, family)
        for view in family.rows:
            for layout in view.layouts:
                must_exist("layout", layout, specification.layouts, view.row.place)
    _check_words(specification)
    check_numerics(specification)
    for swizzle, modes in swizzles(specification.addresses):
        bounded(swizzle.address, swizzle_bounds(modes))
    _check_sparsity(specification)
    _check_clauses(specification)
    check_memory(specification)
    for bridge in specification.bridges.values():
        check_bridge(bridge, specification.layouts)
    spans = {name: (some[0], some[-1]) for name, some in path_values(specification.descriptors).items()}
    for held in specification.layouts.values():
        if held.layout.when is not None:
            bounded(held.layout.when, spans)
    for arrangement in specification.arrangements.values():
        check_arrangement(arrangement, specification.layouts)


def _check_words(specification: Specification) -> None:
    """A row that binds `word` says how wide its registers are: as wide as the types that they have."""
    for family in specification.families.values():
        for view in family.rows:
            variant = next(iter(view.variants()), None)
            if variant is None or "word" not in variant.fields:
                continue
            for name in dict.fromkeys(name for form in variant.forms for name in form.operands):
                operand = family.instruction.operands[name]
                if operand.holds is None or operand.registers is None:
                    continue
                bits = variant.fields["word"]
                widths = {_register_bits(word) for word in variant.register_types(name) or ()}
                if widths and bits not in widths:
                    raise SpecError(
                        f"the registers of {name} in the row {view.row.id} have {bits} bits",
                        view.row.place,
                        f"word: {', '.join(map(str, sorted(widths)))}, as their types have",
                    )


def _register_bits(register_type: str) -> int:
    """The width of a register by its type: 32 for b32 and for f16x2."""
    return prod(int(digits) for digits in re.findall(r"\d+", register_type))
