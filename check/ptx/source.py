"""The parsed form of a PTX file: functions, statements with their places, scopes, declarations and labels."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate

from ...spec.errors import Place, Question

__all__ = [
    "NAME",
    "Function",
    "PtxModule",
    "PtxScope",
    "PtxStatement",
    "UnreadText",
    "UnreadableFile",
    "Variable",
    "declared_types",
]

NAME = re.compile(r"(?<![\w$%.])[%$A-Za-z_][\w$]*")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"([^"]*)"', re.M)
_LOCATION = re.compile(
    r"^[ \t]*\.loc\s+(\d+)\s+(\d+)\s+\d+(?:[^\n]*?\binlined_at\s+(\d+)\s+(\d+)\s+\d+)?", re.M
)
_LONGEST = 500  # characters of a statement that are kept
_DIGITS = "0123456789"


@dataclass(slots=True)
class PtxStatement:
    """One instruction: where it begins, its guard (with `!`), opcode and the text of its operands.

    `written` is the opcode as it stands in the file, where blanks part it.
    """

    offset: int
    opcode: str
    operands: str
    guard: str | None
    scope: int
    written: str | None = None


@dataclass(frozen=True)
class UnreadText:
    """Text that is not a statement."""

    place: Place
    what: str


class UnreadableFile(Question):
    """A file that cannot be judged at all: where, and why."""

    def __init__(self, place: Place, what: str) -> None:
        self.place = place
        self.what = what
        super().__init__(f"{place}: {what}")


@dataclass
class PtxScope:
    """What a pair of braces declares: registers, ranges of registers `%r<10>`, variables, labels."""

    parent: int
    registers: dict[str, str] = field(default_factory=dict)
    ranges: dict[str, tuple[str, int]] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
    labels: dict[str, int] = field(default_factory=dict)

    def kind(self, name: str) -> str | None:
        """The type of a register that is declared here."""
        kind = self.registers.get(name)
        if kind is None and self.ranges:
            stem = name.rstrip(_DIGITS)
            found = self.ranges.get(stem)
            number = name[len(stem) :]
            if found and number and not (number[0] == "0" and len(number) > 1) and int(number) < found[1]:
                kind = found[0]
        return kind


@dataclass(frozen=True)
class Variable:
    """A declared variable: its state space, alignment, and its size in bytes (None where it is open)."""

    name: str
    space: str
    align: int
    size: int | None


@dataclass
class Function:
    """A kernel or a device function. `labels` in scopes point to the statement that follows them.

    `returns` and `parameters` are the names in its head. `threads` is the shape of a block, `exact` whether
    each block has it. Blocks of unknown shape that do not lie along x are `plane`; they have at most `most`
    threads. `cluster` is the shape of a cluster, in blocks, if the head says it.
    """

    name: str
    kind: str
    offset: int
    threads: tuple[int, int, int] | None = None
    exact: bool = False
    plane: bool = False
    most: int | None = None
    cluster: tuple[int, int, int] | None = None
    returns: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()
    statements: list[PtxStatement] = field(default_factory=list)
    scopes: list[PtxScope] = field(default_factory=lambda: [PtxScope(-1)])
    tables: dict[str, tuple[str, ...]] = field(default_factory=dict)
    outermost: dict[str, tuple[str, str] | None] = field(
        default_factory=dict
    )  # cache of registers looked up in the scope

    @property
    def is_line(self) -> bool:
        """Whether a block lies along x, and the head does not say how long each is."""
        return not (self.exact or self.plane) and (self.threads is None or self.threads[1:] == (1, 1))

    def register(self, name: str, scope: int) -> tuple[str, str] | None:
        """The register that a name refers to in a scope: (a name unique in the function, its type)."""
        while scope > 0:
            here = self.scopes[scope]
            kind = here.registers.get(name) or (here.kind(name) if here.ranges else None)
            if kind is not None:
                return f"{name}@{scope}", kind
            scope = here.parent
        if name not in self.outermost:
            kind = self.scopes[0].kind(name)
            self.outermost[name] = None if kind is None else (name, kind)
        return self.outermost[name]

    def target(self, label: str, scope: int) -> int | None:
        """The index of the statement that a label stands before, as a scope sees it."""
        while scope >= 0:
            here = self.scopes[scope]
            if label in here.labels:
                return here.labels[label]
            scope = here.parent
        return None

    def variable(self, name: str, scope: int) -> Variable | None:
        """The variable that a name refers to in a scope of the function."""
        while scope >= 0:
            here = self.scopes[scope]
            if name in here.variables:
                return here.variables[name]
            scope = here.parent
        return None


@dataclass
class PtxModule:
    """A PTX file: its version and target, its functions, its variables, and unreadable text.

    `heads` are the offsets of .version and .target.
    """

    name: str
    text: str
    version: str = ""
    target: str = ""
    heads: dict[str, int] = field(default_factory=dict)
    functions: list[Function] = field(default_factory=list)
    variables: dict[str, Variable] = field(default_factory=dict)
    faults: list[UnreadText] = field(default_factory=list)

    @cached_property
    def _lines(self) -> list[int]:
        return [0, *accumulate(len(line) + 1 for line in self.text.split("\n"))]

    def place(self, offset: int) -> Place:
        """The place of an offset into the text."""
        line = bisect_right(self._lines, offset)
        return Place(self.name, line, offset - self._lines[line - 1] + 1)

    def offset(self, place: Place) -> int:
        """The offset of a place into the text."""
        return self._lines[place.line - 1] + place.column - 1

    def written(self, place: Place) -> str:
        """The statement that begins at a place, without comments and on one line."""
        start = self.offset(place)
        end = self.text.find(";", start)
        return " ".join(_COMMENT.sub(" ", self.text[start : end if end > 0 else None][:_LONGEST]).split())

    @cached_property
    def _files(self) -> dict[str, str]:
        """The names of source files, by their numbers in .loc."""
        return {found[1]: found[2] for found in _FILE.finditer(self.text)}

    @cached_property
    def _locations(self) -> tuple[list[int], list[re.Match[str]]]:
        """Every .loc, and where it stands."""
        found = list(_LOCATION.finditer(self.text)) if ".loc" in self.text else []
        return [one.start() for one in found], found

    def function_at(self, offset: int) -> Function | None:
        """The function in which an offset lies."""
        before = [one for one in self.functions if one.offset <= offset]
        return max(before, key=lambda one: one.offset, default=None)

    def source(self, offset: int) -> str:
        """The line of the source file that a statement comes from; empty where no .loc of its function says.

        Of an inlined function it is the line there, and the line that calls it.
        """
        starts, found = self._locations
        at = bisect_right(starts, offset) - 1
        function = self.function_at(offset)
        if at < 0 or function is None or starts[at] < function.offset:
            return ""
        file, line, outer, outer_line = found[at].groups()
        if line == "0":
            return ""
        shown = f"{self._files.get(file, f'file {file}')}:{line}"
        called = f"{self._files.get(outer, f'file {outer}')}:{outer_line}" if outer else ""
        return f"{shown}, inlined at {called}" if called and called != shown else shown

    def line(self, number: int) -> str:
        """A line of the text, counted from 1."""
        return self.text[self._lines[number - 1] : self._lines[number] - 1]


def declared_types(function: Function, statement: PtxStatement) -> Mapping[str, str]:
    """The declared type of every register that a statement names."""
    found: dict[str, str] = {}
    for name in _named(statement):
        register = function.register(name, statement.scope)
        if register:
            found[name] = register[1]
    return found


def _named(statement: PtxStatement) -> Iterator[str]:
    yield from NAME.findall(statement.operands)
    if statement.guard:
        yield statement.guard.lstrip("!")
