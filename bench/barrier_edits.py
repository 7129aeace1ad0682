"""Change one statement of a kernel that synchronises: a wait, a parity, a count, a barrier's number, a fence.

This module reads PTX by itself, on purpose: it shares no code with `check/`, because it judges the checker.
Every edit keeps the numbers of the lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from kernel_statements import Kernel, Statement

__all__ = ["Edit", "barrier_edits"]

_NUMBER = re.compile(r"-?(?:0[xX][0-9a-fA-F]+|\d+)U?")
_SPARE = "%ptxmma_mutant"
_BYTES = 16
_WARP = 32


@dataclass(frozen=True)
class Edit:
    """One change of a kernel: its kind, where it begins, and the whole new text."""

    kind: str
    start: int
    text: str


@dataclass(frozen=True)
class _Site:
    """A statement that synchronises, with its kernel and the text of the file."""

    kernel: Kernel
    text: str
    index: int

    @property
    def statement(self) -> Statement:
        return self.kernel.statements[self.index]

    @property
    def words(self) -> str:
        return self.text[self.statement.start : self.statement.end]

    def put(self, kind: str, words: str, until: Statement | None = None) -> Edit:
        """The statement (and those behind it, to the end of `until`) replaced."""
        end = (until or self.statement).end
        lines = self.text[self.statement.start : end].count("\n") - words.count("\n")
        new = self.text[: self.statement.start] + words + "\n" * lines + self.text[end:]
        return Edit(kind, self.statement.start, new)

    def gone(self, kind: str, until: Statement | None = None) -> Edit:
        return self.put(kind, "", until)

    def operand(self, kind: str, place: int, value: str) -> Edit:
        """One operand replaced."""
        old = self.text_of(place)
        at = self.words.rindex(old) if place == len(self.statement.operands) - 1 else self.words.index(old)
        return self.put(kind, self.words[:at] + value + self.words[at + len(old) :])

    def text_of(self, place: int) -> str:
        """An operand as the text has it: registers of a scope are renamed in the statement."""
        return self.statement.operands[place].split("@")[0]

    def computed(self, kind: str, place: int, opcode: str, by: int) -> Edit:
        """One operand computed anew from its register, or from its number."""
        old = self.text_of(place)
        if (number := _number(old)) is not None:
            value = number ^ by if opcode == "xor" else number + by
            return self.operand(kind, place, str(value))
        scope = (
            f"{{ .reg .b32 {_SPARE}; {opcode}.{'b32' if opcode == 'xor' else 's32'} {_SPARE}, {old}, {by}; "
        )
        edit = self.operand(kind, place, _SPARE)
        return self.put(kind, f"{scope}{self._between(edit)} }}")

    def _between(self, edit: Edit) -> str:
        """The statement as an edit has it."""
        behind = len(self.text) - self.statement.end
        return edit.text[self.statement.start : len(edit.text) - behind].strip()

    def after(self, *names: str) -> Statement | None:
        """The next statement with one of these names before a label or branch."""
        labels = set(self.kernel.labels.values())
        for index in range(self.index + 1, len(self.kernel.statements)):
            statement = self.kernel.statements[index]
            if index in labels or statement.name.startswith("bra"):
                return None
            if statement.name.startswith(names):
                return statement
        return None


def _number(text: str) -> int | None:
    return int(text.rstrip("U"), 0) if _NUMBER.fullmatch(text.strip()) else None


def barrier_edits(kernel: Kernel, text: str) -> Iterator[Edit]:
    """Every edit of a kernel's statements that synchronise."""
    for index, statement in enumerate(kernel.statements):
        site = _Site(kernel, text, index)
        name = statement.name
        if name.startswith(("mbarrier.try_wait", "mbarrier.test_wait")):
            yield from _waits(site)
        elif name.startswith("mbarrier.init"):
            yield from _inits(site)
        elif name.startswith(("mbarrier.arrive", "mbarrier.expect_tx")):
            yield from _arrivals(site)
        elif name.startswith("cp.async.mbarrier.arrive"):
            yield site.gone("copies' arrival deleted")
        elif name.startswith(("bar.", "barrier.")) and "red" not in name:
            yield from _meets(site)
        elif name.startswith("cp.async.bulk.wait_group"):
            yield from _group_waits(site, "bulk wait")
        elif name.startswith("cp.async.bulk.commit_group"):
            yield site.gone("bulk commit deleted")
        elif name.startswith("cp.async.commit_group"):
            yield site.gone("copy commit deleted")
        elif name.startswith("cp.async.wait"):
            yield from _group_waits(site, "copy wait")
        elif name.startswith("fence.proxy.async") and ".global" not in name:
            yield from _fences(site)


