"""Formulas for a solver: terms over bit-vectors, integers and truth values, written as SMT-LIB text.

Both solvers read this text; no solver takes part in writing it. A formula has one text: equal parts are
written once, in the order in which they are met. The names are those of z3's Python interface. Bit-vectors
are unsigned here, so `<`, `/`, `%` and `>>` are for integers; bit-vectors have ULT, UDiv, URem and LShR.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

__all__ = [
    "SLE",
    "UGE",
    "UGT",
    "ULE",
    "ULT",
    "And",
    "BitVec",
    "BitVecVal",
    "BitVecs",
    "Bool",
    "BoolVal",
    "Distinct",
    "Extract",
    "If",
    "Implies",
    "Int",
    "IntVal",
    "Ints",
    "LShR",
    "Not",
    "Or",
    "SignExt",
    "Term",
    "UDiv",
    "URem",
    "ZeroExt",
    "narrowed",
    "script",
    "substitute",
]

_BOOL, _INT = 0, -1  # sorts; a positive number is the width of a bit-vector
_SIMPLE = re.compile(r"[A-Za-z_][\w.\-]*\Z", re.ASCII)
_LITERAL = "(0123456789"  # the text of a literal begins with one of these
_KINDS = {_BOOL: "truth value", _INT: "integer"}


class Term:
    """A constant, a literal, or an operator (`head`) and its arguments."""

    __slots__ = ("args", "head", "sort")

    def __init__(self, head: str, args: tuple[Term, ...], sort: int) -> None:
        self.head = head
        self.args = args
        self.sort = sort

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise TypeError("a term has no truth value before a solver gives it one; use And, Or, Not")

    def __str__(self) -> str:
        """The name of a constant; the text of another term."""
        if self.args:
            return f"({self.head} {' '.join(map(str, self.args))})"
        return self.head.strip("|")

    def __repr__(self) -> str:
        return f"Term({self})"

    def size(self) -> int:
        """The width of a bit-vector."""
        if self.sort <= 0:
            raise TypeError(f"a {_KINDS[self.sort]} has no width")
        return self.sort

    def __eq__(self, other: object) -> Term:  # type: ignore[override]
        return Term("=", (self, _coerced(other, self.sort)), _BOOL)

    def __ne__(self, other: object) -> Term:  # type: ignore[override]
        return Not(self == other)

    def __add__(self, other: Term | int) -> Term:
        return _arithmetic("bvadd", "+", self, other)

    def __sub__(self, other: Term | int) -> Term:
        return _arithmetic("bvsub", "-", self, other)

    def __mul__(self, other: Term | int) -> Term:
        return _arithmetic("bvmul", "*", self, other)

    def __radd__(self, other: int) -> Term:
        return _coerced(other, self.sort) + self

    def __rsub__(self, other: int) -> Term:
        return _coerced(other, self.sort) - self

    def __rmul__(self, other: int) -> Term:
        return _coerced(other, self.sort) * self

    def __and__(self, other: Term | int) -> Term:
        return _vectors("bvand", self, other)

    def __or__(self, other: Term | int) -> Term:
        return _vectors("bvor", self, other)

    def __xor__(self, other: Term | int) -> Term:
        return _vectors("bvxor", self, other)

    def __lshift__(self, other: Term | int) -> Term:
        return _vectors("bvshl", self, other)

    def __invert__(self) -> Term:
        return Term("bvnot", (self,), self.size())

    def __floordiv__(self, other: Term | int) -> Term:
        return _integers("div", self, other, _INT)

    def __mod__(self, other: Term | int) -> Term:
        return _integers("mod", self, other, _INT)

    def __lt__(self, other: Term | int) -> Term:
        return _integers("<", self, other, _BOOL)

    def __le__(self, other: Term | int) -> Term:
        return _integers("<=", self, other, _BOOL)

    def __gt__(self, other: Term | int) -> Term:
        return _integers(">", self, other, _BOOL)

    def __ge__(self, other: Term | int) -> Term:
        return _integers(">=", self, other, _BOOL)


_TRUE, _FALSE = Term("true", (), _BOOL), Term("false", (), _BOOL)


def _coerced(value: object, sort: int) -> Term:
    """A term of a sort, or an integer or a truth value as one."""
    if isinstance(value, Term):
        if value.sort != sort:
            raise TypeError(f"{value} is not of the same sort")
        return value
    if sort == _BOOL:
        return _TRUE if value else _FALSE
    if not isinstance(value, int):
        raise TypeError(f"{value!r} is not an integer")
    return IntVal(value) if sort == _INT else BitVecVal(value, sort)


def _arithmetic(vector: str, integer: str, left: Term, right: Term | int) -> Term:
    if left.sort == _BOOL:
        raise TypeError("truth values are not added or multiplied")
    return Term(integer if left.sort == _INT else vector, (left, _coerced(right, left.sort)), left.sort)


def _vectors(head: str, left: Term, right: Term | int) -> Term:
    return Term(head, (left, _coerced(right, left.size())), left.sort)


def _integers(head: str, left: Term, right: Term | int, sort: int) -> Term:
    if left.sort != _INT:
        raise TypeError(f"{head} is for integers; bit-vectors have ULT, ULE, UDiv, URem and LShR")
    return Term(head, (left, _coerced(right, _INT)), sort)


def _compared(head: str, left: Term, right: Term | int) -> Term:
    return Term(head, (left, _coerced(right, left.size())), _BOOL)


def _quoted(name: str) -> str:
    return name if _SIMPLE.match(name) else f"|{name}|"


def BitVec(name: str, width: int) -> Term:
    """A bit-vector constant."""
    if width < 1:
        raise ValueError(f"a bit-vector has at least one bit, not {width}")
    return Term(_quoted(name), (), width)


def BitVecs(names: str, width: int) -> list[Term]:
    """Bit-vector constants, their names separated by spaces."""
    return [BitVec(name, width) for name in names.split()]


def BitVecVal(value: int, width: int) -> Term:
    """An integer modulo 2**width."""
    return Term(f"(_ bv{value % (1 << width)} {width})", (), width)


def Int(name: str) -> Term:
    """An integer constant."""
    return Term(_quoted(name), (), _INT)


def Ints(names: str) -> list[Term]:
    """Integer constants, their names separated by spaces."""
    return [Int(name) for name in names.split()]


def IntVal(value: int) -> Term:
    """An integer."""
    return Term(str(value) if value >= 0 else f"(- {-value})", (), _INT)


def Bool(name: str) -> Term:
    """A constant that is true or false."""
    return Term(_quoted(name), (), _BOOL)


def BoolVal(value: bool) -> Term:
    """True or false."""
    return _TRUE if value else _FALSE


def _joined(head: str, parts: Sequence[Term | bool], neutral: Term, decisive: Term) -> Term:
    kept = []
    for part in parts:
        term = part if isinstance(part, Term) else BoolVal(part)
        if term.sort != _BOOL:
            raise TypeError(f"{term} is not a truth value")
        if term is decisive:
            return decisive
        if term is not neutral:
            kept.append(term)
    if len(kept) < 2:
        return kept[0] if kept else neutral
    return Term(head, tuple(kept), _BOOL)


def And(*parts: Term | bool) -> Term:
    """All parts hold; true where there are none."""
    return _joined("and", parts, _TRUE, _FALSE)


def Or(*parts: Term | bool) -> Term:
    """Some part holds; false where there are none."""
    return _joined("or", parts, _FALSE, _TRUE)


def Not(part: Term | bool) -> Term:
    """The part does not hold."""
    term = _coerced(part, _BOOL)
    if not term.args:
        return _FALSE if term is _TRUE else _TRUE if term is _FALSE else Term("not", (term,), _BOOL)
    return term.args[0] if term.head == "not" else Term("not", (term,), _BOOL)


def Implies(premise: Term | bool, conclusion: Term | bool) -> Term:
    """The conclusion holds where the premise does."""
    return Or(Not(premise), conclusion)


def If(condition: Term | bool, then: Term | int, otherwise: Term | int) -> Term:
    """One of two terms, by a condition; at least one of them is not a plain integer."""
    one = then if isinstance(then, Term) else otherwise
    if not isinstance(one, Term):
        raise TypeError("of what sort are two plain integers?")
    chosen, other = _coerced(then, one.sort), _coerced(otherwise, one.sort)
    test = _coerced(condition, _BOOL)
    if test is _TRUE or test is _FALSE:
        return chosen if test is _TRUE else other
    return Term("ite", (test, chosen, other), one.sort)


def Distinct(*terms: Term) -> Term:
    """No two of the terms are equal."""
    if len(terms) < 2:
        return _TRUE
    return Term("distinct", tuple(_coerced(term, terms[0].sort) for term in terms), _BOOL)


def UDiv(left: Term, right: Term | int) -> Term:
    """The quotient of bit-vectors, rounded down."""
    return _vectors("bvudiv", left, right)


def URem(left: Term, right: Term | int) -> Term:
    """The remainder of bit-vectors."""
    return _vectors("bvurem", left, right)


def LShR(left: Term, right: Term | int) -> Term:
    """A bit-vector shifted right, zeros from the left."""
    return _vectors("bvlshr", left, right)


def ULT(left: Term, right: Term | int) -> Term:
    """Unsigned: less."""
    return _compared("bvult", left, right)


def ULE(left: Term, right: Term | int) -> Term:
    """Unsigned: less or equal."""
    return _compared("bvule", left, right)


def UGT(left: Term, right: Term | int) -> Term:
    """Unsigned: greater."""
    return _compared("bvugt", left, right)


def UGE(left: Term, right: Term | int) -> Term:
    """Unsigned: greater or equal."""
    return _compared("bvuge", left, right)


def SLE(left: Term, right: Term | int) -> Term:
    """Signed, in two's complement: less or equal."""
    return _compared("bvsle", left, right)


