"""ptxmma list: every mnemonic, with the versions and targets that have it."""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Iterable
from typing import Any

from ..spec.api import load
from ..spec.gates import EffectiveGate
from ..spec.quantities import counted
from ..spec.selection import select, unmatched
from ..spec.specification import Specification
from ..spec.variants import Variant

__all__ = ["add", "entry"]


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument("pattern", nargs="?", help="a mnemonic, a part of one, or a pattern with *")
    parser.add_argument("--ptx", metavar="V", help="only what this PTX ISA version has")
    parser.add_argument("--target", metavar="T", help="only what this target has")
    parser.add_argument("--format", choices=("text", "json", "csv"), default="text")
    parser.set_defaults(run=run)


def entry(variant: Variant) -> dict[str, Any]:
    """One variant as the JSON output has it."""
    gate = variant.gate
    operands = variant.row.family.instruction.operands
    forms = []
    for form in variant.forms:
        vectors = {
            name: variant.evaluate(formula)
            for name in form.operands
            if operands[name].accepts == ("vector",) and (formula := operands[name].registers)
        }
        forms.append({"a": form.a, "operands": list(form.operands), "vectors": vectors})
    return {
        "ptx": variant.mnemonic,
        "instruction": variant.row.family.instruction.instruction,
        "row": variant.row.row.id,
        "since": str(gate.since),
        "deprecated": str(gate.deprecated) if gate.deprecated else None,
        "removed": str(gate.removed) if gate.removed else None,
        "targets": [name for name, _ in gate.targets],
        "operand_forms": forms,
    }


_COLUMNS = ("mnemonic", "operands", "a", "instruction", "row", "since", "deprecated", "removed", "targets")


def _print_csv(specification: Specification, chosen: Iterable[Variant]) -> None:
    """A line for each operand form, with the gates of the mnemonic and of the form together."""
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(_COLUMNS)
    for variant in chosen:
        gates = list(variant.row.gates_on(variant.fields))
        for form in variant.forms:
            gate = specification.isa.effective([*gates, form.gate]) if form.gate else variant.gate
            targets = " ".join(f"{name}>={since}" for name, since in gate.targets)
            where = variant.row.family.instruction.instruction, variant.row.row.id
            versions = gate.since, gate.deprecated or "", gate.removed or ""
            out.writerow(
                (variant.mnemonic, ", ".join(form.operands), form.a or "", *where, *versions, targets)
            )


def describe_gate(gate: EffectiveGate) -> str:
    """The versions and targets of a gate in a few words."""
    first = [name for name, _ in gate.targets]
    shown = ", ".join(first[:3]) + (f" … {first[-1]}" if len(first) > 3 else "")
    return f"{gate.versions}; {shown}"


def run(args: argparse.Namespace) -> int:
    """Print the list; exit code 1 when nothing matches."""
    from .witness_lines import rows_line

    specification = load()
    chosen = list(select(specification, args.pattern, args.ptx, args.target))
    if args.format == "json":
        print(json.dumps([entry(variant) for variant in chosen], indent=1))
        if not chosen:
            print(unmatched(specification, args.pattern, args.ptx, args.target), file=sys.stderr)
        return 0 if chosen else 1
    if not chosen:
        nothing = unmatched(specification, args.pattern, args.ptx, args.target)
        print(nothing, file=sys.stderr if args.format == "csv" else sys.stdout)
        return 1
    if args.format == "csv":
        _print_csv(specification, chosen)
        return 0
    width = max(len(variant.mnemonic) for variant in chosen)
    lines = [f"{v.mnemonic:<{width}}  {describe_gate(v.gate)}" for v in chosen]
    forms = sum(1 for variant in chosen for _ in variant.forms)
    counts = f"{counted(len(chosen), 'mnemonic')}, {counted(forms, 'operand form')}"
    lines.append(f"{counts}; {rows_line(variant.row.id for variant in chosen)}")
    print("\n".join(lines))
    return 0
