"""What each witness says of a specification with a slip: a sentence where it contradicts, else nothing.

A witness is asked only about what the slip changed. None takes a changed hash for a contradiction: raw
observations are compared with what the changed specification says.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ...assemblers.universe import Universe
from ...formal.catalogue import GROUPS
from ...formal.ordering.phases.phase_agreement import judge_phases
from ...formal.ordering.verdicts import judge as model_verdict
from ...formal.ordering.verdicts import rules
from ...gen.litmus.litmus_tests import single_settings, written
from ...gen.litmus.phase_tests import phase_suite
from ...ledger.assembler_record import Claim, claims, load_records
from ...ledger.contradictions import ContradictionRegister, register
from ...ledger.measured_points import judge
from ...ledger.records import bits_of
from ...ledger.register_faults import RegisterFaults
from ...ledger.silicon_verdicts import by_mnemonic
from ...ledger.strided_places import strided_verdicts
from ...ledger.target_dates import target_faults
from ...spec.errors import Question
from ...spec.gates import EffectiveGate
from ...spec.ordering import ordering
from ...spec.specification import Specification
from ...spec.statements import Statement
from .baseline import Baseline, ObservedRow, RegisteredDisagreement, legal_forms
from .hand_tables import first_failure
from .meaning import plain
from .universe_table import words

__all__ = ["DEAR_PARTS", "WITNESSES", "Changed", "SlipWitness", "concerned_words"]


# Parts of specs.yaml that legality rests on; those that only say since when and where, not what is spelled.
_GATES = frozenset({"isa", "earlier", "releases", "targets", "order"})
_JUDGED_BY = ("isa", "earlier", "releases", "targets", "register_types", "types", "ordered", "repeatable")


# Fields of an instruction, its operands and rows that say nothing of what is legal; and those that say
# nothing else.
_BESIDE_LEGALITY = frozenset(
    {"around", "contains", "descriptor", "execution", "fragments", "layouts", "matrix", "memory", "numerical"}
    | {"part", "readings", "scope", "sparsity"}
)
_LEGALITY_ALONE = frozenset(
    {"around", "elements", "execution", "gate", "gates", "numerical", "registers", "role", "scope", "targets"}
    | {"tolerances", "types", "values"}
)


def _without_fields(value: Any, fields: frozenset[str]) -> Any:
    if isinstance(value, dict):
        return {key: _without_fields(inner, fields) for key, inner in value.items() if key not in fields}
    return [_without_fields(inner, fields) for inner in value] if isinstance(value, list) else value


@dataclass(frozen=True)
class Changed:
    """A specification with a slip, and what the slip changed of it."""

    base: Baseline
    specification: Specification
    file: str

    @cached_property
    def everywhere(self) -> bool:
        """Whether every instruction may be concerned."""
        if self.file == "specs.yaml":
            return bool(self.index - _GATES)
        return self.file in ("spec/numerics.yaml", "spec/contracts.yaml", "spec/sparsity.yaml")

    @cached_property
    def index(self) -> frozenset[str]:
        """The parts of specs.yaml that say something about instructions, and are others now."""
        old, new = self.base.specification.index, self.specification.index
        return frozenset(
            part for part in _JUDGED_BY if plain(getattr(old, part)) != plain(getattr(new, part))
        ) | (frozenset({"order"}) if list(old.targets) != list(new.targets) else frozenset())

    @cached_property
    def register(self) -> ContradictionRegister:
        """The register of contradictions; it is not read again where it and the index are as they were."""
        if self.file in ("contradictions.yaml", "specs.yaml"):
            return register()
        return ContradictionRegister(self.specification, self.base.register.entries)

    @cached_property
    def instructions(self) -> tuple[str, ...]:
        """The instructions whose own record is another one."""
        old, new = self.base.meanings, self.specification.instructions
        if self.file == "specs.yaml":
            every = tuple(dict.fromkeys((*self.base.specification.instructions, *new)))
            return every if self.index else tuple(name for name in every if name not in new)
        if not self.file.startswith("spec/instructions/"):
            return ()
        known = self.base.specification.instructions
        own = [n for n, i in (*known.items(), *new.items()) if i.place.file == self.file]
        return tuple(
            name
            for name in dict.fromkeys(own)
            if name not in new or old.get(f"instruction {name}") != plain(new[name])
        )

    @cached_property
    def layouts(self) -> frozenset[str]:
        """The layouts whose record is another one."""
        old, new = self.base.meanings, self.specification.layouts
        if not self.file.startswith("spec/layouts/") or self.file.endswith("bridges.yaml"):
            return frozenset()
        known = self.base.specification.layouts
        own = [n for n, m in (*known.items(), *new.items()) if m.layout.place.file == self.file]
        return frozenset(
            name for name in own if name not in new or old.get(f"layout {name}") != plain(new[name])
        )

    @cached_property
    def rows(self) -> frozenset[str]:
        """The rows of changed instructions that may mean something else, and those with a changed layout."""
        found = set()
        for name, family in self.specification.families.items():
            own = self.rows_of(name) if name in self.instructions else frozenset()
            for view in family.rows:
                changed = own is None or view.row.id in own or bool(self.layouts & set(view.layouts))
                if (
                    changed
                    or self.everywhere
                    or self.file in ("spec/addresses.yaml", "spec/descriptors.yaml")
                ):
                    found.add(view.id)
        return frozenset(found)

    def rows_of(self, name: str) -> frozenset[str] | None:
        """The ids of an instruction's rows that are others now, where nothing else of it is; else None."""
        old, new = (
            dict(meanings.get(f"instruction {name}", {})) for meanings in (self.base.meanings, self.meanings)
        )
        before, after = ({row["id"]: row for row in one.pop("rows", ())} for one in (old, new))
        if old != new:
            return None
        every = {**before, **after}
        return frozenset(row for row in every if before.get(row) != after.get(row))

    @cached_property
    def alone(self) -> Specification:
        """The specification with the changed instructions only; their arithmetic rests on no others."""
        if self.everywhere:
            return self.specification
        known = self.specification.instructions
        some = {name: known[name] for name in self.instructions if name in known}
        alone = dataclasses.replace(self.specification, instructions=some)
        alone.derive_from(self.specification)
        return alone

    @cached_property
    def meanings(self) -> Mapping[str, Any]:
        """The plain records of the instructions that changed."""
        known = self.specification.instructions
        return {f"instruction {name}": plain(known[name]) for name in self.instructions if name in known}

    def memory_of(self, name: str) -> bool:
        """Whether an instruction's formulas of places in memory are others now."""
        old, new = self.base.specification.instructions.get(name), self.specification.instructions.get(name)
        return bool(plain(old.memory if old else {}) != plain(new.memory if new else {}))

    def differs(self, name: str, beside: frozenset[str]) -> bool:
        """Whether an instruction is another one in more than some fields."""
        old, new = self.base.meanings.get(f"instruction {name}"), self.meanings.get(f"instruction {name}")
        return bool(_without_fields(old, beside) != _without_fields(new, beside))

    @cached_property
    def claims(self) -> Mapping[str, list[Claim]]:
        """The claims of changed instructions."""
        found: dict[str, list[Claim]] = {name: [] for name in self.instructions}
        for claim in claims(self.specification):
            name = claim.view.family.instruction.instruction
            if name in found:
                found[name].append(claim)
        return found

    def part(self, name: str) -> bool:
        """Whether a part of the specification, by its name in proofs, may be about what changed."""
        kind, _, rest = name.partition(" ")
        if kind == "ordering":
            return self.file.startswith("spec/ordering/")
        if self.everywhere:
            return True
        match kind:
            case "row":
                return rest in self.rows
            case "instruction":
                return rest in self.instructions
            case "layout":
                return rest in self.layouts
            case "bridge":
                bridge = self.specification.bridges[rest]
                own = self.file == "spec/layouts/bridges.yaml"
                return own or any(name in self.layouts for name in bridge.layouts)
            case "arrangement":
                used = self.specification.arrangements[rest].occupants.values()
                own = self.file == "spec/layouts/bridges.yaml"
                return own or any(one.layout in self.layouts for one in used)
            case "address" | "swizzle" | "descriptor":
                own = self.file in ("spec/addresses.yaml", "spec/descriptors.yaml")
                rule = self.specification.addresses.addresses.get(rest)
                return own or (rule is not None and rule.layout in self.layouts)
            case "packing" | "exact":
                return bool(self.instructions)
            case "targets":
                return False
        return True


