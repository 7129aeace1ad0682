"""A slip of a chip's sums is equal only where a solver proves it; another bit anywhere is another sum."""

from __future__ import annotations

from pathlib import Path

import pytest

from ptxmma.audit.mutation.arithmetic_equality import same_sums
from ptxmma.formal.smt.solvers import ask
from ptxmma.spec import arithmetic
from ptxmma.spec.specification import Specification

FILE = "spec/arithmetic/sm_90.yaml"
TF32 = 'block: "i // 4 + 1"\n        adds: [C]\n        integers: {{window: "25", floor: "133", least: "0", digits: "{}"'
LEAST = 'adds: [zero]\n        integers: {{least: "{}"'


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("where(least + 1 > bias, least + 1 - bias, 0)", "where(least + 1 > bias, 1, 0)", False),
        ("nans == 1 and top_fraction", "nans <= 1 and top_fraction", True),  # a full fraction is not zero
        (TF32.format(64), TF32.format(32), True),  # no sum of 5 terms has 33 bits
        (TF32.format(64), TF32.format(23), False),
        (LEAST.format(2048), LEAST.format(1024), True),  # f16 has no number below 2^-24
        (LEAST.format(2048), LEAST.format(20), False),
        ("code >> 2*(slot // 2)", "code >> (slot & 2)", True),  # slots are 0 to 3
        (
            'part: "(code >> 2*slot) & 3"',
            'part: "where((code & 3) < (code >> 2), (code >> 2*slot) & 3, 0)"',
            False,
        ),
    ],
)
def test_what_is_proven(specification: Specification, files: Path, old: str, new: str, same: bool) -> None:
    path = files / FILE
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    (before,), (after,) = arithmetic.arithmetic().families, arithmetic.read(files).families
    assert same_sums(specification, before, after, lambda smt: ask("z3", smt).status == "unsat") is same
