"""Walk one path of a kernel with numbers, and record the events that matter to the order of its wgmmas.

This module reads PTX by itself, on purpose: it shares no code with `check/`, because it judges the
checker. (`shared_footprints.py` asks the specification which bytes lie behind a descriptor.)

One thread leads: it alone decides branches. The other threads of its CTA follow it as far as they take the
same way, so that what all of them store or copy into shared memory is known byte by byte. An integer register
has a number where that is known: one for all threads, or one for each thread. Sizes are given a number, and
pointers lie far apart. A branch that depends on them, or on memory, may be taken against its numbers, so that
the walk reaches a wgmma. Other CTAs of a cluster do what this one does.
"""

from __future__ import annotations

import operator
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np
from kernel_statements import LOCAL, Kernel, NoTrace, Statement
from shared_footprints import GRANULE, Granules, matrix

from ptxmma.formal.ordering.programs import MmaShape

__all__ = ["Event", "Walk", "WalkPlan", "access_bytes", "computed"]

LONGEST = 200_000
MASK = (1 << 64) - 1
GROUP = 128


class Event(NamedTuple):
    """An event of a walk: its kind, and what it touched."""

    kind: str
    words: tuple[Any, ...]  # as many, and of such types, as the kind has


class WalkPlan(NamedTuple):
    """Which thread leads, what number sizes are given, and how often a loop may go round."""

    thread: int
    size: int
    rounds: int