# By file, the theorems that are asked first: those about it, where every instruction may be concerned.
_FIRST = {"spec/sparsity.yaml": "sparse"}


def proofs(changed: Changed) -> str | None:
    """The first theorem that is refuted or unknown; parts that vanish prove nothing and say nothing."""
    base, first = changed.base, _FIRST.get(changed.file)
    for group in sorted(GROUPS, key=lambda group: group.name != first):
        for part in group.parts(changed.alone if group.name == "exact" else changed.specification):
            if changed.part(part.name) and not base.has(part):
                for obligation in part.obligations():
                    row = obligation.subject.partition(" ")[0]
                    if row in base.row_ids and row not in changed.rows:
                        continue
                    verdict = base.verdict(obligation)
                    if verdict != "proven":
                        return f"{obligation.theorem} of {obligation.subject} ({part.name}): {verdict}"
        for enumeration in group.enumerations(changed.specification):
            if enumeration.theorem not in _DEAR and changed.part(enumeration.part):
                for fault in enumeration.faults():
                    return f"{enumeration.theorem} of {enumeration.subject}: {fault}"
    return None


_DEAR = frozenset({"legal.nearest"})  # enumerations that take a second and more


def dear_proofs(changed: Changed) -> str | None:
    """The first fault of an enumeration that takes so long that every other witness is asked before."""
    for group in GROUPS:
        for enumeration in group.enumerations(changed.specification):
            if enumeration.theorem in _DEAR and changed.part(enumeration.part):
                for fault in enumeration.faults():
                    return f"{enumeration.theorem} of {enumeration.subject}: {fault}"
    return None


