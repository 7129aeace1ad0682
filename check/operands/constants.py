"""Operands with one value on every path: sparsity metadata and matrix descriptors, held against the text."""

from __future__ import annotations

from collections.abc import Iterator

from ...spec.api import load
from ...spec.descriptor import decode
from ...spec.errors import Question
from ...spec.legality import Judge, Verdict
from ...spec.sparse import read_words, valid_codes
from ...spec.statements import SyntaxFault, argument_of
from ..findings import ERROR, LIKELY, STRICT, Finding
from ..ptx.source import Function, PtxModule, PtxStatement
from ..ptx.uses import operands_of
from ..values.intervals import Values

__all__ = ["constant_findings"]


def constant_findings(
    module: PtxModule, function: Function, values: Values, judge: Judge, held: list[int]
) -> Iterator[Finding]:
    """Invalid metadata codes, and descriptors with fields that no matrix can have."""
    for index in held:
        statement = function.statements[index]
        head = statement.opcode
        if not (".sp" in head or head.startswith("wgmma.mma_async")):
            continue
        named = judge.judge_mnemonic(head)
        if named.variant is None:
            continue
        verdict = Verdict(named.verdict, variant=named.variant)
        parts = operands_of(statement)
        forms = [form for form in named.variant.forms if len(form.operands) == len(parts)]
        if not forms:
            continue
        for name, text in zip(forms[0].operands, parts, strict=True):
            if name in ("sp-meta", "e", "metadata"):
                yield from _metadata(
                    module, function, statement, values, verdict, text, parts, forms[0].operands
                )
            elif name in ("a-desc", "b-desc") or (name == "a" and not text.startswith("{")):
                yield from _descriptor(module, function, statement, values, text, name)


def _metadata(
    module: PtxModule,
    function: Function,
    statement: PtxStatement,
    values: Values,
    verdict: Verdict,
    text: str,
    parts: list[str],
    names: tuple[str, ...],
) -> Iterator[Finding]:
    word = values.operand(text, statement.scope).constant
    variant = verdict.variant
    if word is None or variant is None or variant.row.row.sparsity is None:
        return
    specification = load()
    sparsity = specification.sparsity_of(variant)
    layout = specification.layout_of(variant, "metadata")
    selector = 0
    for name, part in zip(names, parts, strict=True):
        if "sel" in name or name == "f":
            try:
                selector = argument_of(part).value
            except SyntaxFault:
                return
    try:
        parameters = specification.selector_parameters(layout, selector)
    except Question:
        return  # legality says so
    words = [word & 0xFFFFFFFF] * layout.domain(parameters)["t"]
    codes = {code for row in read_words(sparsity, layout, parameters, words) for code in row}
    place = module.place(statement.offset)
    distinct = set(valid_codes(sparsity, "distinct"))
    ascending = set(specification.codes_of(variant))
    settled = "metadata-order" in variant.row.family.instruction.readings
    wrong = sorted(codes - distinct) or sorted(codes - ascending)
    if wrong:
        shown = ", ".join(f"{code:#06b}" for code in wrong)
        tier = ERROR if settled or codes - distinct else STRICT
        yield Finding(
            "metadata-code",
            tier,
            place,
            function.name,
            f"the metadata is {word & 0xFFFFFFFF:#010x}, which holds the code {shown}: "
            + (
                "it names no distinct elements of a chunk"
                if codes - distinct
                else "its indices do not ascend"
            ),
            sparsity.source.section,
            "one of " + ", ".join(f"{code:#06b}" for code in sorted(ascending)),
        )


def _descriptor(
    module: PtxModule, function: Function, statement: PtxStatement, values: Values, text: str, name: str
) -> Iterator[Finding]:
    value = values.operand(text, statement.scope)
    place = module.place(statement.offset)
    descriptor = load().descriptors["wgmma"]
    section = descriptor.source.section
    if value.constant is not None:
        try:
            decode(descriptor, value.constant & (1 << 64) - 1)
        except Question as fault:
            yield Finding("descriptor-field", ERROR, place, function.name, f"{name}: {fault}", section)
        return
    if value.base is None or value.shift != 4 or value.fields is None:
        return
    try:
        decode(descriptor, value.fields & (1 << 64) - 1)
    except Question as fault:
        yield Finding("descriptor-field", ERROR, place, function.name, f"{name}: {fault}", section)
        return
    variable = function.variable(value.base, statement.scope) or module.variables.get(value.base)
    if value.low == value.high and value.low % 16:
        yield Finding(
            "descriptor-alignment",
            ERROR,
            place,
            function.name,
            f"{name}: the matrix begins at byte {value.low} of {value.base}, which is no multiple of 16",
            section,
        )
    elif variable is not None and variable.align < 16:
        yield Finding(
            "descriptor-alignment",
            LIKELY,
            place,
            function.name,
            f"{name}: {value.base} is aligned to {variable.align} bytes; a matrix begins at a multiple of 16",
            section,
        )
