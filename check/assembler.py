"""What ptxas says about statements: each is accepted, refused, or kills it.

Many statements are asked about in one process, over standard input; nothing is written to disk. ptxas
reports the faults of a file in phases, and a statement counts as accepted only once it has been
assembled, beside others that are, with exit code 0. What cannot be laid at one statement's door (a death,
a hang, a fault without a line) is halved until it is alone.
"""

from __future__ import annotations

import itertools
import re
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ..spec.errors import Question
from ..spec.nodes import Version
from .toolchains import Ptxas

__all__ = ["REGISTERS", "Outcome", "Session", "classify", "kernel", "register_types"]

# Every kernel declares these: prefix and number of the registers of each type.
REGISTERS: Mapping[str, tuple[str, int]] = {
    "pred": ("%p", 8),
    "b8": ("%bb", 8),
    "u8": ("%ub", 8),
    "s8": ("%sb", 8),
    "b16": ("%bh", 160),
    "u16": ("%uh", 8),
    "s16": ("%sh", 8),
    "f16": ("%h", 160),
    "b32": ("%b", 160),
    "u32": ("%u", 160),
    "s32": ("%s", 160),
    "f32": ("%f", 160),
    "f16x2": ("%hh", 160),
    "b64": ("%bd", 160),
    "u64": ("%ud", 8),
    "s64": ("%sd", 8),
    "f64": ("%fd", 160),
}
_DECLARED = " ".join(f".reg .{kind} {name}<{count}>;" for kind, (name, count) in REGISTERS.items())
_BATCH = 8000
_LIMIT = 60.0
_WORDS = r"(?P<kind>error|fatal|warning|info|advisory)\s*: (?P<words>.+)"
_SAID = re.compile(rf"ptxas (?P<file>[^,]*), line (?P<line>\d+); {_WORDS}")
_UNPLACED = re.compile(rf"ptxas {_WORDS}")
_CLOSING = "Ptx assembly aborted due to errors"
_FILE = "/dev/stdin"
_NONSENSE = "nonsense"


@dataclass(frozen=True)
class Outcome:
    """The verdict on one statement, and what ptxas said: why it is refused, or its warnings."""

    verdict: Literal["accepted", "refused", "died"]
    words: str = ""


@dataclass
class _Answer:
    """What one run of ptxas said: by the number of the statement, about the head, and about no line."""

    code: int | None
    faults: dict[int, list[str]] = field(default_factory=lambda: defaultdict(list))
    warnings: dict[int, list[str]] = field(default_factory=lambda: defaultdict(list))
    unplaced: list[str] = field(default_factory=list)
    advisories: list[str] = field(default_factory=list)
    stopped: int | None = None
    output: bytes = b""

    @property
    def clean(self) -> bool:
        return self.code == 0 and not self.faults and not self.unplaced

    @property
    def death(self) -> str | None:
        """How the process ended when it gave no readable answer; None when it gave one."""
        if self.code is None:
            return "no answer within the limit of time"
        if self.code < 0:
            return f"killed by signal {-self.code}"
        if any("internal" in words.lower() for words in self.unplaced):
            return "; ".join(self.unplaced)
        if self.clean or self.faults or self.unplaced:
            return None
        return f"exit code {self.code} without a fault that can be read"


def register_types() -> dict[str, str]:
    """The declared type of every register of the kernel."""
    return {f"{name}{i}": kind for kind, (name, count) in REGISTERS.items() for i in range(count)}


def _head(ptx: Version, target: str) -> str:
    return f".version {ptx}\n.target {target}\n.address_size 64\n.entry kernel() {{ {_DECLARED}\n"


def kernel(statements: Sequence[str], ptx: Version, target: str) -> str:
    """A PTX file of one kernel that holds the statements, one a line."""
    return _head(ptx, target) + "\n".join(statements) + "\nret; }\n"


