"""One run of ptxas: its input files, in memory, and its words about each statement.

Either many statements share a file, one a line, and the first phase reports the faults of all. Or each
statement has a small file of its own, and one process reads many: a later phase reports only one fault of a
file.
"""

from __future__ import annotations

import os
import re
import select
import subprocess
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import TYPE_CHECKING, BinaryIO

from ..spec.api import load
from ..spec.errors import Question
from ..spec.nodes import Version

if TYPE_CHECKING:
    from .toolchains import Ptxas

__all__ = [
    "LIMIT",
    "REGISTERS",
    "TOGETHER",
    "Asking",
    "FileFault",
    "PtxasAnswer",
    "Several",
    "kernel",
    "register_types",
]

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
TOGETHER = 50  # statements in a kernel: code generation takes disproportionately long with more
_DECLARED = " ".join(f".reg .{kind} {name}<{count}>;" for kind, (name, count) in REGISTERS.items())
_BEFORE = 4  # lines before the first statement
_REFUSED = " mov.b32 %b0, %bd0;"  # by every release, whatever the .version and .target
_SAID = re.compile(
    r"ptxas (?:([^,\n]*), line (\d+); )?(error|fatal|warning|info|advisory)\s*: (.*\S)\s*$", re.MULTILINE
)
# All errors of one line of the file, one after another: its number, and what follows the first one's colon.
_ERRORS = re.compile(
    r"^ptxas /dev/stdin, line (\d+); error   : (.*\S.*(?:\nptxas /dev/stdin, line \1; error   : .*\S.*)*)$",
    re.MULTILINE,
)
_INTERNAL = re.compile(r"\binternal\b", re.IGNORECASE)  # an error of ptxas's own, not the name of a symbol
_TOO_DEEP = "macro nesting too deep"
_CLOSING = "Ptx assembly aborted due to errors"
LIMIT = 60.0  # seconds for one run
_FILE = "/dev/stdin"
# .f16x2 registers: since when, and the first target that has them.
_HALVES_SINCE, _HALVES_ON = Version(4, 2), "sm_53"


@dataclass
class PtxasAnswer:
    """The words of one run of ptxas: by the number of the statement, and those that name no statement.

    `shut` says that it refused the line that every assembler refuses, so that it reported all early faults.
    """

    code: int | None
    faults: dict[int, tuple[str, ...]] = field(default_factory=dict)
    warnings: dict[int, list[str]] = field(default_factory=lambda: defaultdict(list))
    unplaced: list[str] = field(default_factory=list)
    advisories: list[str] = field(default_factory=list)
    stopped: int | None = None
    shut: bool = False

    @property
    def clean(self) -> bool:
        """Whether ptxas assembled everything."""
        return self.code == 0 and not self.faults and not self.unplaced and not self.shut

    @property
    def death(self) -> str | None:
        """How the process ended when it gave no readable answer; None when it gave one."""
        ended = _end(self.code, self.unplaced)
        if ended is not None:
            return ended
        if self.clean or self.faults or self.unplaced or self.shut:
            return None
        return f"exit code {self.code} without a fault that can be read"


@dataclass(frozen=True, slots=True)
class FileFault:
    """Why ptxas refuses a file, and whether it stopped there; the line may be inside one of ptxas's own
    macros. `behind`: it stands behind a file of which ptxas left something unread, which may be why.
    """

    words: tuple[str, ...]
    fatal: bool
    behind: bool = False


@dataclass(frozen=True, slots=True)
class Several:
    """The fault of each of some files before code is generated, up to where ptxas `ended`.

    A plain text is what ptxas said without naming a statement: it may be about another file.
    """

    faults: Sequence[FileFault | str | None]
    ended: str | None
    killed: bool


@lru_cache(4096)
def _sentences(several: str) -> tuple[str, ...]:
    """What stands on each of some lines; many statements share one."""
    return tuple(map(str.rstrip, several.split("\n")))


