"""One element of D explained, as text: a line a term, the window, the sum, the result, the exact value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ...spec import html
from ...spec.quantities import counted
from ...spec.specification import Specification
from ...spec.variants import Variant
from .element_codes import number_text
from .explanations import ExplainedBlock, ExplainedTerm, Explanation

__all__ = [
    "ExplainedElement",
    "TermRow",
    "block_notes",
    "block_rows",
    "explanation_end",
    "explanation_head",
    "explanation_text",
]


@dataclass(frozen=True)
class ExplainedElement:
    """An explanation with its variant and target; as text, what `ptxmma explain` prints."""

    specification: Specification
    variant: Variant
    target: str
    explanation: Explanation

    def __str__(self) -> str:
        return explanation_text(self)

    def __repr__(self) -> str:
        return f"ExplainedElement({self.variant.mnemonic}: {' '.join(explanation_end(self))})"

    def _repr_html_(self) -> str:
        """What a notebook shows: a table of terms for each sum."""
        parts = [html.paragraph(line) for line in explanation_head(self)]
        for block in self.explanation.blocks:
            rows = block_rows(self, block)
            parts.append(html.paragraph(block.steps.block.model.what))
            parts.append(html.table(("term", "patterns", "value", "of which is"), rows))
            parts += [html.paragraph(note) for note in block_notes(self, block)]
        return html.scrolled("".join([*parts, *(html.paragraph(line) for line in explanation_end(self))]))


# A term's name, its patterns, its value, and what was cut off.
TermRow = tuple[str, str, str, str]


def explanation_text(element: ExplainedElement) -> str:
    """The whole explanation."""
    found = element.explanation
    lines = list(explanation_head(element))
    for number, block in enumerate(found.blocks, 1):
        lines += ["", *_block_lines(element, number, block)]
    return "\n".join([*lines, "", *explanation_end(element)])


def explanation_head(element: ExplainedElement) -> Iterator[str]:
    """What is explained, and by which row of the arithmetic."""
    arithmetic = element.explanation.arithmetic
    yield f"{element.variant.mnemonic} on {element.target}: {counted(arithmetic.products, 'product')}"
    yield f"row {arithmetic.row.id}: {arithmetic.row.source.note or arithmetic.row.source.section}"


def explanation_end(element: ExplainedElement) -> Iterator[str]:
    """D, and the exact value."""
    found = element.explanation
    code = _code(element, found.arithmetic.types["D"], found.code)
    yield f"D = {code} = {number_text(found.value)}"
    if found.exact is None:
        return
    if found.exact == found.value:
        yield "exact: the same"
    elif isinstance(found.value, Fraction):
        yield f"exact: {number_text(found.exact)}; D - exact = {number_text(found.value - found.exact)}"
    else:
        yield f"exact: {number_text(found.exact)}"


def block_rows(element: ExplainedElement, block: ExplainedBlock) -> list[TermRow]:
    """The terms of a sum but for products that are 0; neighbours that differ in their name alone are one."""
    rows = [_row(element, term) for term in block.terms if term not in _zeros(block)]
    found: list[TermRow] = []
    firsts: list[str] = []
    for row in rows:
        if found and found[-1][1:] == row[1:] and row[0].startswith("k ") and firsts[-1].startswith("k "):
            found[-1] = (f"{firsts[-1]}..{row[0].removeprefix('k ')}", *row[1:])
        else:
            found.append(row)
            firsts.append(row[0])
    return found


def block_notes(element: ExplainedElement, block: ExplainedBlock) -> Iterator[str]:
    """What a sum leaves out, its window, what it comes to, and its result."""
    zeros = _zeros(block)
    if zeros:
        yield f"{counted(len(zeros), 'product')} {'is' if len(zeros) == 1 else 'are'} 0"
    if block.quantum is not None:
        yield f"window: the greatest exponent is {block.top}; its last place is 2^{block.quantum}"
    if block.total is not None:
        yield f"sum: {number_text(block.total)}"
    yield f"result: {_code(element, block.steps.block.result, block.steps.code)} = {number_text(block.value)}"


def _block_lines(element: ExplainedElement, number: int, block: ExplainedBlock) -> Iterator[str]:
    several = len(element.explanation.blocks) > 1
    yield f"{f'sum {number}: ' if several else ''}{block.steps.block.model.what}"
    rows = block_rows(element, block)
    widths = [max((len(row[at]) for row in rows), default=0) for at in range(3)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        yield "  " + "  ".join([*cells, row[3]]).rstrip()
    for note in block_notes(element, block):
        yield f"  {note}"


def _zeros(block: ExplainedBlock) -> Sequence[ExplainedTerm]:
    return [term for term in block.terms if term.name.startswith("k ") and term.exact == 0]


def _row(element: ExplainedElement, term: ExplainedTerm) -> TermRow:
    patterns = " x ".join(_code(element, name, code) for name, code in term.codes)
    value = number_text(term.exact)
    if isinstance(term.exact, Fraction) and term.kept is not None and term.kept != term.exact:
        return term.name, patterns, f"= {value}", f"kept {number_text(term.kept)}"
    return term.name, patterns, f"= {value}", ""


def _code(element: ExplainedElement, name: str, code: int) -> str:
    """A bit pattern with the digits of its type."""
    digits = -(-element.specification.index.types[name].bits // 4)
    return f"{code:#0{digits + 2}x}"
