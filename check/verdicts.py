"""What the assemblers of two PTX ISA versions say about the forms that changed between them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..spec.errors import Question
from ..spec.loading import Specification
from ..spec.model import Form, Gate
from ..spec.nodes import Version
from ..spec.variants import Variant
from .differences import Change, state

if TYPE_CHECKING:
    from .assembler import Outcome

__all__ = ["Side", "Tally", "observe", "side"]


@dataclass(frozen=True)
class Side:
    """A version, and the ptxas that it is asked through: its own, or the next that knows it."""

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
class Tally:
    """One assembler's verdicts on the forms of a change under a version, for one target.

    `known` is whether the version has the target at all: without it nothing is asked. `against` holds
    the statements on which the assembler and the specification differ. `words` are its commonest reasons.
    """

    side: Side
    target: str
    without: bool
    known: bool
    statements: int
    accepted: int
    refused: int
    died: int
    words: tuple[str, ...]
    against: tuple[str, ...]


def side(specification: Specification, ptx: Version) -> Side:
    """The newest assembler of a version, or of the first later one that has any."""
    for release in specification.index.releases:
        if release.ptx >= ptx and release.assemblers:
            newest = release.assemblers[-1]
            return Side(ptx, newest.version, newest.toolkit, release.ptx == ptx)
    raise Question(f"no assembler knows PTX ISA {ptx}")


@dataclass(frozen=True)
class _Question:
    """The statements of a change that one assembler is asked about, and which of them are legal."""

    side: Side
    target: str
    without: bool
    known: bool
    statements: tuple[str, ...]
    expected: tuple[bool, ...]

    def tally(self, outcomes: Sequence[Outcome]) -> Tally:
        """What the answers amount to."""
        counts = Counter(outcome.verdict for outcome in outcomes)
        words = Counter(outcome.words for outcome in outcomes if outcome.verdict != "accepted")
        answers = zip(self.statements, self.expected, outcomes, strict=False)
        return Tally(
            self.side,
            self.target,
            self.without,
            self.known,
            len(self.statements),
            counts["accepted"],
            counts["refused"],
            counts["died"],
            tuple(word for word, _ in words.most_common(2)),
            tuple(text for text, legal, said in answers if legal != (said.verdict == "accepted")),
        )


def observe(
    specification: Specification, found: Sequence[Change], sides: Sequence[Side]
) -> tuple[tuple[Tally, ...], ...]:
    """Ask the assembler of each side about every form of every change: the tallies of each.

    A target that was gained or lost is asked about itself; of the targets of a form that came or went,
    the first that both versions have.
    """
    from .assembler import classify
    from .toolchains import locate

    questions = [tuple(_questions(specification, change, sides)) for change in found]
    together: dict[tuple[Side, str], list[str]] = {}
    for question in (q for of_change in questions for q in of_change if q.known):
        together.setdefault((question.side, question.target), []).extend(question.statements)
    located = {asked: locate(asked.ptxas) for asked, _ in together}

    def ask(key: tuple[Side, str]) -> dict[str, Outcome]:
        asked, target = key
        statements = list(dict.fromkeys(together[key]))
        outcomes = classify(located[asked], statements, asked.ptx, target)
        return dict(zip(statements, outcomes, strict=True))

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        answers = dict(zip(together, pool.map(ask, together), strict=True))
    return tuple(
        tuple(q.tally([answers[q.side, q.target][s] for s in q.statements] if q.known else []) for q in mine)
        for mine in questions
    )


def _questions(specification: Specification, change: Change, sides: Sequence[Side]) -> Iterator[_Question]:
    from .universe import Universe

    universe = Universe(specification)
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
                yield _Question(asked, target, without, known, tuple(text for text, _ in written), legal)


def _gates(variant: Variant, form: Form) -> tuple[Gate, ...]:
    gates = variant.row.gates_on(variant.fields)
    return (*gates, form.gate) if form.gate else gates
