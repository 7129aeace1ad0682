"""Walk every thread of a block with numbers, and record what each warp does to shared memory and its order.

This module reads PTX by itself, on purpose: it shares no code with `check/`, because it judges the checker.
Waits succeed at once, so a warp's trace does not depend on the others. A try that nobody repeats may succeed
or fail: `tries` says which, and the replay lets one fail that cannot succeed. The blocks of a cluster are
walked one after another. What depends on memory, on other parameters, or on more than the walk knows, has no
trace; only a kernel's `word` may say what every word of global memory is that is loaded in the ordinary way.
Where the threads of a warp are asked for one by one, each has a trace of its own, with what orders them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import prod
from typing import Any, Literal, NamedTuple

from kernel_statements import Kernel, NoTrace, Statement
from kernel_walk import access_bytes, computed
from real_numbers import as_bits, is_real, literal, real_result
from shared_footprints import GRANULE, matrix

__all__ = ["BLOCK", "LONGEST", "Lanes", "TooLong", "WarpEvent", "outcomes", "traces"]

_WARP = 32
LONGEST = 2_500  # statements that count, of one warp
_SHARED = 1 << 32  # addresses from here on are not of shared memory
_MAPPED = 1 << 31  # an address in a block that `mapa` names; below it are the rank and the address there
_RANK, _OFFSET = 24, (1 << 24) - 1
_TILES = (4, 2)  # sizes of 64 bits: they count the tiles of a whole grid
_BYTES = 4096  # what an mbarrier expects, where a parameter says how many
BLOCK = 1 << 26  # places of shared memory from one block of a cluster to the next
_NAME = re.compile(r"%?[A-Za-z_$][\w$@]*")  # with the scope that `kernel_statements.py` adds
_ENDS = ("ret", "exit", "trap")
_BY_WARP = frozenset(("mma", "commit", "wait", "proxy", "publish", "copy-commit", "copy-wait"))
_MASK = (1 << 64) - 1
# How the threads of a warp are walked: together; or each by itself, ordered by barriers of the warp, or also
# by whatever has .sync.
Lanes = Literal["", "barriers", "sync"]
Value = int | float | None  # of a register; None: it is not known
_ALL = 0xFFFFFFFF  # the lanes of a warp, as a mask


class TooLong(NoTrace):
    """The trace of a warp does not end soon."""


class WarpEvent(NamedTuple):
    """What some lanes of a warp do at one statement: the kind, and for each lane its words. `threads` are
    those that execute it, where each is walked by itself. `once`: a wait that may fail, and is not repeated.
    """

    kind: str
    statement: int
    lanes: tuple[tuple[Any, ...], ...]
    threads: tuple[int, ...] = ()
    once: bool = False


@dataclass
class _Lane:
    thread: int
    at: int = 0
    values: dict[str, Value] = field(default_factory=dict)
    failed: int = -1  # the try that failed last, before anything else that counts


class _Code:
    """A kernel's statements, and the registers on which its branches, addresses and counts depend."""

    def __init__(self, kernel: Kernel, size: int, lanes: Lanes, tries: bool) -> None:
        self.kernel = kernel
        self.size = size
        self.lanes = lanes
        self.tries = tries
        self.once = _tried_once(kernel)
        self.statements = kernel.statements
        self.parts = [statement.name.split(".") for statement in kernel.statements]
        self.targets = [self._targets(at) for at in range(len(self.statements))]
        self.kinds = [_kind(statement) for statement in kernel.statements]
        self.gathers = [_gathers(parts, lanes) for parts in self.parts]
        self.makers: dict[str, list[int]] = {}
        for at, targets in enumerate(self.targets):
            for name in targets:
                self.makers.setdefault(name, []).append(at)
        self.pointers = self._sources(self._addresses())
        self.counted = self._sources(self._expected())
        wanted = self._wanted()
        self.counts = [
            bool(self.kinds[at])
            or self.gathers[at]
            or self.parts[at][0] in ("bra", "brx", "call", *_ENDS)
            or not wanted.isdisjoint(self.targets[at])
            for at in range(len(self.statements))
        ]
        self.following = self._following()
        self.idle = frozenset(filter(self._is_idle, range(len(self.statements))))
        self.results: dict[tuple[int, tuple[Value, ...]], Value] = {}

    def _targets(self, at: int) -> tuple[str, ...]:
        statement = self.statements[at]
        if not statement.operands or self.parts[at][0] in ("st", "red", "bra", "bar", "barrier", "stmatrix"):
            return ()
        return tuple(re.split(r"[,|]", statement.operands[0].strip("{} ").replace(" ", "")))

    def _wanted(self) -> set[str]:
        waiting: list[str] = []
        for at, statement in enumerate(self.statements):
            if self.kinds[at] or self.gathers[at] or self.parts[at][0] in ("bra", *_ENDS):
                waiting += _NAME.findall(statement.guard)
            if self.gathers[at] and "aligned" not in self.parts[at]:
                waiting += _NAME.findall(statement.operands[0 if self.parts[at][0] == "bar" else -1])
            if self.kinds[at] == "mma":
                waiting += [name for operand in statement.operands[1:3] for name in _NAME.findall(operand)]
            elif self.kinds[at] in ("read", "write", "update"):
                places = [operand for operand in statement.operands if operand.startswith("[")]
                waiting += [name for operand in places for name in _NAME.findall(operand)]
            elif self.kinds[at]:
                waiting += [name for operand in statement.operands for name in _NAME.findall(operand)]
        wanted: set[str] = set()
        while waiting:
            name = waiting.pop()
            if name in wanted:
                continue
            wanted.add(name)
            for at in self.makers.get(name, ()):
                if not self.kinds[at]:
                    statement = self.statements[at]
                    waiting += _NAME.findall(statement.guard)
                    waiting += [word for o in statement.operands[1:] for word in _NAME.findall(o)]
        return wanted

    def _addresses(self) -> Iterator[str]:
        """The registers behind the addresses of memory that is no parameter's."""
        for at, statement in enumerate(self.statements):
            if "param" not in self.parts[at] or self.parts[at][0] == "cvta":
                for operand in statement.operands:
                    if operand.startswith("[") or self.parts[at][0] == "cvta":
                        yield from _NAME.findall(operand.split(",")[0])

    def _expected(self) -> Iterator[str]:
        """The registers that say how many bytes an mbarrier expects."""
        for at, statement in enumerate(self.statements):
            if self.parts[at][0] == "mbarrier" and "expect_tx" in self.parts[at]:
                yield from _NAME.findall(statement.operands[-1])

    def _sources(self, names: Iterable[str]) -> frozenset[int]:
        """The loads of parameters to which something is added, or that are taken as they are, to make some
        registers.
        """
        waiting = list(names)
        seen: set[str] = set()
        loads = set()
        while waiting:
            name = waiting.pop()
            if name in seen:
                continue
            seen.add(name)
            for at in self.makers.get(name, ()):
                operands = self.statements[at].operands
                if self.parts[at][0] == "ld":
                    loads.add(at)
                elif self.parts[at][0] in ("mov", "cvta", "add", "sub", "selp"):
                    waiting += [word for operand in operands[1:] for word in _NAME.findall(operand)]
                elif self.parts[at][0] == "mad":
                    waiting += _NAME.findall(operands[3])
        return frozenset(loads)

    def _is_idle(self, at: int) -> bool:
        """Whether both ways from a branch come to the same statement that counts, past nothing else."""
        if self.parts[at][0] != "bra" or not self.statements[at].guard:
            return False
        label = self.kernel.labels.get(self.statements[at].operands[0], at)
        return label > at and self._lands(label) == self._lands(at + 1)

    def _lands(self, at: int) -> int:
        """From a place, the next statement that counts and is no branch that is always taken."""
        passed: set[int] = set()
        at = self.following[at]
        while at < len(self.statements) and at not in passed:
            passed.add(at)
            statement = self.statements[at]
            if self.parts[at][0] != "bra" or statement.guard:
                break
            at = self.following[self.kernel.labels[statement.operands[0]]]
        return at

    def _following(self) -> list[int]:
        """From each place, the next statement that counts."""
        found = [len(self.statements)] * (len(self.statements) + 1)
        for at in range(len(self.statements) - 1, -1, -1):
            found[at] = at if self.counts[at] else found[at + 1]
        return found


