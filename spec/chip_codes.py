"""What metadata codes do on a chip, those too that the text calls invalid: which parts of B a slot meets."""

from __future__ import annotations

from .arithmetic_records import ArithmeticFile, ChipCodes
from .errors import SpecError
from .expressions import compiled, names
from .nodes import must_exist
from .sparse import positions
from .sparsity_records import Sparsity
from .specification import Specification

__all__ = ["check_codes", "parts_met"]

_NAMES = ("code", "slot", "piece")


def parts_met(codes: ChipCodes, sparsity: Sparsity, code: int) -> tuple[tuple[int, ...], ...]:
    """For each stored element of a chunk, the parts of B's column that its factor is put together of.

    Each element of B has `codes.pieces` parts, from its lowest bits on; part p is of column p // pieces.
    """
    part = compiled(codes.part.tree, _NAMES)
    return tuple(
        tuple(part(code, slot, piece) for piece in range(codes.pieces)) for slot in range(sparsity.slots)
    )


def check_codes(family: ArithmeticFile, specification: Specification) -> None:
    """Every coding has codes; parts lie in the chunk; a valid code meets whole elements, as the text has it.

    Raises SpecError at the first thing that is wrong.
    """
    for name, codes in family.codes.items():
        must_exist("sparsity", name, specification.sparsities, codes.place)
        if codes.pieces < 1:
            raise SpecError(f"pieces is {codes.pieces}", codes.place, "1 or more")
        for read in sorted(names(codes.part.tree) - set(_NAMES)):
            raise SpecError(f"{codes.part.text!r} reads {read}", codes.part.place, "code, slot and piece")
        _check_parts(codes, specification.sparsities[name], name)
    for name in specification.sparsities:
        if name not in family.codes:
            raise SpecError(
                f"codes of {name} are missing", family.place, "every coding of spec/sparsity.yaml"
            )


def _check_parts(codes: ChipCodes, sparsity: Sparsity, name: str) -> None:
    for code in range(1 << sparsity.code_bits):
        shown = f"the code 0b{code:0{sparsity.code_bits}b} of {name}"
        try:
            met = parts_met(codes, sparsity, code)
        except (ValueError, ZeroDivisionError) as error:
            what = f"{codes.part.text!r} cannot be evaluated for {shown}: {error}"
            raise SpecError(what, codes.part.place) from None
        last = sparsity.chunk * codes.pieces - 1
        for part in (part for parts in met for part in parts):
            if not 0 <= part <= last:
                raise SpecError(f"{shown} meets part {part}", codes.part.place, f"0 to {last}")
        if code in sparsity.codes:
            whole = tuple(
                tuple(range(at * codes.pieces, (at + 1) * codes.pieces)) for at in positions(sparsity, code)
            )
            if met != whole:
                what = f"{shown} is valid, and meets other elements than spec/sparsity.yaml says"
                raise SpecError(what, codes.part.place, f"the parts {whole}")
