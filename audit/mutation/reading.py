"""Judges a slip in one entry of the register, or in the index, by the loader and by records of that alone.

It changes no state of the process, so one process judges many slips one after another.
"""

from __future__ import annotations

import time

from ...formal.mutation.slips import Slip, changed_root
from ...ledger.contradiction_file import Contradiction, check_contradiction
from ...ledger.covered_meaning import cover_the_same
from ...ledger.target_dates import target_faults
from ...ledger.wheel_record import wheel_faults
from ...spec.errors import PtxmmaError, SpecError
from ...spec.gates import Isa
from ...spec.index import INDEX, Index
from ...spec.loading import checked_index
from ...spec.nodes import structure
from .baseline import Baseline
from .corpus import READERS, noticed_by
from .meaning import plain
from .trial import SlipOutcome, SlipVerdict

__all__ = ["READ_ALONE", "reading"]

REGISTER = "contradictions.yaml"
READ_ALONE = (REGISTER, INDEX)
EntryVerdict = tuple[SlipVerdict, str, str]


def reading(base: Baseline, slip: Slip) -> SlipOutcome | None:
    """The outcome of a slip in such a file; None where the other witnesses have to be asked."""
    begun = time.process_time()
    try:
        said = _read(base, slip) if slip.file == REGISTER else _read_index(base, slip)
    except SpecError as error:
        said = ("noticed" if error.place is not None else "placeless"), "loader", error.render()
    except PtxmmaError as error:
        said = "placeless", "loader", str(error)
    return SlipOutcome(slip, *said, time.process_time() - begun) if said else None


def _read(base: Baseline, slip: Slip) -> EntryVerdict | None:
    if slip.kind == "text" and READERS in noticed_by(slip.field):
        return "readers", READERS, "documentation"
    root = changed_root(base.corpus.nodes[REGISTER][0], slip)
    if slip.kind == "entry dropped" and len(slip.at) == 1:
        (identifier,) = base.entries.keys() - {key.value for key, _ in root.value[slip.at[0]][1].value}
        return _observed(base, identifier, None)
    if len(slip.at) < 2:
        return None
    key, node = root.value[slip.at[0]][1].value[slip.at[1]]
    entry = structure(node, Contradiction, REGISTER)
    check_contradiction(key.value, entry, base.specification)
    if plain(entry) == base.entries[key.value]:
        return "equal", "loader", "the same meaning"
    said = _observed(base, key.value, entry)
    if said is None and cover_the_same(base.specification, base.register.entries[key.value], entry):
        return "equal", "loader", "the same statements are covered"
    return said


def _read_index(base: Baseline, slip: Slip) -> EntryVerdict | None:
    if slip.kind == "text" and READERS in noticed_by(slip.field):
        return "readers", READERS, "documentation"
    root = changed_root(base.corpus.nodes[INDEX][0], slip)
    index = checked_index(base.corpus.root, structure(root, Index, INDEX))
    if plain(index) == plain(base.specification.index):
        return "equal", "loader", "the same meaning"
    faults = (*wheel_faults(index, base.wheels), *target_faults(Isa(index), base.records, base.register))
    return ("noticed", "observations", str(faults[0])) if faults else None


def _observed(base: Baseline, identifier: str, entry: Contradiction | None) -> EntryVerdict | None:
    fault = base.register_faults.after(identifier, entry)
    return ("noticed", "observations", str(fault)) if fault is not None else None