def _waits(site: _Site) -> Iterator[Edit]:
    """The wait is over at once; another parity, or one that never changes."""
    statement = site.statement
    predicate = site.text_of(0)
    guard = f"@{statement.guard.split('@')[0]} " if statement.guard else ""
    yield site.put("mbarrier wait deleted", f"{guard}setp.eq.u32 {predicate}, 0, 0;")
    if ".parity" in statement.name:
        yield site.computed("parity flipped", 2, "xor", 1)
        if _number(site.text_of(2)) is None:
            for parity in (0, 1):
                yield site.operand(f"parity constant {parity}", 2, str(parity))


def _inits(site: _Site) -> Iterator[Edit]:
    yield site.gone("init deleted")
    count = _number(site.text_of(1))
    yield site.computed("count + 1", 1, "add", 1)
    if count is None or count > 1:
        yield site.computed("count - 1", 1, "add", -1)


def _arrivals(site: _Site) -> Iterator[Edit]:
    name = site.statement.name
    if name.startswith("mbarrier.expect_tx"):
        yield site.gone("expect_tx deleted")
    else:
        yield site.gone("arrival deleted")
    if "expect_tx" in name:
        last = len(site.statement.operands) - 1
        yield site.computed("bytes + 16", last, "add", _BYTES)
        yield site.computed("bytes - 16", last, "add", -_BYTES)


def _meets(site: _Site) -> Iterator[Edit]:
    name, operands = site.statement.name, site.statement.operands
    if ".cluster" in name:
        what = "arrive" if ".arrive" in name else "wait"
        yield site.gone(f"cluster {what} deleted")
        return
    if name.startswith("bar.warp"):
        yield site.gone("warp barrier deleted")
        return
    whole = len(operands) < 2
    arrive = ".arrive" in name
    yield site.gone("bar.arrive deleted" if arrive else f"bar.sync{'' if whole else ' with a count'} deleted")
    if whole and _number(operands[0]) is not None:
        yield site.operand("barrier id changed", 0, "15")
    else:
        yield site.computed("barrier id changed", 0, "add", 1)
    if not whole:
        yield site.computed("barrier count + 32", 1, "add", _WARP)
        if (_number(site.text_of(1)) or _WARP + 1) > _WARP:
            yield site.computed("barrier count - 32", 1, "add", -_WARP)
    if not arrive and (target := site.after("ldmatrix")) is not None:
        moved = " ".join(site.words.split())
        between = site.text[site.statement.end : target.end]
        yield site.put("ldmatrix before the barrier", f"{between} {moved}", target)


def _fences(site: _Site) -> Iterator[Edit]:
    yield site.gone("proxy fence deleted")
    if (target := site.after("mbarrier.arrive", "bar.", "barrier.")) is not None:
        between = site.text[site.statement.end : target.end]
        yield site.put("proxy fence behind the arrival", f"{between} {' '.join(site.words.split())}", target)


def _group_waits(site: _Site, kind: str) -> Iterator[Edit]:
    operands = site.statement.operands
    yield site.gone(f"{kind} deleted")
    count = _number(site.text_of(0)) if operands else 0
    if count is not None:
        weaker = site.operand(f"{kind} N + 1", 0, str(count + 1)) if operands else None
        yield weaker or site.put(f"{kind} N + 1", "cp.async.wait_group 1;")
    if (target := site.after("ldmatrix")) is not None:
        moved = " ".join(site.words.split())
        between = site.text[site.statement.end : target.end]
        yield site.put(f"ldmatrix before the {kind}", f"{between} {moved}", target)