def observations(changed: Changed) -> str | None:
    """A recorded statement that an assembler treats otherwise than the changed rows say.

    Statements are compared by their text, so a changed hash is not a witness. Statements that nobody was
    asked about are left to universes.
    """
    if changed.file == "specs.yaml":
        fault = next(target_faults(changed.specification.isa, load_records(), changed.register), None)
        if fault is not None:
            return str(fault)
    for name in changed.instructions:
        old = changed.base.instructions.get(name, {})
        new = legal_forms(changed.claims[name]) if name in changed.specification.instructions else {}
        if new == old and changed.file != "specs.yaml":
            continue
        for row in changed.base.observed.get(name, ()):
            by_gate: dict[EffectiveGate, int] = {}
            for bit, text in enumerate(row.statements):
                for gate in new.get(text, ()):
                    by_gate[gate] = by_gate.get(gate, 0) | 1 << bit
            said = _differs(changed, name, row, by_gate)
            if said is not None:
                return said
    return None


def _differs(
    changed: Changed, name: str, row: ObservedRow, by_gate: Mapping[EffectiveGate, int]
) -> str | None:
    """The first difference between a row's record and its new gates that is new, and not registered."""
    known, isa = changed.register, changed.specification.isa
    versions, targets = _versions(changed), changed.specification.index.targets
    legal: dict[tuple[str, str], int] = {}
    for record, seen, before in row.seen:
        for setting, accepted, registered in zip(record.settings, seen, before, strict=True):
            ptx, target = setting
            if setting not in legal:
                if ptx not in versions or target not in targets:
                    return f"ptxas {record.release} takes .version {ptx} and .target {target}"
                version, bitmap = isa.version(ptx), 0
                for gate, forms in by_gate.items():
                    if gate.opens(version, target):
                        bitmap |= forms
                legal[setting] = bitmap
            if gone := registered & ~(legal[setting] ^ accepted):
                text = row.statements[next(iter(bits_of(gone)))]
                return f"ptxas {record.release}, PTX {ptx}, {target}: registered, and differs no more: {text}"
            for bit in bits_of((legal[setting] ^ accepted) & ~registered):
                said = "accepted" if accepted >> bit & 1 else "refused"
                text = row.statements[bit]
                where = name, text, record.release, isa.version(ptx), target
                if RegisteredDisagreement(*where, said).explained(known) is None:
                    return f"ptxas {record.release}, PTX {ptx}, {target}: {said}: {text}"
    return None


