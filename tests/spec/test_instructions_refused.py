"""What files cannot say is refused with its place: gates, forms, operands, layouts, registers, codes."""

from pathlib import Path

import pytest

from ptxmma.spec import instead
from ptxmma.spec.api import load
from ptxmma.spec.cache import ROOT
from ptxmma.spec.errors import SpecError
from ptxmma.spec.loading import load_files
from ptxmma.spec.nodes import compose

NAMES = ("mma", "wmma.load.multiplicand", "wgmma.mma_async", "stmatrix")
MMA, LOADS, WGMMA, STORES = (f"spec/instructions/{name}.yaml" for name in NAMES)
TF32 = 'gate: {since: "7.0", deprecated: null, removed: null, targets: [sm_80]}\n    count: 1\n    forms: [plain]'
# File, text, the text in its place, words of the error.
SLIPS = [
    (MMA, TF32, TF32.replace("7.0", "6.5"), "begins with PTX ISA 6.5, and its first target with 7.0"),
    (MMA, TF32, TF32.replace("[sm_80]", "[sm_80, sm_90]"), "names sm_90, which includes sm_80"),
    (MMA, TF32, TF32.replace('"7.0"', '"6.4"').replace("80", "70"), "says what the one above it says"),
    (MMA, TF32, TF32.replace("sm_80", "sm_50"), "is open on sm_50, and the one above it is not"),
    (
        MMA,
        TF32,
        TF32.replace('"7.0"', '"6.3"').replace("80", "70"),
        "begins with PTX ISA 6.3, and the one above",
    ),
    (MMA, TF32, TF32.replace("[plain]", "[]"), "has no form"),
    (MMA, TF32, TF32.replace("[plain]", "[plain, scaled]"), "no stype that it contains"),
    (MMA, "forms: [scaled]", "forms: [scaled, plain]", "has a layout of scale-a, and the form plain no such"),
    (MMA, ", D: mma.m8n8.c}", "}", "has the operand d (in the form plain), and no layout of it"),
    (
        MMA,
        "accepts: [vector],\n    elements",
        "accepts: [vector, negated],\n    elements",
        "has elements, and accepts",
    ),
    (MMA, "registers: 1, types: [any32]", "registers: 1, types: []", "in registers of no type"),
    (MMA, "types: [integer16]", "types: [any32]", "are in registers of other types than one another"),
    (MMA, "k * n * width // (32 * word)", "k * n * width * (32 * word)", "at most the 255 that a thread has"),
    (
        MMA,
        "accepts: [vector], holds: atype",
        "accepts: [vector, negated], holds: atype",
        "is not a predicate",
    ),
    (
        "spec/sparsity.yaml",
        "0b1100, 0b1001",
        "0b1001, 0b1100",
        "not in the order of the columns that they store",
    ),
    (
        "spec/instructions/mma.sp.yaml",
        "bind: {k: 64, satfinite: [none, satfinite]",
        "bind: {k: 64, kind: [none, satfinite]",
        ".satfinite is bound as kind in the row mma.sp/m16n8k64.integer, and as satfinite in another",
    ),
    (STORES, ",\n    matrix: {matrix: matrices, row: n}}", "}", "nothing says what the layout of p covers"),
    (
        STORES,
        "A: matrix.m16n8.trans, p: matrix.rows.8",
        "A: matrix.m16n8.trans",
        "the operand p (in the form plain), and no layout of it",
    ),
    (
        "spec/sparsity.yaml",
        "granule: 2",
        "granule: 3",
        "an index of 1:2 has 4 bits, and an element 3 positions",
    ),
    (LOADS, "f64: [b64, f64]", "f64: []", "in registers of no type"),
    (LOADS, "f64: [b64, f64]", "s32: [b64, f64]", "has no operand with elements .s32"),
    (
        WGMMA,
        "e5m2: [b32, f16x2]",
        "e5m2: [any32]",
        "the registers of .e5m2 are those that specs.yaml gives it",
    ),
]


@pytest.mark.parametrize(("file", "old", "new", "words"), SLIPS)
def test_what_cannot_be_said_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, file: str, old: str, new: str, words: str
) -> None:
    text = (ROOT / file).read_text(encoding="utf-8")
    assert old in text
    changed = tmp_path / "changed.yaml"
    changed.write_text(text.replace(old, new, 1), encoding="utf-8")
    monkeypatch.setattr(instead, "_KEPT", {ROOT: instead.KeptFiles(load(), frozenset({file}))})
    monkeypatch.setattr(instead, "_NODES", {ROOT / file: compose(changed, file)})
    with pytest.raises(SpecError) as refused:
        load_files(ROOT)
    error = refused.value
    assert words in error.what or words in (error.right or "")
    assert error.place is not None and error.place.file == file
    assert error.right
