"""Vectors whose registers have several types: which of them an assembler takes for what they are not.

ptxas types runs of neighbouring registers, each by itself: the whole vector, or what each instruction gets of
it where several stand behind one. A run of several types counts as one of the type that goes with all, as
.b32. Registers behind the last run are not looked at. Neighbours must be similarly typed all the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from ..spec.vector_types import Groups, unlike_neighbours

__all__ = ["in_runs", "mixed_places", "mixtures"]


def in_runs(count: int, runs: Sequence[int]) -> Iterator[range]:
    """The places of each run of a vector; a run of 0 reaches to its end."""
    start = 0
    for length in runs:
        end = min(start + length, count) if length else count
        yield range(start, end)
        start = end


def mixed_places(
    types: Sequence[str], runs: Sequence[int], listed: Collection[str], similar: Mapping[str, Groups]
) -> frozenset[int]:
    """The places of listed types in runs of several types, and behind the runs; none where neighbours are
    unlike. Of literals and sinks nothing is said.
    """
    known = {word for base, groups in similar.items() for word in (base, *(w for g in groups for w in g))}
    if any(unlike_neighbours(types, groups) is not None for groups in similar.values()):
        return frozenset()
    places = list(in_runs(len(types), runs))
    mixed = [run for run in places if len({types[at] for at in run if types[at] in known}) > 1]
    behind = range(places[-1].stop, len(types)) if places else range(0)
    return frozenset(at for run in (*mixed, behind) for at in run if types[at] in listed)


def mixtures(usual: Sequence[str], elements: Sequence[str], runs: Sequence[int]) -> Iterator[tuple[str, ...]]:
    """Vectors that show what is said of runs: each element once and alone, and the first one in all ways that
    show where runs end, beside usual registers; then the first two in turn.
    """
    count = len(usual)
    ends = [run.stop for run in in_runs(count, runs) if len(run) > 1] or [count]
    for element in elements:
        yield (*usual[: ends[0] - 1], element, *usual[ends[0] :])
        yield (element,) * count
    filled = 1
    while filled < (2 if tuple(runs) == (0,) else count):
        yield (*(elements[0],) * filled, *usual[filled:])
        yield (*usual[: count - filled], *(elements[0],) * filled)
        filled *= 2
    if len(elements) > 1:
        yield tuple(elements[at % 2] for at in range(count))