def _versions(changed: Changed) -> frozenset[str]:
    index = changed.specification.index
    return frozenset(map(str, (*index.earlier, *(release.ptx for release in index.releases))))


def universes(changed: Changed) -> str | None:
    """A statement of a recorded universe that an assembler treats otherwise than the changed rows say."""
    if changed.file == "specs.yaml" and changed.index <= _GATES:
        return None  # observations have every gate, under every version and on every target
    known, isa = changed.register, changed.specification.isa
    made = Universe(changed.specification)
    for name in changed.instructions:
        if name not in changed.base.specification.instructions:
            continue
        if changed.file != "specs.yaml" and not changed.differs(name, _BESIDE_LEGALITY):
            continue
        table = changed.base.universes[name]
        differing: list[tuple[int, EffectiveGate | None]] = []
        for number in _spread(table.with_words(concerned_words(changed, name))):
            mnemonic, _, operands = table.statement(number).rstrip(";").partition(" ")
            gate = made.judge.gate_of(Statement(None, mnemonic, operands, made.declared))
            if gate != table.gate(number):
                differing.append((number, gate))
                if len(differing) > _ENOUGH:
                    break
        for record, target, bits in changed.base.universe_verdicts[name] if differing else ():
            ptx = isa.version(record.ptx)
            for number, gate in differing:
                accepted = bool(bits[number >> 3] >> (number & 7) & 1)
                text, before = table.statement(number), table.gate(number)
                legal, was = (g is not None and g.opens(ptx, target) for g in (gate, before))
                if legal == accepted != was:
                    return f"ptxas {record.release}, {target}: registered, and differs no more: {text}"
                if legal != accepted:
                    said = "accepted" if accepted else "refused"
                    one = RegisteredDisagreement(name, text, record.release, ptx, target, said)
                    if one.explained(known) is None:
                        return f"ptxas {record.release}, {target}: {said}: {text}"
    return None


def concerned_words(changed: Changed, name: str) -> frozenset[frozenset[str]]:
    """The words of the mnemonics of a universe that may be judged otherwise now.

    They are those of every variant that is or was, and the same without a qualifier that tolerances let be
    absent; where only rows are others, those of their variants.
    """
    rows = None if changed.everywhere else changed.rows_of(name)
    families = [
        specification.families[name]
        for specification in (changed.base.specification, changed.specification)
        if name in specification.families
    ]
    absent = {tolerance.absent for family in families for tolerance in family.instruction.tolerances}
    spelled = {
        words(variant.mnemonic)
        for family in families
        for view in family.rows
        if rows is None or view.row.id in rows
        for variant in view.variants()
    }
    return frozenset(one - without for one in spelled for without in (set(), *({word} for word in absent)))


_ENOUGH = 64  # differing statements, after which no more are looked for
_STRIDE = 61  # first every so many statements, for neighbours lie side by side


def _spread(numbers: Sequence[int]) -> Iterator[int]:
    """Numbers, spread: those between them follow later."""
    for start in range(min(_STRIDE, len(numbers))):
        yield from numbers[start::_STRIDE]


