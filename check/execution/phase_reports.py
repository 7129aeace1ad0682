"""How a finding about barriers with phases is told."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property

from ...spec.errors import Place
from ...spec.ordering import ordering
from ...spec.quantities import counted
from ..findings import ERROR, EVERYWHERE, INFO, LIKELY, Finding, MemoryRange, Moment, Undefined
from ..ptx.decode import DecodedFunction
from ..ptx.source import PtxModule
from ..rules import rules
from ..walks.walk_plan import WalkPlan
from .barrier_acts import Drift, Unpublished, WrongCount
from .stuck_waits import Stuck
from .timed_accesses import PhaseRace
from .warp_acts import Short, Uneven, Unlike

__all__ = ["ONE_WARP", "RACE_RULES", "PhaseReports"]

RACE_RULES = {  # by what a race is
    "unseen": "shared-unsynchronised",
    "overwritten": "shared-overwritten",
    "pending": "shared-overwritten",
    "elsewhere": "shared-overwritten",
    "rewritten": "copy-incomplete",
    "early-read": "copy-incomplete",
    "unfenced": "proxy-fence",
}
ONE_WARP: Undefined = ((("wait-scope", "warp"),),)
_WHY = {
    "unseen": "no barrier, and no phase of an mbarrier, orders the two",
    "overwritten": "the writer waits for no phase that ends only after every warp has waited for the product",
    "pending": "no phase that the writer has waited for shows that the product is complete",
    "elsewhere": "the copy also fills other blocks of the cluster, and does not wait for their release",
    "rewritten": "no wait shows that the first copy into the bytes is complete",
    "early-read": "no phase that these warps have waited for shows that the copy is complete",
    "unfenced": "no thread that is ordered between the two executes a proxy fence",
}
_SAYS = {
    "unseen": ("accesses the bytes in one warp", "accesses them in another warp"),
    "overwritten": ("reads the bytes", "writes them again"),
    "pending": ("reads the bytes until its commit arrives", "writes them again"),
    "elsewhere": ("reads the bytes, in every block", "writes them again, in several blocks"),
    "rewritten": ("begins to write the bytes", "writes them again"),
    "early-read": ("begins to write the bytes", "reads them"),
    "unfenced": ("writes the bytes through the generic proxy", "reads them through the async proxy"),
}


class PhaseReports:
    """The findings about one function, in words. `plan` says where its variables lie."""

    def __init__(self, module: PtxModule, code: DecodedFunction, plan: WalkPlan) -> None:
        self.module = module
        self.code = code
        self.plan = plan

    def race(self, race: PhaseRace, more: int) -> Finding:
        """Accesses of the same bytes that nothing orders. `more`: so many other pairs are the same fault."""
        rule = ordering().rules[RACE_RULES[race.what]]
        written, read = self.plan.steps.in_variable(race.written), self.plan.steps.in_variable(race.read)
        other = "then" if race.reads == "none" else "the matrix is"
        why = _WHY[race.what]
        if race.alone:
            why = "only other lanes of the writer's warp have waited, and nothing lets this one know of that"
        elif race.partly and not race.is_open:
            why += ", though other warps of the warpgroup have waited"
        if race.what != "unfenced" and self._relaxed is not None:
            line = self.place(self._relaxed).line
            why += f"; the wait in line {line} is .relaxed, which orders nothing by itself"
        shown = f"writes {written}, {other} {read.span if read.base == written.base else read}"
        writer, reader = (race.second, race.first) if race.reads == "first" else (race.first, race.second)
        both = (("written", writer, written), ("read" if race.reads != "none" else "written", reader, read))
        return Finding(
            RACE_RULES[race.what],
            LIKELY if race.doubtful else ERROR,
            self.place(race.second),
            self.code.function.name,
            f"{rule.title}: {why} ({shown})",
            rule.section,
            rule.mend,
            self._moments(zip((race.first, race.second), _SAYS[race.what], strict=True)),
            more=more,
            readings=ONE_WARP if race.is_open else EVERYWHERE,
            ranges=tuple(
                MemoryRange(
                    what, region.variable, region.low, region.high - 1, self.place(at), "an execution"
                )
                for what, at, region in both
            ),
        )

    def repeated(self, race: PhaseRace) -> Finding:
        """Bulk copies into the same bytes of which one phase tells, if a parameter asks for both."""
        found = self.race(race, 0)
        return replace(
            found, tier=INFO, message=f"{found.message}; right only if a parameter asks for one of them"
        )

    @cached_property
    def _relaxed(self) -> int | None:
        """The first wait for a phase that orders nothing, if there is one."""
        waits = self.code.doing("await")
        return next((index for index in waits if "relaxed" in self.code.operation(index).words), None)

    def stuck(self, stuck: Stuck) -> Finding:
        """A wait that never ends."""
        does = "invalidates" if self.code[stuck.statement].does == "invalidate" else "uses"
        if stuck.kind == "init":
            steps = [(stuck.statement, f"{does} the mbarrier")]
            what = f"no thread initialises the one at byte {stuck.barrier} of shared memory"
            return self._of_barrier("barrier-uninitialised", stuck.doubtful, what, steps)
        if stuck.kind == "invalid":
            steps = [(stuck.statement, f"{does} the mbarrier")]
            where = f"the one at byte {stuck.barrier} of shared memory"
            what = f"{where} was invalidated, and none has initialised it again"
            return self._of_barrier("barrier-uninitialised", stuck.doubtful, what, steps)
        if stuck.kind == "meet":
            steps = [(stuck.statement, "waits for ever")]
            what = (
                f"when no thread can go on, barrier {stuck.barrier} lacks {counted(stuck.pending, 'thread')}"
            )
            return self._of_barrier("barrier-stuck", stuck.doubtful, what, steps)
        if stuck.kind == "arrival":
            steps = [(stuck.statement, "waits for ever")]
            what = "a thread waits at the cluster's barrier, and has not arrived there before"
            if stuck.phase >= 0:
                what = (
                    "a thread waits at the cluster's barrier again, and has not arrived since its last wait"
                )
            return self._of_barrier("barrier-stuck", stuck.doubtful, what, steps)
        lacks = [counted(stuck.pending, "arrival")] if stuck.pending else []
        if stuck.lacks_bytes:
            lacks.append("bytes that no copy brings")
        where = f"phase {stuck.phase} of the mbarrier at byte {stuck.barrier} of shared memory"
        missing = " and ".join(lacks) or "an arrival that would end it, since none is counted any more"
        what = f"when no thread can go on, {where} lacks {missing}"
        if stuck.shown:
            numbers = " and ".join(map(str, stuck.shown))
            what += f", with {numbers} for the parameters that decide how long the loops are"
        if stuck.late:
            what = (
                f"a thread that comes early does not wait, since the phase before phase {stuck.phase - 1} "
                f"counts as complete; for one that comes after that phase, {where} lacks {missing}"
            )
        steps = [(stuck.statement, "waits for ever")]
        return self._of_barrier("barrier-stuck", stuck.doubtful, what, steps)

    def short(self, one: Short) -> Finding:
        """A phase that expects fewer bytes than are read."""
        rule = ordering().rules["copy-incomplete"]
        expects = f"the phase of the mbarrier expects {one.expected} bytes"
        readers = "threads" if one.loads else "products"
        reads = f"and {readers} read {one.read} bytes of what its copies bring"
        if one.beside:
            reads += f", and others of them bring {one.beside} more"
        return Finding(
            "copy-incomplete",
            LIKELY if one.beside or one.doubtful else ERROR,
            self.place(one.reader),
            self.code.function.name,
            f"{rule.title}: {expects}, {reads}",
            rule.section,
            rule.mend,
            self._moments([(one.reader, "reads what copies bring")]),
        )

    def drift(self, one: Drift) -> Finding:
        """Arrivals of a warp that fall into two phases."""
        steps = [(one.init, "says how many arrive"), (one.arrival, "arrives in a warp, for two phases")]
        what = (
            f"the mbarrier counts {counted(one.count, 'arrival')} a phase, and those of a warp fall into "
            "two phases, so that a later phase ends without some of its threads"
        )
        return self._of_barrier("barrier-count", True, what, steps)

    def wrong_count(self, one: WrongCount) -> Finding:
        """A number of arrivals that no mbarrier can count."""
        steps = [(one.init, "says how many arrive")]
        what = f"this mbarrier is made for {one.count} arrivals a phase, and can count 1 to 2^20 − 1"
        if one.drop is not None:
            steps.append((one.drop, "drops out of it"))
            more = counted(-one.count, "arrival")
            what = f"{more} more than the mbarrier counts a phase have dropped out of it"
        return self._of_barrier("barrier-count", one.doubtful, what, steps)

    def late(self, statement: int) -> Finding:
        """Bytes that are expected of a phase which may have ended."""
        what = (
            "the phase of the mbarrier may end before these bytes are expected of it: all of its arrivals "
            "may have come by then"
        )
        return self._of_barrier("barrier-count", True, what, [(statement, "expects bytes")])

    def arrived_again(self, before: int, again: int) -> Finding:
        """An arrival at the cluster's barrier before it has completed."""
        steps = [(before, "arrives"), (again, "arrives again")]
        what = "a thread arrives at the cluster's barrier again, and knows of no wait for it in between"
        return self._of_barrier("barrier-count", True, what, steps)

    def unlike(self, first: int, second: int, one: Unlike) -> Finding:
        """Phases that expect different numbers of bytes of the same copies."""
        expected, others = f"{one.expected} bytes", f"{one.others} bytes"
        if one.assumed:
            expected, others = "as many bytes as a parameter says", "another number, by the same parameter,"
        steps = [(first, f"expects {expected}"), (second, f"expects {others} of the same copies")]
        what = (
            f"copies by the same tensor maps shall bring {expected} in one phase and {others} "
            "in another, so that one of the two waits for bytes that none brings, or not for all"
        )
        return self._of_barrier("barrier-stuck", one.assumed, what, steps)

    def uneven(self, one: Uneven) -> Finding:
        """A phase that expects bytes that are no whole rows of what its copies fill."""
        steps = [(one.statement, f"expects {one.expected} bytes")]
        what = (
            f"a phase expects {one.expected} bytes of tensor copies, and products read what each of them "
            f"brings in rows of {one.row} bytes: whole rows do not come to that"
        )
        return self._of_barrier("barrier-stuck", True, what, steps)

    def unequal(self, first: int, second: int, doubtful: bool) -> Finding:
        """Threads that meet at one barrier and name different counts."""
        steps = [(first, "names one count"), (second, "names another count, in the same phase")]
        what = "whose arrivals complete the phase is not defined"
        return self._of_barrier("barrier-count", doubtful, what, steps)

    def unpublished(self, one: Unpublished) -> Finding:
        """An mbarrier that is used where its init is not known."""
        steps = [(one.init, "initialises the mbarrier"), (one.use, "uses it in another warp")]
        what = "no barrier stands between the two"
        return self._of_barrier("barrier-unpublished", one.doubtful, what, steps)

    def ended_early(self, use: int, end: int, is_open: bool) -> Finding:
        """An mbarrier that is invalidated, or initialised again, while another warp may use it. `is_open`:
        not where the wait of one warp for a product covers its warpgroup.
        """
        does = "invalidates" if self.code[end].does == "invalidate" else "initialises"
        again = "" if does == "invalidates" else " again"
        steps = [(use, "uses the mbarrier in another warp"), (end, f"{does} it{again}")]
        done = does.removesuffix("s") + "d"
        what = f"it is {done}{again}, and no barrier stands between its use by another warp and that"
        found = self._of_barrier("barrier-uninitialised", True, what, steps)
        return replace(found, readings=ONE_WARP) if is_open else found

    def overlaid(self, before: int, again: int) -> Finding:
        """An mbarrier that is initialised where one is valid."""
        steps = [(before, "initialises the mbarrier"), (again, "initialises it again")]
        what = "it is initialised again, and mbarrier.inval has not ended the one that is there"
        if before == again:
            steps = [(again, "initialises the mbarrier, in several threads")]
            what = "several threads initialise it, all but the first where it is valid"
        return self._of_barrier("barrier-uninitialised", True, what, steps)

    def _of_barrier(self, name: str, doubtful: bool, what: str, steps: list[tuple[int, str]]) -> Finding:
        rule = rules()[name]
        return Finding(
            name,
            LIKELY if doubtful else ERROR,
            self.place(steps[-1][0]),
            self.code.function.name,
            f"{rule.title}: {what}",
            rule.section,
            rule.mend,
            self._moments(steps),
        )

    def place(self, index: int) -> Place:
        """Where a statement stands."""
        return self.module.place(self.code.function.statements[index].offset)

    def _moments(self, steps: Iterable[tuple[int, str]]) -> tuple[Moment, ...]:
        return tuple(
            Moment.of(self.module, self.code.function.statements[index], says) for index, says in steps
        )
