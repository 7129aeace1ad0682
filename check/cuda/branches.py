"""Conditions of the preprocessor inside an asm statement: the tokens of each choice of branches."""

from __future__ import annotations

from collections.abc import Sequence

from .conditionals import Conditionals, Guard
from .tokens import CudaToken, directive

__all__ = ["chosen_branches"]

_MOST = 16  # choices of branches
_FIRST, _NEXT = ("if", "ifdef", "ifndef"), ("elif", "elifdef", "elifndef", "else")
_ChosenTokens = tuple[tuple[CudaToken, ...], Guard]


def chosen_branches(tokens: Sequence[CudaToken]) -> tuple[_ChosenTokens, ...]:
    """The tokens of each choice with the conditions under which it is made. Where there are too many, or a
    directive is not about conditions, all tokens with their directives.
    """
    if all(token.kind != "directive" for token in tokens):
        return ((tuple(tokens), ()),)
    found = _choices(tokens)
    return ((tuple(tokens), ()),) if found is None else found


def _choices(tokens: Sequence[CudaToken]) -> tuple[_ChosenTokens, ...] | None:
    found: tuple[_ChosenTokens, ...] = (((), ()),)
    at = 0
    while at < len(tokens):
        end = at
        while end < len(tokens) and tokens[end].kind != "directive":
            end += 1
        found = tuple(((*before, *tokens[at:end]), guard) for before, guard in found)
        if end == len(tokens):
            break
        at = end
        if directive(tokens[at]).word not in _FIRST:
            return None
        branches, at = _group(tokens, at)
        if branches is None:
            return None
        inner: list[_ChosenTokens] = []
        for guard, part in branches:
            choices = _choices(part)
            if choices is None:
                return None
            inner += ((chosen, (*guard, *more)) for chosen, more in choices)
        if len(found) * len(inner) > _MOST:
            return None
        found = tuple(
            ((*before, *chosen), (*guard, *more)) for before, guard in found for chosen, more in inner
        )
    return found


def _group(
    tokens: Sequence[CudaToken], at: int
) -> tuple[list[tuple[Guard, Sequence[CudaToken]]] | None, int]:
    """The branches of the `#if` at an index, each with its conditions, and the index behind `#endif`."""
    conditions = Conditionals()
    branches: list[tuple[Guard, Sequence[CudaToken]]] = []
    depth, begin, last = 0, at + 1, False
    while at < len(tokens):
        token = tokens[at]
        if token.kind == "directive":
            line = directive(token)
            if depth == 1 and line.word in (*_NEXT, "endif"):
                branches.append((conditions.guard, tokens[begin:at]))
                begin, last = at + 1, last or line.word == "else"
            depth += (line.word in _FIRST) - (line.word == "endif")
            if not depth:
                if not last:
                    conditions.read(line._replace(word="else"))
                    branches.append((conditions.guard, ()))
                return branches, at + 1
            if depth == 1 and line.word in (*_FIRST, *_NEXT) and (line.word in _NEXT or not branches):
                conditions.read(line)
        at += 1
    return None, at
