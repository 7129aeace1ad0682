"""The number of binary digits, in every reading of the expression language."""

from __future__ import annotations

from ptxmma.formal.latex import latex
from ptxmma.formal.smt.bitvectors import BitVectors
from ptxmma.formal.smt.obligations import refuting
from ptxmma.formal.smt.solvers import SOLVERS, ask
from ptxmma.formal.smt.terms import And, BitVec, Or
from ptxmma.gen.c_reading import c_text
from ptxmma.gen.kernels.ptx_text import Affine, Writer
from ptxmma.spec.expressions import compiled, parse

TREE = parse("bits(t)")
LENGTHS = {0: 0, 1: 1, 2: 2, 3: 2, 4: 3, 127: 7, 128: 8, 255: 8}


def test_python() -> None:
    assert {t: compiled(TREE, ("t",))(t) for t in LENGTHS} == LENGTHS


def test_solvers() -> None:
    t = BitVec("t", 8)
    length = BitVectors(8, {"t": t}).read(TREE)
    wrong = Or(*(And(t == value, length != wanted) for value, wanted in LENGTHS.items()))
    for solver in SOLVERS:
        assert ask(solver, refuting(wrong)).status == "unsat"
        assert ask(solver, refuting(length == 9)).status == "unsat"
        assert ask(solver, refuting(length == 8)).status == "sat"


def test_texts() -> None:
    assert c_text(TREE) == "bits(t)"
    assert latex(TREE) == r"\operatorname{bits}{\left(t \right)}"


def test_ptx() -> None:
    writer = Writer()
    found = writer.value(TREE, {"t": Affine("%r0")})
    assert writer.lines == ["bfind.u32 %r0, %r0;", "add.u32 %r1, %r0, 1;"]
    assert found == Affine("%r1")
    assert writer.value(TREE, {"t": 5}) == Affine(None, 3)
