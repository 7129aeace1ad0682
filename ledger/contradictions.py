"""The register of contradictions: what each entry explains, and whether its cases still show.

An entry's cases are statements with the verdict of every release that was asked. Its points, where it has
any, are disagreements between the specification and an assembler that remain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from ..assemblers.classification import classify
from ..assemblers.outcomes import StatementOutcome
from ..assemblers.toolchains import Ptxas, locate
from ..spec.api import load
from ..spec.errors import Place, Question
from ..spec.loading import PACKAGE
from ..spec.nodes import Version, nearest
from ..spec.specification import Specification
from .compound_points import Compound, CompoundPoints
from .contradiction_file import Contradiction, Direction, MinimalCase, Points, read_contradictions
from .covered_points import CoveredPoints, Covers, among, read
from .listed import releases_of
from .pointed import Pointed, every_pointed
from .records import in_order
from .register_record import AskedCase, CaseOutcome, load_register

__all__ = ["ContradictionRegister", "MinimalCaseResult", "register"]


@dataclass(frozen=True)
class MinimalCaseResult:
    """A case that one release was asked again: the recorded verdict and words (None: unrecorded), and the
    verdict now.
    """

    id: str
    case: MinimalCase
    release: str
    recorded: Direction
    words: str | None
    outcome: StatementOutcome

    @property
    def shows(self) -> bool:
        """Whether the release still gives the recorded verdict for the recorded reason."""
        if self.outcome.verdict != self.recorded:
            return False
        return self.recorded != "refused" or self.words in (None, self.outcome.words)


@dataclass(frozen=True)
class ContradictionRegister:
    """Every entry, and what it explains."""

    specification: Specification
    entries: Mapping[str, Contradiction]

    def entry(self, identifier: str) -> Contradiction:
        """The entry of an id; raises Question with the nearest."""
        if identifier not in self.entries:
            guess = nearest(identifier, self.entries)
            hint = f"did you mean {guess}?" if guess else "`ptxmma contradictions` lists them"
            raise Question(f"no contradiction has the id {identifier!r}; {hint}")
        return self.entries[identifier]

    def explains(
        self, instruction: str, statement: str, release: str, ptx: Version, target: str, direction: Direction
    ) -> str | None:
        """The id of the entry that explains why a release accepts, refuses or dies of a statement.

        `direction` is what the assembler does; the specification says otherwise. None: nothing explains it.
        """
        key = instruction, direction, statement
        if key not in self._covering:
            self._covering[key] = self._covers(*key)
        for pointed, covers in self._covering[key]:
            if pointed.reaches(release, ptx, target) and covers.at(ptx, target):
                return pointed.entry
        if direction == "accepted":
            for compound in self._compounds(instruction, statement):
                if compound.accepted and compound.reaches(release, ptx, target):
                    return compound.chain[0].entry
        return None

    def _compounds(self, instruction: str, statement: str) -> Iterable[Compound]:
        """Points that cover a statement together."""
        if instruction not in self._compounding:
            every = [p for (name, _), listed in self._pointing.items() if name == instruction for p in listed]
            self._compounding[instruction] = CompoundPoints(self._points, every)
        given = read(statement)
        return self._compounding[instruction].of(given) if given is not None else ()

    def _covers(
        self, instruction: str, direction: Direction, statement: str
    ) -> tuple[tuple[Pointed, Covers], ...]:
        """All points that cover a statement at some version and target, whatever the release."""
        found, given = [], read(statement)
        if given is None:
            return ()
        for pointed in self._pointing.get((instruction, direction), ()):
            covers = self._points.of_statement(pointed.points, given)
            if covers is not None:
                found.append((pointed, covers))
        return tuple(found)

    def expected(self, release: str, ptx: Version, target: str) -> Mapping[str, Mapping[str, bool]]:
        """The ids that must explain something when a release is asked under a version and a target.

        By id and instruction, whether mnemonics alone show it; if only points of operands or whole statements
        do, operands must be varied too.
        """
        found: dict[str, dict[str, bool]] = {}
        for listed in self._pointing.values():
            for pointed in listed:
                points = pointed.points
                if pointed.reaches(release, ptx, target) and self._possible(points, ptx, target):
                    own = found.setdefault(pointed.entry, {})
                    alone = points.operand is None and not points.statements
                    own[points.instruction] = own.get(points.instruction, False) or alone
        return found

    def takes_early(self, release: str, ptx: Version, target: str, since: Version | None) -> bool:
        """Whether an entry says that a release takes a target there, which came later: `since`."""
        return any(
            (pointed.points.like is not None or pointed.points.since == since is not None)
            and pointed.points.direction == "accepted"
            and pointed.reaches(release, ptx, target)
            for listed in self._pointing.values()
            for pointed in listed
        )

    @cached_property
    def early_targets(self) -> frozenset[str]:
        """The targets that some release takes as another one."""
        every = (pointed for listed in self._pointing.values() for pointed in listed)
        return frozenset(t for pointed in every if pointed.points.like for t in pointed.targets)

    def verdicts(self, case: MinimalCase) -> Mapping[str, Direction]:
        """The verdict of every release that was asked about a case."""
        return dict(case.verdicts(self._releases))

    def words(self, case: MinimalCase, release: str) -> str | None:
        """The recorded words of a release about a case; None where it is not recorded."""
        seen = self._recorded.get(release, {}).get((str(case.ptx), case.target, case.text))
        return seen[1] if seen else None

    @cached_property
    def _recorded(self) -> Mapping[str, Mapping[AskedCase, CaseOutcome]]:
        return {one.release: one.cases for one in load_register().releases}

    def _possible(self, points: Points, ptx: Version, target: str) -> bool:
        """Whether any statement of the rows is legal there, so that a changed one can disagree."""
        ptx, target = points.since or ptx, points.like or target
        gates = self._gates.get((points.place, points.instruction), frozenset())
        return not points.rows or any(
            since <= ptx and (removed is None or ptx < removed)
            for begins, removed in gates
            for name, since in begins
            if name == target
        )

    def run(
        self, identifiers: Sequence[str], find: Callable[[str], Ptxas] = locate
    ) -> tuple[list[MinimalCaseResult], list[str]]:
        """Ask every available release about the cases again; the results, and the missing releases.

        Raises Question when no release is available.
        """
        wanted: dict[str, dict[tuple[Version, str], list[tuple[str, MinimalCase, Direction]]]] = {}
        for identifier in identifiers:
            for case in self.entry(identifier).cases:
                for release, verdict in self.verdicts(case).items():
                    asked = wanted.setdefault(release, {}).setdefault((case.ptx, case.target), [])
                    asked.append((identifier, case, verdict))
        results: list[MinimalCaseResult] = []
        missing: list[str] = []
        for release in sorted(wanted, key=in_order):
            try:
                ptxas = find(release)
            except Question:
                missing.append(release)
                continue
            for (ptx, target), asked in wanted[release].items():
                outcomes = classify(ptxas, [case.text for _, case, _ in asked], ptx, target)
                results += [
                    MinimalCaseResult(identifier, case, release, verdict, self.words(case, release), outcome)
                    for (identifier, case, verdict), outcome in zip(asked, outcomes, strict=True)
                ]
        if not results:
            raise Question(f"none of the releases is here: {', '.join(missing)}")
        return results, missing

    @cached_property
    def _gates(
        self,
    ) -> Mapping[tuple[Place, str], frozenset[tuple[tuple[tuple[str, Version], ...], Version | None]]]:
        """By the place of points and their instruction: since and until when, on which target, their rows
        have statements.
        """
        found = {}
        for listed in self._pointing.values():
            for points in (pointed.points for pointed in listed):
                variants = self.specification.families[points.instruction].variants()
                found[points.place, points.instruction] = frozenset(
                    (variant.gate.targets, variant.gate.removed)
                    for variant in variants
                    if among(points, variant)
                )
        return found

    @cached_property
    def _releases(self) -> tuple[str, ...]:
        return releases_of(self.specification.index)

    @cached_property
    def _points(self) -> CoveredPoints:
        return CoveredPoints(self.specification)

    @cached_property
    def _compounding(self) -> dict[str, CompoundPoints]:
        """By instruction, what its points cover together."""
        return {}

    @cached_property
    def _covering(self) -> dict[tuple[str, Direction, str], tuple[tuple[Pointed, Covers], ...]]:
        """The gates at which points cover a statement, computed once for each statement."""
        return {}

    @cached_property
    def _pointing(self) -> Mapping[tuple[str, Direction], list[Pointed]]:
        """All points by instruction and by what the assembler does, in the order of the file."""
        found: dict[tuple[str, Direction], list[Pointed]] = {}
        for identifier, entry in self.entries.items():
            for pointed in every_pointed(self.specification, identifier, entry):
                key = pointed.points.instruction, pointed.points.direction
                found.setdefault(key, []).append(pointed)
        return found


@cache
def register(root: Path = PACKAGE) -> ContradictionRegister:
    """The register, checked against the specification; raises SpecError at what is wrong in the file."""
    specification = load()
    return ContradictionRegister(specification, read_contradictions(root, specification))