def _end(code: int | None, words: Sequence[str]) -> str | None:
    """How a process ended early; None when it came to its own end."""
    if code is None:
        return "no answer within the limit of time"
    if code < 0:
        return f"killed by signal {-code}"
    return "; ".join(words) if any(map(_INTERNAL.search, words)) else None


@cache
def register_types() -> Mapping[str, str]:
    """The declared type of every register of the kernel."""
    return {f"{name}{i}": kind for kind, (name, count) in REGISTERS.items() for i in range(count)}


@cache
def _has_halves(ptx: Version, target: str) -> bool:
    """Whether a file may declare .f16x2 registers; also one whose target is newer than its version."""
    return ptx >= _HALVES_SINCE and target in load().isa.including[_HALVES_ON]


def _head(ptx: Version, target: str) -> str:
    return f".version {ptx}\n.target {target}\n.address_size 64\n.entry kernel() {{ "


def kernel(
    statements: Sequence[str], ptx: Version, target: str, together: int = TOGETHER, before: str = ""
) -> str:
    """A PTX file that holds the statements, one a line, in kernels of so many that all compile fast.

    What stands `before` them is on the line of the first kernel's head.
    """
    declared = _DECLARED if _has_halves(ptx, target) else _DECLARED.replace(".f16x2", ".b32")
    lines = [f"{_head(ptx, target)}{declared}{before}"]
    for start in range(0, len(statements), together):
        if start:
            lines.append(f"ret; }} .entry kernel{start}() {{ {declared}")
        lines += statements[start : start + together]
    return "\n".join([*lines, "ret; }\n"])


def _statement(line: int, together: int) -> int | None:
    """The number of the statement that stands on a line of such a file, if any does."""
    kernels, place = divmod(line - _BEFORE - 1, together + 1)
    return kernels * together + place if line > _BEFORE and place < together else None


@dataclass
class Asking:
    """One ptxas under one .version and one .target, with a limit in seconds; counts its runs."""

    ptxas: Ptxas
    ptx: Version
    target: str
    limit: float = LIMIT
    runs: int = 0

    def assemble(self, text: str, output: str = "/dev/null") -> tuple[int | None, str, bytes]:
        """Run ptxas on a whole file: exit code (None: it hangs), what it said, what it wrote."""
        with _in_memory(text.encode()) as given:
            return self._run([_FILE], output, given)

    def _run(self, names: Sequence[str], output: str, given: BinaryIO) -> tuple[int | None, str, bytes]:
        """Files in memory stand for its streams: through pipes it is slower, since it writes word by word."""
        self.runs += 1
        with _in_memory() as said, _in_memory() as written:
            try:
                process = subprocess.Popen(
                    [str(self.ptxas.path), "-arch", self.target, *names, "-o", output],
                    stdin=given,
                    stdout=written,
                    stderr=said,
                    env=_with_pages(),
                )
            except OSError as error:
                raise Question(f"{self.ptxas.path} cannot be run: {error.strerror}") from None
            ended = os.pidfd_open(process.pid)
            hangs = not select.select([ended], [], [], self.limit)[0]
            os.close(ended)
            if hangs:
                process.kill()
            code = process.wait()
            return None if hangs else code, _content(said).decode(errors="replace"), _content(written)

    def ask(self, statements: Sequence[str], early: bool = False) -> PtxasAnswer:
        """What ptxas says about the statements, each on a line of one file.

        `early` asks for faults of the first phase only: a line that is always refused keeps it from others.
        """
        count = len(statements)
        together = max(count, 1) if early else TOGETHER
        text = kernel(statements, self.ptx, self.target, together, _REFUSED if early else "")
        code, said, _ = self.assemble(text)
        answer = PtxasAnswer(code)
        lines: dict[int, tuple[str, ...]] = {}
        errors = 0
        for line, several in _ERRORS.findall(said):  # nearly all of its output, so read in the fastest way
            words_of = _sentences(several.replace(f"ptxas {_FILE}, line {line}; error   : ", ""))
            at = int(line)
            lines[at] = lines[at] + words_of if at in lines else words_of
            errors += len(words_of)
        if early:
            answer.shut = lines.pop(_BEFORE, None) is not None
        for at, all_words in lines.items():
            number = at - _BEFORE - 1 if early else _statement(at, together)
            if number is not None and 0 <= number < count:
                answer.faults[number] = all_words
            else:
                answer.unplaced += all_words
        if said.count("\n") == errors + 1 and _CLOSING in said:
            return answer
        for file, line, kind, words in _SAID.findall(_ERRORS.sub("", said)):
            number = _statement(int(line), together) if file == _FILE else None
            fault = kind in ("error", "fatal")
            if number is not None and number < count:
                if fault:
                    answer.faults[number] = (*answer.faults.get(number, ()), words)
                else:
                    answer.warnings[number].append(words)
                if kind == "fatal":
                    answer.stopped = number
            elif words != _CLOSING:
                (answer.unplaced if fault else answer.advisories).append(words)
        return answer

    def each(self, groups: Sequence[Sequence[str]]) -> Several:
        """The faults of groups of statements, each group in a file of its own; no code is generated.

        A file that ptxas always refuses follows each of them, so that its refusal ends what is said of the
        file before it. A fault may also name a line inside one of ptxas's own macros. ptxas then leaves the
        rest of that macro and of the file unread, and reads it at the end of a later file. From there on,
        syntax errors of later files do not count, and ptxas up to 12.9 takes no instruction any more that a
        target of one architecture alone has; when too much is left unread ("macro nesting too deep"),
        nothing that follows counts.
        """
        last = f"{_head(self.ptx, self.target)}.reg .b32 %b0; .reg .b64 %bd0;{_REFUSED}\nret; }}\n"
        with ExitStack() as stack:
            texts = [last, *(kernel(group, self.ptx, self.target) for group in groups)]
            files = [stack.enter_context(_in_memory(text.encode())) for text in texts]
            parting, *names = [f"/proc/{os.getpid()}/fd/{file.fileno()}" for file in files]
            code, said, _ = self._run(
                [part for name in names for part in (name, parting)], "/dev/null", files[0]
            )
        faults, behind = _parted(said, dict(zip(names, map(len, groups), strict=True)), parting)
        ended = _end(code, behind)
        if ended is None and len(faults) < len(groups):
            ended = f"exit code {code} after {len(faults)} of {len(groups)} files"
        return Several(faults, ended, code is None or code < 0)


