"""The assemblers' verdicts on the forms that changed between two PTX ISA versions."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..spec.errors import Question
from ..spec.gates import EffectiveGate
from ..spec.index import Target
from ..spec.model import Form
from ..spec.nodes import Version
from ..spec.specification import Specification
from ..spec.variants import Variant
from .version_differences import Change, state

if TYPE_CHECKING:
    from ..assemblers.outcomes import StatementOutcome
    from ..ledger.assembler_record import Claim, Record
    from ..ledger.contradictions import ContradictionRegister

__all__ = ["AskForms", "Asked", "FormTally", "VersionSide", "assemblers", "observe", "recorded", "side"]


@dataclass(frozen=True)
class VersionSide:
    """A version, and the ptxas that answers for it: its own, or the next that knows the version."""

    ptx: Version
    ptxas: str
    toolkit: str
    own: bool

    @property
    def words(self) -> str:
        """Which assembler that is."""
        if self.own:
            return f"ptxas {self.ptxas}"
        return f"no assembler of its own; read through {self.toolkit} (ptxas {self.ptxas})"


@dataclass(frozen=True)
class FormTally:
    """One assembler's verdicts on the forms of a change under a version, for one target.

    `known` is whether the version has the target at all; if not, nothing is asked. `against` holds
    the statements on which the assembler and the specification differ, `registered` the contradictions that
    explain others. `words` are its commonest reasons; `unrecorded` counts the verdicts that are not recorded.
    `silent` is why the assembler cannot be asked, which counts as no verdict.
    """

    side: VersionSide
    target: str
    without: bool
    known: bool
    statements: int
    accepted: int
    refused: int
    died: int
    words: tuple[str, ...]
    against: tuple[str, ...]
    registered: tuple[str, ...] = ()
    unrecorded: int = 0
    silent: str = ""


# Statements to be asked about: of an assembler under a version, for a target.
Asked = tuple[VersionSide, str]
# What each says, in order: None where that is unknown, or why it is silent about all.
Said = Mapping[Asked, "Sequence[StatementOutcome | None] | str"]
AskForms = Callable[[Mapping[Asked, Sequence[str]]], Said]


def side(specification: Specification, ptx: Version) -> VersionSide:
    """The newest assembler of a version, or of the first later one that has any."""
    for release in specification.index.releases:
        if release.ptx >= ptx and release.assemblers:
            newest = release.assemblers[-1]
            return VersionSide(ptx, newest.version, newest.toolkit, release.ptx == ptx)
    raise Question(f"no assembler knows PTX ISA {ptx}")


@dataclass(frozen=True)
class _Question:
    """The statements of a change that one assembler is asked about, and which of them are legal."""

    instruction: str
    side: VersionSide
    target: str
    without: bool
    known: bool
    statements: tuple[str, ...]
    expected: tuple[bool, ...]

    def tally(
        self, outcomes: Sequence[StatementOutcome | None], register: Callable[[], ContradictionRegister]
    ) -> FormTally:
        """The tally that follows from the answers; the register is read only where one differs."""
        counts = Counter(outcome.verdict for outcome in outcomes if outcome)
        words = Counter(o.words for o in outcomes if o and o.verdict != "accepted" and o.words)
        against: list[str] = []
        registered: dict[str, None] = {}
        for text, legal, said in zip(self.statements, self.expected, outcomes, strict=False):
            if said is None or legal == (said.verdict == "accepted"):
                continue
            at = self.side
            entry = register().explains(self.instruction, text, at.ptxas, at.ptx, self.target, said.verdict)
            if entry is None:
                against.append(text)
            else:
                registered[entry] = None
        return FormTally(
            self.side,
            self.target,
            self.without,
            self.known,
            len(self.statements),
            counts["accepted"],
            counts["refused"],
            counts["died"],
            tuple(word for word, _ in words.most_common(2)),
            tuple(against),
            tuple(registered),
            sum(outcome is None for outcome in outcomes),
        )


def observe(
    claims: Sequence[Claim], found: Sequence[Change], sides: Sequence[VersionSide], answers: AskForms
) -> tuple[tuple[FormTally, ...], ...]:
    """Ask the assembler of each side about every form of every change; returns the tallies of each change.

    For a target that was gained or lost, that target is asked. For a form that was added or removed, the
    first of its targets that both versions have is asked.
    """
    from ..ledger.contradictions import register

    forms = _Forms(claims)
    questions = [tuple(_questions(forms, change, sides)) for change in found]
    together: dict[Asked, dict[str, None]] = {}
    for question in (q for of_change in questions for q in of_change if q.known):
        together.setdefault((question.side, question.target), {}).update(dict.fromkeys(question.statements))
    asked = {key: list(statements) for key, statements in together.items()}
    said = {
        key: found if isinstance(found, str) else dict(zip(asked[key], found, strict=True))
        for key, found in answers(asked).items()
    }

    def tally(question: _Question) -> FormTally:
        answered = said[question.side, question.target] if question.known else {}
        if isinstance(answered, str):
            return replace(question.tally((), register), silent=answered)
        return question.tally([answered[text] for text in question.statements] if answered else (), register)

    return tuple(tuple(map(tally, mine)) for mine in questions)


def assemblers(asked: Mapping[Asked, Sequence[str]]) -> Said:
    """Answers of the assemblers themselves, in threads: each question waits for a process."""
    from concurrent.futures import ThreadPoolExecutor

    from ..assemblers.classification import classify
    from ..assemblers.outcomes import SilentAssembler
    from ..assemblers.toolchains import locate

    def ask(key: Asked) -> Sequence[StatementOutcome | None] | str:
        side, target = key
        try:
            return classify(locate(side.ptxas), asked[key], side.ptx, target)
        except SilentAssembler as silent:
            return silent.why

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(asked, pool.map(ask, asked), strict=True))


def recorded(claims: Sequence[Claim], records: Sequence[Record], found: Sequence[Change]) -> AskForms:
    """Recorded answers about changes; None for a statement that is not recorded, or whose claim has
    changed.
    """
    from ..assemblers.outcomes import StatementOutcome

    accepted, refused = StatementOutcome("accepted"), StatementOutcome("refused")
    by_release = {record.release: record for record in records}
    seen_of: dict[tuple[str, str], list[int] | None] = {}
    rows = {f"{change.instruction}/{row}" for change in found for row in change.rows}
    rows |= {variant.row.id for change in found for variant in change.before}
    places = {
        text: (claim, bit)
        for claim in claims
        if claim.id in rows
        for bit, text in enumerate(claim.statements)
    }

    def answer(side: VersionSide, target: str, statements: Sequence[str]) -> list[StatementOutcome | None]:
        record, setting = by_release.get(side.ptxas), (str(side.ptx), target)
        if record is None or setting not in record.settings:
            return [None] * len(statements)
        column = record.settings.index(setting)
        said: list[StatementOutcome | None] = []
        for text in statements:
            claim, bit = places.get(text, (None, 0))
            if claim and (record.release, claim.id) not in seen_of:
                seen_of[record.release, claim.id] = record.seen(claim)
            seen = seen_of[record.release, claim.id] if claim else None
            if seen is None:
                said.append(None)
            else:
                said.append(accepted if seen[column] >> bit & 1 else refused)
        return said

    return lambda asked: {key: answer(*key, statements) for key, statements in asked.items()}


class _Forms:
    """Every form as a statement, with when it is legal; many changes ask about the same ones."""

    def __init__(self, claims: Sequence[Claim]) -> None:
        self._claims = {claim.id: claim for claim in claims}
        self._isa = claims[0].view.family.isa
        self._written: dict[str, dict[int, list[tuple[Form, str, EffectiveGate]]]] = {}
        self._open: dict[tuple[int, Version], frozenset[str]] = {}

    @property
    def targets(self) -> Mapping[str, Target]:
        """The targets by name."""
        return self._isa.index.targets

    def of(self, variants: Iterable[Variant], only: str | None) -> Iterator[tuple[str, EffectiveGate]]:
        """The statements of some variants, in every form or in one."""
        for variant in variants:
            row = variant.row.id
            if row not in self._written:
                self._written[row] = self._row(self._claims[row])
            for form, text, gate in self._written[row][id(variant)]:
                if only is None or only == ", ".join(form.operands):
                    yield text, gate

    def _row(self, claim: Claim) -> dict[int, list[tuple[Form, str, EffectiveGate]]]:
        """The statements of a row by the identity of their variants."""
        found: dict[int, list[tuple[Form, str, EffectiveGate]]] = {}
        for (variant, form), text in zip(claim.forms, claim.statements, strict=True):
            found.setdefault(id(variant), []).append((form, text, self._gate(variant, form)))
        return found

    def _gate(self, variant: Variant, form: Form) -> EffectiveGate:
        if not form.gate:
            return variant.gate
        return self._isa.effective((*variant.row.gates_on(variant.fields), form.gate))

    def is_legal(self, gate: EffectiveGate, ptx: Version, target: str) -> bool:
        """Whether a form with this gate is legal under a version and on a target."""
        key = id(gate), ptx
        if key not in self._open:
            self._open[key] = state(gate, ptx).targets
        return target in self._open[key]


def _questions(forms: _Forms, change: Change, sides: Sequence[VersionSide]) -> Iterator[_Question]:
    all_targets, targets = forms.targets, change.targets
    if change.kind not in ("widened", "narrowed"):
        oldest = min(side.ptx for side in sides)
        targets = (*(name for name in targets if all_targets[name].since <= oldest), *targets)[:1]
    for without, variants in ((True, change.before), (False, change.variants)):
        written = tuple(forms.of(variants, change.form)) if variants else ()
        statements = tuple(text for text, _ in written)
        for target in targets if variants else ():
            for asked in sides:
                legal = tuple(forms.is_legal(gate, asked.ptx, target) for _, gate in written)
                known = all_targets[target].since <= asked.ptx
                yield _Question(change.instruction, asked, target, without, known, statements, legal)
