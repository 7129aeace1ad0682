"""Turn one kernel of a PTX file into an abstract ordering program, by walking one path of it with numbers.

One thread is followed; every loop is walked three times (twice, and once more over the back edge). Integer
registers hold numbers as far as they are known, so that the stage of shared memory of every copy, store and
descriptor is. This reads PTX by itself: it shares nothing with the checker that it is to judge.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ptxmma.formal.programs import (
    Buffer,
    BulkCopy,
    Commit,
    CpAsync,
    CpAsyncCommit,
    CpAsyncWait,
    CtaBarrier,
    MbarrierWait,
    Mma,
    Operation,
    Program,
    ProxyFence,
    Register,
    RegisterRead,
    RegisterWrite,
    Shape,
    SharedRead,
    SharedWrite,
    Wait,
    WgmmaFence,
)

__all__ = ["Kernel", "NoTrace", "Statement", "kernels", "program"]

ROUNDS = 2
LONGEST = 200_000
MASK = (1 << 64) - 1


class NoTrace(Exception):
    """The kernel has no path that an abstract program can tell."""


@dataclass(frozen=True)
class Statement:
    """One statement: its words, and where its text starts and ends in the file."""

    guard: str
    name: str
    operands: tuple[str, ...]
    start: int
    end: int


@dataclass(frozen=True)
class Kernel:
    """An entry: statements in the order of the text, and the labels before them."""

    name: str
    statements: tuple[Statement, ...]
    labels: dict[str, int]
    symbols: dict[str, int]


TOKEN = re.compile(
    r"//[^\n]*|/\*.*?\*/|[{}]|([$%\w]+):(?!:)|[^\s;{}/][^;{}/]*(?:\{[^{}]*\}[^;{}/]*)*;|[^\s]", re.DOTALL
)
ENTRY = re.compile(r"\.entry\s+([$\w]+)")
LOCAL = re.compile(r"%?[A-Za-z_$][\w$]*")


def split(text: str) -> tuple[str, ...]:
    """The operands, parted by the commas outside braces and brackets."""
    depth, parts, last = 0, [], 0
    for index, letter in enumerate(text):
        if letter in "{[(":
            depth += 1
        elif letter in "}])":
            depth -= 1
        elif letter == "," and depth == 0:
            parts.append(text[last:index].strip())
            last = index + 1
    return (*parts, text[last:].strip()) if text[last:].strip() else tuple(parts)


def kernels(text: str) -> Iterator[Kernel]:
    """The entries of a file."""
    symbols: dict[str, int] = {}
    place = 1024
    for found in re.finditer(r"\.shared\s+(?:\.align\s+\d+\s+)?\.b(\d+)\s+([$\w]+)(?:\[(\d*)\])?", text):
        symbols.setdefault(found[2], place)
        place += (int(found[3] or 65536) * int(found[1]) // 8 + 2047) // 1024 * 1024
    for found in ENTRY.finditer(text):
        close = text.index(")", found.end()) if text[found.end() :].lstrip().startswith("(") else found.end()
        yield _kernel(found[1], text, text.index("{", close), symbols)


def _kernel(name: str, text: str, start: int, symbols: dict[str, int]) -> Kernel:
    scopes: list[dict[str, str]] = []
    statements: list[Statement] = []
    labels: dict[str, int] = {}

    def rename(word: str, inside: Sequence[dict[str, str]]) -> str:
        for scope in reversed(inside):
            if word in scope:
                return scope[word]
        return word

    position = start
    opened: list[int] = []
    # First pass: what each scope declares, since a label may be branched to before it stands there.
    declared: dict[int, dict[str, str]] = {}
    while found := TOKEN.search(text, position):
        position = found.end()
        token = found.group()
        if token.startswith(("//", "/*")):
            continue
        if token == "{":
            opened.append(found.start())
            declared[found.start()] = {}
        elif token == "}":
            opened.pop()
            if not opened:
                break
        elif found[1]:
            if len(opened) > 1:
                declared[opened[-1]][found[1]] = f"{found[1]}@{opened[-1]}"
        elif len(opened) > 1 and token.startswith(".reg"):
            for word in token.rstrip(";").split(None, 2)[2].split(","):
                declared[opened[-1]][word.strip()] = f"{word.strip()}@{opened[-1]}"
    position = start
    while found := TOKEN.search(text, position):
        position = found.end()
        token = found.group()
        if token.startswith(("//", "/*")):
            continue
        if token == "{":
            scopes.append(declared[found.start()])
        elif token == "}":
            scopes.pop()
            if not scopes:
                break
        elif found[1]:
            labels[rename(found[1], scopes)] = len(statements)
        elif token.startswith("."):
            continue
        else:
            body = token.rstrip(";").strip()
            guard = ""
            if body.startswith("@"):
                guard, body = body[1:].split(None, 1)
            words = body.split(None, 1)
            operands = split(words[1]) if len(words) > 1 else ()
            if len(scopes) > 1:
                operands = tuple(LOCAL.sub(lambda w: rename(w.group(), scopes), o) for o in operands)
                guard = LOCAL.sub(lambda w: rename(w.group(), scopes), guard)
            statements.append(Statement(guard, words[0], operands, found.start(), found.end()))
    return Kernel(name, tuple(statements), labels, symbols)


@dataclass
class _Walk:
    """A thread on its way through a kernel."""

    kernel: Kernel
    thread: int
    values: dict[str, int | None] = field(default_factory=dict)
    taken: dict[tuple[int, bool], int] = field(default_factory=dict)
    events: list[tuple[str, tuple[object, ...]]] = field(default_factory=list)
    firm: set[str] = field(default_factory=set)  # predicates that say a barrier's phase is complete

    def value(self, operand: str) -> int | None:
        """What an operand holds, where that is known."""
        operand = operand.strip()
        if operand in self.values:
            return self.values[operand]
        if re.fullmatch(r"-?\d+U?", operand):
            return int(operand.rstrip("U")) & MASK
        if re.fullmatch(r"0[xX][0-9a-fA-F]+U?", operand):
            return int(operand.rstrip("U"), 16)
        if operand in self.kernel.symbols:
            return self.kernel.symbols[operand]
        special = {"%tid.x": self.thread, "%ntid.x": 384, "%laneid": self.thread % 32}
        if operand in special:
            return special[operand]
        if operand.startswith(("%nct", "%ncluster", "%ntid")):
            return 1
        return 0 if operand.startswith(("%tid", "%ctaid", "%cluster")) else None

    def address(self, operand: str) -> int | None:
        """Where `[a + b]` points."""
        total = 0
        for part in re.split(r"\+", operand.strip("[] ")):
            value = self.value(part)
            if value is None:
                return None
            total += value
        return total & 0xFFFFFFFF

    def run(self) -> None:
        """Walk from the first statement to a return."""
        at = steps = 0
        statements = self.kernel.statements
        while at < len(statements):
            steps += 1
            if steps > LONGEST:
                raise NoTrace("the path does not end")
            statement = statements[at]
            root = statement.name.split(".")[0]
            if root in ("ret", "exit", "trap") and not statement.guard:
                return
            if root == "bra":
                at = self._branch(at, statement)
                continue
            if root == "brx":
                raise NoTrace("an indirect branch")
            self._execute(at, statement)
            at += 1

    def _branch(self, at: int, statement: Statement) -> int:
        target = self.kernel.labels[statement.operands[0]]
        choice = True
        if statement.guard:
            known = self._guard(statement.guard)
            choice = known if known is not None else target > at and not self.taken.get((at, True))
            most = ROUNDS if (target <= at) == choice else ROUNDS + 1
            if statement.guard.lstrip("!") not in self.firm and self.taken.get((at, choice), 0) >= most:
                choice = not choice
            self.taken[at, choice] = self.taken.get((at, choice), 0) + 1
        if choice and target <= at:
            self._again(target, at)
        return target if choice else at + 1

    def _again(self, first: int, last: int) -> None:
        """Loops within the loop that begins again are walked anew."""
        for at in {at for at, _ in self.taken if first <= at < last}:
            if first <= self.kernel.labels[self.kernel.statements[at].operands[0]] <= last:
                self.taken.pop((at, True), None)
                self.taken.pop((at, False), None)

    def _guard(self, guard: str) -> bool | None:
        value = self.value(guard.lstrip("!"))
        return None if value is None else bool(value) != guard.startswith("!")

    def _execute(self, at: int, statement: Statement) -> None:
        name, operands = statement.name, statement.operands
        parts = name.split(".")
        shared = ".shared" in name
        if parts[0] == "wgmma":
            self._wgmma(parts, operands)
        elif name.startswith("fence.proxy.async"):
            if ".global" not in name:
                self.events.append(("proxy", ()))
        elif parts[0] in ("bar", "barrier") and "cluster" not in name and "arrive" not in name:
            self.events.append(("barrier", ()))
        elif name.startswith("cp.async.bulk"):
            stores = any(word in name for word in ("group", ".global.shared", "prefetch"))
            if operands and not stores and self._guard(statement.guard or "1") is not False:
                places = (o for o in reversed(operands) if o.startswith("[") and "," not in o)
                self.events.append(("bulk", (self.address(operands[0]), next(map(self.address, places), 0))))
        elif name.startswith("cp.async.commit"):
            self.events.append(("copy-commit", ()))
        elif name.startswith("cp.async.wait"):
            self.events.append(("copy-wait", (self.value(operands[0]) if operands else 0,)))
        elif name.startswith("cp.async.c"):
            self.events.append(("copy", (self.address(operands[0]),)))
        elif shared and parts[0] in ("st", "stmatrix", "red"):
            self.events.append(("store", (self.address(operands[0]),)))
            self._touch(statement, operands[1:], ())
            return
        elif shared and (parts[0] in ("ldmatrix", "atom") or (parts[0] == "ld")):
            self.events.append(("load", (self.address(operands[1]),)))
        elif parts[0] == "mbarrier":
            if "wait" in name:
                self.events.append(
                    ("await", (self.address(operands[-2] if len(operands) > 2 else operands[-1]),))
                )
                self.firm.add(operands[0])
                self.values[operands[0]] = 1
            return
        if parts[0] in (
            "st",
            "red",
            "bra",
            "wgmma",
            "fence",
            "bar",
            "barrier",
            "prefetch",
        ) or name.startswith("cp."):
            if parts[0] != "wgmma":
                self._touch(statement, operands, ())
            return
        if not operands:
            return
        targets = [word.strip() for word in re.split(r"[,|]", operands[0].strip("{}"))]
        self._touch(statement, operands[1:], targets)
        result = self._result(parts, operands)
        if statement.guard and self._guard(statement.guard) is not True:
            if self._guard(statement.guard) is False:
                return
            result = None
        for target in targets:
            self.values[target] = result if len(targets) == 1 or parts[0] in ("setp", "elect") else None

    def _touch(self, statement: Statement, reads: Sequence[str], writes: Sequence[str]) -> None:
        names = [name for operand in reads for name in LOCAL.findall(operand)]
        copy = (
            statement.name.startswith("mov.")
            and len(names) == 1
            and len(writes) == 1
            and reads[0] == names[0]
        )
        self.events.append(("copied" if copy else "touch", (tuple(names), tuple(writes))))

    def _wgmma(self, parts: list[str], operands: tuple[str, ...]) -> None:
        if parts[1] == "fence":
            self.events.append(("fence", ()))
        elif parts[1] == "commit_group":
            self.events.append(("commit", ()))
        elif parts[1] == "wait_group":
            self.events.append(("wait", (self.value(operands[0]),)))
        else:
            sparse = parts[2] == "sp"
            size = re.fullmatch(r"m(\d+)n(\d+)k(\d+)", parts[5 if sparse else 4])
            assert size is not None
            shape = Shape(int(size[1]), int(size[2]), int(size[3]), ".".join(parts[6 if sparse else 5 :][:3]))
            d = tuple(word.strip() for word in operands[0].strip("{} ").split(","))
            scale = self.value(operands[5 if sparse else 3])
            if operands[1].startswith("{"):
                a: object = tuple(word.strip() for word in operands[1].strip("{} ").split(","))
            else:
                a = self.descriptor(operands[1])
            self.events.append(("mma", (shape, d, a, self.descriptor(operands[2]), scale != 0)))

    def descriptor(self, operand: str) -> int | None:
        """The address in a descriptor."""
        value = self.value(operand)
        return None if value is None else (value & 0x3FFF) << 4

    def _result(self, parts: list[str], operands: tuple[str, ...]) -> int | None:
        root = parts[0]
        if root == "ld" and "param" in parts:
            return _parameter(operands[1], parts[-1])
        if root in ("mov", "cvta", "shfl"):
            if operands[1].startswith("{"):
                words = [self.value(word) for word in operands[1].strip("{}").split(",")]
                if None in words or len(words) != 2:
                    return None
                return int(words[0] or 0) & 0xFFFFFFFF | int(words[1] or 0) << 32
            return self.value(operands[1])
        if root == "elect":
            return 1
        known = [self.value(operand) for operand in operands[1:]]
        if root == "selp" and known[-1] is not None:
            return known[0] if known[-1] else known[1]
        if any(value is None for value in known):
            return None
        width = int(re.sub(r"\D", "", parts[-1]) or 32)
        values = [_signed(int(value or 0), width if parts[-1][0] == "s" else 0) for value in known]
        result = _compute(root, parts, values)
        return (
            None
            if result is None
            else result & ((1 << (64 if "wide" in parts else width)) - 1 if root != "setp" else 1)
        )


def _parameter(operand: str, kind: str) -> int:
    """A parameter's value: large sizes, and pointers far apart."""
    number = sum(ord(letter) * 31**index for index, letter in enumerate(operand)) % 97
    return (number + 1) << 32 if kind.endswith("64") else 4096