class Session:
    """One ptxas asked under one .version and one .target; collects what it advises on the way."""

    def __init__(self, ptxas: Ptxas, ptx: Version, target: str, limit: float = _LIMIT) -> None:
        self.ptxas = ptxas
        self.ptx = ptx
        self.target = target
        self.limit = limit
        self.advisories: Counter[str] = Counter()
        self.runs = 0
        self._before = _head(ptx, target).count("\n")
        self._heard = False
        self._readable: dict[str, str | None] = {}

    def classify(self, statements: Sequence[str]) -> list[Outcome]:
        """The outcome of every statement, in their order."""
        for text in statements:
            if "\n" in text or "/*" in text or "//" in text or not text.endswith(";"):
                raise ValueError(f"{text!r} is not one statement on one line")
        outcomes: dict[int, Outcome] = {}
        for start in range(0, len(statements), _BATCH):
            numbers = range(start, min(start + _BATCH, len(statements)))
            self._settle(statements, list(numbers), outcomes)
        return [outcomes[number] for number in range(len(statements))]

    def assemble(self, text: str, output: str = "/dev/null") -> tuple[int | None, str, bytes]:
        """Run ptxas on a whole file: exit code (None: it hangs), what it said, what it wrote."""
        command = [str(self.ptxas.path), "-arch", self.target, _FILE, "-o", output]
        self.runs += 1
        try:
            done = subprocess.run(command, input=text.encode(), capture_output=True, timeout=self.limit)
        except subprocess.TimeoutExpired:
            return None, "", b""
        except OSError as error:
            raise Question(f"{self.ptxas.path} cannot be run: {error.strerror}") from None
        return done.returncode, done.stderr.decode(errors="replace"), done.stdout

    def _ask(self, statements: Sequence[str]) -> _Answer:
        code, said, output = self.assemble(kernel(statements, self.ptx, self.target))
        answer = _Answer(code, output=output)
        for line in said.splitlines():
            self._read(line, len(statements), answer)
        return answer

    def _read(self, line: str, count: int, answer: _Answer) -> None:
        """Put one line of what ptxas says where it belongs; one that cannot be read says nothing."""
        found = _SAID.match(line)
        if found is None:
            found = _UNPLACED.match(line)
            if found and found["words"].strip() != _CLOSING:
                fault = found["kind"] in ("error", "fatal")
                (answer.unplaced if fault else answer.advisories).append(found["words"].strip())
            return
        number = int(found["line"]) - self._before - 1
        placed = found["file"] == _FILE and 0 <= number < count
        words = found["words"].strip()
        if found["kind"] not in ("error", "fatal"):
            if placed:
                answer.warnings[number].append(words)
            else:
                answer.advisories.append(words)
        elif placed:
            answer.faults[number].append(words)
            if found["kind"] == "fatal":
                answer.stopped = number
        else:
            answer.unplaced.append(words)

    def _settle(self, statements: Sequence[str], numbers: list[int], outcomes: dict[int, Outcome]) -> None:
        """Find the outcome of some statements: refuse until what is left is accepted together."""
        while numbers:
            answer, left = self._sweep(statements, numbers, outcomes)
            if answer.clean:
                self.advisories.update(answer.advisories)
                for place, number in enumerate(numbers):
                    outcomes[number] = Outcome("accepted", _joined(answer.warnings.get(place, [])))
                return
            if len(left) == len(numbers):
                self._halve(statements, numbers, outcomes, answer)
                return
            numbers = left

    def _sweep(
        self, statements: Sequence[str], numbers: list[int], outcomes: dict[int, Outcome]
    ) -> tuple[_Answer, list[int]]:
        """Ask once about every statement, going on behind a syntax error; the last answer, and who is left.

        The answer is clean only when it was about all of them.
        """
        left: list[int] = []
        rest = numbers
        while True:
            answer = self._ask([statements[number] for number in rest])
            if answer.death:
                return answer, left + _before_death(rest, answer, outcomes)
            end = len(rest) if answer.stopped is None else answer.stopped + 1
            for place, number in enumerate(rest[:end]):
                if place in answer.faults:
                    outcomes[number] = Outcome("refused", _joined(answer.faults[place]))
                else:
                    left.append(number)
            behind = rest[end:]
            if answer.stopped is not None:
                behind = self._without_unreadable(statements, rest[answer.stopped], behind, outcomes)
            if not behind:
                if len(rest) != len(numbers) and answer.clean:
                    answer.unplaced.append("only a part was asked about")
                return answer, left
            rest = behind

    def _without_unreadable(
        self, statements: Sequence[str], stopped: int, behind: list[int], outcomes: dict[int, Outcome]
    ) -> list[int]:
        """Who is left behind a syntax error when it was a qualifier that this ptxas cannot even read.

        Such a word stops the parse wherever it stands, in a nonsense instruction too: one run settles
        every statement that has it.
        """
        for word in _qualifiers(statements[stopped]):
            if word not in self._readable:
                answer = self._ask([f"{_NONSENSE}.{word};"])
                fatal = answer.stopped is not None
                self._readable[word] = _joined(answer.faults[0]) if fatal else None
            fault = self._readable[word]
            if fault is not None:
                left = []
                for number in behind:
                    if word in _qualifiers(statements[number]):
                        outcomes[number] = Outcome("refused", f".{word} cannot be read: {fault}")
                    else:
                        left.append(number)
                behind = left
        return behind

    def _halve(
        self, statements: Sequence[str], numbers: list[int], outcomes: dict[int, Outcome], answer: _Answer
    ) -> None:
        """Settle each half, or the one statement, of what ptxas finds fault with but does not place."""
        if not self._heard:
            self._hear()
        if len(numbers) > 1:
            for part in _parts(numbers, answer):
                self._settle(statements, part, outcomes)
        elif answer.death:
            outcomes[numbers[0]] = Outcome("died", answer.death)
        else:
            outcomes[numbers[0]] = Outcome("refused", _joined(answer.unplaced))

    def mute(self) -> str | None:
        """Why nothing can be asked: what an empty kernel is refused for. None when it is accepted."""
        answer = self._ask([])
        return None if answer.clean else answer.death or _joined(answer.unplaced)

    def _hear(self) -> None:
        """Raise Question unless an empty kernel is accepted: no statement is to blame then."""
        why = self.mute()
        if why is not None:
            raise Question(
                f"ptxas {self.ptxas.version} cannot be asked about PTX {self.ptx} on {self.target}: {why}"
            )
        self._heard = True