def _tried_once(kernel: Kernel) -> frozenset[int]:
    """The waits that are not repeated at once when they fail."""
    return frozenset(
        at
        for at, statement in enumerate(kernel.statements)
        if _kind(statement) == "await" and not _is_repeated(kernel, at)
    )


def _is_repeated(kernel: Kernel, at: int) -> bool:
    """Whether a wait that fails is the next thing that is done."""
    predicate = kernel.statements[at].operands[0]
    place, passed = at + 1, {at}
    while place not in passed and place < len(kernel.statements):
        passed.add(place)
        statement = kernel.statements[place]
        if statement.name.split(".")[0] != "bra" or statement.guard.lstrip("!") not in ("", predicate):
            return False
        taken = statement.guard != predicate
        place = kernel.labels[statement.operands[0]] if taken else place + 1
    return place == at


def _kind(statement: Statement) -> str:
    """What a statement does to shared memory or to its order; empty if nothing."""
    name = statement.name
    root = name.split(".")[0]
    if root == "mbarrier":
        for word in ("init", "expect_tx", "wait", "arrive", "inval"):
            if word in name and not (word == "expect_tx" and "arrive" in name):
                return {"init": "init", "expect_tx": "expect", "wait": "await", "arrive": "arrive"}.get(
                    word, ""
                )
        return ""
    if root in ("bar", "barrier"):
        if name.startswith("bar.warp"):
            return ""
        return "cluster" if ".cluster" in name else "meet"
    if root == "cp":
        return _copy_kind(name)
    if root == "wgmma":
        word = name.split(".")[1]
        return {"mma_async": "mma", "commit_group": "commit", "wait_group": "wait"}.get(word, "")
    if name.startswith("fence.proxy.async") and ".global" not in name:
        return "proxy"
    if root == "membar" or name.startswith(
        ("fence.acq_rel", "fence.sc", "fence.release", "fence.mbarrier_init")
    ):
        return "publish"
    outside = (".global", ".param", ".local", ".const")
    if root in ("ld", "st", "ldmatrix", "stmatrix", "atom", "red") and not any(o in name for o in outside):
        return {"ld": "read", "ldmatrix": "read", "st": "write", "stmatrix": "write"}.get(root, "update")
    return ""


