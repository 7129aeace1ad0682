"""The assemblers' verdicts on the forms that changed between two PTX ISA versions."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..spec.errors import Question
from ..spec.model import Form, Gate
from ..spec.nodes import Version
from ..spec.specification import Specification
from ..spec.variants import Variant
from .version_differences import Change, state

if TYPE_CHECKING:
    from ..assemblers.outcomes import StatementOutcome
    from ..ledger.assembler_record import Record
    from ..ledger.contradictions import ContradictionRegister

__all__ = ["AskForms", "FormTally", "VersionSide", "assemblers", "observe", "recorded", "side"]


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


# An assembler's answers about statements under a version, for a target; None where unknown.
AskForms = Callable[[VersionSide, str, Sequence[str]], "Sequence[StatementOutcome | None]"]


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
        self, outcomes: Sequence[StatementOutcome | None], register: ContradictionRegister
    ) -> FormTally:
        """The tally that follows from the answers."""
        counts = Counter(outcome.verdict for outcome in outcomes if outcome)
        words = Counter(o.words for o in outcomes if o and o.verdict != "accepted" and o.words)
        against: list[str] = []
        registered: dict[str, None] = {}
        for text, legal, said in zip(self.statements, self.expected, outcomes, strict=False):
            if said is None or legal == (said.verdict == "accepted"):
                continue
            at = self.side
            entry = register.explains(self.instruction, text, at.ptxas, at.ptx, self.target, said.verdict)
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
    specification: Specification, found: Sequence[Change], sides: Sequence[VersionSide], answers: AskForms
) -> tuple[tuple[FormTally, ...], ...]:
    """Ask the assembler of each side about every form of every change; returns the tallies of each change.

    For a target that was gained or lost, that target is asked. For a form that was added or removed, the
    first of its targets that both versions have is asked.
    """
    from ..ledger.contradictions import register

    questions = [tuple(_questions(specification, change, sides)) for change in found]
    together: dict[tuple[VersionSide, str], dict[str, None]] = {}
    for question in (q for of_change in questions for q in of_change if q.known):
        statements = dict.fromkeys(question.statements)
        together.setdefault((question.side, question.target), {}).update(statements)

    def ask(key: tuple[VersionSide, str]) -> dict[str, StatementOutcome | None]:
        statements = list(together[key])
        return dict(zip(statements, answers(*key, statements), strict=True))

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        said = dict(zip(together, pool.map(ask, together), strict=True))
    return tuple(
        tuple(
            q.tally([said[q.side, q.target][s] for s in q.statements] if q.known else [], register())
            for q in mine
        )
        for mine in questions
    )


def assemblers(asked: VersionSide, target: str, statements: Sequence[str]) -> Sequence[StatementOutcome]:
    """Answers of the assemblers themselves."""
    from ..assemblers.classification import classify
    from ..assemblers.toolchains import locate

    return classify(locate(asked.ptxas), statements, asked.ptx, target)


def recorded(specification: Specification, records: Sequence[Record]) -> AskForms:
    """Recorded answers; None for a statement that is not recorded, or whose claim has changed."""
    from ..assemblers.outcomes import StatementOutcome
    from ..ledger.assembler_record import claims

    by_release = {record.release: record for record in records}
    seen_of: dict[tuple[str, str], list[int] | None] = {}
    places = {
        text: (claim, bit) for claim in claims(specification) for bit, text in enumerate(claim.statements)
    }

    def answers(
        asked: VersionSide, target: str, statements: Sequence[str]
    ) -> Sequence[StatementOutcome | None]:
        record, setting = by_release.get(asked.ptxas), (str(asked.ptx), target)
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
                said.append(StatementOutcome("accepted" if seen[column] >> bit & 1 else "refused"))
        return said

    return answers


def _questions(
    specification: Specification, change: Change, sides: Sequence[VersionSide]
) -> Iterator[_Question]:
    from ..assemblers.universe import Universe

    universe, name = Universe(specification), change.instruction
    all_targets = specification.index.targets
    targets = change.targets
    if change.kind not in ("widened", "narrowed"):
        oldest = min(side.ptx for side in sides)
        targets = (*(name for name in targets if all_targets[name].since <= oldest), *targets)[:1]
    for without, variants in ((True, change.before), (False, change.variants)):
        written = [
            (universe.write(variant, form).text, specification.isa.effective(_gates(variant, form)))
            for variant in variants
            for form in variant.forms
            if change.form in (None, ", ".join(form.operands))
        ]
        for target in targets if variants else ():
            for asked in sides:
                legal = tuple(target in state(gate, asked.ptx).targets for _, gate in written)
                known = all_targets[target].since <= asked.ptx
                yield _Question(
                    name, asked, target, without, known, tuple(text for text, _ in written), legal
                )


def _gates(variant: Variant, form: Form) -> tuple[Gate, ...]:
    gates = variant.row.gates_on(variant.fields)
    return (*gates, form.gate) if form.gate else gates