def Extract(high: int, low: int, vector: Term) -> Term:
    """The bits low to high."""
    if not 0 <= low <= high < vector.size():
        raise ValueError(f"there are no bits {low} to {high} in {vector.size()}")
    return Term(f"(_ extract {high} {low})", (vector,), high - low + 1)


def ZeroExt(bits: int, vector: Term) -> Term:
    """So many zeros put in front."""
    return Term(f"(_ zero_extend {bits})", (vector,), vector.size() + bits)


def SignExt(bits: int, vector: Term) -> Term:
    """So many copies of the sign put in front."""
    return Term(f"(_ sign_extend {bits})", (vector,), vector.size() + bits)


def _post_order(terms: Sequence[Term]) -> Iterator[Term]:
    """Every term below some terms once, arguments first; terms are too deep for recursion."""
    seen: set[int] = set()
    stack: list[Term | None] = [*reversed(terms)]  # None: the arguments of the term below it are done
    while stack:
        term = stack.pop()
        if term is None:
            term = stack.pop()
            assert term is not None
        elif id(term) in seen:
            continue
        elif term.args:
            stack += (term, None, *term.args[::-1])
            continue
        seen.add(id(term))
        yield term


def substitute(formula: Term, values: Mapping[Term, Term]) -> Term:
    """A formula with some terms replaced, wherever an equal one stands."""
    by_text = {(str(term), term.sort): value for term, value in values.items()}
    found: dict[int, Term] = {}
    for term in _post_order([formula]):
        if not term.args:
            found[id(term)] = by_text.get((str(term), term.sort), term)
        else:
            args = tuple(found[id(arg)] for arg in term.args)
            same = all(new is old for new, old in zip(args, term.args, strict=True))
            found[id(term)] = term if same else Term(term.head, args, term.sort)
    return found[id(formula)]


