"""What is known of the specification without a slip: every witness compares with it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

from ...assemblers.universe import Universe
from ...assemblers.universe_cache import packed
from ...formal.catalogue import GROUPS
from ...formal.smt.obligations import Obligation
from ...formal.smt.solvers import ask
from ...formal.theorem import ProofPart
from ...ledger.assembler_record import Claim, Record, claims, load_records
from ...ledger.contradictions import ContradictionRegister, register
from ...ledger.peer_record import load_peers
from ...ledger.records import bits_of
from ...ledger.register_faults import RegisterFaults
from ...ledger.register_record import load_register
from ...ledger.silicon_record import Silicon, load_silicon
from ...ledger.silicon_verdicts import by_mnemonic
from ...ledger.solver_record import ProofState, SolverRecord, load_answers
from ...ledger.universe_record import UniverseRecord, load_universes
from ...ledger.wheel_record import Wheels, load_wheels
from ...spec.api import load
from ...spec.arithmetic import Arithmetic, arithmetic
from ...spec.errors import SpecError
from ...spec.gates import EffectiveGate
from ...spec.loading import PACKAGE
from ...spec.nodes import Version
from ...spec.specification import Specification
from .concerned import asked
from .corpus import Corpus
from .hand_tables import collect
from .meaning import meaning, plain
from .peer_answers import PeerAnswers
from .universe_table import UniverseTable

__all__ = ["Baseline", "LegalForms", "ObservedRow", "RegisteredDisagreement", "legal_forms"]

SOLVER = "z3"
_MILLISECONDS = 20_000
LegalForms = Mapping[str, frozenset[EffectiveGate]]


def legal_forms(listed: list[Claim]) -> LegalForms:
    """By statement, the gates of the rows that claim it."""
    found: dict[str, set[EffectiveGate]] = {}
    for claim in listed:
        for gate, bitmap in claim.by_gate.items():
            for number in bits_of(bitmap):
                found.setdefault(claim.statements[number], set()).add(gate)
    return {text: frozenset(gates) for text, gates in found.items()}


@dataclass(frozen=True)
class ObservedRow:
    """A row's statements; by record, the bitmaps of accepted ones by setting, and of those that differ."""

    statements: tuple[str, ...]
    seen: list[tuple[Record, list[int], list[int]]]


@dataclass(frozen=True)
class RegisteredDisagreement:
    """A statement that a release accepts or refuses, where the specification says otherwise."""

    instruction: str
    statement: str
    release: str
    ptx: Version
    target: str
    said: str

    def explained(self, known: ContradictionRegister) -> str | None:
        """The entry that explains it; a record does not tell a death from a refusal."""
        where = self.instruction, self.statement, self.release, self.ptx, self.target
        if self.said == "accepted":
            return known.explains(*where, "accepted")
        return known.explains(*where, "refused") or known.explains(*where, "died")


def _arguments(part: ProofPart) -> tuple[object, ...]:
    return part.obligations.args if isinstance(part.obligations, partial) else ()