def _signed(value: int, width: int) -> int:
    return value - (1 << width) if width and value >> (width - 1) & 1 else value


def _compute(root: str, parts: list[str], v: list[int]) -> int | None:
    if root == "setp":
        compare = {
            "eq": v[0] == v[1],
            "ne": v[0] != v[1],
            "lt": v[0] < v[1],
            "le": v[0] <= v[1],
            "gt": v[0] > v[1],
            "ge": v[0] >= v[1],
            "lo": v[0] < v[1],
            "ls": v[0] <= v[1],
            "hi": v[0] > v[1],
            "hs": v[0] >= v[1],
        }
        result = compare.get(parts[1])
        if result is None or len(v) > 2:
            return None
        return int(result)
    if root in ("div", "rem") and v[1] == 0:
        return None
    simple = {
        "add": lambda: v[0] + v[1],
        "sub": lambda: v[0] - v[1],
        "mul": lambda: v[0] * v[1] >> (32 if "hi" in parts else 0),
        "mad": lambda: v[0] * v[1] + v[2],
        "shl": lambda: v[0] << min(v[1], 64),
        "shr": lambda: v[0] >> min(v[1], 64),
        "and": lambda: v[0] & v[1],
        "or": lambda: v[0] | v[1],
        "xor": lambda: v[0] ^ v[1],
        "not": lambda: ~v[0],
        "neg": lambda: -v[0],
        "abs": lambda: abs(v[0]),
        "min": lambda: min(v),
        "max": lambda: max(v),
        "div": lambda: int(abs(v[0]) // abs(v[1])) * (1 if (v[0] < 0) == (v[1] < 0) else -1),
        "rem": lambda: abs(v[0]) % abs(v[1]) * (-1 if v[0] < 0 else 1),
        "cvt": lambda: v[0],
        "bfe": lambda: v[0] >> v[1] & ((1 << v[2]) - 1),
        "bfi": lambda: v[1] & ~(((1 << v[3]) - 1) << v[2]) | (v[0] & ((1 << v[3]) - 1)) << v[2],
    }
    if any(part.startswith(("f", "bf")) for part in parts[1:]) or root not in simple:
        return None
    return int(simple[root]())


class _Sets:
    """Disjoint sets, named by small numbers in the order of their first use."""

    def __init__(self) -> None:
        self.parents: dict[object, object] = {}
        self.numbers: dict[object, int] = {}

    def find(self, item: object) -> object:
        while (parent := self.parents.setdefault(item, item)) != item:
            item = parent
        return item

    def unite(self, items: Sequence[object]) -> None:
        for item in items:
            self.parents[self.find(item)] = self.find(items[0])

    def number(self, item: object) -> int:
        return self.numbers.setdefault(self.find(item), len(self.numbers))


def program(kernel: Kernel, threads: Sequence[int] = (0, 128, 256)) -> Program:
    """The abstract program of a kernel, on the path of the first thread that multiplies."""
    for thread in threads:
        walk = _Walk(kernel, thread)
        walk.run()
        if any(kind == "mma" for kind, _ in walk.events):
            return _abstract(walk.events)
    raise NoTrace("no thread reaches a wgmma")


def _abstract(events: list[tuple[str, tuple[object, ...]]]) -> Program:
    registers, events = _name_registers(events)
    tiles = _tiles(events)
    used = {
        tiles.find(_tile(place))
        for kind, words in events
        if kind == "mma"
        for place in words[2:4]
        if not isinstance(place, tuple)
    }
    starts = sorted(place for place in tiles.parents if isinstance(place, int))
    extents: dict[object, int] = {}
    for kind, words in events:
        if kind == "mma" and isinstance(words[0], Shape):
            for place, rows in ((words[2], words[0].m), (words[3], words[0].n)):
                extents[_tile(place)] = max(extents.get(_tile(place), 0), rows * 128)

    def buffer(place: object) -> int | None:
        """The stage that an address lies in."""
        if not isinstance(place, int):
            return tiles.number(_tile(place)) if tiles.find(_tile(place)) in used else None
        below = [start for start in starts if start <= place]
        if (
            not below
            or tiles.find(below[-1]) not in used
            or place >= below[-1] + extents.get(below[-1], 1024)
        ):
            return None
        return tiles.number(below[-1])

    steps: list[Operation] = []
    barriers = _Sets()
    signalled: set[object] = {words[1] for kind, words in events if kind == "bulk"}
    for kind, words in events:
        step: Operation | None = None
        at = buffer(words[0]) if kind in ("bulk", "copy", "store", "load") else None
        if kind == "mma":
            shape, d, a, b, scale = words
            assert isinstance(shape, Shape)
            first = Register(registers.number(a)) if isinstance(a, tuple) else Buffer(buffer(a) or 0)
            if isinstance(a, tuple) and registers.find(a) == registers.find(d):
                raise NoTrace("an accumulator shares a register with A")
            step = Mma(shape, registers.number(d), first, buffer(b) or 0, bool(scale))
        elif kind in ("read", "write"):
            step = (RegisterRead if kind == "read" else RegisterWrite)(registers.number(words[0]))
        elif kind == "wait":
            step = Wait(int(str(words[0])))
        elif kind == "copy-wait":
            step = CpAsyncWait(int(str(words[0])))
        elif kind == "await":
            step = MbarrierWait(barriers.number(words[0])) if words[0] in signalled else None
        elif kind == "bulk":
            step = BulkCopy(at, barriers.number(words[1])) if at is not None else None
        elif kind in ("copy", "store", "load"):
            maker = {"copy": CpAsync, "store": SharedWrite, "load": SharedRead}[kind]
            step = maker(at) if at is not None else None
        else:
            step = {
                "fence": WgmmaFence,
                "commit": Commit,
                "proxy": ProxyFence,
                "barrier": CtaBarrier,
                "copy-commit": CpAsyncCommit,
            }[kind]()
        if step is not None and not _again(step, steps):
            steps.append(step)
    return Program.of(*steps)


_RUNS = (RegisterRead, RegisterWrite, SharedRead, SharedWrite, CpAsync)


def _again(step: Operation, steps: list[Operation]) -> bool:
    """Whether a step only repeats one of the run that it follows."""
    if isinstance(step, Mma):
        return bool(steps) and steps[-1] == step
    if not isinstance(step, _RUNS):
        return False
    for before in reversed(steps):
        if before == step:
            return True
        if not isinstance(before, _RUNS):
            return False
    return False


def _tile(place: object) -> object:
    return place // 1024 * 1024 if isinstance(place, int) else "unknown"


def _tiles(events: list[tuple[str, tuple[object, ...]]]) -> _Sets:
    """Stages of shared memory: what one group reads of one operand is one stage."""
    tiles = _Sets()
    group: dict[object, list[object]] = {}
    for kind, words in events:
        if kind == "mma":
            for which, place in (("a", words[2]), ("b", words[3])):
                if not isinstance(place, tuple):
                    group.setdefault((which, words[1]), []).append(_tile(place))
        elif kind in ("commit", "wait", "fence"):
            for places in group.values():
                tiles.unite(places)
            group = {}
    return tiles


def _name_registers(
    events: list[tuple[str, tuple[object, ...]]],
) -> tuple[_Sets, list[tuple[str, tuple[object, ...]]]]:
    """Replace register names by their sets; a copy of one in flight has its set until either changes."""
    tracked: set[str] = set()
    for kind, words in events:
        if kind == "mma":
            tracked |= set(words[1])  # type: ignore[call-overload]
            if isinstance(words[2], tuple):
                tracked |= set(words[2])
    sets = _Sets()
    holder: dict[str, object] = {}  # register -> the storage it stands for
    fresh = 0
    out: list[tuple[str, tuple[object, ...]]] = []
    groups: list[set[str]] = [set()]  # the accumulators of each group in flight; the last is uncommitted
    for kind, words in events:
        if kind == "commit":
            groups.append(set())
        elif kind == "wait":
            groups = groups[-1 - int(str(words[0])) :]
        if kind == "mma":
            shape, d, a, b, scale = words
            assert isinstance(d, tuple)
            groups[-1] |= {str(holder.get(name, name)) for name in d}
            sets.unite([holder.setdefault(name, name) for name in d])
            d_store = holder[d[0]]
            if isinstance(a, tuple):
                sets.unite([holder.setdefault(name, name) for name in a])
                first: object = (holder[a[0]],)
                sets.unite([first, holder[a[0]]])
            else:
                first = a
            out.append(("mma", (shape, (d_store,), first, b, scale)))
            sets.unite([(d_store,), d_store])
        elif kind == "copied":
            (source,), (target,) = words  # type: ignore[misc]
            if any(str(holder.get(source, source)) in group for group in groups):
                holder[target] = holder.setdefault(source, source)
                continue
            if source in tracked or source in holder:
                out.append(("read", (holder.get(source, source),)))
            if target in tracked:
                if _shared(holder, target):
                    fresh += 1
                    holder[target] = f"{target}#{fresh}"
                out.append(("write", (holder.setdefault(target, target),)))
            else:
                holder.pop(target, None)
        elif kind == "touch":
            reads, writes = words
            assert isinstance(reads, tuple) and isinstance(writes, tuple)
            out += [
                ("read", (holder.get(name, name),)) for name in reads if name in tracked or name in holder
            ]
            for name in writes:
                if name in tracked:
                    if _shared(holder, name):
                        fresh += 1
                        holder[name] = f"{name}#{fresh}"
                    out.append(("write", (holder.setdefault(name, name),)))
                else:
                    holder.pop(name, None)
        else:
            out.append((kind, words))
    known = set(sets.parents)
    return sets, [event for event in out if event[0] not in ("read", "write") or event[1][0] in known]


def _shared(holder: dict[str, object], name: str) -> bool:
    """Whether another register is a copy of the same storage."""
    mine = holder.get(name, name)
    return any(other != name and store == mine for other, store in holder.items())
