"""What the assemblers of two PTX ISA versions say about the forms that changed between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..spec.errors import Question
from ..spec.loading import Specification
from ..spec.nodes import Version
from ..spec.variants import Variant
from .differences import Change, state

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


def observe(specification: Specification, change: Change, sides: Sequence[Side]) -> Iterator[Tally]:
    """Ask the assembler of each side about every form of a change.

    A target that was gained or lost is asked about itself; of the targets of a form that came or went,
    the first that both versions have.
    """
    targets = change.targets
    if change.kind not in ("widened", "narrowed"):
        newest = min(side.ptx for side in sides)
        old = [name for name in targets if specification.index.targets[name].since <= newest]
        targets = (*old, *targets)[:1]
    for without, variants in ((True, change.before), (False, change.variants)):
        for target in targets if variants else ():
            for asked in sides:
                yield _tally(specification, variants, change.form, asked, target, without)


def _tally(
    specification: Specification,
    variants: Sequence[Variant],
    form: str | None,
    asked: Side,
    target: str,
    without: bool,
) -> Tally:
    from .assembler import classify
    from .toolchains import locate
    from .universe import Universe

    universe = Universe(specification)
    statements: list[str] = []
    expected: list[bool] = []
    for variant in variants:
        for written in variant.forms:
            if form is None or form == ", ".join(written.operands):
                gates = [*variant.row.gates_on(variant.fields), *([written.gate] if written.gate else [])]
                statements.append(universe.write(variant, written).text)
                open_targets = state(specification.isa.effective(gates), asked.ptx).targets
                expected.append(target in open_targets)
    known = specification.index.targets[target].since <= asked.ptx
    if not known:
        return Tally(asked, target, without, False, len(statements), 0, 0, 0, (), ())
    outcomes = classify(locate(asked.ptxas), statements, asked.ptx, target)
    counts = Counter(outcome.verdict for outcome in outcomes)
    words = Counter(outcome.words for outcome in outcomes if outcome.verdict != "accepted")
    against = tuple(
        statement
        for statement, legal, outcome in zip(statements, expected, outcomes, strict=True)
        if legal != (outcome.verdict == "accepted")
    )
    return Tally(
        asked,
        target,
        without,
        True,
        len(statements),
        counts["accepted"],
        counts["refused"],
        counts["died"],
        tuple(word for word, _ in words.most_common(2)),
        against,
    )
