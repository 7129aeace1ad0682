"""Claims with all their witnesses: theorems by solver, assemblers, devices, and what peers compute."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ..formal.catalogue import obligations, subjects
from ..formal.smt.obligations import Obligation
from ..formal.smt.solvers import SOLVERS
from ..gen.suite.files import lacking
from ..spec.described_products import PlacedLayouts, placed_layouts
from ..spec.specification import Specification
from ..spec.variants import OPAQUE, RowView
from .assembler_record import Claim, ClaimVerdict
from .chips import CommonGround, common_ground
from .claims import addresses_digest, layout_digest, metadata_digest
from .contradictions import ContradictionRegister
from .device_observations import current_cases, current_suite
from .peer_verdicts import PeerVerdict
from .silicon_record import DeviceRecord, Silicon
from .silicon_verdicts import Judged, SiliconVerdict, anchor, silicon_verdicts
from .solver_record import ProofState, SolverRecord

__all__ = [
    "Agreement",
    "ClaimSubject",
    "DeviceWitness",
    "MeasurementTally",
    "Witnessed",
    "recorded",
    "subjects_of",
    "unregistered",
    "witnessed",
]

ClaimKind = Literal["row", "layout", "metadata", "addresses"]
MeasuredPoint = tuple[str, str, str, bool]


@dataclass(frozen=True)
class ClaimSubject:
    """The subject of a claim: its name, its hash, and the parts of the specification whose theorems are about
    it.
    """

    id: str
    kind: ClaimKind
    digest: str
    parts: frozenset[str]


@dataclass(frozen=True)
class Agreement:
    """How many assemblers agree with a row, of how many; those whose differences are all registered agree.

    `unregistered` has, by release, the points that differ and that no contradiction explains. Releases that
    are `unrecorded` say nothing, so they do not agree.
    """

    agree: int
    of: int
    registered: int
    stale: tuple[str, ...]
    unrecorded: tuple[str, ...]
    unregistered: Mapping[str, Sequence[MeasuredPoint]]

    @property
    def differing(self) -> tuple[str, ...]:
        """The releases that differ in more than what is registered."""
        return tuple(self.unregistered)


@dataclass
class MeasurementTally:
    """How many kernels were measured, at how many points, and what did not agree."""

    kernels: int = 0
    points: int = 0
    differing: int = 0
    outdated: int = 0


@dataclass(frozen=True)
class DeviceWitness:
    """What one device says about a claim: cases by way as (passed, all), measurements by kind, the
    instruction that names rows, columns and k, and why it says nothing. `unrecorded` counts the cases by way
    that have no result; `unclaimed` has the measurements that the row no longer claims.
    """

    device: str
    cases: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    measured: Mapping[str, MeasurementTally] = field(default_factory=dict)
    named_by: str = ""
    not_run: str = ""
    unrecorded: Mapping[str, int] = field(default_factory=dict)
    unclaimed: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether everything that it says agrees with today's claim."""
        whole = all(passed == count for passed, count in self.cases.values()) and not self.unclaimed
        return whole and not any(tally.differing or tally.outdated for tally in self.measured.values())


@dataclass(frozen=True)
class Witnessed:
    """A claim with its witnesses. `theorems` counts obligations by theorem, solver and verdict; `common` says
    of a row where several devices showed the same; `peers` has what other codebases say of a layout.
    """

    subject: ClaimSubject
    theorems: Mapping[str, Mapping[str, Counter[ProofState]]]
    assemblers: Agreement | None
    silicon: tuple[DeviceWitness, ...]
    common: tuple[CommonGround, ...] = ()
    peers: tuple[PeerVerdict, ...] = ()

    @property
    def silent(self) -> bool:
        """Whether no device says anything about the claim."""
        return not any(shown.cases or shown.measured for shown in self.silicon)

    @property
    def holds(self) -> bool:
        """Whether every witness agrees; a witness that is unknown, unrecorded or stale does not."""
        proven = all(
            set(counted) == {"proven"}
            for by_solver in self.theorems.values()
            for counted in by_solver.values()
        )
        agreed = self.assemblers is None or self.assemblers.agree == self.assemblers.of
        peers = all(said.holds for said in self.peers)
        return proven and agreed and peers and all(shown.holds for shown in self.silicon)


def subjects_of(specification: Specification, claims: Sequence[Claim]) -> tuple[ClaimSubject, ...]:
    """What rows claim: the rows, then their layouts, metadata and addresses, each once."""
    asked = {claim.id for claim in claims}
    rests = {subject.row: subject.parts for subject in subjects(specification, asked.__contains__)}
    rows: list[ClaimSubject] = []
    layouts: dict[str, ClaimSubject] = {}
    known: PlacedLayouts = {}
    for claim in claims:
        own = {part for part in rests[claim.id] if part.split()[0] not in ("layout", "sparsity")}
        rows.append(ClaimSubject(claim.id, "row", claim.digest, frozenset(own)))
        for found in (*_layouts(specification, claim.view), *_placed(specification, claim.view, known)):
            layouts.setdefault(found.id, found)
    return *rows, *layouts.values()


