"""Programs of barriers with phases: what both phase models speak about, and nothing that either knows.

A thread stands for a warp, for one elected thread of it, or for one lane of a warp. Its steps are written in
a row; there are no branches, so a loop is written out. mbarriers (`b0`), named barriers (`n0`) and buffers
(`s0`) belong to the program. A barrier or buffer of another block of the cluster is one more of them, and a
multicast copy is a copy into each block.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

__all__ = ["CLUSTER", "JOINS", "WORDS", "PhaseProgram", "PhaseStep", "parse_phases", "parse_thread"]

JOINS = ("join", "join.relaxed")
CLUSTER = -1  # the cluster's barrier, among the named ones

# By the first word of a step, the operands: a letter for what has a number, # for a plain number, ? for one
# that is 1 where it is left out.
WORDS: Mapping[str, str] = {
    "init": "b",
    "arrive": "b?",
    "arrive.relaxed": "b?",
    "expect": "b#",
    "wait": "b#",
    "wait.relaxed": "b#",
    "copy": "sb#",
    "load": "s",
    "store": "s",
    "multiply": "s",
    "finish": "",
    "fence": "",
    "join": "n#",
    "join.relaxed": "n#",
    "leave": "n",
    "cluster.arrive": "",
    "cluster.arrive.relaxed": "",
    "cluster.wait": "",
}
_MEETS: Mapping[str, str] = {"meet": "join", "meet.relaxed": "join.relaxed"}  # and leave, in one word


@dataclass(frozen=True, slots=True)
class PhaseStep:
    """One step of a thread.

    `init` initialises an mbarrier. `arrive` counts `number` arrivals. `expect` and `copy` add and complete
    `number` bytes. `wait` is for the parity `number`. A `copy` writes a buffer, and a `multiply` reads one,
    some time later; `finish` waits for the thread's own. `fence` is a fence of memory. `join` arrives at a
    named barrier of `number` threads (bar.arrive), and `leave`, behind it, waits for the others of the
    phase: the two together are bar.sync; of the lanes of a warp, bar.warp.sync. `join.relaxed` orders no
    memory: with `leave`, it is what lanes do that execute an instruction of the whole warp together.
    """

    word: str
    buffer: int = 0
    barrier: int = 0
    number: int = 0

    def __str__(self) -> str:
        shown = {
            "s": f"s{self.buffer}",
            "b": f"b{self.barrier}",
            "n": f"n{self.barrier}",
            "#": str(self.number),
        }
        shown["?"] = str(self.number) if self.number != 1 else ""
        return " ".join(text for text in (self.word, *(shown[kind] for kind in WORDS[self.word])) if text)


@dataclass(frozen=True)
class PhaseProgram:
    """Threads, and the count of each mbarrier.

    An mbarrier that no step initialises is so before the program starts. Raises ValueError for a program that
    the language does not have.
    """

    counts: tuple[int, ...]
    threads: tuple[tuple[PhaseStep, ...], ...]

    def __post_init__(self) -> None:
        steps = [step for thread in self.threads for step in thread]
        for step in steps:
            if "b" in WORDS[step.word] and step.barrier >= len(self.counts):
                raise ValueError(f"`{step}`: b{step.barrier} has no count")
        inits = [step.barrier for step in steps if step.word == "init"]
        if len(inits) != len(set(inits)):
            raise ValueError("an mbarrier is initialised twice")
        if min(self.counts, default=1) < 1 or any(step.number < 1 for step in steps if step.word in _COUNTED):
            raise ValueError("counts and bytes are at least 1")
        if any(step.number not in (0, 1) for step in steps if step.word.startswith("wait")):
            raise ValueError("a parity is 0 or 1")
        self._check_named(steps)

    def _check_named(self, steps: Iterable[PhaseStep]) -> None:
        counts: dict[int, int] = {}
        for step in steps:
            if step.word in JOINS and counts.setdefault(step.barrier, step.number) != step.number:
                raise ValueError(f"n{step.barrier} has {counts[step.barrier]} threads, and {step.number}")
        for thread in self.threads:
            arrived = False
            for at, step in enumerate(thread):
                if step.word == "leave":
                    join = thread[at - 1] if at else step
                    if join.word not in JOINS or join.barrier != step.barrier:
                        raise ValueError(f"`{step}`: the step before it does not arrive there")
                elif step.word.startswith("cluster"):
                    waits = step.word == "cluster.wait"
                    if waits != arrived:
                        raise ValueError(f"`{step}`: arrivals at the cluster's barrier and waits take turns")
                    arrived = not waits

    @cached_property
    def named(self) -> Mapping[int, int]:
        """The threads of each named barrier; of the cluster's all threads."""
        found = {CLUSTER: len(self.threads)}
        for thread in self.threads:
            found |= {step.barrier: step.number for step in thread if step.word in JOINS}
        return found

    @cached_property
    def initialised(self) -> frozenset[int]:
        """The mbarriers that a step initialises."""
        return frozenset(step.barrier for thread in self.threads for step in thread if step.word == "init")

    def __str__(self) -> str:
        counts = " ".join(f"b{number}={count}" for number, count in enumerate(self.counts))
        return " | ".join((counts, *("; ".join(map(str, thread)) for thread in self.threads)))


_COUNTED = ("arrive", "arrive.relaxed", "expect", "copy", *JOINS)


def parse_phases(text: str) -> PhaseProgram:
    """Read what str() of a program writes: `b0=1 | store s0; arrive b0 | wait b0 0; load s0`.

    Raises ValueError, which quotes the faulty step.
    """
    head, *threads = text.split("|")
    counts: list[int] = []
    for word in head.split():
        name, _, count = word.partition("=")
        if name != f"b{len(counts)}" or not count.isdigit():
            raise ValueError(f"{word!r} is not the count of b{len(counts)}, such as b{len(counts)}=1")
        counts.append(int(count))
    return PhaseProgram(tuple(counts), tuple(parse_thread(thread.split(";")) for thread in threads))


def parse_thread(lines: Sequence[str]) -> tuple[PhaseStep, ...]:
    """Read the steps of one thread."""
    return tuple(step for line in lines if line.strip() for step in _steps(line.split()))


def _steps(words: Sequence[str]) -> list[PhaseStep]:
    if words[0] in _MEETS:
        join = _step((_MEETS[words[0]], *words[1:]))
        return [join, PhaseStep("leave", barrier=join.barrier)]
    return [_step(words)]


def _step(words: Sequence[str]) -> PhaseStep:
    text = " ".join(words)
    kinds = WORDS.get(words[0])
    if kinds is None:
        raise ValueError(f"`{text}`: no step is called {words[0]!r}")
    if kinds.endswith("?") and len(words) == len(kinds):
        words = (*words, "1")
    if len(words) != len(kinds) + 1:
        raise ValueError(f"`{text}`: {words[0]} takes {len(kinds)} operands")
    found = {"s": 0, "b": 0, "#": 0}
    for kind, word in zip(kinds, words[1:], strict=True):
        letter = kind if kind.isalpha() else ""
        digits = word.removeprefix(letter)
        if not word.startswith(letter) or not (digits.isascii() and digits.isdigit()):
            raise ValueError(f"`{text}`: {word!r} is not an operand such as {letter}0")
        found[{"n": "b", "?": "#"}.get(kind, kind)] = int(digits)
    return PhaseStep(words[0], found["s"], found["b"], found["#"])