def _qualifiers(statement: str) -> list[str]:
    """The words of a mnemonic behind its first; none in a directive."""
    if statement.startswith("."):
        return []
    return statement.split(" ", 1)[0].rstrip(";").split(".")[1:]


def _before_death(rest: list[int], answer: _Answer, outcomes: dict[int, Outcome]) -> list[int]:
    """Who is left when ptxas died: it went on after every refusal but the last that it spoke of."""
    last = max(answer.faults, default=None)
    left = []
    for place, number in enumerate(rest):
        if place in answer.faults and place != last:
            outcomes[number] = Outcome("refused", _joined(answer.faults[place]))
        else:
            left.append(number)
    return left


def _parts(numbers: list[int], answer: _Answer) -> Iterator[list[int]]:
    """The parts in which to look for what kills ptxas: about the last that it spoke of, else halves."""
    last = max(answer.faults, default=None) if answer.death else None
    cuts = [len(numbers) // 2] if last is None else [last, last + 1, last + 2]
    for start, end in itertools.pairwise([0, *cuts, len(numbers)]):
        if numbers[start:end]:
            yield numbers[start:end]


def _joined(words: Sequence[str]) -> str:
    return "; ".join(dict.fromkeys(words))


def classify(
    ptxas: Ptxas, statements: Sequence[str], ptx: Version, target: str, limit: float = _LIMIT
) -> list[Outcome]:
    """What a ptxas says about each of many statements under a .version and a .target.

    Raises Question when it cannot be run or knows no such version or target.
    """
    return Session(ptxas, ptx, target, limit).classify(statements)