def _placed(specification: Specification, view: RowView, known: PlacedLayouts) -> Iterator[ClaimSubject]:
    """The layouts in tensor memory that the parts of a row's products may have, by their descriptors."""
    for name in placed_layouts(specification, view, known):
        yield ClaimSubject(
            name,
            "layout",
            layout_digest(specification.layouts[name]),
            frozenset(_parts_of(specification, name)),
        )


def _parts_of(specification: Specification, name: str) -> set[str]:
    """The parts of the specification whose theorems are about a layout."""
    bridges = (f"bridge {one}" for one, record in specification.bridges.items() if name in record.layouts)
    return {f"layout {name}", *bridges}


def _layouts(specification: Specification, view: RowView) -> Iterator[ClaimSubject]:
    """The layouts, metadata and addresses that a row uses."""
    letters = {
        name: (letter, variant)
        for variant in view.variants()
        for letter, name in variant.layouts.items()
        if name != OPAQUE
    }
    for name, (letter, variant) in letters.items():
        layout, parts = specification.layouts[name], _parts_of(specification, name)
        if letter == "metadata":
            parts.add(f"sparsity {view.row.sparsity}")
            digest = metadata_digest(layout, specification.sparsity_of(variant))
            yield ClaimSubject(name, "metadata", digest, frozenset(parts))
        else:
            yield ClaimSubject(name, "layout", layout_digest(layout), frozenset(parts))
    instruction, addresses = view.family.instruction, specification.addresses
    operands = {name for form in view.row.forms for name in instruction.forms[form].operands}
    for kind in dict.fromkeys(instruction.operands[name].descriptor for name in sorted(operands)):
        if kind is None:
            continue
        for name, rule in specification.rules_of(kind).items():
            layout, descriptor = specification.layouts[rule.layout], specification.descriptors[kind]
            digest = addresses_digest(rule, layout, addresses.swizzle, descriptor)
            parts = {f"address {name}", f"layout {rule.layout}", "swizzle", f"descriptor {kind}"}
            yield ClaimSubject(name, "addresses", digest, frozenset(parts))


def unregistered(registered: ContradictionRegister, verdict: ClaimVerdict) -> list[MeasuredPoint]:
    """The differing points of an assembler's verdict that no contradiction explains."""
    isa = verdict.claim.view.family.isa
    instruction = verdict.claim.view.family.instruction.instruction
    return [
        (ptx, target, statement, accepted)
        for ptx, target, statement, accepted in verdict.differing
        if registered.explains(
            instruction,
            statement,
            verdict.release,
            isa.version(ptx),
            target,
            "accepted" if accepted else "refused",
        )
        is None
    ]


def _agreement(found: Iterable[ClaimVerdict], registered: ContradictionRegister) -> Agreement:
    listed = list(found)
    stale = tuple(v.release for v in listed if v.state == "stale")
    unrecorded = tuple(v.release for v in listed if v.state == "unseen")
    open_points = {v.release: unregistered(registered, v) for v in listed}
    differing = {release: points for release, points in open_points.items() if points}
    explained = sum(v.state == "differs" and v.release not in differing for v in listed)
    agree = len(listed) - len(stale) - len(unrecorded) - len(differing)
    return Agreement(agree, len(listed), explained, stale, unrecorded, differing)


def _theorems(
    specification: Specification,
    every: Collection[ClaimSubject],
    solvers: Mapping[str, Callable[[Obligation], ProofState]],
) -> dict[str, dict[str, dict[str, Counter[ProofState]]]]:
    """By part, theorem and solver, how many obligations have which verdict."""
    wanted = {part for subject in every for part in subject.parts}
    found: dict[str, dict[str, dict[str, Counter[ProofState]]]] = {}
    for part, obligation in obligations(specification, wanted.__contains__):
        counted = found.setdefault(part, {}).setdefault(obligation.theorem, {s: Counter() for s in solvers})
        for solver, verdict in solvers.items():
            counted[solver][verdict(obligation)] += 1
    return found


def _together(
    parts: Iterable[str], found: Mapping[str, Mapping[str, Mapping[str, Counter[ProofState]]]]
) -> dict[str, dict[str, Counter[ProofState]]]:
    """The theorems of all these parts."""
    total: dict[str, dict[str, Counter[ProofState]]] = {}
    for part in sorted(parts):
        for theorem, by_solver in found.get(part, {}).items():
            of_theorem = total.setdefault(theorem, {solver: Counter() for solver in by_solver})
            for solver, counted in by_solver.items():
                of_theorem[solver].update(counted)
    return total


