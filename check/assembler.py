"""What ptxas says about statements: each is accepted, refused, or kills it.

Many statements are asked about in one process, over standard input; nothing is written to disk. ptxas
reports the faults of a file in phases, and a statement counts as accepted only once it has been
assembled, beside others that are, with exit code 0. What cannot be laid at one statement's door (a death,
a hang, a fault without a line) is halved until it is alone.
"""

from __future__ import annotations

import itertools
import os
import re
import select
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import BinaryIO, Literal

from ..spec.errors import Question
from ..spec.nodes import Version
from .toolchains import Ptxas

__all__ = ["REGISTERS", "Memory", "Outcome", "Session", "classify", "kernel", "register_types"]

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
_BEFORE = 4  # lines before the first statement
_TOGETHER = 50  # statements in a kernel: with more, code generation takes more than its share
_LIMIT = 60.0
_REFUSED = " mov.b32 %b0, %bd0;"  # by every release, whatever the .version and .target
_SAID = re.compile(
    r"ptxas (?:([^,\n]*), line (\d+); )?(error|fatal|warning|info|advisory)\s*: (.*\S)\s*$", re.MULTILINE
)
_ERROR = re.compile(r"^ptxas /dev/stdin, line (\d+); error   : (.*\S)\s*$", re.MULTILINE)
_CLOSING = "Ptx assembly aborted due to errors"
# What a later phase says of these depends on the .version.
_VERSIONED = re.compile(r"\.version|PTX ISA")
_FILE = "/dev/stdin"
_NONSENSE = "nonsense"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The verdict on one statement, and what ptxas said: why it is refused, or its warnings."""

    verdict: Literal["accepted", "refused", "died"]
    said: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """What ptxas said, each sentence once."""
        return "; ".join(dict.fromkeys(self.said))


@dataclass
class Memory:
    """What one ptxas said that it will say again under another .version: asking it twice is a waste.

    Its grammar is the same everywhere: `words` has the fault of every qualifier that it cannot read (None:
    it can). What its later phases refuse, they refuse for a target whatever the .version (`late`), unless
    the words name a version; what such a phase ever refused or died of is asked about on its own (`apart`).
    And what it has assembled for a target (`assembled`) it assembles whenever the first phase finds no fault.
    """

    words: dict[str, str | None] = field(default_factory=dict)
    late: dict[tuple[str, str], Outcome] = field(default_factory=dict)
    apart: set[str] = field(default_factory=set)
    assembled: dict[tuple[str, str], Outcome] = field(default_factory=dict)
    _unread: dict[str, str] = field(default_factory=dict)

    def unreadable(self, statement: str) -> str | None:
        """The fault of the first qualifier that cannot be read, of those that were asked about."""
        mnemonic = statement.split(" ", 1)[0]
        if mnemonic not in self._unread:
            faults = ((word, self.words.get(word)) for word in _qualifiers(mnemonic))
            first = next(((word, fault) for word, fault in faults if fault), None)
            self._unread[mnemonic] = f".{first[0]} cannot be read: {first[1]}" if first else ""
        return self._unread[mnemonic] or None

    def learn(self, word: str, fault: str | None) -> None:
        """Remember whether a qualifier can be read."""
        self.words[word] = fault
        self._unread.clear()

    def lasting(self) -> Memory:
        """What holds for every target."""
        return Memory(self.words, apart=self.apart)

    def add(self, other: Memory) -> None:
        """Take over what another remembers."""
        self.words |= other.words
        self.late |= other.late
        self.assembled |= other.assembled
        self.apart |= other.apart
        self._unread.clear()

    def refused_late(self, target: str, statement: str, outcome: Outcome) -> None:
        """Remember what a later phase did."""
        self.apart.add(statement)
        if outcome.verdict == "refused" and not _VERSIONED.search(outcome.words):
            self.late[target, statement] = outcome


@dataclass
class _Answer:
    """What one run of ptxas said: by the number of the statement, about the head, and about no line.

    It is `shut` when the line was refused that no assembler can take.
    """

    code: int | None
    faults: dict[int, list[str]] = field(default_factory=lambda: defaultdict(list))
    warnings: dict[int, list[str]] = field(default_factory=lambda: defaultdict(list))
    unplaced: list[str] = field(default_factory=list)
    advisories: list[str] = field(default_factory=list)
    stopped: int | None = None
    shut: bool = False
    output: bytes = b""

    @property
    def clean(self) -> bool:
        return self.code == 0 and not self.faults and not self.unplaced and not self.shut

    @property
    def death(self) -> str | None:
        """How the process ended when it gave no readable answer; None when it gave one."""
        if self.code is None:
            return "no answer within the limit of time"
        if self.code < 0:
            return f"killed by signal {-self.code}"
        if any("internal" in words.lower() for words in self.unplaced):
            return "; ".join(self.unplaced)
        if self.clean or self.faults or self.unplaced or self.shut:
            return None
        return f"exit code {self.code} without a fault that can be read"


@cache
def register_types() -> Mapping[str, str]:
    """The declared type of every register of the kernel."""
    return {f"{name}{i}": kind for kind, (name, count) in REGISTERS.items() for i in range(count)}


def _has_halves(ptx: Version, target: str) -> bool:
    """Whether there are .f16x2 registers: from PTX ISA 4.2 and sm_53 on."""
    return ptx >= Version(4, 2) and int(target.removeprefix("sm_").rstrip("af")) >= 53


def kernel(
    statements: Sequence[str], ptx: Version, target: str, together: int = _TOGETHER, before: str = ""
) -> str:
    """A PTX file that holds the statements, one a line, in kernels of so many that all compile fast.

    What stands `before` them is on the line of the first kernel's head.
    """
    declared = _DECLARED if _has_halves(ptx, target) else _DECLARED.replace(".f16x2", ".b32")
    lines = [f".version {ptx}\n.target {target}\n.address_size 64\n.entry kernel() {{ {declared}{before}"]
    for start in range(0, len(statements), together):
        if start:
            lines.append(f"ret; }} .entry kernel{start}() {{ {declared}")
        lines += statements[start : start + together]
    return "\n".join([*lines, "ret; }\n"])


def _statement(line: int, together: int) -> int | None:
    """The number of the statement that stands on a line of such a file, if any does."""
    kernels, place = divmod(line - _BEFORE - 1, together + 1)
    return kernels * together + place if line > _BEFORE and place < together else None


class Session:
    """One ptxas asked under one .version and one .target; collects what it advises on the way."""

    def __init__(
        self, ptxas: Ptxas, ptx: Version, target: str, limit: float = _LIMIT, memory: Memory | None = None
    ) -> None:
        self.ptxas = ptxas
        self.ptx = ptx
        self.target = target
        self.limit = limit
        self.advisories: Counter[str] = Counter()
        self.runs = 0
        self._heard = False
        self._memory = Memory() if memory is None else memory

    def classify(self, statements: Sequence[str]) -> list[Outcome]:
        """The outcome of every statement, in their order."""
        text = "\n".join(statements)
        if text.count("\n") != max(len(statements) - 1, 0) or "/*" in text or "//" in text:
            raise ValueError("a statement is not one statement when it has line breaks or comments")
        outcomes: dict[int, Outcome] = {}
        for start in range(0, len(statements), _BATCH):
            unreadable = self._memory.unreadable if any(self._memory.words.values()) else None
            numbers = []
            for number in range(start, min(start + _BATCH, len(statements))):
                if not statements[number].endswith(";"):
                    raise ValueError(
                        f"{statements[number]!r} is not one statement: it ends without a semicolon"
                    )
                if unreadable and (fault := unreadable(statements[number])):
                    outcomes[number] = Outcome("refused", (fault,))
                else:
                    numbers.append(number)
            self._settle(statements, numbers, outcomes, early=True)
        return [outcomes[number] for number in range(len(statements))]

    def assemble(self, text: str, output: str = "/dev/null") -> tuple[int | None, str, bytes]:
        """Run ptxas on a whole file: exit code (None: it hangs), what it said, what it wrote.

        Files in memory stand for its streams: through pipes it is slower, since it writes word by word.
        """
        command = [str(self.ptxas.path), "-arch", self.target, _FILE, "-o", output]
        self.runs += 1
        with _in_memory(text.encode()) as given, _in_memory() as said, _in_memory() as written:
            try:
                process = subprocess.Popen(
                    command, stdin=given, stdout=written, stderr=said, env=_with_pages()
                )
            except OSError as error:
                raise Question(f"{self.ptxas.path} cannot be run: {error.strerror}") from None
            ended = os.pidfd_open(process.pid)
            hangs = not select.select([ended], [], [], self.limit)[0]
            os.close(ended)
            if hangs:
                process.kill()
            code = process.wait()
            if hangs:
                return None, "", b""
            return code, _content(said).decode(errors="replace"), _content(written)

    def _ask(self, statements: Sequence[str], early: bool = False) -> _Answer:
        """What it says; of `early` faults only, which all lines show when one that none can take is there."""
        count = len(statements)
        together = max(count, 1) if early else _TOGETHER
        text = kernel(statements, self.ptx, self.target, together, _REFUSED if early else "")
        code, said, output = self.assemble(text)
        answer = _Answer(code, output=output)
        lines: dict[str, list[str]] = defaultdict(list)
        errors = _ERROR.findall(said)  # nearly all that it says, so read in the fastest way
        for line, words in errors:
            lines[line].append(words)
        for line, all_words in lines.items():
            number = _statement(int(line), together)
            if number is not None and number < count:
                answer.faults[number] = all_words
            elif early and int(line) == _BEFORE:
                answer.shut = True
            else:
                answer.unplaced += all_words
        if said.count("\n") == len(errors) + 1 and _CLOSING in said:
            return answer
        for file, line, kind, words in _SAID.findall(_ERROR.sub("", said)):
            number = _statement(int(line), together) if file == _FILE else None
            fault = kind in ("error", "fatal")
            if number is not None and number < count:
                (answer.faults if fault else answer.warnings)[number].append(words)
                if kind == "fatal":
                    answer.stopped = number
            elif words != _CLOSING:
                (answer.unplaced if fault else answer.advisories).append(words)
        return answer

    def _settle(
        self, statements: Sequence[str], numbers: list[int], outcomes: dict[int, Outcome], early: bool = False
    ) -> None:
        """Find the outcome of some statements: refuse until what is left is accepted together.

        What is refused behind the `early` faults, which all lines have in one run, is remembered.
        """
        while numbers:
            answer, left = self._sweep(statements, numbers, outcomes, early and len(numbers) > _TOGETHER)
            if answer.clean:
                self._accept(statements, numbers, outcomes, answer)
                return
            if not early:
                self._remember(statements, set(numbers) - set(left), outcomes)
            elif not answer.death:
                left = self._without_known(statements, left, outcomes)
                if answer.shut:
                    numbers, early = left, False
                    continue
            if len(left) == len(numbers):
                self._halve(statements, numbers, outcomes, answer, early)
                return
            if early and answer.death:
                numbers = left
                continue
            if answer.unplaced and len(left) > _TOGETHER:  # one fault a run: only small parts are fast
                for start in range(0, len(left), _TOGETHER):
                    self._settle(statements, left[start : start + _TOGETHER], outcomes)
                return
            numbers, early = left, False

    def _accept(
        self, statements: Sequence[str], numbers: list[int], outcomes: dict[int, Outcome], answer: _Answer
    ) -> None:
        """Take down what was assembled together."""
        self.advisories.update(answer.advisories)
        for place, number in enumerate(numbers):
            outcome = Outcome("accepted", tuple(answer.warnings.get(place, ())))
            outcomes[number] = outcome
            self._memory.assembled[self.target, statements[number]] = outcome

    def _remember(
        self, statements: Sequence[str], numbers: Iterable[int], outcomes: Mapping[int, Outcome]
    ) -> None:
        for number in numbers:
            self._memory.refused_late(self.target, statements[number], outcomes[number])

    def _without_known(
        self, statements: Sequence[str], numbers: list[int], outcomes: dict[int, Outcome]
    ) -> list[int]:
        """Who is left: the others' later phases are known for this target, or were asked about apart."""
        left, apart = [], []
        memory = self._memory
        for number in numbers:
            text = statements[number]
            known = memory.late.get((self.target, text)) or memory.assembled.get((self.target, text))
            if known is not None:
                outcomes[number] = known
            elif text in memory.apart:
                apart.append(number)
            else:
                left.append(number)
        if apart:
            together = self._ask([statements[number] for number in apart])
            if together.clean:
                self._accept(statements, apart, outcomes, together)
            else:
                for number in apart:
                    self._settle(statements, [number], outcomes)
        return left

    def _sweep(
        self, statements: Sequence[str], numbers: list[int], outcomes: dict[int, Outcome], early: bool
    ) -> tuple[_Answer, list[int]]:
        """Ask once about every statement, going on behind a syntax error; the last answer, and who is left.

        The answer is clean only when it was about all of them.
        """
        left: list[int] = []
        rest = numbers
        while True:
            answer = self._ask([statements[number] for number in rest], early)
            if answer.death:
                return answer, left + _before_death(rest, answer, outcomes)
            end = len(rest) if answer.stopped is None else answer.stopped + 1
            for place, number in enumerate(rest[:end]):
                if place in answer.faults:
                    outcomes[number] = Outcome("refused", tuple(answer.faults[place]))
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

        Such a word stops the parse wherever it stands, in a nonsense instruction too: what is found out
        about the words of all these statements settles every one that has one.
        """
        memory = self._memory
        if any(word not in memory.words for word in _qualifiers(statements[stopped])):
            mnemonics = dict.fromkeys(statements[number].split(" ", 1)[0] for number in [stopped, *behind])
            self._learn(list(dict.fromkeys(word for text in mnemonics for word in _qualifiers(text))))
        if memory.unreadable(statements[stopped]) is None:
            return behind
        left = []
        for number in behind:
            fault = memory.unreadable(statements[number])
            if fault is None:
                left.append(number)
            else:
                outcomes[number] = Outcome("refused", (fault,))
        return left

    def _learn(self, words: Sequence[str]) -> None:
        """Find out which words can be read as qualifiers."""
        words = [word for word in words if word not in self._memory.words]
        while words:
            answer = self._ask([f"{_NONSENSE}.{word};" for word in words])
            end = len(words) if answer.stopped is None else answer.stopped
            self._memory.words.update(dict.fromkeys(words[:end]))
            if answer.stopped is not None:
                self._memory.learn(words[end], _joined(answer.faults[end]))
            words = words[end + 1 :]

    def _halve(
        self,
        statements: Sequence[str],
        numbers: list[int],
        outcomes: dict[int, Outcome],
        answer: _Answer,
        early: bool,
    ) -> None:
        """Settle each half, or the one statement, of what ptxas finds fault with but does not place."""
        if not self._heard:
            self._hear()
        if len(numbers) > 1:
            for part in _parts(numbers, answer):
                self._settle(statements, part, outcomes, early)
        else:
            verdict: Literal["died", "refused"] = "died" if answer.death else "refused"
            said = (answer.death,) if answer.death else tuple(answer.unplaced)
            outcomes[numbers[0]] = Outcome(verdict, said)
            self._remember(statements, numbers, outcomes)

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


def _with_pages() -> Mapping[str, str]:
    """The environment, with huge pages for what ptxas allocates: that is a tenth of its time."""
    return {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1", **os.environ}


def _in_memory(content: bytes = b"") -> BinaryIO:
    """A file that is on no disk, to be read from its start."""
    file = os.fdopen(os.memfd_create("ptx"), "w+b", buffering=0)
    file.write(content)
    file.seek(0)
    return file


def _content(file: BinaryIO) -> bytes:
    file.seek(0)
    return file.read()


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
            outcomes[number] = Outcome("refused", tuple(answer.faults[place]))
        else:
            left.append(number)
    return left


def _parts(numbers: list[int], answer: _Answer) -> Iterator[list[int]]:
    """The parts in which to look for what kills ptxas: about the last that it spoke of, else everywhere."""
    last = max(answer.faults, default=None) if answer.death else None
    step = _TOGETHER if len(numbers) > 2 * _TOGETHER else (len(numbers) + 1) // 2
    cuts = list(range(step, len(numbers), step)) if last is None else [last, last + 1, last + 2]
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