@dataclass
class Baseline:
    """The specification as it is, with everything recorded about it; made once, before slips are judged."""

    corpus: Corpus = field(default_factory=Corpus)
    answers: dict[str, str] = field(default_factory=dict)  # by SMT-LIB text
    said: dict[str, object] = field(default_factory=dict)  # by file, what it means
    universes: dict[str, UniverseTable] = field(default_factory=dict)
    universe_verdicts: dict[str, list[tuple[UniverseRecord, str, bytes]]] = field(default_factory=dict)

    def prepare(self, files: Collection[str]) -> None:
        """Work out what slips in these files are compared with; some seconds."""
        if "contradictions.yaml" in files:
            _ = self.entries
            for fault in self.register_faults.every():
                raise SpecError(f"as it stands, {fault.what}", fault.place)
        if "specs.yaml" in files:
            _ = self.wheels, self.records
        if any(file.startswith("spec/arithmetic/") for file in files):
            _ = self.arithmetic
        witnesses = {name for file in files for name in asked(file)}
        _ = self.specification, self.register, self.meanings
        if "proofs" in witnesses:
            _ = self.proofs, self.row_ids, self._made
        if "observations" in witnesses:
            _ = self.instructions, self.observed
        if "peers" in witnesses:
            self.peers.prepare()
        if "silicon" in witnesses:
            _ = self.silicon, self.measured_rows
        if "universes" in witnesses:
            self._prepare_universes(files)
        self.said.update({file: plain(meaning(file)) for file in files if file not in self.said})
        collect(files)

    @cached_property
    def register_faults(self) -> RegisterFaults:
        """The register held against what is recorded of it."""
        return RegisterFaults(register(), load_register())

    @cached_property
    def wheels(self) -> Wheels:
        """The wheels of ptxas as they were measured."""
        return load_wheels()

    @cached_property
    def peers(self) -> PeerAnswers:
        """What recorded peers say of the layouts and descriptors as they are."""
        return PeerAnswers(self.specification, load_peers())

    @cached_property
    def arithmetic(self) -> Arithmetic:
        """What sums come to on every chip family, as it is."""
        return arithmetic()

    @cached_property
    def specification(self) -> Specification:
        return load()

    @cached_property
    def proofs(self) -> SolverRecord | None:
        """The solver's recorded answers: what it proved of the specification as it is."""
        return next((one for one in load_answers() if one.solver == SOLVER), None)

    @cached_property
    def row_ids(self) -> frozenset[str]:
        """Every row, as obligations name it."""
        return frozenset(view.id for family in self.specification.families.values() for view in family.rows)

    @cached_property
    def _made(self) -> Mapping[str, tuple[object, ...]]:
        """By the part of an arithmetic, what its obligations are made from."""
        parts = (part for group in GROUPS for part in group.parts(self.specification))
        return {part.name: _arguments(part) for part in parts if part.name.startswith("exact ")}

    def has(self, part: ProofPart) -> bool:
        """Whether the obligations of an arithmetic are made from the same as they were."""
        return part.name in self._made and self._made[part.name] == _arguments(part)

    def verdict(self, obligation: Obligation) -> ProofState:
        """Whether an obligation is proven; the solver is asked where no record says so."""
        if self.proofs is not None and self.proofs.verdict(obligation) == "proven":
            return "proven"
        status = self.status(obligation.smt)
        return "unknown" if status == "unknown" else "proven" if status == obligation.expects else "refuted"

    def status(self, smt: str) -> str:
        """A solver's answer, asked once for each text."""
        if smt not in self.answers:
            self.answers[smt] = ask(SOLVER, smt, _MILLISECONDS).status
        return self.answers[smt]

    @cached_property
    def meanings(self) -> Mapping[str, Any]:
        """By instruction and layout id, the plain record."""
        specification = self.specification
        return {
            **{f"instruction {name}": plain(one) for name, one in specification.instructions.items()},
            **{f"layout {name}": plain(one) for name, one in specification.layouts.items()},
        }

    # What assemblers showed.

    @cached_property
    def _claims(self) -> dict[str, list[Claim]]:
        found: dict[str, list[Claim]] = {}
        for claim in claims(self.specification):
            found.setdefault(claim.view.family.instruction.instruction, []).append(claim)
        return found

    @cached_property
    def instructions(self) -> Mapping[str, LegalForms]:
        """By instruction, its legal forms and when each is legal."""
        return {name: legal_forms(listed) for name, listed in self._claims.items()}

    @cached_property
    def records(self) -> tuple[Record, ...]:
        return load_records()

    @cached_property
    def observed(self) -> Mapping[str, list[ObservedRow]]:
        """By instruction and row, what assemblers did with its statements, and where that is registered."""
        return {name: [self._row(claim) for claim in listed] for name, listed in self._claims.items()}

    def _row(self, claim: Claim) -> ObservedRow:
        found = []
        for record in self.records:
            seen = record.seen(claim)
            if seen is not None:
                version = self.specification.isa.version
                legal = (claim.legal(version(ptx), target) for ptx, target in record.settings)
                differing = [one ^ other for one, other in zip(legal, seen, strict=True)]
                found.append((record, seen, differing))
        return ObservedRow(claim.statements, found)

    @cached_property
    def universe_records(self) -> tuple[UniverseRecord, ...]:
        return load_universes(PACKAGE / "evidence")

    def _prepare_universes(self, files: Collection[str]) -> None:
        """The universe of every instruction in these files, and what each release said about it: its record,
        the target, the bits.
        """
        made = Universe(self.specification)
        for name, family in self.specification.families.items():
            own = family.instruction.place.file in files or "specs.yaml" in files
            if own and name not in self.universes:
                table = self.universes[name] = UniverseTable.of(packed(made, family))
                said = ((record, record.accepted(name, table.cases)) for record in self.universe_records)
                self.universe_verdicts[name] = [
                    (record, str(record.instructions[name]["target"]), bits)
                    for record, bits in said
                    if bits is not None
                ]

    @cached_property
    def register(self) -> ContradictionRegister:
        return register()

    @cached_property
    def entries(self) -> Mapping[str, object]:
        """The plain entries of the register."""
        return {name: plain(entry) for name, entry in self.register.entries.items()}

    # What devices showed.

    @cached_property
    def silicon(self) -> tuple[Silicon, ...]:
        return load_silicon()

    @cached_property
    def measured_rows(self) -> Mapping[str, list[tuple[Silicon, str, str]]]:
        """By row, the recorded measurements: the device, the subject's name, the mnemonic."""
        known = by_mnemonic(self.specification)
        found: dict[str, list[tuple[Silicon, str, str]]] = {}
        for silicon in self.silicon:
            for name, observed in silicon.subjects.items():
                mnemonic = observed.kernel.split()[0]
                found.setdefault(known[mnemonic].row.id, []).append((silicon, name, mnemonic))
        return found
