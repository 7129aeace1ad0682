"""The records of spec/contracts.yaml: the clauses of every contract, and what would fail if a clause were
wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from .errors import Place
from .lazy_dataclass import dataclass

__all__ = ["Clause", "Consumer", "ContractFile"]


@dataclass(frozen=True)
class Consumer:
    """What would fail if a clause were wrong: exactly one of these keys is written."""

    theorem: str | None = None
    """A theorem that would be refuted.
    Noticed by: tests. Example: `layout.surjective`. Refuses: `[a]` (text, not a list)."""
    legality: str | None = None
    """A reason code of `ptxmma legal` that would be wrong.
    Noticed by: tests. Example: `operand.range`. Refuses: `[a]` (text, not a list)."""
    case: str | None = None
    """A plan of inputs: the conformance cases made so would fail.
    Noticed by: tests. Example: `sums`. Refuses: `[a]` (text, not a list)."""
    varies: str | None = None
    """An operand, each value of which has conformance cases.
    Noticed by: tests. Example: `imm-scale-a`. Refuses: `[a]` (text, not a list)."""
    litmus: str | None = None
    """A rule of ordering whose litmus tests would fail.
    Noticed by: tests. Example: `first-fence`. Refuses: `[a]` (text, not a list)."""
    check: str | None = None
    """A rule of `ptxmma check` that would find programs broken.
    Noticed by: tests. Example: `aligned-divergent`. Refuses: `[a]` (text, not a list)."""
    nobody: str | None = None
    """Why nothing would fail: nobody judges the clause yet.
    Noticed by: tests. Example: `no chip is at hand`. Refuses: `[a]` (text, not a list)."""
    place: Place = field(default=Place("", 0, 0), compare=False)


@dataclass(frozen=True)
class Clause:
    """One sentence of a contract, with what would notice that it is wrong."""

    kind: Literal["numerical", "execution"]
    """Whether it is about values (numerical) or about who executes what when (execution).
    Noticed by: tests. Example: `numerical`. Refuses: `timing` (not in the list)."""
    says: str
    """What the text says, in one sentence.
    Noticed by: readers. Example: `the order of accumulation and its rounding are unspecified`.
    Refuses: `null` (text must stand)."""
    section: str
    """Where the text says it.
    Noticed by: readers.
    Example: `"9.7.15.6.3 Precision and rounding"`. Refuses: `9.7` (without quotes it is a number)."""
    consumers: tuple[Consumer, ...]
    """What would fail if the clause were wrong.
    Noticed by: tests. Example: `[{theorem: sparse.product}, {case: sums}]`. Refuses: `[]` (at least one)."""
    place: Place
    effect: Literal["truncated", "rounded"] | None = None
    """What it does to numbers, where tests must know: low bits of A and B are truncated, or results rounded.
    Noticed by: tests. Example: `rounded`. Refuses: `fused` (not in the list)."""


@dataclass(frozen=True)
class ContractFile:
    """spec/contracts.yaml."""

    clauses: Mapping[str, Clause]
    """The clauses by id; ids never change.
    Noticed by: tests. Example: `{num.mine: {kind: numerical, says: so, section: "9.7", consumers: [{case:
    sums}]}}`. Refuses: `{num.mine: {kind: numerical}}` (the key says is missing)."""
