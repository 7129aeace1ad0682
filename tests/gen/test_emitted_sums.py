"""The C of sums, read back by the grammar of C: every formula is that of the YAML, stage by stage.

The operators of C on unsigned words are those of the definition, since no value exceeds its word and no
shift reaches it: the loader proves both by intervals.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import pytest

from ptxmma.gen.arithmetic.sum_text import SumText
from ptxmma.spec.arithmetic import arithmetic_of
from ptxmma.spec.chip_arithmetic import FACTORS, ChipArithmetic, SumBlock
from ptxmma.spec.expressions import (
    Binary,
    BitLength,
    Compare,
    Connective,
    Expression,
    Name,
    Negation,
    Number,
    Where,
    names,
    substitute,
)
from ptxmma.spec.specification import Specification

SUMS = (
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16",
    "mma.sync.aligned.m16n8k16.row.col.f32.e4m3.e5m2.f32",
    "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64",
    "mma.sync.aligned.m16n8k16.row.col.satfinite.s32.s8.u8.s32",
    "mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.xor.popc",
)
TOKEN = re.compile(r"\s*(\w+|<<|>>|<=|>=|==|!=|&&|\|\||.)")
# By how strongly they bind (C11, 6.5.5 to 6.5.14); all are read from the left.
STRENGTH = {"||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, "<=": 7, ">": 7, ">=": 7}
STRENGTH |= {"<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "%": 10}
ORDERS = ("==", "!=", "<", "<=", ">", ">=")
DECLARED = re.compile(r"const word (\w+) = ([^;]+);")


class CReader:
    """A parser of expressions of C, by precedence."""

    def __init__(self, text: str) -> None:
        self.tokens: list[str] = [*TOKEN.findall(text.strip()), ""]

    def take(self, wanted: str | None = None) -> str:
        token = self.tokens.pop(0)
        assert wanted in (None, token), (wanted, token)
        return token

    def conditional(self) -> Expression:
        condition = self.joined(1)
        if self.tokens[0] != "?":
            return condition
        self.take("?")
        then = self.conditional()
        self.take(":")
        return Where(condition, then, self.conditional())

    def joined(self, least: int) -> Expression:
        left = self.unary()
        while STRENGTH.get(self.tokens[0], 0) >= least:
            op = self.take()
            right = self.joined(STRENGTH[op] + 1)
            if op in ORDERS:
                left = Compare(op, left, right)
            elif op in ("&&", "||"):
                left = Connective("and" if op == "&&" else "or", left, right)
            else:
                left = Binary("//" if op == "/" else op, left, right)
        return left

    def unary(self) -> Expression:
        token = self.take()
        if token == "!":
            return Negation(self.unary())
        if token in ("(", "bits", "N"):
            if token != "(":
                self.take("(")
            inner = self.conditional()
            self.take(")")
            return BitLength(inner) if token == "bits" else inner
        return Number(int(token, 0)) if token[0].isdigit() else Name(token)


def read(text: str) -> Expression:
    reader = CReader(text)
    tree = reader.conditional()
    assert reader.tokens == [""], text
    return tree


def spelled(tree: Expression, own: Mapping[str, str]) -> Expression:
    return substitute(tree, {name: Name(own.get(name, f"v_{name}")) for name in names(tree)})


def formulas(block: SumBlock) -> Iterator[tuple[str, Expression]]:
    """Every formula of a block as the C has to have it, by the name that it gives."""
    parts = [part.lower() for part in FACTORS if block.products] + ["c"] * bool(block.types)
    for stage in block.model.stages:
        for name, formula in stage.let.items():
            if stage.each == "element":
                for part in parts:
                    read_names = names(formula.tree) - block.names.keys()
                    own = {one: f"v_{part}_{one}" for one in read_names}
                    yield f"v_{part}_{name}", spelled(formula.tree, own)
            elif {"product": block.products, "addend": block.types}.get(stage.each, True):
                one = {each: f"one_{each}" for each in stage.let} if stage.reduce else {}
                yield one.get(name, f"v_{name}"), spelled(formula.tree, one)


def wrong(text: str, arithmetic: ChipArithmetic) -> list[str]:
    """Formulas that the C does not have, and what it declares beside them and numbers."""
    emitted = {(name, read(value)) for name, value in DECLARED.findall(text) if "[" not in value}
    wanted = {pair for block in arithmetic.blocks for pair in formulas(block)}
    rest = {pair for pair in emitted - wanted if not isinstance(pair[1], Number)}
    odd = {name for name, tree in rest if not (isinstance(tree, Name) and tree.id.startswith("negated_"))}
    return sorted(odd | {name for name, _ in wanted - emitted}, key=str)


@pytest.mark.parametrize("mnemonic", SUMS)
def test_every_formula_is_in_the_c(specification: Specification, mnemonic: str) -> None:
    arithmetic = arithmetic_of(specification.find(mnemonic), "sm_90a")
    text = re.sub(
        r"const word v_c_code = \w+, v_c_negated = 0;", "", SumText(specification, arithmetic).text()
    )
    text = "\n".join(line for line in text.splitlines() if " sum_" not in line)
    assert wrong(text, arithmetic) == []
    head, mark, rest = text.partition("FUNCTION word block_")
    for right, slip in ((" ^ ", " | "), (" - ", " + "), (" : ", " + 1 : ")):
        assert right not in rest or wrong(head + mark + rest.replace(right, slip, 1), arithmetic)


def test_the_grammar_of_c() -> None:
    one, two, three = Name("a"), Name("b"), Name("c")
    assert read("a + b << c") == Binary("<<", Binary("+", one, two), three)
    assert read("a - b - c") == Binary("-", Binary("-", one, two), three)
    assert read("a & b == c") == Binary("&", one, Compare("==", two, three))
    assert read("a | b ^ c & a") == Binary("|", one, Binary("^", two, Binary("&", three, one)))
    assert read("(a < N(2) ? b : bits(c))") == Where(Compare("<", one, Number(2)), two, BitLength(three))
    assert read("!(a) && b || c") == Connective("or", Connective("and", Negation(one), two), three)
