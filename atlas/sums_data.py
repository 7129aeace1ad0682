"""The arithmetic of a chip as data: element types, models as JavaScript text, and what each mnemonic adds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..gen.arithmetic.type_sets import TypeSet, type_sets
from ..gen.javascript_reading import javascript_text
from ..spec.arithmetic import arithmetic, negatable
from ..spec.arithmetic_records import ArithmeticModel, ArithmeticStage
from ..spec.chip_arithmetic import FACTORS, PARTS, SumBlock, constants_of
from ..spec.selection import summing
from ..spec.specification import Specification

__all__ = ["sums_data"]


def sums_data(specification: Specification, target: str) -> dict[str, Any]:
    """The data of scripts/sums.js and scripts/explained.js; integers beyond 2^53 stand as text.

    `targets` are sets of targets: each mnemonic has the number of that which it is legal on.
    `measured` are the targets of the chip family of `target`.
    """
    sets = list(type_sets(specification, summing(specification, None, target), target))
    blocks = [block for one in sets for block in one.arithmetic.blocks]
    used = {name for one in sets for name in one.arithmetic.types.values()} | {one.result for one in blocks}
    (measured,) = (family.targets for family in arithmetic().families if target in family.targets)
    targets: dict[tuple[str, ...], int] = {}
    described = [_set(one, targets) for one in sets]
    return {
        "target": target,
        "measured": measured,
        "targets": list(targets),
        "types": {name: _type(specification, name) for name in sorted(used)},
        "models": {one.step.model: _model(one.model) for one in blocks},
        "sets": described,
    }


def _type(specification: Specification, name: str) -> dict[str, Any]:
    """A type: its width and kind, its format if it has one, and what formulas know of it."""
    known = specification.index.types[name]
    form = specification.formats.get(name)
    return {
        "bits": known.bits,
        "kind": known.kind,
        "format": form
        and {
            key: getattr(form, key)
            for key in ("exponent", "fraction", "bias", "specials", "signed", "subnormals", "ignored")
        },
        "constants": constants_of(specification, name),
    }


def _model(model: ArithmeticModel) -> dict[str, Any]:
    return {"what": model.what, "offset": model.offset, "stages": [_stage(one) for one in model.stages]}


def _stage(stage: ArithmeticStage) -> dict[str, Any]:
    """A stage; its formulas read the names of a scope `s`, as BigInts."""
    formulas = {
        name: javascript_text(formula.tree, lambda read: f"s.{read}", big=True)
        for name, formula in stage.let.items()
    }
    return {"each": stage.each, "reduce": stage.reduce, "let": formulas}


def _set(one: TypeSet, targets: dict[tuple[str, ...], int]) -> dict[str, Any]:
    """Mnemonics with the same sums, by whether they negate A and B; adds their targets to `targets`."""
    known = one.arithmetic
    mnemonics: dict[str, list[str]] = {}
    legal: dict[str, list[int]] = {}
    for variant in one.variants:
        parts = "".join(part for part in FACTORS if negatable(variant, part))
        mnemonics.setdefault(parts, []).append(variant.mnemonic)
        legal.setdefault(parts, []).append(
            targets.setdefault(tuple(dict(variant.gate.targets)), len(targets))
        )
    return {
        "row": known.row.id,
        "note": known.row.source.note or known.row.source.section,
        "types": {part: known.types[part] for part in PARTS},
        "products": known.products,
        "mnemonics": mnemonics,
        "legal": legal,
        "blocks": [_block(block) for block in known.blocks],
    }


def _block(block: SumBlock) -> Mapping[str, Any]:
    return {
        "model": block.step.model,
        "names": {name: str(value) for name, value in block.names.items()},
        "products": block.products,
        "addends": block.addends,
        "types": block.types,
        "result": block.result,
    }
