"""Numbers in shared memory, held against a byte-by-byte account of the same stores."""

from __future__ import annotations

from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from ptxmma.check.execution.clocks import Clock
from ptxmma.check.execution.shared_words import SharedWords
from ptxmma.check.ptx.operands import Address
from ptxmma.check.values.block_threads import WARP
from ptxmma.check.values.lane_numbers import lane_math, number_at

THREADS = tuple(range(3 * WARP))
SPACE = 6 * WARP  # bytes that the stores meet in


class PlainMemory:
    """By byte: the number, the warp that stored it, and the number of the warp's act; None: either of two."""

    def __init__(self, clocks: list[Clock]) -> None:
        self.clocks = clocks
        self.bytes: dict[int, tuple[int | None, int, int | None]] = {}

    def put(self, place: int, value: int | None, warp: int) -> None:
        clock = self.clocks[warp]
        number, writer, act = self.bytes.get(place, (None, warp, 0))
        new = value, warp, clock.seen[warp]
        apart = act is None or clock.seen[writer] < act
        self.bytes[place] = new if not apart or number == value else (None, warp, None)

    def known(self, place: int, warp: int) -> int | None:
        number, writer, act = self.bytes.get(place, (None, 0, 0))
        return number if act is not None and self.clocks[warp].seen[writer] >= act else None


@pytest.mark.parametrize("seed", range(12))
def test_what_loads_bring_is_what_the_last_ordered_stores_left(seed: int) -> None:
    random = Random(seed)
    clocks = [Clock(3) for _ in range(3)]
    for warp, clock in enumerate(clocks):
        clock.seen[warp] = 1
    words, plain = SharedWords(clocks), PlainMemory(clocks)
    seen: set[int | None] = set()
    for _ in range(150):
        warp = random.randrange(3)
        kind = random.choice(("known", "lanes", "unknown", "unknown", "load", "release", "join", "barrier"))
        threads = THREADS[warp * WARP : (warp + 1) * WARP] if random.random() < 0.5 else THREADS
        base = random.choice((lanes(random), random.randrange(SPACE)))
        if kind == "release":
            clocks[warp].seen[warp] += 1
        elif kind == "join":
            clocks[warp].seen = list(map(max, clocks[warp].seen, clocks[random.randrange(3)].seen))
        elif kind == "barrier":
            for clock in clocks:
                clock.seen = [max(one.seen[number] for one in clocks) for number in range(3)]
            for number, clock in enumerate(clocks):
                clock.seen[number] += 1
        elif kind == "load":
            registers, step = statement("load", base, None)
            (found,), _ = words.load(registers, step, threads)
            for thread in threads:
                low = number_at(base, thread)
                expected = plain.known(low, thread // WARP) if low is not None else None
                assert number_at(found, thread) == expected
                seen.add(expected)
        else:
            value = None if kind == "unknown" else lanes(random) if kind == "lanes" else random.randrange(3)
            registers, step = statement("store", base, value)
            words.store(registers, step, threads)
            stored: dict[int, tuple[int | None, int]] = {}
            torn: set[int] = set()  # bytes in which threads of the statement store different numbers
            for thread in threads:
                low = number_at(base, thread)
                assert low is not None
                new = number_at(value, thread)
                torn |= {low} if low in torn or (low in stored and stored[low][0] != new) else set()
                stored[low] = new, thread // WARP
            for place, (new, writer) in stored.items():
                plain.put(place, new, writer)
                if place in torn:
                    plain.bytes[place] = None, writer, None
    assert len(seen) > 1 and None in seen


def lanes(random: Random) -> Any:
    """A number for each thread."""
    step = random.choice((0, 1, 1, 2))
    return lane_math(len(THREADS)).joined(step * thread % SPACE for thread in THREADS)


def statement(does: str, base: Any, value: Any) -> tuple[Any, Any]:
    """A store or load of one byte, and what its registers hold."""
    held = {"%a": base, "%v": value}
    registers = SimpleNamespace(
        assumed=set(),
        threads=THREADS,
        math=lane_math(len(THREADS)),
        value=lambda text, scope: held[text],
        base=lambda address, scope: held[address.base],
    )
    decoded = SimpleNamespace(
        does=does,
        operation=SimpleNamespace(space="shared", action=SimpleNamespace(answer=None)),
        address=Address("%a", 0),
        bytes=1,
        scope=0,
        rows=None,
        operands=("[%a]", "%v"),
    )
    return registers, SimpleNamespace(statement=decoded, read=("%a",), written=("%v",), words=("ld", "b8"))
