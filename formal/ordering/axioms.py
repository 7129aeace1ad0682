"""The axiomatic model: the rules of spec/ordering/rules.yaml as relations between the steps of a program.

A *hazard* is a rule that is broken, with the steps that break it: two accesses of one location that no
relation of `relations.py` orders as the rule demands. The last of these steps closes the hazard. So the
hazards of a program are those of its beginning and those that its last step closes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...spec.lazy_dataclass import dataclass
from ...spec.ordering import Readings, ordering
from ...spec.ordering_records import Rule
from .programs import (
    BlockEnd,
    BulkCopy,
    BulkStore,
    Commit,
    CpAsync,
    Mma,
    Program,
    ProxyFence,
    Register,
    RegisterRead,
    RegisterWrite,
    SharedRead,
    SharedWrite,
    StepOperation,
    Wait,
)
from .relations import ProgramRelations

__all__ = ["Hazard", "closing", "hazards"]

_READERS = (SharedRead, Mma, BulkStore)
# By access through the async proxy: the rule that it breaks behind a store without a proxy fence between.
_UNFENCED = {Mma: "proxy-fence", BulkCopy: "proxy-fence-copy", BulkStore: "bulk-store-fence"}


@dataclass(frozen=True, slots=True)
class Hazard:
    """A rule that is broken, and the steps that break it; the last one closes the hazard."""

    rule: str
    steps: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.rule} at {', '.join(map(str, self.steps))}"


def hazards(program: Program, readings: Readings | None = None) -> tuple[Hazard, ...]:
    """Every hazard of a program under some readings (None: the default ones), by closing step."""
    axioms = _Axioms(program, readings)
    return tuple(hazard for last in range(len(program)) for hazard in axioms.closed_by(last))


def closing(program: Program, readings: Readings | None = None) -> tuple[Hazard, ...]:
    """The hazards that the last step of a program closes."""
    return tuple(_Axioms(program, readings).closed_by(len(program) - 1))


class _Axioms:
    """The rules, asked about one program."""

    def __init__(self, program: Program, readings: Readings | None) -> None:
        self.readings = readings or ordering().default
        self.rules: Mapping[str, Rule] = ordering().rules
        self.shape_fields = ordering().same_shape(self.readings)
        self.relations = ProgramRelations(program, self.readings)
        self.operations = self.relations.operations

    def closed_by(self, j: int) -> Iterator[Hazard]:
        """The hazards whose last step is j."""
        operation = self.operations[j]
        if isinstance(operation, (RegisterRead, RegisterWrite)):
            found = self._ordinary_access(j, operation)
        elif isinstance(operation, Mma):
            found = self._registers_of_mma(j, operation)
        else:
            found = iter(())
        for hazard in (*found, *self._memory(j)):
            if self.rules[hazard.rule].applies(self.readings):
                yield hazard

    # Registers

    def _ordinary_access(self, j: int, access: RegisterRead | RegisterWrite) -> Iterator[Hazard]:
        """An ordinary access of a register that a pending mma uses."""
        writes = isinstance(access, RegisterWrite)
        for i in self.relations.mmas_before(j):
            mma = self.operations[i]
            assert isinstance(mma, Mma)
            if self.relations.complete(i, j):
                continue
            if mma.d == access.register:
                yield Hazard("accumulator-in-flight", (i, j))
                yield from self._useless_wait(i, j)
            elif mma.a == Register(access.register):
                yield Hazard("a-written-in-flight" if writes else "a-read-in-flight", (i, j))
                if writes:
                    yield from self._useless_wait(i, j)

    def _useless_wait(self, i: int, j: int) -> Iterator[Hazard]:
        """Why the last wait between a pending mma and an access does not help, if there is one."""
        waits = [k for k in range(i + 1, j) if isinstance(self.operations[k], Wait)]
        if waits:
            committed = any(isinstance(self.operations[k], Commit) for k in range(i + 1, waits[-1]))
            yield Hazard("wait-too-shallow" if committed else "uncommitted-at-wait", (i, waits[-1], j))

    def _registers_of_mma(self, j: int, mma: Mma) -> Iterator[Hazard]:
        """What the registers of an mma demand of the steps before it."""
        fenced = self.relations.fenced
        if not fenced(-1, j):
            yield Hazard("first-fence", (j,))
        for i in range(j):
            before = self.operations[i]
            if isinstance(before, (RegisterRead, RegisterWrite)) and not fenced(i, j):
                if before.register == mma.d:
                    yield Hazard("register-fence", (i, j))
                elif mma.a == Register(before.register):
                    wrote = isinstance(before, RegisterWrite)
                    yield Hazard("register-fence" if wrote else "a-read-twice", (i, j))
            elif isinstance(before, Mma):
                yield from self._two_mmas(i, before, j, mma)

    def _two_mmas(self, i: int, first: Mma, j: int, second: Mma) -> Iterator[Hazard]:
        """Two mmas that use the same registers."""
        pending, fenced = not self.relations.complete(i, j), self.relations.fenced(i, j)
        rule = None
        if first.d == second.d:
            if self._same_shape(first, second):
                if pending:
                    yield Hazard("chain-unwaited", (i, j))
            else:
                rule = "accumulator-reshaped"
        if first.a == Register(second.d):
            rule = "a-as-accumulator"
        if second.a == Register(first.d):
            rule = "accumulator-as-a"
        if rule == "accumulator-reshaped" and fenced and self.readings["reshaped-accumulator"] == "fence":
            rule = None
        if rule and pending:
            yield Hazard(rule, (i, j))
            yield from self._useless_wait(i, j)
        elif rule and not fenced:
            yield Hazard("fence-after-mma", (i, j))
        if first.a == second.a and isinstance(first.a, Register) and not fenced:
            yield Hazard("a-read-twice", (i, j))

    def _same_shape(self, first: Mma, second: Mma) -> bool:
        return all(getattr(first.shape, name) == getattr(second.shape, name) for name in self.shape_fields)

    # Shared memory

    def _memory(self, j: int) -> Iterator[Hazard]:
        """What an access of shared memory, or the end of the block, demands of the steps before it."""
        if isinstance(self.operations[j], BlockEnd):
            for i in range(j):
                if isinstance(self.operations[i], BulkStore) and not self.relations.has_drained(i, j):
                    yield Hazard("bulk-store-unwaited", (i, j))
        for buffer in _buffers(self.operations[j]):
            for i in range(j):
                if buffer in _buffers(self.operations[i]):
                    rule = self._broken_by(i, j)
                    if rule:
                        yield Hazard(rule, (i, j))

    def _broken_by(self, i: int, j: int) -> str | None:
        """The rule that two accesses of one buffer break."""
        first, second = self.operations[i], self.operations[j]
        if isinstance(first, Mma):
            return self._after_mma(i, j)
        if isinstance(first, SharedRead):
            if isinstance(second, _READERS):
                return None
            if not self.relations.ordered_in_all_warps(i, j):
                return "shared-unsynchronised"
            fenced = not isinstance(second, BulkCopy) or self.relations.proxy_fence_since(i, j)
            return None if fenced else "fence-after-load"
        if isinstance(first, BulkStore):
            drained = isinstance(second, _READERS) or self.relations.has_drained(i, j)
            return None if drained else "bulk-store-pending"
        if isinstance(first, BulkCopy):
            return None if self.relations.complete(i, j) else "copy-incomplete"
        if isinstance(first, CpAsync) and not self.relations.waits_for(i, j):
            return "copy-incomplete"
        return self._after_store(i, j)

    def _after_mma(self, i: int, j: int) -> str | None:
        """What an mma demands of a later access of a buffer that it reads."""
        access = self.operations[j]
        if isinstance(access, _READERS):
            return None
        if not self.relations.has_read_in_all_warps(i, j):
            return "shared-overwritten"
        if isinstance(access, BulkCopy):
            return None
        fences = [k for k in range(j) if isinstance(self.operations[k], ProxyFence)]
        ordered = self.relations.ordered
        fenced = any(
            ordered(wait, fence) and ordered(fence, j)
            for wait in self.relations.waits_for(i, j)
            for fence in fences
            if fence > wait
        )
        return None if fenced else "fence-after-completion"

    def _after_store(self, i: int, j: int) -> str | None:
        """What a store, or a cp.async that somebody waited for, demands of a later access."""
        access = self.operations[j]
        points = self.relations.store_points(i, j)
        if isinstance(access, (SharedWrite, CpAsync)):
            ordered = any(self.relations.ordered(point, j) for point in points)
            return None if ordered else "shared-unsynchronised"
        if not any(self.relations.ordered_in_all_warps(point, j) for point in points):
            return "shared-unsynchronised"
        if isinstance(access, SharedRead) or self.relations.visible_to_async_proxy(i, j):
            return None
        return _UNFENCED[type(access)]


def _buffers(operation: StepOperation) -> frozenset[int]:
    if isinstance(operation, Mma):
        return operation.buffers
    if isinstance(operation, (SharedRead, SharedWrite, CpAsync, BulkCopy, BulkStore)):
        return frozenset((operation.buffer,))
    return frozenset()
