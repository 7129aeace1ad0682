"""Classify statements by what ptxas does: it accepts each, refuses it, or dies.

One process reads many statements; nothing is written to disk. ptxas reports
the faults of a file in phases. A statement counts as accepted only when a file that holds it was assembled
with exit code 0. A death, a hang or a fault without a line may be any statement's: the statements are halved
until one is left.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Literal

from ..spec.api import load
from ..spec.nodes import Version
from .asking import LIMIT, TOGETHER, Asking, FileFault, PtxasAnswer
from .outcomes import AskedBefore, SilentAssembler, StatementOutcome, mnemonic_of, qualifiers

if TYPE_CHECKING:
    from .toolchains import Ptxas

__all__ = ["Session", "classify"]

_BATCH = 16000
_FILES = 200  # in one process
_NONSENSE = "nonsense"
_Phase = Literal["early", "later", "code"]


class Session:
    """One ptxas, asked under one .version and one .target; collects its advisories."""

    def __init__(
        self, ptxas: Ptxas, ptx: Version, target: str, limit: float = LIMIT, memory: AskedBefore | None = None
    ) -> None:
        self._asking = Asking(ptxas, ptx, target, limit)
        self._target = target
        self.advisories: Counter[str] = Counter()
        self._heard = False
        self._memory = AskedBefore() if memory is None else memory

    @property
    def runs(self) -> int:
        """How often ptxas was run."""
        return self._asking.runs

    def classify(self, statements: Sequence[str]) -> list[StatementOutcome]:
        """The outcome of every statement, in their order."""
        text = "\n".join(statements)
        if text.count("\n") != max(len(statements) - 1, 0) or "/*" in text or "//" in text:
            raise ValueError("a statement is not one statement when it has line breaks or comments")
        if statements and f"{text}\n".count(";\n") != len(statements):
            unfinished = next(text for text in statements if not text.endswith(";"))
            raise ValueError(f"{unfinished!r} is not one statement: it ends without a semicolon")
        outcomes: dict[int, StatementOutcome] = {}
        for start in range(0, len(statements), _BATCH):
            numbers = list(range(start, min(start + _BATCH, len(statements))))
            if any(self._memory.words.values()):
                numbers = self._readable(statements, numbers, outcomes)
            for places in _in_one_kernel(tuple(map(statements.__getitem__, numbers))):
                group = list(map(numbers.__getitem__, places))
                self._settle(statements, group, outcomes, "early")
        return list(map(outcomes.__getitem__, range(len(statements))))

    def answers(self, statements: Sequence[str]) -> list[StatementOutcome] | None:
        """The outcome of every statement; None where nothing can be asked.

        An empty kernel says that: faults of statements, and what is remembered, hide a version without the
        target.
        """
        if self.mute() is not None:
            return None
        self._heard = True
        return self.classify(statements)

    def _settle(
        self,
        statements: Sequence[str],
        numbers: list[int],
        outcomes: dict[int, StatementOutcome],
        phase: _Phase = "code",
    ) -> None:
        """Find the outcome of some statements: remove refused ones until the rest is assembled.

        One run reports the early faults of all lines, a later fault of one line of a file, and faults of code
        generation without a line.
        """
        while numbers:
            early = phase == "early"
            answer, left, suspects = self._sweep(
                statements, numbers, outcomes, early and len(numbers) > TOGETHER
            )
            if answer.clean:
                self._accept(statements, numbers, outcomes, answer)
                return
            if not early:
                self._remember(statements, set(numbers) - set(left), outcomes)
            if suspects and len(numbers) > len(suspects):
                for number in suspects:
                    self._settle(statements, [number], outcomes)
                numbers = [number for number in left if number not in outcomes]
                continue
            if early and not answer.death:
                left = self._without_known(statements, left, outcomes)
                if answer.shut or len(left) < len(numbers):
                    numbers, phase = left, "later"
                    continue
            if phase == "later" or (early and not answer.death):
                left, phase = self._each(statements, left, outcomes), "code"
            if len(left) == len(numbers):
                self._halve(statements, numbers, outcomes, answer, phase)
                return
            numbers = left

    def _each(
        self, statements: Sequence[str], numbers: list[int], outcomes: dict[int, StatementOutcome]
    ) -> list[int]:
        """Ask about each in a file of its own, without generating code; return those without a fault.

        What ptxas is known to die of gets a process of its own, since it would end one for many files.
        """
        deadly = self._memory.deadly
        for number in [number for number in numbers if statements[number] in deadly]:
            self._settle(statements, [number], outcomes)
        numbers = suspects = [number for number in numbers if number not in outcomes]
        if len(numbers) > TOGETHER:
            groups = [numbers[start : start + TOGETHER] for start in range(0, len(numbers), TOGETHER)]
            faults = self._faults([[statements[number] for number in group] for group in groups])
            suspects = [n for group, fault in zip(groups, faults, strict=True) if fault for n in group]
        faults = self._faults([[statements[number]] for number in suspects])
        for number, fault in zip(suspects, faults, strict=True):
            if isinstance(fault, FileFault):
                outcomes[number] = StatementOutcome("refused", fault.words)
                self._remember(statements, [number], outcomes)
            elif fault is not None:
                self._settle(statements, [number], outcomes)
        return [number for number in numbers if number not in outcomes]

    def _faults(self, files: Sequence[Sequence[str]]) -> list[FileFault | str | None]:
        """The fault of each file before code is generated, or how ptxas ended that read it; None: no fault.

        A ptxas that reads only one file in a process is not asked this way.
        """
        found: list[FileFault | str | None] = []
        while len(found) < len(files):
            several = self._asking.each(files[len(found) : len(found) + _FILES])
            found += several.faults
            if several.ended is not None and not several.faults and not several.killed:
                return [*found, *itertools.repeat(None, len(files) - len(found))]  # it reads one file only
            if several.ended is not None:
                found.append(several.ended)
        behind = [at for at, fault in enumerate(found) if isinstance(fault, FileFault) and fault.behind]
        if behind:  # without the files of which something was left unread
            again = self._faults([files[at] for at in behind])
            for at, fault in zip(behind, again, strict=True):
                found[at] = fault
        return found

    def _accept(
        self,
        statements: Sequence[str],
        numbers: list[int],
        outcomes: dict[int, StatementOutcome],
        answer: PtxasAnswer,
    ) -> None:
        """Record what was assembled together."""
        self.advisories.update(answer.advisories)
        for place, number in enumerate(numbers):
            outcome = StatementOutcome("accepted", tuple(answer.warnings.get(place, ())))
            outcomes[number] = outcome
            self._memory.assembled[self._target, statements[number]] = outcome

    def _remember(
        self, statements: Sequence[str], numbers: Iterable[int], outcomes: Mapping[int, StatementOutcome]
    ) -> None:
        for number in numbers:
            self._memory.refused_late(self._target, statements[number], outcomes[number])

    def _without_known(
        self, statements: Sequence[str], numbers: list[int], outcomes: dict[int, StatementOutcome]
    ) -> list[int]:
        """Settle statements by earlier answers, ask about some on their own, and return the rest."""
        left, apart = [], []
        memory = self._memory
        for number in numbers:
            text = statements[number]
            known = memory.late.get((self._target, text)) or memory.assembled.get((self._target, text))
            if known is not None:
                outcomes[number] = known
            elif text in memory.apart:
                apart.append(number)
            else:
                left.append(number)
        self._settle(statements, self._each(statements, apart, outcomes), outcomes)
        return left

    def _sweep(
        self,
        statements: Sequence[str],
        numbers: list[int],
        outcomes: dict[int, StatementOutcome],
        early: bool,
    ) -> tuple[PtxasAnswer, list[int], list[int]]:
        """Ask once about every statement, going on behind a syntax error.

        The last answer (clean only when it was about all of them), who is left, and who may have killed
        ptxas: it goes on after every refusal but the last that it spoke of.
        """
        left: list[int] = []
        rest = numbers
        while True:
            answer = self._asking.ask([statements[number] for number in rest], early)
            last = max(answer.faults, default=len(rest)) if answer.death else len(rest)
            end = last if answer.stopped is None or answer.death else answer.stopped + 1
            for place, number in enumerate(rest[:end]):
                words = answer.faults.get(place)
                if words is None:
                    left.append(number)
                else:
                    outcomes[number] = _refused(words)
            behind = rest[end:]
            if answer.death:
                return answer, left + behind, behind[:2]
            if answer.stopped is not None:
                behind = self._without_unreadable(statements, rest[answer.stopped], behind, outcomes)
            if not behind:
                if len(rest) != len(numbers) and answer.clean:
                    answer.unplaced.append("only a part was asked about")
                return answer, left, []
            rest = behind

    def _without_unreadable(
        self,
        statements: Sequence[str],
        stopped: int,
        behind: list[int],
        outcomes: dict[int, StatementOutcome],
    ) -> list[int]:
        """The statements behind a syntax error, without those with a qualifier that this ptxas cannot read.

        Such a word stops the parse wherever it stands, in a nonsense instruction too: what is found out
        about the words of all these statements settles every one that has one.
        """
        memory = self._memory
        if any(word not in memory.words for word in qualifiers(statements[stopped])):
            mnemonics = dict.fromkeys(mnemonic_of(statements[number]) for number in [stopped, *behind])
            self._learn(list(dict.fromkeys(word for text in mnemonics for word in qualifiers(text))))
        if memory.unreadable(statements[stopped]) is None:
            return behind
        return self._readable(statements, behind, outcomes)

    def _readable(
        self, statements: Sequence[str], numbers: Iterable[int], outcomes: dict[int, StatementOutcome]
    ) -> list[int]:
        """Refuse the statements that have a qualifier which cannot be read; return the rest."""
        left = []
        for number in numbers:
            fault = self._memory.unreadable(statements[number])
            if fault is None:
                left.append(number)
            else:
                outcomes[number] = StatementOutcome("refused", (fault,))
        return left

    def _learn(self, words: Sequence[str]) -> None:
        """Find out which words can be read as qualifiers."""
        words = [word for word in words if word not in self._memory.words]
        faults = self._faults([[f"{_NONSENSE}.{word};"] for word in words])
        for word, fault in zip(words, faults, strict=True):
            if isinstance(fault, FileFault) and fault.fatal:
                self._memory.learn(word, _joined(fault.words))
            else:
                self._memory.learn(word, None)

    def _halve(
        self,
        statements: Sequence[str],
        numbers: list[int],
        outcomes: dict[int, StatementOutcome],
        answer: PtxasAnswer,
        phase: _Phase,
    ) -> None:
        """Settle each half of statements that have a fault without a line; a single statement has it."""
        if not self._heard:
            self._hear()
        if len(numbers) > 1:
            for part in _parts(numbers):
                self._settle(statements, part, outcomes, phase)
        else:
            verdict: Literal["died", "refused"] = "died" if answer.death else "refused"
            said = (answer.death,) if answer.death else tuple(answer.unplaced)
            outcomes[numbers[0]] = StatementOutcome(verdict, said)
            self._remember(statements, numbers, outcomes)

    def mute(self) -> str | None:
        """The fault of an empty kernel: nothing can be asked then. None when it is accepted."""
        answer = self._asking.ask([])
        return None if answer.clean else answer.death or _joined(answer.unplaced)

    def _hear(self) -> None:
        """Raise SilentAssembler unless an empty kernel is accepted: no statement is to blame then."""
        why = self.mute()
        if why is not None:
            asked = (
                f"ptxas {self._asking.ptxas.version} cannot be asked about PTX {self._asking.ptx} "
                f"on {self._target}"
            )
            raise SilentAssembler(asked, why)
        self._heard = True


@lru_cache(4096)
def _refused(words: tuple[str, ...]) -> StatementOutcome:
    """A refusal with these words; many statements share one."""
    return StatementOutcome("refused", words)


@cache
def _uniform_words() -> frozenset[str]:
    """The qualifiers that all statements of a kernel must share with each other."""
    families = load().families.values()
    rows = ((field, view) for f in families for field in f.instruction.uniform for view in f.rows)
    return frozenset(str(value) for field, view in rows for value in view.domains[field])


@cache
def _uniform_pattern() -> re.Pattern[str]:
    """Finds any of them in a text: nearly all statements have none."""
    return re.compile("|".join(map(re.escape, sorted(_uniform_words()))) or "$.")


@lru_cache(4)
def _in_one_kernel(statements: tuple[str, ...]) -> tuple[tuple[int, ...], ...]:
    """The places of statements in groups that may stand in one kernel, by the qualifiers that a kernel has
    but once.

    The same statements are asked under every version.
    """
    words, mentioned = _uniform_words(), _uniform_pattern().search
    groups: dict[frozenset[str], list[int]] = {}
    for place, text in enumerate(statements):
        shared = words.intersection(qualifiers(text)) if mentioned(text) else frozenset[str]()
        groups.setdefault(shared, []).append(place)
    return tuple(map(tuple, groups.values()))


def _parts(numbers: list[int]) -> Iterator[list[int]]:
    """Two halves; of many numbers, parts small enough to be assembled fast."""
    step = TOGETHER if len(numbers) > 2 * TOGETHER else (len(numbers) + 1) // 2
    for start in range(0, len(numbers), step):
        yield numbers[start : start + step]


def _joined(words: Sequence[str]) -> str:
    return "; ".join(dict.fromkeys(words))


def classify(
    ptxas: Ptxas, statements: Sequence[str], ptx: Version, target: str, limit: float = LIMIT
) -> list[StatementOutcome]:
    """What a ptxas says about each of many statements under a .version and a .target.

    Raises Question when it cannot be run, and SilentAssembler when it knows no such version or target.
    """
    return Session(ptxas, ptx, target, limit).classify(statements)