def _gathers(parts: Sequence[str], lanes: Lanes) -> bool:
    """Whether the threads of a warp wait for each other at a statement, where they are walked one by one."""
    if parts[:2] == ["bar", "warp"]:
        return bool(lanes)
    return lanes == "sync" and "sync" in parts and parts[0] not in ("bar", "barrier")


def _copy_kind(name: str) -> str:
    if name.startswith("cp.async.mbarrier"):
        return "copy-arrive"
    if name.startswith("cp.async.commit"):
        return "copy-commit"
    if name.startswith("cp.async.wait"):
        return "copy-wait"
    if not name.startswith(("cp.async.bulk", "cp.reduce.async.bulk")):
        return "copy" if name.startswith("cp.async") else ""
    if "commit_group" in name:
        return "bulk-commit"
    if "wait_group" in name:
        return "bulk-wait"
    if "prefetch" in name:
        return ""
    return "drain" if ".global.shared" in name or ".reduce" in name else "bulk"


@lru_cache(maxsize=4096)
def _number(operand: str) -> int | None:
    """A literal."""
    if re.fullmatch(r"-?\d+U?", operand):
        return int(operand.rstrip("U")) & _MASK
    return int(operand.rstrip("U"), 16) if re.fullmatch(r"0[xX][0-9a-fA-F]+U?", operand) else None


@lru_cache(maxsize=4096)
def _terms(operand: str) -> tuple[str, ...]:
    """The parts of an address."""
    return tuple(operand.strip("[] ").split("+"))


def traces(
    kernel: Kernel, size: int, lanes: Lanes = "", longest: int = LONGEST, tries: bool = True
) -> list[list[WarpEvent]]:
    """The trace of every warp, or of every thread, block by block of the cluster. `size` is the number of
    every parameter of 32 bits that is no count of bytes, `longest` how many statements of a warp may
    count. Raises NoTrace.
    """
    code = _Code(kernel, size, lanes, tries)
    found = []
    for rank in range(prod(kernel.cluster)):
        for first in range(0, kernel.threads, _WARP):
            threads = range(first, min(first + _WARP, kernel.threads))
            events = list(_WarpWalk(code, threads, rank).events(longest))
            found += _by_thread(code, threads, events) if lanes else [events]
    return found


