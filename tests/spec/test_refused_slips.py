"""Slips that once ended a command in a traceback: each is refused at load, with a place and what would be right."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ptxmma.spec import effects, ordering
from ptxmma.spec.errors import SpecError
from ptxmma.spec.loading import load_files

ADDRESSES, DESCRIPTORS = "spec/addresses.yaml", "spec/descriptors.yaml"
BRIDGES = "spec/layouts/bridges.yaml"
SHARED = "spec/layouts/shared_memory.yaml"
# File, text, the text in its place, and words of the error.
SLIPS = [
    (
        "spec/ordering/rules.yaml",
        "\n  first-fence:",
        "\n  first-fences:",
        "the rule 'first-fence' is missing",
    ),
    (
        "spec/ordering/switches.yaml",
        "\n  wait-scope:",
        "\n  wait-scopes:",
        "the switch 'wait-scope' is missing",
    ),
    (
        "spec/ordering/litmus.yaml",
        "same-shape=m-n: []",
        "same-shape=m: []",
        "'same-shape=m' is not a setting of a switch",
    ),
    (
        "spec/ordering/litmus.yaml",
        "hazards: [fence-after-mma]",
        "hazards: [fence-after-mm]",
        "there is no rule 'fence-after-mm'",
    ),
    (
        "spec/ordering/phases.yaml",
        "\n  barrier-overrun:",
        "\n  barrier-overruns:",
        "the rule 'barrier-overrun' is missing",
    ),
    (
        "spec/ordering/phases.yaml",
        "hazards: [barrier-overrun]",
        "hazards: [first-fence]",
        "there is no rule 'first-fence' of phases",
    ),
    ("spec/effects.yaml", "calls: [call]", "calls: [call, abs]", "abs stands in results and again in calls"),
    (
        "specs.yaml",
        "tf32: {bits: 32, kind: float",
        "tf32: {bits: 32, kind: scale",
        "tf32 is of the kind scale",
    ),
    ("specs.yaml", "tf32: {bits: 32, kind: float", "tf32: {bits: 32, kind: bits", "tf32 is of the kind bits"),
    ("specs.yaml", 'ptx: "6.3"', 'ptx: "5.2"', "PTX ISA 5.2 stands behind 6.2"),
    ("specs.yaml", 'isa: "9.5"', 'isa: "9.4"', "the newest of the releases 9.5"),
    ("specs.yaml", "[aggr_smem_size]", "[aggr_smem_sise]", "there is no special register 'aggr_smem_sise'"),
    (
        "specs.yaml",
        'gate: {since: "9.4", deprecated: null, removed: null, targets: [sm_80]}',
        'gate: {since: "6.9", deprecated: null, removed: null, targets: [sm_80]}',
        "its first target with 7.0",
    ),
    (
        "spec/instructions/wmma.mma.yaml",
        "A: wmma.load.a",
        "A: wmma.load.c",
        "wmma.load.c moves no fragment A",
    ),
]


@pytest.mark.parametrize(("file", "old", "new", "words"), SLIPS, ids=lambda value: str(value).strip())
def test_it_is_refused_at_its_place(files: Path, file: str, old: str, new: str, words: str) -> None:
    text = (files / file).read_text(encoding="utf-8")
    assert text.count(old) == 1
    (files / file).write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(SpecError) as refused:
        load_files(files)
        ordering.read(files)
        ordering.litmus_tests_of(files)
        ordering.phases_of(files)
        effects.read(files)
    assert words in refused.value.what
    assert re.match(rf"{re.escape(file)}:\d+:\d+: ", refused.value.render()) and refused.value.right


# A line of a file with the first occurrence of one word, and what is written instead.
OTHERS = [
    (
        "spec/instructions/mma.yaml",
        " holds: dtype,",
        "",
        "d is the fragment D, and no field says of which type",
    ),
    ("spec/sparsity.yaml", "run: 1", "run: 0", "in runs of 0"),
    ("spec/sparsity.yaml", "index_bits: 2", "index_bits: 0", "indices of 0 bits"),
    ("spec/instructions/mma.yaml", "accepts: [vector]", "accepts: []", "accepts nothing"),
    (ADDRESSES, "widths: {none: 16}", "widths: {32B: 32}", "the widths of the modes of the rule are 32"),
    (ADDRESSES, "{block: stride-dimension", "{column: stride-dimension", "stands twice"),
    (ADDRESSES, "column: leading-dimension-byte-offset}", "x: leading-dimension-byte-offset}", "the strides"),
    (ADDRESSES, "block: stride-dimension-byte-offset", "block: start-address", "no stride of the descriptor"),
    (ADDRESSES, "e5m2, s8, u8, b1]", "e5m2, s8, u8]", "the rule is for elements of f16, bf16, tf32"),
    (
        ADDRESSES,
        "types: [f16, bf16]",
        "types: [f16, bf16, tf32]",
        "the sizes of the types of the rule are 2, 4",
    ),
    (DESCRIPTORS, "64B: 2, 32B: 3", "64B: 2, 32B: 2", "the values of swizzle-mode are"),
    (DESCRIPTORS, "128B: 1, 64B", "256B: 1, 64B", "the field swizzle-mode has the values"),
    (
        SHARED,
        "    params: {W: [16], bytes: [2]}",
        "    kind: injection\n    params: {W: [16], bytes: [2]}",
        "injection",
    ),
    (SHARED, "cases: [W]", "cases: [W, bytes]", "bytes, which is taken one value at a time, has one value"),
    ("spec/instructions/ldmatrix.yaml", "x{matrices}", "x{}", "has a brace that is not a field's"),
    (
        "spec/instructions/tcgen05.cp.yaml",
        "src_fmt: [none, b6x16_p32",
        "src_fmt: [s4, b6x16_p32",
        "is in no mnemonic of the row whole",
    ),
    (
        "spec/instructions/tcgen05.ld.yaml",
        "shape: 16x32bx2, words: 1",
        "shape: 16x32bx2, words: 16x32bx2",
        "'words * repeat' cannot be evaluated with",
    ),
    ("specs.yaml", "includes: [sm_103, sm_100f]", "includes: [sm_103a, sm_100f]", "a target includes itself"),
    ("spec/instructions/mma.yaml", "part: C", "part: B", "two operands of the form"),
    ("spec/instructions/ldmatrix.yaml", "part: address", "part: D", "accepts address and has the part D"),
    (
        "spec/layouts/mma.yaml",
        "thread_id: [0,",
        "thread_id: [-1,",
        "the parameter thread_id can be -1",
    ),
    (
        "spec/instructions/wmma.mma.yaml",
        "word: 32}",
        "word: 31}",
        "the registers of d in the row m16n16k16.f16 have 31 bits",
    ),
    (BRIDGES, "col: col}\n    holds: false", "col: col + 1}\n    holds: false", "col + 1 differs, whatever"),
    (
        BRIDGES,
        "params: {w: [0, 1, 2, 3]}\n    left",
        "left",
        "the name 'w' is not bound here (in '32*w + t')",
    ),
    (
        "spec/layouts/bridges.yaml",
        "params: {w: [0, 1, 2, 3]",
        "params: {w: [0, 1, 3]",
        "the values of w have a gap",
    ),
]


@pytest.mark.parametrize(("file", "old", "new", "words"), OTHERS, ids=lambda value: str(value))
def test_the_first_of_several(files: Path, file: str, old: str, new: str, words: str) -> None:
    text = (files / file).read_text(encoding="utf-8")
    assert old in text
    (files / file).write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(SpecError, match=re.escape(words)) as refused:
        load_files(files)
    assert re.match(rf"{re.escape(file)}:\d+:\d+: ", refused.value.render())


# A type and its format: what the file says of both, what is written instead, and what stands at the place.
AGREEMENT = [
    (
        "specs.yaml",
        "tf32: {bits: 32, kind: float",
        "tf32: {bits: 32, kind: signed",
        "tf32 is of the kind signed, and has a format",
        "specs.yaml",
    ),
    (
        "specs.yaml",
        "e5m2: {bits: 8, kind: float",
        "e5m2: {bits: 8, kind: scale",
        "e5m2 is of the kind scale, which its format's sign contradicts",
        "specs.yaml",
    ),
    (
        "spec/numerics.yaml",
        "bias: 7, specials: nan, signed: false",
        "bias: 7, specials: nan",
        "ue4m3 is of the kind scale, which its format's sign contradicts",
        "specs.yaml",
    ),
]


@pytest.mark.parametrize(("file", "old", "new", "what", "at"), AGREEMENT)
def test_a_type_and_its_format_agree(files: Path, file: str, old: str, new: str, what: str, at: str) -> None:
    text = (files / file).read_text(encoding="utf-8")
    assert text.count(old) == 1
    (files / file).write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(SpecError) as refused:
        load_files(files)
    place = refused.value.place
    assert (refused.value.what, place and place.file) == (what, at)
    assert refused.value.right == "float for a signed format, scale for an unsigned one"
    assert place is not None
    line = (files / at).read_text(encoding="utf-8").split("\n")[place.line - 1]
    assert line[: place.column - 1].strip() == f"{what.split()[0]}:" and line[place.column - 1] == "{"
