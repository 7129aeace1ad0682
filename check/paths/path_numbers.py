"""Numbers with which the conditions of a path hold together: what a guess shows, no solver need be asked.

Most paths can happen, and a few numbers for what they cannot know show it. The arithmetic is that of one
thread; a solver's terms have the same rules, so a guess that holds is a model of them, too.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..values.arithmetic import rule_of
from ..values.block_threads import LARGEST_BLOCK, WARP
from ..values.opcode_kind import ArithmeticRule
from ..values.word_algebra import NUMBER, NoResultError
from .path_terms import PathTerm, terms_within

__all__ = ["bound_of", "hold_together"]

_GUESSES = (1024, 7, 0, 1, 1 << 16)  # for parameters and whatever a path cannot know
_MOST = 400  # evaluations of all conditions
_MOST_WORK = 100_000  # computed terms: about as long as z3 takes for most conditions
_Shape = tuple[int, int, int]


def bound_of(term: PathTerm, threads: _Shape | None) -> int | None:
    """What a leaf that is a special register is less than; None if it may have any number."""
    if term.words:
        return None
    (name,) = term.leaves
    text = str(name[-1]) if isinstance(name, tuple) else ""
    if text == "%laneid":
        return WARP
    if text.startswith("%tid."):
        return threads["xyz".index(text[-1])] if threads else LARGEST_BLOCK
    return None


def hold_together(literals: Mapping[PathTerm, bool], threads: _Shape | None = None) -> bool:
    """Whether numbers were found with which all conditions are as they should be; False shows nothing."""
    inputs = _Inputs(literals, threads)
    best: dict[PathTerm, int] = {}
    most, left = -1, min(_MOST, _MOST_WORK // (len(inputs.rules) + 1))
    for guess in inputs.guesses[:left]:
        numbers = {leaf: guess % bound if bound else guess for leaf, bound in inputs.bounds.items()}
        if (count := inputs.holding(numbers)) > most:
            best, most = numbers, count
    for leaf, bound in (*inputs.bounds.items(), *inputs.bounds.items()):
        for guess in inputs.guesses:
            if most == len(literals) or left <= 0:
                return most == len(literals)
            left -= 1
            numbers = {**best, leaf: guess % bound if bound else guess}
            if (count := inputs.holding(numbers)) > most:
                best, most = numbers, count
    return most == len(literals)


class _Inputs:
    """What some conditions depend on, and the numbers that are tried for it."""

    def __init__(self, literals: Mapping[PathTerm, bool], threads: _Shape | None) -> None:
        self.literals = literals
        self.bounds: dict[PathTerm, int | None] = {}  # by input: what it is less than
        constants: dict[int, None] = {}
        self.rules: list[tuple[PathTerm, ArithmeticRule]] = []  # of the terms with one, those below first
        for term in terms_within(literals):
            rule = rule_of(term.words, len(term.args)) if term.words else None
            if rule is None:
                self.bounds[term] = bound_of(term, threads)
            else:
                self.rules.append((term, rule))
            constants |= {arg: None for arg in term.args if isinstance(arg, int)}
        near = (number + beside for number in constants for beside in (0, 1, -1))
        self.guesses = tuple(dict.fromkeys((*_GUESSES, *(n for n in near if n >= 0))))

    def holding(self, numbers: Mapping[PathTerm, int]) -> int:
        """How many conditions are as they should be."""
        known = dict(numbers)
        try:
            for term, rule in self.rules:
                known[term] = rule(
                    NUMBER, *[arg if isinstance(arg, int) else known[arg] for arg in term.args]
                )
        except NoResultError:
            return -1
        return sum(known[term] & 1 == holds for term, holds in self.literals.items())