def script(assertions: Sequence[Term], logic: str) -> str:
    """SMT-LIB text that declares all constants and asserts all of some formulas."""
    numbers: dict[tuple[str, int, tuple[int, ...]], int] = {}  # by head, sort and arguments
    nodes: list[tuple[Term, tuple[int, ...]]] = []
    number_of: dict[int, int] = {}
    uses: list[int] = []
    for term in _post_order(assertions):
        args = tuple([number_of[id(arg)] for arg in term.args]) if term.args else ()
        key = term.head, term.sort, args
        number = numbers.get(key)
        if number is None:
            number = numbers[key] = len(nodes)
            nodes.append((term, args))
            uses.append(0)
            for arg in args:
                uses[arg] += 1
        number_of[id(term)] = number
    lines = [f"(set-logic {logic})"]
    texts: list[str] = []
    levels: list[int] = []
    bindings: list[list[str]] = []
    names = 0
    for (term, args), used in zip(nodes, uses, strict=True):
        if not args:
            if term is not _TRUE and term is not _FALSE and term.head[0] not in _LITERAL:
                lines.append(f"(declare-const {term.head} {_sort(term.sort)})")
            texts.append(term.head)
            levels.append(0)
            continue
        if len(args) == 2:
            first, second = args
            text, level = f"({term.head} {texts[first]} {texts[second]})", levels[first]
            if levels[second] > level:
                level = levels[second]
        else:
            text = f"({term.head} {' '.join([texts[arg] for arg in args])})"
            level = max([levels[arg] for arg in args])
        if used > 1:
            if level == len(bindings):
                bindings.append([])
            bindings[level].append(f"(?x{names} {text})")
            text, level = f"?x{names}", level + 1
            names += 1
        texts.append(text)
        levels.append(level)
    said = [texts[number_of[id(term)]] for term in assertions]
    body = said[0] if len(said) == 1 else f"(and {' '.join(said)})" if said else "true"
    opened = "".join(f"(let ({' '.join(level)})\n" for level in bindings)
    lines += [f"(assert {opened}{body}{')' * len(bindings)})", "(check-sat)", ""]
    return "\n".join(lines)


def narrowed(text: str, condition: Term) -> str:
    """A script with one more assertion, about constants that it declares."""
    more = script([condition], "")
    return text.replace("(check-sat)\n", more[more.index("(assert") :], 1)


def _sort(sort: int) -> str:
    return "Bool" if sort == _BOOL else "Int" if sort == _INT else f"(_ BitVec {sort})"