@dataclass
class Walk:
    """A thread on its way through a kernel, and those that come along."""

    kernel: Kernel
    plan: WalkPlan
    values: dict[str, object] = field(default_factory=dict)
    given: set[str] = field(default_factory=set)  # registers that depend on parameters and memory
    taken: dict[tuple[int, bool], int] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    firm: set[str] = field(default_factory=set)  # predicates that say a barrier's phase is complete
    forced: int = 0  # loops that were left, or gone round, against their numbers
    products: Counter[int] = field(default_factory=Counter)  # how often each wgmma was executed
    visited: set[int] = field(default_factory=set)
    rounds: Counter[int] = field(
        default_factory=Counter
    )  # how often loops with a wgmma went round, by branch
    away: dict[int, np.ndarray] = field(default_factory=dict)  # threads that wait at a place further on

    def __post_init__(self) -> None:
        count = max(self.kernel.threads, self.plan.thread + GROUP)
        self.lanes = np.array(range(count), dtype=object)
        self.here = np.ones(count, dtype=bool)

    # Values

    def value(self, operand: str) -> object:
        """The value of an operand: a number, or an array with one for each thread; None if unknown."""
        operand = operand.strip()
        if operand in self.values:
            return self.values[operand]
        number = _number(operand)
        if number is not None:
            return number
        if operand in self.kernel.symbols:
            return self.kernel.symbols[operand]
        special = {
            "%tid.x": self.lanes,
            "%ntid.x": self.kernel.threads,
            "%laneid": self.lanes % 32,
            "%warpid": self.lanes // 32,
        }
        if operand in special:
            return special[operand]
        if operand.startswith(("%nct", "%ncluster", "%ntid", "%cluster_nct")):
            return 1
        return 0 if operand.startswith(("%tid", "%ctaid", "%cluster")) else None

    def lead(self, operand: str) -> int | None:
        """The value of an operand in the thread that leads."""
        return self._led(self.value(operand))

    def _led(self, value: object) -> int | None:
        if isinstance(value, np.ndarray):
            value = value[self.plan.thread]
        return None if value is None else int(value)  # type: ignore[call-overload]

    def address(self, operand: str) -> object:
        """The address `[a + b]`."""
        total: object = 0
        for part in re.split(r"\+", operand.strip("[] ")):
            value = self.value(part)
            if value is None:
                return None
            total = total + value  # type: ignore[operator]
        return total & 0xFFFFFFFF  # type: ignore[operator]

    def executed(self, statement: Statement) -> np.ndarray:
        """The threads that execute a statement; those of an unknown guard do."""
        if not statement.guard:
            return self.here
        value = self.value(statement.guard.lstrip("!"))
        if value is None:
            return self.here
        wanted = np.full(len(self.lanes), value, dtype=object) != 0
        executed: np.ndarray = self.here & (wanted != statement.guard.startswith("!"))
        return executed

    def granules(self, operand: str, size: int, who: np.ndarray) -> Granules | None:
        """The granules of shared memory that some threads touch; None where they are not known."""
        start = self.address(operand)
        if start is None:
            return None
        if not isinstance(start, np.ndarray):
            starts: Iterable[int] = (int(start),)  # type: ignore[call-overload]
        else:
            starts = set(start[who])
        return frozenset(
            granule for at in starts for granule in range(at // GRANULE, (at + size - 1) // GRANULE + 1)
        )

    # The way

    def run(self) -> None:
        """Walk from the first statement to a return."""
        at = steps = 0
        statements = self.kernel.statements
        while at < len(statements):
            steps += 1
            if steps > LONGEST:
                raise NoTrace("the path does not end")
            if at in self.away:
                self.here = self.here | self.away.pop(at)
            statement = statements[at]
            root = statement.name.split(".")[0]
            if root in ("ret", "exit", "trap"):
                if self._guard(statement.guard):
                    return
                if statement.guard:
                    self.here = self.here & ~self.executed(statement)
                    self.here[self.plan.thread] = True
                at += 1
                continue
            if root == "bra":
                at = self._branch(at, statement)
                continue
            if root == "brx":
                raise NoTrace("an indirect branch")
            self.visited.add(at)
            self._execute(at, statement)
            at += 1

    def _guard(self, guard: str) -> bool | None:
        """Whether the thread that leads executes what a guard stands before."""
        if not guard:
            return True
        value = self.lead(guard.lstrip("!"))
        return None if value is None else bool(value) != guard.startswith("!")

    def _branch(self, at: int, statement: Statement) -> int:
        target = self.kernel.labels[statement.operands[0]]
        if not statement.guard:
            choice = True
        else:
            choice = self._choose(at, target, statement.guard)
            self.taken[at, choice] = self.taken.get((at, choice), 0) + 1
            self._part(at, target, statement, choice)
        if choice and target <= at:
            if self._multiplies(target, at):
                self.rounds[at] += 1
            self._again(target, at)
        return target if choice else at + 1

    def _choose(self, at: int, target: int, guard: str) -> bool:
        """Whether a branch is taken: as the numbers say, or so that the walk comes to a wgmma and ends."""
        register = guard.lstrip("!")
        known = self._guard(guard)
        if known is None:
            if target <= at:
                known = self._multiplies(target, at) and self.taken.get((at, True), 0) < 2
            else:
                known = not any(at < place < target for place in self.counting)
        free = register in self.given or self.lead(register) is None
        if free and not self.products and register not in self.firm:
            ways = {True: target in self._reaching, False: at + 1 in self._reaching}
            if not ways[known] and ways[not known]:
                return not known
        most = self.plan.rounds if (target <= at) == known else self.plan.rounds + 1
        if register not in self.firm and self.taken.get((at, known), 0) >= most:
            self.forced += 1
            return not known
        return known

    def _part(self, at: int, target: int, statement: Statement, choice: bool) -> None:
        """Threads that go another way than the first wait where it comes past, or are lost to it."""
        takes = self.executed(statement) if self.value(statement.guard.lstrip("!")) is not None else None
        if takes is None:
            return
        others = self.here & (takes != choice) if choice else takes & self.here
        if choice:
            others = self.here & ~takes
        if not others.any() or others[self.plan.thread]:
            return
        if not choice or target <= at:
            place = at + 1 if choice else target
            self.here = self.here & ~others
            self.away[place] = self.away.get(place, np.zeros_like(others)) | others
            return
        group = self.lanes // GROUP == self.plan.thread // GROUP
        self.here = self.here & ~(others & ~group)  # other warpgroups have other parts to play

    @property
    def covered(self) -> frozenset[object]:
        """Statements that bear on the order and were come to; loops that went round; those that did twice."""
        often = {(at, min(count, 2)) for at, count in self.rounds.items()}
        return frozenset(self.counting & self.visited) | often | {(at, 1) for at in self.rounds}

    def _multiplies(self, first: int, last: int) -> bool:
        """Whether a wgmma stands between two statements."""
        return any(first <= mma < last for mma in self._mmas)

    @cached_property
    def counting(self) -> frozenset[int]:
        """The statements that bear on the order: what synchronises, and what touches shared memory or D."""
        statements = self.kernel.statements
        d = {name for at in self._mmas for name in LOCAL.findall(statements[at].operands[0])}
        return frozenset(
            at
            for at, found in enumerate(statements)
            if found.name.startswith(("wgmma", "cp.async", "fence", "bar"))
            or ".shared" in found.name
            or not d.isdisjoint(name for word in found.operands for name in LOCAL.findall(word))
        )

    @cached_property
    def _mmas(self) -> list[int]:
        statements = self.kernel.statements
        return [at for at, found in enumerate(statements) if found.name.startswith("wgmma.mma_async")]

    @cached_property
    def _reaching(self) -> set[int]:
        """The statements from which some path comes to a wgmma."""
        before: dict[int, list[int]] = {}
        for at, statement in enumerate(self.kernel.statements):
            root = statement.name.split(".")[0]
            nexts = [] if root in ("ret", "exit", "trap", "bra") and not statement.guard else [at + 1]
            if root == "bra":
                nexts.append(self.kernel.labels[statement.operands[0]])
            for after in nexts:
                before.setdefault(after, []).append(at)
        found, rest = set(self._mmas), list(self._mmas)
        while rest:
            for at in before.get(rest.pop(), ()):
                if at not in found:
                    found.add(at)
                    rest.append(at)
        return found

    def _again(self, first: int, last: int) -> None:
        """Loops within the loop that begins again are walked anew."""
        for at in {at for at, _ in self.taken if first <= at < last}:
            if first <= self.kernel.labels[self.kernel.statements[at].operands[0]] <= last:
                self.taken.pop((at, True), None)
                self.taken.pop((at, False), None)

    # Statements

    def _event(self, kind: str, *words: object) -> None:
        self.events.append(Event(kind, words))

    def _execute(self, at: int, statement: Statement) -> None:
        name, operands = statement.name, statement.operands
        parts = name.split(".")
        who = self.executed(statement)
        if parts[0] == "mbarrier":
            self._mbarrier(name, operands, who)
        elif not who.any():
            return
        elif parts[0] == "wgmma":
            self._wgmma(at, parts, operands)
        elif name.startswith("cp."):
            self._copy(name, operands, who)
            self._touch(statement, operands, ())
        elif parts[0] in ("st", "stmatrix", "red"):
            if ".shared" in name:
                self._event("store", self.granules(operands[0], access_bytes(parts), self._rows(parts, who)))
            self._touch(statement, operands, ())
        elif parts[0] in ("fence", "bar", "barrier", "prefetch", "griddepcontrol", "setmaxnreg"):
            if name.startswith("fence.proxy.async") and ".global" not in name:
                self._event("proxy")
            elif parts[0] in ("bar", "barrier") and "cluster" not in name and "arrive" not in name:
                self._event("barrier")
        elif operands:
            if ".shared" in name and parts[0] in ("ld", "ldmatrix", "atom"):
                self._event("load", self.granules(operands[1], access_bytes(parts), self._rows(parts, who)))
            self._assign(statement, parts, who)

    def _rows(self, parts: Sequence[str], who: np.ndarray) -> np.ndarray:
        """The threads whose addresses an instruction uses: of ldmatrix and stmatrix, eight a matrix."""
        if parts[0] not in ("ldmatrix", "stmatrix"):
            return who
        count = next(int(part[1:]) for part in parts if re.fullmatch(r"x\d", part))
        addressing = 8 * count if "m8n8" in parts else 16 * count
        asked: np.ndarray = who & (self.lanes % 32 < addressing).astype(bool)
        return asked

    def _mbarrier(self, name: str, operands: tuple[str, ...], who: np.ndarray) -> None:
        place = next((operand for operand in operands if operand.startswith("[")), "[0]")
        barrier = self._led(self.address(place))
        if "wait" in name:
            self._event("await", barrier)
            self.firm.add(operands[0])
            self.values[operands[0]] = 1
        elif "expect_tx" in name:
            self._event("expect", barrier, self.lead(operands[-1]))
        elif "arrive" in name:
            warps = {int(lane) // 32 for lane in self.lanes[who]}
            first = self.plan.thread // 32
            if warps >= set(range(first, first + GROUP // 32)):
                self._event("arrive", barrier)

    def _copy(self, name: str, operands: tuple[str, ...], who: np.ndarray) -> None:
        """A copy into shared memory, or a commit or a wait of some."""
        if name.startswith("cp.async.bulk"):
            if not operands or any(word in name for word in ("group", ".global.shared", "prefetch")):
                return
            places = [o for o in operands[1:] if o.startswith("[") and "," not in o]
            barrier = self._led(self.address(places[-1]))
            size = self.lead(operands[2]) if ".tensor" not in name else None
            target = self.address(operands[0])
            if isinstance(target, np.ndarray):
                starts: list[object] = sorted(set(target[who]))
            else:
                starts = [target]
            for start in starts:
                self._event("bulk", start, barrier, size)
        elif name.startswith("cp.async.commit"):
            self._event("copy-commit")
        elif name.startswith("cp.async.wait"):
            self._event("copy-wait", self.lead(operands[0]) if operands else 0)
        elif name.startswith("cp.async.c"):
            size = self.lead(operands[2]) or GRANULE
            self._event("copy", self.granules(operands[0], size, who), size)

    def _assign(self, statement: Statement, parts: list[str], who: np.ndarray) -> None:
        """What an ordinary instruction reads, and the registers that it writes."""
        operands = statement.operands
        targets = _targets(operands[0])
        self._touch(statement, operands[1:], targets)
        given = parts[0] in ("ld", "ldmatrix", "atom", "ldu", "tex") or any(
            name in self.given for operand in operands[1:] for name in _names(operand)
        )
        result = self._result(parts, operands)
        every = parts[0] in ("setp", "elect") or "param" in parts
        single = len(targets) == 1 or every or parts[0] == "shfl"
        for place, target in enumerate(targets):
            new = result if single and (not place or every) else None
            if parts[0] == "mov" and len(targets) > 1 and result is not None:
                width = int(parts[-1][1:]) // len(targets)
                new = result >> width * place & (1 << width) - 1  # type: ignore[operator]
            if place and parts[0] == "setp" and new is not None:
                new = 1 - new  # type: ignore[operator]
            if not who.all() and statement.guard:
                new = self._mixed(statement, target, new, who)
            self.values[target] = new
            (self.given.add if given else self.given.discard)(target)

    def _mixed(self, statement: Statement, target: str, new: object, who: np.ndarray) -> object:
        """The new value for the threads that a guard lets execute, the old one for the others."""
        old = self.values.get(target)
        if new is None or self.value(statement.guard.lstrip("!")) is None:
            return None
        if old is None:
            return None
        count = len(self.lanes)
        return np.where(who, np.full(count, new, dtype=object), np.full(count, old, dtype=object))

    def _touch(self, statement: Statement, reads: Sequence[str], writes: Sequence[str]) -> None:
        names = [name for operand in reads for name in _names(operand)]
        # Taking a register apart is copying it, too.
        copy = statement.name.startswith("mov.") and len(names) == 1 and reads[0] == names[0]
        self._event("copied" if copy else "touch", tuple(names), tuple(writes))

    def _wgmma(self, at: int, parts: list[str], operands: tuple[str, ...]) -> None:
        if parts[1] == "fence":
            self._event("fence")
        elif parts[1] == "commit_group":
            self._event("commit")
        elif parts[1] == "wait_group":
            self._event("wait", self.lead(operands[0]))
        else:
            self.products[at] += 1
            sparse = parts[2] == "sp"
            size = re.fullmatch(r"m(\d+)n(\d+)k(\d+)", parts[5 if sparse else 4])
            assert size is not None
            types = parts[6 if sparse else 5 :][:3]
            shape = MmaShape(int(size[1]), int(size[2]), int(size[3]), ".".join(types))
            d = tuple(word.strip() for word in operands[0].strip("{} ").split(","))
            scale = self.lead(operands[5 if sparse else 3])
            # Behind scale-d and the signs of A and B, where the types have them: which are transposed.
            last = operands[(5 if sparse else 3) + 1 :]
            turned = [word.strip() == "1" for word in last[2:]]
            if operands[1].startswith("{"):
                a: object = tuple(word.strip() for word in operands[1].strip("{} ").split(","))
            else:
                a = matrix(self.lead(operands[1]), shape.m, 32, types[1], bool(turned) and turned[0])
            b = matrix(
                self.lead(operands[2]), shape.n, 64 if sparse else 32, types[2], bool(turned) and turned[-1]
            )
            self._event("mma", shape, d, a, b, scale != 0)

    # Arithmetic

    def _result(self, parts: list[str], operands: tuple[str, ...]) -> object:
        root = parts[0]
        if root == "ld" and "param" in parts:
            return self._parameter(operands[1], parts[-1])
        if root in ("mov", "cvta", "mapa"):
            if operands[1].startswith("{"):
                words = [self.value(word) for word in operands[1].strip("{}").split(",")]
                if len(words) != 2 or any(word is None for word in words):
                    return None
                low, high = words
                return low & 0xFFFFFFFF | high << 32  # type: ignore[operator]
            return self.value(operands[1])
        if root == "shfl":
            return self._shuffled(parts, operands)
        if root == "elect":
            return ((self.lanes % 32 == 0) * 1).astype(object)
        known = [self.value(operand) for operand in operands[1:]]
        if root == "selp" and known[-1] is not None:
            yes, no, choice = known
            if not isinstance(choice, np.ndarray):
                return yes if choice else no
            if yes is None or no is None:
                return None
            count = len(self.lanes)
            return np.where(choice != 0, np.full(count, yes, dtype=object), np.full(count, no, dtype=object))
        if root in ("and", "or") and parts[-1] == "pred":
            decided = int(root == "or")
            if any(not isinstance(v, np.ndarray) and v is not None and v == decided for v in known):
                return decided
        return computed(parts, known)

    def _parameter(self, operand: str, kind: str) -> int:
        """A parameter's value: sizes, and pointers far apart."""
        number = sum(ord(letter) * 31**index for index, letter in enumerate(operand)) % 97
        return (number + 1) << 32 if kind.endswith("64") else self.plan.size

    def _shuffled(self, parts: list[str], operands: tuple[str, ...]) -> object:
        value, lane = self.value(operands[1]), self.value(operands[2])
        if not isinstance(value, np.ndarray) or value is None:
            return value
        if "idx" not in parts or lane is None or isinstance(lane, np.ndarray):
            return None
        places = np.array(range(len(self.lanes))) // 32 * 32 + int(lane) % 32  # type: ignore[call-overload]
        return value[np.minimum(places, len(self.lanes) - 1)]


def computed(parts: list[str], known: list[Any]) -> Any:
    """What an arithmetic instruction makes of numbers; None if that is not known."""
    if any(value is None for value in known):
        return None
    root = parts[0]
    kind = parts[-1]
    width = 1 if kind == "pred" else _width(kind)
    signed = kind[0] == "s" and kind[1:].isdigit()
    values = [_signed(v, width) if signed else v & (1 << width) - 1 for v in known]
    if root == "mad" and "wide" in parts:
        values[2] = known[2]
    if root == "cvt":
        width = _width(parts[-2])
    if root == "setp":
        width = 1
    result = _compute(root, parts, values)
    return None if result is None else result & ((1 << (64 if "wide" in parts else width)) - 1)


def access_bytes(parts: Sequence[str]) -> int:
    """The bytes that a thread's address stands for."""
    if parts[0] in ("ldmatrix", "stmatrix"):
        return 16
    vector = next((int(part[1:]) for part in parts if re.fullmatch(r"v\d", part)), 1)
    return max(1, vector * _width(parts[-1]) // 8)


# What the text of an operand or a type says: statements are executed many times, and read once.


@cache
def _number(operand: str) -> int | None:
    """The value of a constant."""
    if re.fullmatch(r"-?\d+U?", operand):
        return int(operand.rstrip("U")) & MASK
    if re.fullmatch(r"0[xX][0-9a-fA-F]+U?", operand):
        return int(operand.rstrip("U"), 16)
    return None


@cache
def _names(operand: str) -> tuple[str, ...]:
    """The registers and other names in an operand."""
    return tuple(LOCAL.findall(operand))


@cache
def _targets(operand: str) -> tuple[str, ...]:
    """The registers that an instruction writes."""
    return tuple(word.strip() for word in re.split(r"[,|]", operand.strip("{} ")))


@cache
def _width(kind: str) -> int:
    """The bits of a type."""
    return int(re.sub(r"\D", "", kind) or 32)


def _signed(value: object, width: int) -> object:
    sign = 1 << width - 1
    return (value & (1 << width) - 1 ^ sign) - sign  # type: ignore[operator]


# Not the checker's own table, whose faults this walk is to find.
COMPARISONS = {name: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")}
COMPARISONS |= {"lo": operator.lt, "ls": operator.le, "hi": operator.gt, "hs": operator.ge}


def _compute(root: str, parts: list[str], v: list[Any]) -> Any:
    if any(part.startswith(("f", "bf")) for part in parts[1:]):
        return None
    if root == "setp":
        if parts[1] not in COMPARISONS:
            return None
        result = COMPARISONS[parts[1]](v[0], v[1]) * 1
        if len(v) < 3:
            return _plain(result)
        both = {"and": lambda: result & v[2], "or": lambda: result | v[2], "xor": lambda: result ^ v[2]}
        return _plain(both[parts[2]]()) if parts[2] in both else None
    if root in ("div", "rem") and np.any(v[1] == 0):
        return None
    return _plain(SIMPLE[root](parts, v)) if root in SIMPLE else None


def _least(a: Any, b: Any) -> Any:
    """The lesser, thread by thread where there are many."""
    return np.minimum(a, b) if isinstance(a, np.ndarray) or isinstance(b, np.ndarray) else min(a, b)


def _plain(value: object) -> object:
    """A Python number, or an array of them."""
    if isinstance(value, np.ndarray) and value.ndim:
        return value if value.dtype == object else value.astype(object)
    return None if value is None else int(value)  # type: ignore[call-overload]


def _table(a: int, b: int, c: int, table: int) -> int:
    """lop3: every bit by its table."""
    result = 0
    for row in range(8):
        if table >> row & 1:
            one = a if row & 4 else ~a
            two = b if row & 2 else ~b
            three = c if row & 1 else ~c
            result = result | (one & two & three)
    return result


def _funnel(parts: Sequence[str], low: int, high: int, by: int) -> int:
    """shf: the upper half of both words shifted left, or the lower half of them shifted right."""
    both = high << 32 | low
    by = by & 31 if "wrap" in parts else _least(by, 32)
    return both << by >> 32 if parts[1] == "l" else both >> by


SIMPLE: dict[str, Callable[[list[str], list[Any]], Any]] = {
    "add": lambda _, v: v[0] + v[1],
    "sub": lambda _, v: v[0] - v[1],
    "mul": lambda parts, v: v[0] * v[1] >> (_width(parts[-1]) if "hi" in parts else 0),
    "mad": lambda parts, v: (v[0] * v[1] >> (_width(parts[-1]) if "hi" in parts else 0)) + v[2],
    "shl": lambda _, v: v[0] << _least(v[1], 64),
    "shr": lambda _, v: v[0] >> _least(v[1], 64),
    "and": lambda _, v: v[0] & v[1],
    "or": lambda _, v: v[0] | v[1],
    "xor": lambda _, v: v[0] ^ v[1],
    "not": lambda _, v: ~v[0],
    "neg": lambda _, v: -v[0],
    "abs": lambda _, v: abs(v[0]),
    "min": lambda _, v: _least(v[0], v[1]),
    "max": lambda _, v: -_least(-v[0], -v[1]),
    "div": lambda _, v: abs(v[0]) // abs(v[1]) * (1 - 2 * ((v[0] < 0) ^ (v[1] < 0))),
    "rem": lambda _, v: abs(v[0]) % abs(v[1]) * (1 - 2 * (v[0] < 0)),
    "cvt": lambda _, v: v[0],
    "bfe": lambda _, v: v[0] >> v[1] & ((1 << v[2]) - 1),
    "bfi": lambda _, v: v[1] & ~(((1 << v[3]) - 1) << v[2]) | (v[0] & ((1 << v[3]) - 1)) << v[2],
    "lop3": lambda _, v: _table(*v),
    "shf": lambda parts, v: _funnel(parts, *v),
}
