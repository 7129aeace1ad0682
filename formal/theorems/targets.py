"""Theorems about targets: inclusion is a partial order, and says what the targets' names say."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial

from ...spec.gates import Isa
from ...spec.specification import Specification
from ...spec.variants import RowView
from ..row_symbols import one_of
from ..smt.obligations import Model, Obligation, refuting
from ..smt.terms import UGE, ULT, And, BitVec, BitVecVal, If, Not, Or, Term
from ..theorem import ProofPart, Theorem, TheoremGroup

__all__ = ["GROUP", "target_obligations"]

PART = "targets"
_NAME = re.compile(r"[a-z]+_(\d+)([af]?)")
_PLAIN, _FAMILY, _EXACT = "", "f", "a"  # behind the number: runs later, in the family, on this chip alone
_GENERATION = 10  # a number without its last digit names the family


class _Targets:
    """The targets as numbers, and what their names say, as formulas."""

    def __init__(self, isa: Isa) -> None:
        self.isa = isa
        self.names = tuple(isa.index.targets)
        self.width = len(self.names).bit_length()
        found = [_NAME.fullmatch(name) for name in self.names]
        self.unnamed = [name for name, match in zip(self.names, found, strict=True) if match is None]
        self.parts = [(int(match[1]), match[2]) for match in found if match]
        self.bits = max((number for number, _ in self.parts), default=0).bit_length() or 1

    def symbol(self, name: str) -> Term:
        return BitVec(name, self.width)

    def known(self, *symbols: Term) -> Term:
        return And(*(ULT(symbol, len(self.names)) for symbol in symbols))

    def includes(self, including: Term, included: Term) -> Term:
        """The one has what the other has, as gates read it."""
        number = {name: n for n, name in enumerate(self.names)}
        return Or(
            *(
                And(included == number[name], one_of(including, [number[one] for one in above]))
                for name, above in self.isa.including.items()
            )
        )

    def number(self, symbol: Term, divisor: int = 1) -> Term:
        """The number in a target's name."""
        found: Term = BitVecVal(0, self.bits)
        for n, (number, _) in enumerate(self.parts):
            found = If(symbol == n, BitVecVal(number // divisor, self.bits), found)
        return found

    def kind(self, symbol: Term, letter: str) -> Term:
        """The letter behind the number in a target's name."""
        return one_of(symbol, [n for n, (_, own) in enumerate(self.parts) if own == letter])

    def said(self, model: Model, *symbols: str) -> list[str]:
        return [self.names[model.get(symbol, 0)] for symbol in symbols]


def target_obligations(isa: Isa) -> Iterator[Obligation]:
    """Every obligation about the targets of specs.yaml."""
    targets = _Targets(isa)
    one, other, third = (targets.symbol(name) for name in ("one", "other", "third"))
    includes = targets.includes

    def obligation(
        theorem: str, subject: str, broken: Callable[[], Term], sentence: str, symbols: str = "one other"
    ) -> Obligation:
        names = symbols.split()
        return Obligation(
            theorem,
            subject,
            lambda: refuting(targets.known(one, other, third), broken()),
            lambda model: (
                f"{_place(isa, model, names, targets)}: " + sentence.format(*targets.said(model, *names))
            ),
        )

    yield obligation(
        "targets.order", "reflexive", lambda: Not(includes(one, one)), "{0} does not include itself", "one"
    )
    yield obligation(
        "targets.order",
        "antisymmetric",
        lambda: And(includes(one, other), includes(other, one), one != other),
        "{0} and {1} include each other",
    )
    yield obligation(
        "targets.order",
        "transitive",
        lambda: And(includes(one, other), includes(other, third), Not(includes(one, third))),
        "{0} includes {1}, and {1} includes {2}, but {0} does not include {2}",
        "one other third",
    )
    if targets.unnamed:
        name = targets.unnamed[0]
        place = isa.index.targets[name].place
        yield Obligation(
            "targets.exact",
            "names",
            refuting(True),
            lambda _: f"{place}: {name} is not sm_, a number, and a, f or nothing",
        )
        return
    plain, family, exact = ({s: targets.kind(s, k) for s in (one, other)} for k in (_PLAIN, _FAMILY, _EXACT))
    later = UGE(targets.number(one), targets.number(other))
    same = targets.number(one) == targets.number(other)
    alike = targets.number(one, _GENERATION) == targets.number(other, _GENERATION)
    has = includes(one, other)
    yield obligation(
        "targets.exact",
        "sm_Xa",
        lambda: And(exact[other], one != other, has),
        "{0} includes {1}, which is exact: code for it runs on no other target",
    )
    yield obligation(
        "targets.exact",
        "sm_Xf",
        lambda: And(family[other], has, Not(And(Not(plain[one]), alike, later))),
        "{0} includes {1}, but is not a later f or a target of its family",
    )
    yield obligation(
        "targets.exact",
        "sm_X",
        lambda: And(plain[other], has != later),
        "{0} includes {1}, or should: a target includes the plain ones up to its own number, no others",
    )
    yield obligation(
        "targets.exact",
        "one number",
        lambda: And(same, exact[one], family[other], Not(has)),
        "{0} does not include {1}, the family of its own number",
    )


def _place(isa: Isa, model: Model, names: list[str], targets: _Targets) -> str:
    return str(isa.index.targets[targets.said(model, names[0])[0]].place)


def _parts(specification: Specification) -> Iterator[ProofPart]:
    yield ProofPart(PART, partial(target_obligations, specification.isa), "the targets of specs.yaml")


def _behind(specification: Specification, row: RowView) -> Iterator[str]:
    yield PART


GROUP = TheoremGroup(
    36,
    (
        Theorem(
            "targets.order",
            "inclusion of targets is a partial order",
            formula="where >= is inclusion: a >= a; a >= b >= a only if a == b; a >= b >= c only if a >= c",
            fails="two targets that include each other, or one that lacks what a target it includes has",
        ),
        Theorem(
            "targets.exact",
            "targets include what their names say: sm_Xa is exact, sm_Xf for its family",
            small=True,
            formula="(t >= sm_X) == (number(t) >= X); t >= sm_Xa only if t == sm_Xa; "
            "t >= sm_Xf only in its family",
            fails="two targets of which one includes the other against their names",
        ),
    ),
    _parts,
    _behind,
)
