"""Check operands that have one value on every path: sparsity metadata, descriptors, and small numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...spec.api import load
from ...spec.described_operands import descriptor_of, holding, settings_of
from ...spec.descriptor import reserved
from ...spec.descriptor_rules import judge_word
from ...spec.errors import Question
from ...spec.legality import Judge
from ...spec.memory_records import Descriptor, DescriptorField, DescriptorRule
from ...spec.operand_rules import out_of_range
from ...spec.sparse import read_words, valid_codes
from ..findings import ERROR, EVERYWHERE, LIKELY, Finding
from ..memory.matrices import described
from ..ptx.decode import DecodedFunction, DecodedStatement
from ..ptx.flow import Flow
from ..ptx.operands import NamedOperand, number_of
from ..ptx.site import Site
from ..ptx.source import PtxModule
from ..values.register_intervals import RegisterIntervals
from .known_bits import Bits, KnownBits

__all__ = ["constant_findings"]


def constant_findings(
    module: PtxModule,
    code: DecodedFunction,
    flow: Flow,
    values: RegisterIntervals,
    held: list[int],
    judge: Judge,
) -> Iterator[Finding]:
    """Invalid metadata codes, descriptors with fields that no matrix has, and words that are not legal."""
    known = KnownBits(code, flow)
    for index in held:
        statement = code[index]
        if statement.operation.variant is None or not statement.is_complete:
            continue
        site = Site(module, code.function, index)
        for operand in statement.named:
            if operand.operand.part == "metadata":
                yield from _metadata(site, statement, values, operand)
            if operand.operand.values is not None and number_of(operand.text) is None:
                yield from _value(site, statement, values, operand)
            kind = descriptor_of(operand.operand, statement.operation.variant)
            word = values.operand(operand.text, statement.scope).constant if kind is not None else None
            if kind is not None and word is not None:
                descriptor = load().descriptors[kind]
                settings = settings_of(operand.operand, statement.operation.variant, descriptor)
                yield from _word(site, operand.name, descriptor, word, settings, judge)
        for operand, descriptor in described(statement):
            yield from _descriptor(site, statement, values, known, operand, descriptor, judge)


def _beside(bits: Bits, field: DescriptorField) -> int | None:
    """A word without one of its fields; None if not all of the others are known."""
    inside = (2 << field.high) - (1 << field.low)
    return bits.value & ~inside if (bits.known | inside) + 1 == 1 << 64 else None


def _value(
    site: Site, statement: DecodedStatement, values: RegisterIntervals, operand: NamedOperand
) -> Iterator[Finding]:
    """A register that always holds one number, and none that the text allows: as of an immediate."""
    variant, value = statement.operation.variant, values.operand(operand.text, statement.scope).constant
    if variant is None or value is None or value < 0:
        return
    for reason in out_of_range(variant, operand.name, operand.operand, value):
        yield Finding(
            f"legality.{reason.code}",
            ERROR,
            site.place,
            site.function.name,
            f"{statement.operation.opcode}: {reason.message}",
            variant.row.family.instruction.source.section,
        )


def _word(
    site: Site, name: str, descriptor: Descriptor, word: int, settings: Mapping[str, int], judge: Judge
) -> Iterator[Finding]:
    """The first reason to refuse a word: certain where the text itself gives it.

    A bit that is said to be new by one witness only is not reported: older programs may set it. Nor is a
    field's value that released compilers write.
    """
    known = holding(judge)

    def holds(rule: DescriptorRule) -> bool:
        return known(rule) and (rule.lifted is None or rule.source.origin == "text")

    found = judge_word(descriptor, word & (1 << descriptor.bits) - 1, settings, holds)
    faults = [refusal for refusal in found.refusals if not refusal.tolerated]
    if not faults:
        return
    first, rule = faults[0].reason, faults[0].rule
    source = rule.source if rule is not None else descriptor.source
    shown = f"{found.word:#0{descriptor.bits // 4 + 2}x}"
    yield Finding(
        "descriptor-field",
        ERROR if source.origin == "text" else LIKELY,
        site.place,
        site.function.name,
        f"{name} is {shown}: {first.message}",
        source.section,
    )


def _metadata(
    site: Site, statement: DecodedStatement, values: RegisterIntervals, operand: NamedOperand
) -> Iterator[Finding]:
    word = values.operand(operand.text, statement.scope).constant
    variant = statement.operation.variant
    if word is None or variant is None or variant.row.row.sparsity is None:
        return
    specification = load()
    sparsity = specification.sparsity_of(variant)
    layout = specification.layout_of(variant, "metadata")
    given = statement.part("selector")
    selector = number_of(given.text) if given else 0
    if selector is None:
        return
    try:
        parameters = specification.selector_parameters(layout, selector)
    except Question:
        return  # legality reports it
    words = [word & 0xFFFFFFFF] * layout.domain(parameters)["t"]
    codes = {code for row in read_words(sparsity, layout, parameters, words) for code in row}
    distinct = set(valid_codes(sparsity, "distinct"))
    ascending = set(specification.codes_of(variant))
    settled = "metadata-order" in variant.row.family.instruction.readings
    wrong = sorted(codes - distinct) or sorted(codes - ascending)
    if wrong:
        shown = ", ".join(f"{code:#06b}" for code in wrong)
        yield Finding(
            "metadata-code",
            ERROR,
            site.place,
            site.function.name,
            f"the metadata is {word & 0xFFFFFFFF:#010x}, which holds the code {shown}: "
            + (
                "it names no distinct elements of a chunk"
                if codes - distinct
                else "its indices do not ascend"
            ),
            sparsity.source.section,
            "one of " + ", ".join(f"{code:#06b}" for code in sorted(ascending)),
            readings=EVERYWHERE if settled or codes - distinct else ((("metadata-order", "ascending"),),),
        )


def _descriptor(
    site: Site,
    statement: DecodedStatement,
    values: RegisterIntervals,
    known: KnownBits,
    operand: NamedOperand,
    descriptor: Descriptor,
    judge: Judge,
) -> Iterator[Finding]:
    name, value = operand.name, values.operand(operand.text, statement.scope)
    function, section = site.function.name, descriptor.source.section
    start = descriptor.field_of("start")
    unit = 0 if start is None else descriptor.fields[start].unit  # a mask begins nowhere
    word = value.constant
    if word is None and value.base is not None and 1 << value.shift == unit:
        word = value.fields
    if word is None and start is not None:
        word = _beside(known.of(operand.text, site.index), descriptor.fields[start])
    if word is None:
        return
    fault = reserved(descriptor, word & (1 << descriptor.bits) - 1 & ~sum(1 << b for b in descriptor.unnamed))
    if fault:
        yield Finding("descriptor-field", ERROR, site.place, function, f"{name}: {fault}", section)
        return
    if descriptor.rules:
        yield from _word(site, name, descriptor, word, {}, judge)
    if value.base is None or not unit:
        return
    variable = site.variable(value.base)
    if value.low == value.high and value.low % unit:
        yield Finding(
            "descriptor-alignment",
            ERROR,
            site.place,
            function,
            f"{name}: the matrix begins at byte {value.low} of {value.base}, not at a multiple of {unit}",
            section,
        )
    elif variable is not None and variable.align < unit:
        yield Finding(
            "descriptor-alignment",
            LIKELY,
            site.place,
            function,
            f"{name}: {value.base} is aligned to {variable.align} bytes; "
            f"a matrix begins at a multiple of {unit}",
            section,
        )
