"""numpy's reading of sums, run on elements that stand for any: D is the very value that the definition gives.

The programs of blocks get arrays of nodes here, of one job, and each operation makes the node that it means
(`test_array_operations.py` proves that the functions of numpy do so). What is made alike is one object,
whichever reading makes it, so it holds for all inputs of whole sums. The nodes have bounds of their own:
no operation has a width that is too small for its value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial, reduce
from typing import Any

import numpy as np
import pytest

from ptxmma.gen.arithmetic import array_operations, array_programs, listed_operations
from ptxmma.gen.arithmetic.numpy_sums import NumpySums
from ptxmma.gen.arithmetic.type_sets import type_sets
from ptxmma.spec.arithmetic import arithmetic, arithmetic_of
from ptxmma.spec.arithmetic_checks import sums_of
from ptxmma.spec.chip_arithmetic import ChipArithmetic
from ptxmma.spec.errors import Question
from ptxmma.spec.expressions import fold, parse
from ptxmma.spec.specification import Specification

from .symbolic_sums import (
    MEANINGS,
    REDUCTIONS,
    Node,
    define_by_nodes,
    defined,
    element,
    elements,
    lifted,
)

TARGET = "sm_90a"
SIGNS = ((False, False), (True, False), (False, True))
FP8 = "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32"
F64 = "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64"


def held(width: int, word: int, node: Node) -> Node:
    """A node, which words of a width hold; of the widest, the loader says so."""
    assert width == word or node.span[1] >> width == 0, (width, node.op, node.span)
    return node


def meaning(word: int, operation: str, width: int) -> Callable[..., Any]:
    """What the function of an operation does to arrays of nodes."""
    if operation in REDUCTIONS:
        return lambda rows: np.array(
            [held(width, word, reduce(REDUCTIONS[operation], column)) for column in rows.T], object
        )
    if operation.startswith("mask"):
        return lambda truth: np.frompyfunc(partial(held, 1, word), 1, 1)(truth)
    if operation.startswith("as"):
        return lambda words: np.frompyfunc(partial(held, int(operation[2:]), word), 1, 1)(words)
    make = MEANINGS.get(operation, partial(Node.of, operation))

    def function(*given: Any) -> Any:
        return np.frompyfunc(lambda *cells: held(width, word, make(*cells)), len(given), 1)(*given)

    return function


def number(value: int, width: int) -> Node:
    assert value >> width == 0, (value, width)
    return lifted(value)


@pytest.fixture(autouse=True)
def symbolic(monkeypatch: pytest.MonkeyPatch) -> None:
    define_by_nodes(monkeypatch)
    monkeypatch.setattr(array_operations, "typed", number)


def computed(
    specification: Specification,
    known: ChipArithmetic,
    negated: tuple[bool, bool] = (False, False),
) -> Node:
    """D by numpy's programs, of any elements."""
    word = max(block.step.word for block in known.blocks)
    a, b = (np.array([[one] for one in elements(part, known)], object) for part in "ab")
    c = np.array([element("c", 0, known)], object)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(array_operations, "function_of", partial(meaning, word))
        sums = NumpySums(specification, known)
        (cell,) = sums._blocks(sums._listed(negated), a, b, c)
    return lifted(cell)


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


def differs(specification: Specification, known: ChipArithmetic, wanted: Node) -> bool:
    """Whether numpy makes another value, or one that its words do not hold."""
    try:
        return computed(specification, known) is not wanted
    except AssertionError:
        return True


@pytest.mark.parametrize("mnemonic", [FP8, F64])
def test_a_slip_of_numpys_reading_is_another_value(specification: Specification, mnemonic: str) -> None:
    known = arithmetic_of(specification.find(mnemonic), TARGET)
    wanted = defined(specification, known)
    assert computed(specification, known) is wanted
    operations, reading = array_programs._BlockOperations, array_programs._ArrayReading
    greatest, total, where, binary = operations._greatest, operations._total, reading.where, reading.binary
    slips: list[tuple[Any, str, Any]] = [
        (operations, "_greatest", lambda self, values: greatest(self, values[:1])),
        (operations, "_total", lambda self, values: total(self, [*values, values[0]])),
        (reading, "where", lambda self, c, t, o: where(self, c, o, t)),
        (reading, "binary", lambda self, op, a, b: binary(self, "+" if op == "-" else op, a, b)),
        (reading, "negation", lambda self, operand: operand),
        (array_programs, "FACTORS", ("B", "A")),
    ]
    for of, name, slip in slips:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(of, name, slip)
            assert differs(specification, known, wanted), name


def test_words_that_are_too_narrow_are_noticed(specification: Specification) -> None:
    known = arithmetic_of(specification.find(FP8), TARGET)
    least = listed_operations.width_of
    with pytest.MonkeyPatch.context() as patch, pytest.raises(AssertionError, match=r"\(16"):
        patch.setattr(listed_operations, "width_of", lambda high: min(16, least(high)))
        computed(specification, known)


@pytest.mark.parametrize("text", ["a * a", "a // 3", "a % 3"])
def test_what_pairs_of_words_cannot_do(text: str) -> None:
    operations = listed_operations.ListedOperations(128)
    reading = array_programs._ArrayReading(operations, {"a": operations.input((1 << 100) - 1, many=False)})
    with pytest.raises(Question, match="of words of 128 bits; a C compiler has"):
        fold(parse(text), reading)
