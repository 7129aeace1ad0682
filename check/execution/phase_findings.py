"""Findings about barriers with phases, of what executions of a kernel's threads show."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass, field, replace
from functools import cached_property

from ...spec.errors import Place
from ..findings import ERROR, EVERYWHERE, LIKELY, Finding, Undefined
from ..values.block_threads import size_of
from ..walks.parameters import AssumedSizes
from .block_sizes import right_size
from .cluster_ends import cluster_ends
from .execution import Execution
from .object_accesses import object_findings
from .outside_ranks import outside_findings
from .phase_executions import PhaseExecutions
from .phase_reports import RACE_RULES, PhaseReports
from .timed_accesses import PhaseRace

__all__ = ["PhaseFindings"]

# What is found first explains what is found later.
_ORDER = ("unseen", "overwritten", "elsewhere", "rewritten", "early-read", "unfenced")
_ANY = -1
_WRITER: Undefined = ((("proxy-fence-side", "writer"),),)  # an execution takes either side


def _is_right(found: Execution) -> bool:
    """Whether all threads were followed to their end, and nothing is wrong."""
    acts = found.acts
    named = any(barrier.unequal for barrier in acts.meetings.named.values())
    barriers = (
        found.stuck,
        acts.unpublished,
        acts.ended_early,
        acts.overlaid,
        acts.objects.accesses,
        acts.drifts,
        acts.wrong_counts,
        acts.unlike(),
        acts.uneven(),
        acts.late_expectations(),
        acts.meetings.again,
        named,
    )
    wrong = (any(acts.accesses), acts.short(), *barriers)
    return found.certain and not any(wrong)


@dataclass
class PhaseFindings:
    """The findings about one function, of what executions have shown, and what they make superfluous.

    `told`: what was found elsewhere for certain, with the bytes of every thread; `unfenced`: the stores and
    products that it stands for.
    """

    shown: PhaseExecutions
    told: tuple[Finding, ...] = ()
    unfenced: set[tuple[int, int]] = field(default_factory=set)

    def __iter__(self) -> Iterator[Finding]:
        for finding in self._found():
            if finding.tier == ERROR and self._right_size is not None:
                smaller = f"; not so in a block of {self._right_size} threads, which .maxntid allows"
                finding = replace(finding, tier=LIKELY, message=finding.message + smaller)
            yield finding

    @cached_property
    def _right_size(self) -> int | None:
        """A smaller number of threads with which the function is right, where it may be launched so."""
        function = self.shown.code.function
        if function.exact or self.shown.plan is None or function.threads is None:
            return None
        plan, threads = self.shown.plan, size_of(function.threads)

        def done_with(size: AssumedSizes) -> Set[int]:
            known = self.shown.done.get(size)
            return Execution(plan, threads, size).together.keys() if known is None else known

        return right_size(plan, threads, self.shown.done, done_with, _is_right)

    def _found(self) -> Iterator[Finding]:
        shown = self.shown
        if shown.plan is None:
            return  # nothing was executed
        reports, stuck = self._reports, shown.stuck
        partly = all(race.partly for race in shown.races)
        yield from self._race_findings()
        yield from map(reports.repeated, () if shown.races else shown.repeated.values())
        yield from (reports.stuck(one) for one in stuck.values() if partly or not one.late)
        told = {race.second for race in shown.races}
        yield from (reports.short(one) for one in shown.short.values() if one.reader not in told)
        if not stuck and shown.code.doing("await") and all(race.is_open for race in shown.races):
            yield from map(reports.drift, shown.drifts.values())
        yield from map(reports.wrong_count, shown.wrong_counts.values())
        yield from map(reports.late, sorted(shown.late))
        yield from (reports.arrived_again(shown.again[at], at) for at in sorted(shown.again))
        yield from (reports.unlike(*ends, one) for ends, one in shown.unlike.items())
        told_of = {statement for pair in shown.unlike for statement in pair}
        yield from (reports.uneven(one) for at, one in shown.uneven.items() if at not in told_of)
        yield from (reports.unequal(*pair, doubtful) for pair, doubtful in shown.unequal.items())
        if partly and not stuck:
            yield from cluster_ends(shown.walked.module, shown.code, shown.sent)
        yield from map(reports.unpublished, shown.unpublished.values())
        yield from self._ends()
        yield from object_findings(shown.walked, shown.of_objects)
        yield from outside_findings(shown.walked, shown.outside)

    def _ends(self) -> Iterator[Finding]:
        """What ends mbarriers too early, each told once: with a use of which no reading of the text tells, if
        there is one.
        """
        early, overlaid = self.shown.ended_early, self.shown.overlaid
        by_weight = sorted(early, key=lambda ends: (early[ends], ends), reverse=True)
        first_uses = {end: use for use, end in by_weight}
        for end, use in first_uses.items():
            yield self._reports.ended_early(use, end, early[use, end])
        again = [end for end in sorted(overlaid) if end not in first_uses]
        several = [end for end in again if overlaid[end] == end]  # one cause: several threads come there
        yield from (self._reports.overlaid(overlaid[end], end) for end in again if end not in several)
        if several:
            yield replace(self._reports.overlaid(several[0], several[0]), more=len(several) - 1)

    def settles(self, finding: Finding) -> bool:
        """Whether another finding is superfluous: one of these says the same for certain, or the accesses are
        ordered.
        """
        if finding.tier not in (ERROR, LIKELY):
            return False
        places = {finding.place, *(moment.place for moment in finding.witness)}
        if any(
            RACE_RULES[race.what] == finding.rule
            and not race.doubtful
            and (not race.is_open or finding.readings != EVERYWHERE)
            and self._product(race) in places
            for race in self.shown.races
        ):
            return True
        if finding.tier != LIKELY or not finding.witness or finding.readings == _WRITER:
            return False
        ends = finding.witness[0].place, finding.witness[-1].place
        unfenced = self.shown.synchronised if finding.rule == RACE_RULES["unseen"] else set()
        known = self.shown.ordered | unfenced
        return any((self._place(a), self._place(b)) == ends for a, b in known)

    def _product(self, race: PhaseRace) -> Place:
        """The place of the product of a race (of two copies: of the later one)."""
        return self._place(race.first if race.reads == "first" else race.second)

    def _race_findings(self) -> Iterator[Finding]:
        """One finding for each block that writes: its first race explains the others. Products that have
        ended in some warps only share one finding: one release is the cause.
        """
        by_writer: dict[int, list[PhaseRace]] = {}
        shown = self.shown
        order = sorted(shown.races, key=lambda race: (race.is_open, race.doubtful, _ORDER.index(race.what)))
        for race in order:
            copied = shown.code.operation(race.first).does == "copy"
            if race.what == "unfenced" and copied and self._is_found_elsewhere(race):
                continue  # what else is wrong with the block is not told by that
            writer = race.second if race.reads == "first" or race.what == "rewritten" else race.first
            block = _ANY if race.is_open else shown.flow.block_of(writer)
            by_writer.setdefault(block, []).append(race)
        for races in by_writer.values():
            if any(self._is_found_elsewhere(race) for race in races):
                continue
            first = races[0]
            others = {(race.first, race.second) for race in races} - {(first.first, first.second)}
            yield self._reports.race(first, len(others))

    def _is_found_elsewhere(self, race: PhaseRace) -> bool:
        """Whether a finding is already about one of the two statements, and about the same rule."""
        places = self._place(race.first), self._place(race.second)
        if race.what == "unfenced" and any(
            race.first == store or race.second == product for store, product in self.unfenced
        ):
            return True  # one fence mends both
        return any(
            finding.rule == RACE_RULES[race.what]
            and (finding.witness[0].place in places or finding.witness[-1].place in places)
            for finding in self.told
        )

    @cached_property
    def _reports(self) -> PhaseReports:
        assert self.shown.plan is not None  # an execution has found something
        return PhaseReports(self.shown.walked.module, self.shown.code, self.shown.plan)

    def _place(self, index: int) -> Place:
        return self.shown.walked.module.place(self.shown.code.function.statements[index].offset)