def _parted(
    said: str, sizes: Mapping[str, int], parting: str
) -> tuple[list[FileFault | str | None], list[str]]:
    """The fault of every file, of so many statements, and what was said behind the last one."""
    faults: list[FileFault | str | None] = []
    about: list[str] = []
    macros: list[str] = []
    others: list[str] = []
    fatal = spilt = behind = False
    for file, line, kind, words in _SAID.findall(said):
        if kind not in ("error", "fatal") or words == _CLOSING:
            continue
        if _TOO_DEEP in words:
            return faults, [words]
        if file != parting:
            fatal = fatal or kind == "fatal"
            number = _statement(int(line), TOGETHER) if file in sizes else None
            if number is not None and number < sizes[file] and not (spilt and kind == "fatal"):
                about.append(words)
            elif file and file not in sizes:
                macros.append(words)
                spilt = spilt or kind == "fatal"
            else:
                others.append(words)
        elif kind == "error" and int(line) == _BEFORE and len(faults) < len(sizes):
            placed = tuple(about or macros)
            doubtful = behind and bool(about)
            faults.append(FileFault(placed, fatal, doubtful) if placed else "; ".join(others) or None)
            about, macros, others, fatal, behind = [], [], [], False, spilt
    return faults, [*macros, *others]


def _with_pages() -> Mapping[str, str]:
    """The environment, with huge pages for what ptxas allocates: that is a tenth of its time."""
    return {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1", **os.environ}


def _in_memory(content: bytes = b"") -> BinaryIO:
    """A file in memory, to be read from its start."""
    file = os.fdopen(os.memfd_create("ptx"), "w+b", buffering=0)
    file.write(content)
    file.seek(0)
    return file


def _content(file: BinaryIO) -> bytes:
    file.seek(0)
    return file.read()
