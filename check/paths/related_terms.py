"""Which conditions of a path have to do with each other, and with registers that nothing has written."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping

from .path_terms import PathTerm

__all__ = ["Literals", "related", "unwritten"]

Literals = Mapping[PathTerm, bool]


def unwritten(term: PathTerm) -> Iterator[str]:
    """The register that a leaf stands for, if nothing has written it."""
    for leaf in term.leaves if not term.words else ():
        if isinstance(leaf, tuple) and leaf[0] == "entry":
            yield leaf[1]


def related(literals: Literals) -> Iterator[dict[PathTerm, bool]]:
    """The groups of conditions that share an input, without those that syntax shows to hold together."""
    groups: list[tuple[set[Hashable], dict[PathTerm, bool]]] = []
    for term, holds in literals.items():
        leaves, group = set(term.leaves), {term: holds}
        rest = []
        for others, known in groups:
            if others.isdisjoint(leaves):
                rest.append((others, known))
            else:
                leaves |= others
                group = {**known, **group}
        groups = [*rest, (leaves, group)]
    for _, group in groups:
        if len(group) > 1 or any(_is_compound(term) for term in group):
            yield group


def _is_compound(term: PathTerm) -> bool:
    """Whether a condition may be impossible by itself: it is more than a comparison of inputs."""
    sides = [arg for arg in term.args if isinstance(arg, PathTerm)]
    return bool(term.words) and (any(side.words for side in sides))
