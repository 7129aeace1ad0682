"""Every program of few steps over a small alphabet, each once up to the order of its threads; and random
longer ones.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

from .phase_programs import PhaseProgram, PhaseStep, parse_phases, parse_thread

__all__ = ["LETTERS", "SEEDS", "random_programs", "slipped_programs", "small_programs"]

# Over one buffer, one mbarrier, one named barrier of two threads, and the cluster's.
LETTERS: tuple[PhaseStep, ...] = parse_thread(
    (
        "load s0",
        "store s0",
        "multiply s0",
        "finish",
        "copy s0 b0 1",
        "expect b0 1",
        "arrive b0",
        "arrive b0 2",
        "arrive.relaxed b0",
        "wait b0 0",
        "wait b0 1",
        "wait.relaxed b0 0",
        "fence",
        "init b0",
        "join n0 2",
        "join.relaxed n0 2",
        "leave n0",
        "cluster.arrive",
        "cluster.arrive.relaxed",
        "cluster.wait",
    )
)
_COUNTS = (1, 2)


def small_programs(steps: int) -> Iterator[PhaseProgram]:
    """Every program of so many steps, in one thread or several, with a count of 1 and of 2."""
    for lengths in _lengths(steps, steps):
        yield from _programs(lengths)


def _lengths(steps: int, most: int) -> Iterator[tuple[int, ...]]:
    """The ways to give steps to threads, the longest thread first."""
    if not steps:
        yield ()
    for first in range(min(steps, most), 0, -1):
        for rest in _lengths(steps - first, first):
            yield (first, *rest)


def _programs(lengths: tuple[int, ...]) -> Iterator[PhaseProgram]:
    # Threads of one length are alike: they come in one order only.
    groups = [
        itertools.combinations_with_replacement(itertools.product(LETTERS, repeat=length), len(list(alike)))
        for length, alike in itertools.groupby(lengths)
    ]
    for chosen in itertools.product(*groups):
        threads = tuple(thread for group in chosen for thread in group)
        counted = any("b" in str(step) and step.word != "finish" for thread in threads for step in thread)
        for count in _COUNTS if counted else _COUNTS[:1]:
            try:
                yield PhaseProgram((count,), threads)
            except ValueError:
                break  # not in the language


# Right protocols: a ring of one stage for two rounds, two stages with two consumers, arrivals at named
# barriers both ways, an init that is published, a stage that two blocks of a cluster release, the cluster's
# own barrier, relaxed steps with fences, and lanes of a warp that store, and load what the other has stored.
_RIGHT = """
b0=1 b1=1
| wait b1 1; expect b0 8; copy s0 b0 8; arrive b0; wait b1 0; expect b0 8; copy s0 b0 8; arrive b0
| wait b0 0; multiply s0; finish; arrive b1; wait b0 1; multiply s0; finish; arrive b1

b0=1 b1=2
| expect b0 16; copy s0 b0 8; copy s1 b0 8; arrive b0; wait b1 0; expect b0 8; copy s0 b0 8; arrive b0
| wait b0 0; multiply s0; finish; arrive b1
| wait b0 0; load s1; load s0; arrive b1; wait b0 1; load s0

b0=1
| join n0 2; meet n1 2; load s0
| meet n0 2; store s0; join n1 2

b0=1
| init b0; meet n0 2; store s0; arrive b0
| meet n0 2; wait b0 0; load s0

b0=1 b1=1 b2=2
| wait b2 1; copy s0 b0 8; copy s1 b1 8; wait b2 0; store s0
| expect b0 8; arrive b0; wait b0 0; load s0; arrive b2
| expect b1 8; arrive b1; wait b1 0; load s1; arrive b2

b0=1
| store s0; fence; cluster.arrive.relaxed; cluster.wait
| cluster.arrive; cluster.wait; load s0

b0=1
| store s0; fence; arrive.relaxed b0
| wait.relaxed b0 0; fence; load s0

b0=1
| store s0; fence; meet.relaxed n0 2; load s1
| store s1; fence; meet.relaxed n0 2; load s0
"""
SEEDS = tuple(map(parse_phases, _RIGHT.strip().split("\n\n")))


def slipped_programs() -> Iterator[PhaseProgram]:
    """The right protocols; each of them without one of its steps, and with two steps that follow each other
    exchanged.
    """
    for right in SEEDS:
        yield right
        for number, thread in enumerate(right.threads):
            others = right.threads[:number], right.threads[number + 1 :]
            changed = [(*thread[:at], *thread[at + 1 :]) for at in range(len(thread))]
            changed += [
                (*thread[:at], thread[at + 1], thread[at], *thread[at + 2 :]) for at in range(len(thread) - 1)
            ]
            for one in changed:
                try:
                    yield PhaseProgram(right.counts, (*others[0], one, *others[1]))
                except ValueError:
                    continue  # not in the language


def random_programs(seed: int, number: int) -> Iterator[PhaseProgram]:
    """Programs like the right ones, with some steps taken out, put in, exchanged or changed."""
    source = random.Random(seed)
    while number:
        right = source.choice(SEEDS)
        words = sorted({step for thread in right.threads for step in thread} | {*LETTERS}, key=str)
        threads = [list(thread) for thread in right.threads]
        for _ in range(source.randrange(1, 4)):
            thread = source.choice(threads)
            at = source.randrange(len(thread) + 1)
            thread[at : at + source.randrange(2)] = source.choices(words, k=source.randrange(2))
        counts = tuple(max(1, count + source.choice((0, 0, 0, 0, 1, -1))) for count in right.counts)
        try:
            yield PhaseProgram(counts, tuple(map(tuple, threads)))
        except ValueError:
            continue
        number -= 1
