"""ptxmma show: one variant on one screen: operands, gates, contracts, layouts, sources."""

from __future__ import annotations

import argparse
import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..spec.api import find, load
from ..spec.arithmetic import known_arithmetic
from ..spec.chip_arithmetic import SumBlock
from ..spec.editions import cited
from ..spec.errors import Question
from ..spec.expressions import source
from ..spec.model import Form
from ..spec.quantities import counted, one_of
from ..spec.specification import Specification
from ..spec.variants import OPAQUE, Variant
from .variant_layouts import variant_layouts

__all__ = ["add", "describe", "described_lines"]

_WIDTH = 120


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument("mnemonic", help="the variant, as `list` prints it")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.add_argument("--latex", action="store_true", help="print the formulas of its arithmetic")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print one variant."""
    specification = load()
    variant = find(args.mnemonic)
    if args.latex:
        return _print_latex(variant, args.format)
    if args.format == "json":
        print(json.dumps(describe(specification, variant), indent=1))
        return 0
    print("\n".join(described_lines(specification, variant)))
    return 0


def described_lines(specification: Specification, variant: Variant, width: int = _WIDTH) -> list[str]:
    """What the command prints of a variant."""
    return list(_lines(specification, variant, describe(specification, variant), width))


def _lines(
    specification: Specification, variant: Variant, record: Mapping[str, Any], width: int
) -> Iterator[str]:
    from .witness_lines import row_lines

    yield record["ptx"]
    yield f"  {record['title']} (row {record['row']})"
    yield f"  section {cited(specification.index, record['section'])}"
    targets = _targets(specification, record["gate"]["targets"])
    yield from _folded(f"  {variant.gate.versions} on ", targets, width)
    for form in record["forms"]:
        label = f" (A from {form['a']})" if form["a"] else ""
        yield from _folded(f"  form{label}: ", ", ".join(form["operands"]) or "no operands", width)
        if form["gate"]:
            yield from _folded("    ", form["gate"], width)
    if record["operands"]:
        yield "  operands"
    for name, text in record["operands"].items():
        yield from _folded(f"    {name:<14} ", text, width)
    if record["layouts"]:
        yield "  layouts"
        for name, layout in record["layouts"].items():
            yield from _folded(f"    {name:<14} ", f"{layout['id']}: {layout['formula']}", width)
            if layout["source"]:
                yield from _folded(f"    {'':<14}   ", layout["source"], width)
    if record["codes"]:
        yield "  metadata codes"
        yield f"    {' '.join(record['codes'])}"
    for family, known in record["arithmetic"].items():
        yield f"  arithmetic on {family}: {known['note']}"
        for name, text in known["steps"].items():
            yield from _folded(f"    {name:<14} ", text, width)
    for kind in ("numerical", "execution"):
        if record[kind]:
            yield f"  {kind} contract"
            for clause, says in record[kind].items():
                yield from _folded(f"    {clause:<26} ", says, width)
    yield "  witnesses"
    for who, says in row_lines(record["witnesses"]):
        yield from _folded(f"    {who:<14} ", says, width)


def _print_latex(variant: Variant, form: str) -> int:
    """Print the arithmetic of every chip family that it is known for."""
    from ..formal.arithmetic_latex import arithmetic_latex

    if form != "text":
        raise Question("--latex prints the formulas of the arithmetic, in no other format")
    known = known_arithmetic(variant)
    if not known:
        raise Question(f"no arithmetic of {variant.mnemonic} is known")
    for one in known:
        print(f"% {variant.mnemonic} on {one.family}")
        print("\n".join(arithmetic_latex(one)))
    return 0


def _folded(head: str, text: str, width: int) -> Iterator[str]:
    """A line, folded behind its head where it is long."""
    folded = textwrap.wrap(text, width - len(head), break_long_words=False, break_on_hyphens=False)
    yield head + f"\n{' ' * len(head)}".join(folded)


def _targets(specification: Specification, names: Sequence[str]) -> str:
    """Targets by name; all from one on are `sm_80 and every later one, up to sm_121a (28 targets)`."""
    known = list(specification.index.targets)
    if len(names) > 3 and list(names) == known[known.index(names[0]) :]:
        return f"{names[0]} and every later one, up to {names[-1]} ({len(names)} targets)"
    return ", ".join(names)


def describe(specification: Specification, variant: Variant) -> dict[str, Any]:
    """Everything that the specification says about one variant."""
    from .witness_lines import variant_witnesses

    instruction = variant.row.family.instruction
    row = variant.row.row
    forms = list(variant.forms)
    used = dict.fromkeys(name for form in forms for name in form.operands)
    for name in list(used):
        used.update(dict.fromkeys(instruction.operands[name].elements or ()))
    gate = variant.gate
    layouts = {
        operand: _layout(specification, identifier)
        for operand, identifier in variant_layouts(specification, variant)
    }
    return {
        "ptx": variant.mnemonic,
        "title": instruction.title,
        "row": variant.row.id,
        "section": (row.source or instruction.source).section,
        "gate": {
            "since": str(gate.since),
            "deprecated": str(gate.deprecated) if gate.deprecated else None,
            "removed": str(gate.removed) if gate.removed else None,
            "targets": [name for name, _ in gate.targets],
        },
        "forms": [
            {"a": form.a, "gate": _form_gate(specification, variant, form), "operands": list(form.operands)}
            for form in forms
        ],
        "operands": {name: describe_operand(variant, name) for name in used},
        "layouts": layouts,
        "codes": _codes(specification, variant),
        "arithmetic": _arithmetic(variant),
        "numerical": {name: specification.clauses[name].says for name in row.numerical},
        "execution": {name: specification.clauses[name].says for name in instruction.execution},
        "witnesses": variant_witnesses(specification, variant),
    }


def _form_gate(specification: Specification, variant: Variant, form: Form) -> str | None:
    """Since when and where a form is legal, in words; None where it is wherever the mnemonic is."""
    if form.gate is None:
        return None
    gate = specification.isa.effective([*variant.row.gates_on(variant.fields), form.gate])
    return f"{gate.versions} on {_targets(specification, [name for name, _ in gate.targets])}"


def describe_operand(variant: Variant, name: str) -> str:
    """What an operand accepts."""
    operand = variant.row.family.instruction.operands[name]
    text = operand.what
    if operand.registers:
        count = variant.evaluate(operand.registers)
        text += f"; {counted(count, 'register')}"
    types = variant.register_types(name)
    if types:
        text += f"{'' if operand.registers else ';'} of type {' or '.join(f'.{name}' for name in types)}"
    if operand.values:
        values = variant.values(operand)
        text += f"; {one_of(values)}"
    return text


def _arithmetic(variant: Variant) -> dict[str, Any]:
    """What its sums come to, by chip family: how that is known, and each step in words; none if not known."""
    return {
        known.family: {
            "note": known.row.source.note or known.row.source.section,
            "steps": {block.step.id: _step(block) for block in known.blocks},
        }
        for known in known_arithmetic(variant)
    }


def _step(block: SumBlock) -> str:
    """A step in words: what its model does, and the model's integers."""
    integers = ", ".join(f"{name} {value}" for name, value in block.integers.items())
    return f"{block.model.what} ({integers})" if integers else block.model.what


def _codes(specification: Specification, variant: Variant) -> list[str]:
    """The metadata codes that the text allows; none for a dense variant."""
    if variant.row.row.sparsity is None:
        return []
    width = specification.sparsity_of(variant).code_bits
    return [f"0b{code:0{width}b}" for code in specification.codes_of(variant)]


def _layout(specification: Specification, identifier: str) -> dict[str, Any]:
    if identifier == OPAQUE:
        return {"id": OPAQUE, "formula": "unspecified by the text (9.7.14.4.1)", "source": None}
    layout = specification.layouts[identifier]
    formula = ", ".join(f"{name} = {source(tree)}" for name, tree in layout.trees.items())
    condition = f" where {source(layout.condition)}" if layout.condition is not None else ""
    claim = layout.layout.source
    note = f"; {claim.note}" if claim.note else ""
    return {
        "id": identifier,
        "formula": formula + condition,
        "source": f"{claim.section} ({claim.origin}{note})",
    }