def outcomes(kernel: Kernel) -> tuple[bool, ...]:
    """What may become of tries: that they succeed, and that they fail, if the kernel has any."""
    return (True, False) if _tried_once(kernel) else (True,)


def _by_thread(code: _Code, threads: range, events: Sequence[WarpEvent]) -> list[list[WarpEvent]]:
    """The traces of a warp's threads. Each of them reads all rows that ldmatrix loads."""
    found: dict[int, list[WarpEvent]] = {thread: [] for thread in threads}
    for event in events:
        if event.kind in ("mma", "commit", "wait"):
            raise NoTrace("one thread of a warpgroup's product")
        shared = (
            event.kind in _BY_WARP or event.kind == "gather" or code.parts[event.statement][0] == "ldmatrix"
        )
        if not shared and len(event.lanes) != len(event.threads):
            raise NoTrace("a thread that does several things at once")
        for place, thread in enumerate(event.threads):
            words = event.lanes if shared else event.lanes[place : place + 1]
            found[thread].append(event._replace(lanes=words, threads=()))
    return list(found.values())


class _WarpWalk:
    """The lanes of one warp: those that are furthest behind in the text go on first."""

    def __init__(self, code: _Code, threads: Sequence[int], rank: int) -> None:
        self.code = code
        self.rank = rank
        self.special = dict(_in_cluster(code.kernel, rank))
        self.lanes = [_Lane(thread) for thread in threads]

    def events(self, longest: int) -> Iterator[WarpEvent]:
        code = self.code
        live = list(self.lanes)
        end = len(code.statements)
        for _ in range(longest):
            for lane in live:
                lane.at = code.following[lane.at]
            live = [lane for lane in live if lane.at < end]
            if not live:
                return
            at = min(lane.at for lane in live)
            here = [lane for lane in live if lane.at == at]
            words: list[tuple[Any, ...]] = []
            passes = at in code.idle  # whichever way, the same is done next
            going = [] if passes else [lane for lane in here if self._holds(lane, code.statements[at].guard)]
            for lane in here:
                lane.at = at + 1
            root = code.parts[at][0]
            if code.gathers[at] and going:
                yield WarpEvent("gather", at, (self._gathering(at, going[0]),), _threads(going))
            if root == "bra":
                for lane in going:
                    lane.at = code.kernel.labels[code.statements[at].operands[0]]
            elif root in _ENDS:
                for lane in going:
                    lane.at = end
            elif root in ("brx", "call"):
                raise NoTrace(f"{root} is not followed")
            elif code.kinds[at]:
                one = code.kinds[at] in _BY_WARP
                words, doing = [], going if one else []
                if at in code.once and not code.tries:
                    going = [lane for lane in going if not self._fails(at, lane)]
                for lane in going[: 1 if one else None]:
                    some = list(self._words(at, lane))
                    words += some
                    doing += [lane] if some and not one else []
                if words:
                    if root == "ldmatrix":
                        doing = going
                    for lane in going:
                        lane.failed = -1
                    threads = _threads(doing) if code.lanes else ()
                    yield WarpEvent(code.kinds[at], at, tuple(words), threads, code.tries and at in code.once)
            elif code.targets[at]:
                self._assign(at, going)
        raise TooLong("the trace does not end")

    def _fails(self, at: int, lane: _Lane) -> bool:
        """Whether a try fails: the first one does, and one that is repeated does not."""
        if lane.failed == at:
            return False
        lane.failed = at
        lane.values[self.code.statements[at].operands[0]] = 0
        return True

    def _gathering(self, at: int, lane: _Lane) -> tuple[int, int]:
        """The warp's first thread, and the mask of the lanes that meet at a statement."""
        parts, operands = self.code.parts[at], self.code.statements[at].operands
        place = 0 if parts[0] == "bar" else -1
        mask = _ALL if "aligned" in parts else self.known(lane, operands[place])
        return self.lanes[0].thread, mask & (1 << len(self.lanes)) - 1

    def _holds(self, lane: _Lane, guard: str) -> bool:
        if not guard:
            return True
        value = self.value(lane, guard.lstrip("!"))
        if value is None:
            raise NoTrace(f"the predicate {guard} is not known")
        return bool(value) != guard.startswith("!")

    # Values

    def value(self, lane: _Lane, operand: str) -> Value:
        """The number of an operand in one lane."""
        if operand in lane.values:
            return lane.values[operand]
        number = _number(operand)
        if number is not None:
            return number
        if (fraction := literal(operand)) is not None:
            return fraction
        kernel = self.code.kernel
        if operand in kernel.symbols:
            return kernel.symbols[operand]
        special = {
            "%tid.x": lane.thread,
            "%tid": lane.thread,
            "%ntid.x": kernel.threads,
            "%laneid": lane.thread % _WARP,
            "%warpid": lane.thread // _WARP,
        }
        if operand in special:
            return special[operand]
        if operand in self.special:
            return self.special[operand]
        if operand.startswith(("%nct", "%ncluster", "%ntid", "%cluster_nct")):
            return 1
        return 0 if operand.startswith(("%tid", "%ctaid", "%cluster")) else None

    def known(self, lane: _Lane, operand: str) -> int:
        value = self.value(lane, operand.strip())
        if not isinstance(value, int):
            raise NoTrace(f"{operand} is not known")
        return value

    def address(self, lane: _Lane, operand: str) -> int:
        """The address `[a + b]`, of shared memory or of another."""
        return sum(self.known(lane, part) for part in _terms(operand)) & _MASK

    def place(self, lane: _Lane, operand: str) -> int:
        """The place of an address of shared memory: those of the blocks lie apart."""
        address = self.address(lane, operand)
        if address >= _SHARED:
            raise NoTrace(f"{operand} is not known to be of shared memory")
        if not address & _MAPPED:
            return address + self.rank * BLOCK
        rank = (address & ~_MAPPED) >> _RANK
        self._must_exist(rank)
        return (address & _OFFSET) + rank * BLOCK

    def _must_exist(self, rank: int) -> None:
        if rank >= prod(self.code.kernel.cluster):
            raise NoTrace("a block that the cluster lacks")

    def _assign(self, at: int, lanes: Sequence[_Lane]) -> None:
        statement, parts, targets = self.code.statements[at], self.code.parts[at], self.code.targets[at]
        root = parts[0]
        if root == "shfl":
            self._shuffle(statement, parts, targets, lanes)
            return
        for lane in lanes:
            result: Value = None
            if root == "elect":
                result = int(lane.thread % _WARP == 0)
            elif root == "ld" and "param" in parts:
                result = self._parameter(at)
            elif root in ("mov", "cvta"):
                result = self._moved(lane, statement.operands[1], parts[-1])
            elif root == "ld" and self._is_ordinary(parts):
                result = self._word(parts[-1])
            elif root == "mapa":
                address, rank = (self.value(lane, operand) for operand in statement.operands[1:])
                if isinstance(address, int) and isinstance(rank, int) and address < _SHARED:
                    result = _MAPPED | rank << _RANK | address & _OFFSET
            elif root not in ("ld", "vote", "activemask", "match"):
                result = self._computed(at, lane, parts, statement.operands[1:])
            single = len(targets) == 1
            for place, target in enumerate(targets):
                new = result
                if root == "elect":
                    new = result if place or single else None
                elif root == "setp":
                    new = result if not place or result is None else 1 - result
                elif root == "mov" and not single and isinstance(result, int):
                    width = int(parts[-1][1:]) // len(targets)
                    new = result >> width * place & (1 << width) - 1
                elif not single and root != "ld":
                    new = None
                lane.values[target] = new

    def _computed(self, at: int, lane: _Lane, parts: list[str], operands: Sequence[str]) -> Value:
        values = [self._pred(lane, operand) for operand in operands]
        if parts[0] == "selp":
            return None if values[2] is None else values[0] if values[2] else values[1]
        if parts[0] in ("and", "or") and parts[-1] == "pred" and int(parts[0] == "or") in values:
            return int(parts[0] == "or")
        key = at, tuple(values)
        made: Value = self.code.results.get(key)
        if key not in self.code.results:
            of_reals = is_real(parts[-1]) or (parts[0] == "cvt" and is_real(parts[-2]))
            if of_reals:
                made = real_result(parts, values)
            elif not any(isinstance(value, float) for value in values):
                made = computed(parts, values)
            self.code.results[key] = made
        return made

    def _pred(self, lane: _Lane, operand: str) -> Value:
        if operand.startswith("!"):
            value = self.value(lane, operand[1:])
            return None if value is None else 1 - value
        return self.value(lane, operand)

    def _moved(self, lane: _Lane, operand: str, kind: str) -> Value:
        if not operand.startswith("{"):
            value = self.value(lane, operand)
            return as_bits(value, kind) if isinstance(value, float) and not is_real(kind) else value
        words = [self.value(lane, word.strip()) for word in operand.strip("{}").split(",")]
        if len(words) != 2 or not isinstance(words[0], int) or not isinstance(words[1], int):
            return None
        width = int(kind[1:]) // 2
        return words[0] & (1 << width) - 1 | words[1] << width

    def _parameter(self, at: int) -> Value:
        """Sizes have one number, and pointers lie far apart; an mbarrier expects some bytes."""
        operand, kind = self.code.statements[at].operands[1], self.code.parts[at][-1]
        if at in self.code.pointers and kind.endswith("64"):
            return int(sum(ord(letter) * 31**index for index, letter in enumerate(operand)) % 97 + 1 << 32)
        if kind in ("u64", "s64", "b64"):
            return _TILES[self.code.size % 2]
        if is_real(kind) and self.code.kernel.fraction is not None:
            return self.code.kernel.fraction
        return _BYTES if at in self.code.counted else self._as(self.code.size, kind)

    def _word(self, kind: str) -> Value:
        """A word of global memory."""
        word = self.code.kernel.word
        return None if word is None else self._as(word, kind)

    @staticmethod
    def _as(number: int, kind: str) -> Value:
        return float(number) if is_real(kind) else number

    @staticmethod
    def _is_ordinary(parts: Sequence[str]) -> bool:
        """Whether a load of global memory reads what no other thread is writing."""
        return "global" in parts and not {"volatile", "relaxed", "acquire", "mmio"} & set(parts)

    def _shuffle(
        self, statement: Statement, parts: Sequence[str], targets: Sequence[str], lanes: Sequence[_Lane]
    ) -> None:
        found: dict[int, Value] = {}
        for lane in lanes:
            source = self.value(lane, statement.operands[2])
            known = isinstance(source, int) and "idx" in parts
            asked = self.lanes[int(source or 0) % len(self.lanes)] if known else None
            found[lane.thread] = None if asked is None else self.value(asked, statement.operands[1])
        for lane in lanes:
            lane.values[targets[0]] = found[lane.thread]
            for target in targets[1:]:
                lane.values[target] = 1

    # Events

    def _words(self, at: int, lane: _Lane) -> Iterator[tuple[Any, ...]]:
        """What one lane does at a statement; nothing if that does not count, and more than one thing where a
        copy goes to several blocks.
        """
        if self.code.kinds[at] == "bulk":
            yield from self._bulk(lane, self.code.statements[at].operands, self.code.parts[at])
        elif (found := self._one(at, lane)) is not None:
            yield found

    def _one(self, at: int, lane: _Lane) -> tuple[Any, ...] | None:
        statement, parts, kind = self.code.statements[at], self.code.parts[at], self.code.kinds[at]
        operands = statement.operands
        if kind in ("read", "write", "update"):
            return self._access(lane, operands, parts)
        if "relaxed" in parts and kind not in ("cluster", "expect"):
            raise NoTrace("a relaxed operation")
        if kind in ("init", "await", "arrive", "expect"):
            return self._mbarrier(lane, statement, kind)
        if kind == "meet":
            count = self.known(lane, operands[1]) if len(operands) > 1 else 0
            if "red" in parts:
                raise NoTrace("a barrier that reduces")
            return self.known(lane, operands[0]), count, "arrive" not in parts
        if kind == "cluster":
            return "arrive" in parts, "relaxed" in parts
        if kind in ("wait", "copy-wait", "bulk-wait"):
            return (self.known(lane, operands[0]) if operands else -1,)
        if kind == "copy":
            return self.place(lane, operands[0]), self.known(lane, operands[2])
        if kind == "copy-arrive":
            return self.place(lane, operands[0]), "noinc" in parts
        if kind == "drain":
            place = next(o for o in operands[::-1] if o.startswith("[") and "," not in o)
            size = None if "tensor" in parts else self.known(lane, operands[2])
            return self.place(lane, place), size
        if kind == "mma":
            return self._product(lane, operands, parts)
        return ()

    def _access(self, lane: _Lane, operands: Sequence[str], parts: list[str]) -> tuple[Any, ...] | None:
        if parts[0] in ("ldmatrix", "stmatrix"):
            count = next(int(part[1:]) for part in parts if re.fullmatch(r"x\d", part))
            if lane.thread % _WARP >= (8 if "m8n8" in parts else 16) * count:
                return None
        place = next(operand for operand in operands if operand.startswith("["))
        if self.address(lane, place) >= _SHARED:
            return None
        low = self.place(lane, place)
        return low, low + access_bytes(parts)

    def _mbarrier(self, lane: _Lane, statement: Statement, kind: str) -> tuple[Any, ...]:
        operands, name = statement.operands, statement.name
        if ".noComplete" in name:
            raise NoTrace("an arrival that completes no phase")
        place = next(index for index, operand in enumerate(operands) if operand.startswith("["))
        barrier = self.place(lane, operands[place])
        rest = operands[place + 1 :]
        if kind == "await":
            lane.values[operands[0]] = 1
            if ".parity" not in name:
                raise NoTrace("a wait for a state")
            return barrier, self.known(lane, rest[0]) & 1
        if kind == "init":
            return barrier, self.known(lane, rest[0])
        if "expect_tx" in name:
            return barrier, int(kind == "arrive"), self.known(lane, rest[0])
        return barrier, self.known(lane, rest[0]) if rest else 1, 0

    def _bulk(self, lane: _Lane, operands: Sequence[str], parts: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        last = max(at for at, o in enumerate(operands) if at and o.startswith("[") and "," not in o)
        size = None if "tensor" in parts else self.known(lane, operands[2])
        to, barrier = self.place(lane, operands[0]), self.place(lane, operands[last])
        source = self.place(lane, operands[1]) if parts[4] == "shared::cta" else None
        if not any("multicast" in part for part in parts):
            yield to, size, barrier, source
            return
        mask = self.known(lane, operands[last + 1])
        for rank in range(mask.bit_length()):
            if mask >> rank & 1:
                self._must_exist(rank)
                yield to % BLOCK + rank * BLOCK, size, barrier % BLOCK + rank * BLOCK, None

    def _product(self, lane: _Lane, operands: Sequence[str], parts: Sequence[str]) -> tuple[Any, ...]:
        sparse = parts[2] == "sp"
        size = re.fullmatch(r"m(\d+)n(\d+)k(\d+)", parts[5 if sparse else 4])
        assert size is not None
        types = parts[6 if sparse else 5 :][:3]
        turned = [word.strip() == "1" for word in operands[(5 if sparse else 3) + 3 :]]
        read: set[int] = set()
        if not operands[1].startswith("{"):
            a = matrix(self.known(lane, operands[1]), int(size[1]), 32, types[1], bool(turned) and turned[0])
            read |= a or set()
        depth = 64 if sparse else 32
        b = matrix(self.known(lane, operands[2]), int(size[2]), depth, types[2], bool(turned) and turned[-1])
        return (frozenset(granule + self.rank * BLOCK // GRANULE for granule in read | (b or set())),)


def _threads(lanes: Sequence[_Lane]) -> tuple[int, ...]:
    return tuple(lane.thread for lane in lanes)


def _in_cluster(kernel: Kernel, rank: int) -> Iterator[tuple[str, int]]:
    """The special registers that say where a block stands in its cluster, which is the grid's last one."""
    yield "%cluster_ctarank", rank
    yield "%cluster_nctarank", prod(kernel.cluster)
    for axis, count, first in zip("xyz", kernel.cluster, kernel.first, strict=True):
        for name, number in (("ctaid", rank % count), ("nctaid", count)):
            yield f"%cluster_{name}.{axis}", number
            yield f"%{name}.{axis}", number + first
        rank //= count


assert GRANULE == 16