def silicon(changed: Changed) -> str | None:
    """A measured map, recomputed from raw observations, that the changed layouts contradict."""
    specification = changed.specification
    if any(changed.memory_of(name) for name in changed.instructions):
        for device in changed.base.silicon:
            for verdict in strided_verdicts(specification, device):
                if verdict.state != "agrees":
                    return f"{verdict.device}: {verdict.kernel}: {' '.join((verdict.state, *verdict.first))}"
    known = by_mnemonic(specification)
    for row, listed in changed.base.measured_rows.items():
        name = row.partition("/")[0]
        own = name in changed.instructions and not changed.differs(name, _LEGALITY_ALONE)
        if row not in changed.rows or own:
            continue
        for device, name, mnemonic in listed:
            if mnemonic not in known:
                continue
            observed = device.subjects[name]
            what = name.split(": ")[0]
            try:
                _, faults = judge(specification, known[mnemonic], what, observed.kernel, observed.values)
            except Question as why:
                return f"{device.device.name}: {what}: recorded, and no longer claimed: {why}"
            if faults:
                return f"{device.device.name}: {what}: {observed.kernel}: {faults[0]}"
    return None


def peers(changed: Changed) -> str | None:
    """A recorded observation of a peer that agreed with a changed layout or descriptor, or did not, and now
    does not, or does.
    """
    old, new = changed.base.specification.descriptors, changed.specification.descriptors
    own = changed.file == "spec/descriptors.yaml"
    descriptors = [name for name in old if own and plain(old[name]) != plain(new.get(name))]
    found = changed.base.peers.differing(changed.specification, changed.layouts, descriptors)
    return next(map(str, found), None)


def models(changed: Changed) -> str | None:
    """A litmus test, written by hand, of which the models of the ordering rules say something else."""
    if not changed.file.startswith("spec/ordering/"):
        return None
    default, settings = ordering().default, single_settings()
    litmus, of_phases = "spec/ordering/litmus.yaml", "spec/ordering/phases.yaml"
    said = changed.base.said.get(changed.file) if changed.file in (litmus, of_phases) else None
    before = said if isinstance(said, list) else []
    for test in written() if changed.file != of_phases else ():
        if plain((test.name, test.program.steps, test.hazards, test.under)) in before:
            continue
        verdict = model_verdict(test.program, default)
        if verdict.disagreement or verdict.rules != test.hazards:
            return f"litmus {test.name}: {verdict.disagreement or verdict.rules}"
        for setting, readings in settings.items():
            broken = rules(test.program, readings)
            if broken != test.under.get(setting, test.hazards):
                return f"litmus {test.name} with {setting}: {broken}"
    for phase_test in phase_suite() if changed.file == of_phases else ():
        program = phase_test.program
        if plain((phase_test.name, program.counts, program.threads, phase_test.hazards)) in before:
            continue
        judged = judge_phases(program)
        if judged.disagreement or judged.rules != phase_test.hazards:
            return f"litmus {phase_test.name}: {judged.disagreement or judged.rules}"
    return None


def registered(changed: Changed) -> str | None:
    """A fault of the register, if it is another one: what is recorded, it does not explain, or otherwise.

    Otherwise it is only read, and what it says of instructions must exist; raises SpecError.
    """
    if changed.file != "contradictions.yaml":
        register()
        return None
    fault = next(RegisterFaults(changed.register, changed.base.register_faults.record).every(), None)
    return str(fault) if fault is not None else None


SlipWitness = Callable[[Changed], str | None]
WITNESSES: Mapping[str, SlipWitness] = {
    "models": models,
    "proofs": proofs,
    "observations": observations,
    "peers": peers,
    "silicon": silicon,
    "universes": universes,
    "register": registered,
    "tests": lambda changed: first_failure(changed.file),
}
# Parts of a witness that are asked after all others.
DEAR_PARTS: Mapping[str, SlipWitness] = {"dear proofs": dear_proofs}