def witnessed(
    specification: Specification,
    claims: Sequence[Claim],
    solvers: Mapping[str, Callable[[Obligation], ProofState]],
    assembled: Iterable[ClaimVerdict],
    registered: ContradictionRegister,
    silicon: Sequence[Silicon],
    peers: Sequence[PeerVerdict] = (),
) -> Iterator[Witnessed]:
    """Every claim of some rows, and of the layouts that they use, with what each witness says of it."""
    every, views = subjects_of(specification, claims), [claim.view for claim in claims]
    proofs = _theorems(specification, every, solvers)
    by_row: dict[str, list[ClaimVerdict]] = {}
    for verdict in assembled:
        by_row.setdefault(verdict.claim.id, []).append(verdict)
    devices, alike = [], {}
    judged: dict[tuple[str, str], Judged] = {}
    for one in silicon:
        key = one.device.target, one.device.driver
        if key not in alike:
            alike[key] = _Today.of(specification, one.device, views)
        devices.append(_Device(specification, one, alike[key], judged))
    for subject in every:
        agreement = _agreement(by_row[subject.id], registered) if subject.kind == "row" else None
        shown = tuple(device.shown(subject) for device in devices)
        common = common_ground(silicon, {subject.id}) if subject.kind == "row" else ()
        said = tuple(verdict for verdict in peers if verdict.part in subject.parts)
        yield Witnessed(subject, _together(subject.parts, proofs), agreement, shown, common, said)


@dataclass(frozen=True)
class _Today:
    """What devices of one target and driver are asked today about some rows."""

    lacking: Mapping[str, str]
    anchors: Mapping[str, str]
    suite: Mapping[str, list[str]]
    kernels: Mapping[str, str]

    @classmethod
    def of(cls, specification: Specification, device: DeviceRecord, views: Sequence[RowView]) -> _Today:
        rows = {view.id: view for view in views}
        variants = [variant for view in views for variant in view.variants()]
        return cls(
            lacking(variants, device.target),
            {row: anchor(specification, view.family.instruction) for row, view in rows.items()},
            current_suite(specification, device, set(rows)),
            current_cases(specification, device, set(rows)),
        )


class _Device:
    """What one device showed of some rows."""

    def __init__(
        self,
        specification: Specification,
        silicon: Silicon,
        today: _Today,
        judged: dict[tuple[str, str], Judged],
    ) -> None:
        self.silicon = silicon
        self.lacking, self.anchors, self.cases = today.lacking, today.anchors, today.suite
        found = silicon_verdicts(specification, silicon, today.kernels, set(self.anchors), judged)
        self.verdicts = list(found)

    def shown(self, subject: ClaimSubject) -> DeviceWitness:
        """What the device says about one claim."""
        name = self.silicon.device.name
        if subject.kind == "row":
            hashes = self.cases.get(subject.id, [])
            passed = {via: self.silicon.passed(via) for via in self.silicon.cases}
            counted = {via: (sum(h in seen for h in hashes), len(hashes)) for via, seen in passed.items()}
            failed = {via: kept["others"] for via, kept in self.silicon.cases.items()}
            unrecorded = {
                via: sum(h not in seen and h not in failed[via] for h in hashes)
                for via, seen in passed.items()
            }
            not_run = self.lacking.get(subject.id, "" if hashes else "its driver is too old for it")
            gone = tuple(
                f"{v.what}: {v.kernel}"
                for v in self.verdicts
                if v.state == "unclaimed" and v.row == subject.id
            )
            if not hashes:
                return DeviceWitness(name, not_run=not_run, unclaimed=gone)
            if not counted:
                not_run = f"unrecorded: its {len(hashes)} cases"
            return DeviceWitness(name, counted, {}, self.anchors[subject.id], not_run, unrecorded, gone)
        measured: dict[str, MeasurementTally] = {}
        for verdict in self.verdicts:
            if subject.id in verdict.claims:
                _count(measured.setdefault(verdict.what, MeasurementTally()), verdict)
        return DeviceWitness(name, {}, measured, "", "" if measured else "unrecorded: no measurement of it")


def _count(tally: MeasurementTally, verdict: SiliconVerdict) -> None:
    tally.kernels += 1
    tally.points += verdict.points
    tally.differing += verdict.differing
    tally.outdated += verdict.state in ("stale", "unseen")


def recorded(answers: Sequence[SolverRecord]) -> dict[str, Callable[[Obligation], ProofState]]:
    """The recorded answers by solver; a solver without a record proves nothing."""
    known: dict[str, Callable[[Obligation], ProofState]] = {one.solver: one.verdict for one in answers}
    return {solver: known.get(solver, _unrecorded) for solver in SOLVERS}


def _unrecorded(obligation: Obligation) -> ProofState:
    return "unrecorded"
