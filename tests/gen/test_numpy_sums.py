"""numpy's reading of sums, run on elements that stand for any: D is the very value that the definition gives.

The functions that compute with arrays of numbers get arrays of nodes here, of one job: what they make alike
is one object, whichever reading makes it. It holds for all inputs of whole sums.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ptxmma.formal.smt.bitvectors import BitVectors
from ptxmma.formal.smt.obligations import refuting
from ptxmma.formal.smt.solvers import SOLVERS, ask
from ptxmma.formal.smt.terms import BitVec, If, LShR
from ptxmma.gen.arithmetic import numpy_sums
from ptxmma.gen.arithmetic.numpy_sums import NumpySums
from ptxmma.gen.arithmetic.type_sets import type_sets
from ptxmma.spec.arithmetic import arithmetic, arithmetic_of
from ptxmma.spec.arithmetic_checks import sums_of
from ptxmma.spec.chip_arithmetic import ChipArithmetic, constants_of
from ptxmma.spec.specification import Specification

from .symbolic_arrays import SymbolicArray
from .symbolic_sums import LOW, Node, define_by_nodes, defined, elements

TARGET = "sm_90a"
SIGNS = ((False, False), (True, False), (False, True))
FP8 = "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32"


@pytest.fixture(autouse=True)
def symbolic(monkeypatch: pytest.MonkeyPatch) -> None:
    define_by_nodes(monkeypatch)


def computed(
    specification: Specification, known: ChipArithmetic, negated: tuple[bool, bool] = (False, False)
) -> Node:
    """D by numpy's functions, of any elements."""
    a, b = (SymbolicArray(elements(part, known), np.uint64) for part in "ab")
    c = SymbolicArray([Node.of("element", "c", 0)], np.uint64, flat=True)
    found: SymbolicArray = NumpySums(specification, known)._blocks(a, b, c, negated)
    (cell,) = found.cells
    return cell


def test_every_sum_of_numpy_is_that_of_the_definition(specification: Specification) -> None:
    """Of all type sets, with two products of each block; of each row, with all products of the shortest."""
    (family,) = arithmetic().families
    every = [one.arithmetic for one in type_sets(specification, sums_of(specification, family), TARGET)]
    whole = {known.row.id: known for known in sorted(every, key=lambda known: -known.products)}
    few: dict[object, ChipArithmetic] = {}
    for known in every:
        told = tuple((id(one.step), *one.integers.values(), one.types, one.result) for one in known.blocks)
        blocks = tuple(replace(one, products=one.products[:2]) for one in known.blocks)
        few.setdefault((*known.types.values(), *told[:4]), replace(known, blocks=blocks))
    assert len(few) > 50 and len(whole) == len(family.rows)
    for known in (*whole.values(), *few.values()):
        for negated in SIGNS if known.row.id.startswith("wgmma") else SIGNS[:1]:
            Node.made.clear()
            wanted = defined(specification, known, negated)
            assert computed(specification, known, negated) is wanted, (known.row.id, known.types, negated)


def test_a_slip_of_numpys_reading_is_another_value(
    specification: Specification, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = arithmetic_of(specification.find(FP8), TARGET)
    wanted = defined(specification, known)
    assert computed(specification, known) is wanted
    greatest_of, sum_of = numpy_sums._greatest, numpy_sums._sum
    for name, slip in (
        ("_BINARY", {**numpy_sums._BINARY, "^": lambda a, b: a | b}),
        ("_COMPARE", {**numpy_sums._COMPARE, "<": lambda a, b: a <= b}),
        ("_greatest", lambda values: greatest_of(values[:1])),
        ("_sum", lambda values: sum_of([*values, values[0]])),
        ("FACTORS", ("B", "A")),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(numpy_sums, name, slip)
            assert computed(specification, known) is not wanted, name
    with monkeypatch.context() as patch, pytest.raises(AssertionError, match="of "):
        patch.setattr(numpy_sums, "_widened", lambda value: value)  # a byte that is shifted loses its bits
        computed(specification, known)


@pytest.mark.parametrize("solver", SOLVERS)
def test_digits_are_counted_by_halves(solver: str) -> None:
    """A number of 64 bits has the digits of its high half and 32, or those of its low half."""
    value, digits = BitVec("value", 64), BitVectors(64, {}).bits
    high, low = LShR(value, 32), value & LOW
    wrong = If(high != 0, digits(high) + 32, digits(low)) != digits(value)
    assert ask(solver, refuting(wrong)).status == "unsat"


def test_a_table_says_what_its_type_means(specification: Specification) -> None:
    """Elements of many jobs are looked up; the table has what numpy's functions make of every code."""
    known = arithmetic_of(specification.find(FP8), TARGET)
    sums = NumpySums(specification, known)
    sums._tabulate((True, False))
    assert {(element, negated) for _, element, negated in sums._tables} >= {("e4m3", True), ("e5m2", False)}
    for (number, element, negated), table in sums._tables.items():
        constants = constants_of(specification, element)
        codes = np.arange(1 << constants["width"], dtype=np.uint64)
        wanted = sums._decoded(known.blocks[number], constants, codes, negated)
        for name, values in table.items():
            found = numpy_sums._looked_up(values, codes.astype(np.intp))
            assert (np.broadcast_to(wanted[name], codes.shape) == found).all(), (element, name)
