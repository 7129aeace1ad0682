"""What spec/contracts.yaml says: the sentences of every contract, and who would notice a wrong one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from .errors import Place

__all__ = ["Clause", "Consumer", "ContractFile"]


@dataclass(frozen=True)
class Consumer:
    """What would fail if a clause were wrong: exactly one of these is written.

    `theorem` names a theorem, `legality` a reason code, `case` the plan of inputs of the conformance
    cases that would fail, `varies` an operand each value of which has such cases, `litmus` the rule of
    ordering whose tests would fail, `check` the rule that `ptxmma check` would find broken.
    """

    theorem: str | None = None
    legality: str | None = None
    case: str | None = None
    varies: str | None = None
    litmus: str | None = None
    check: str | None = None
    place: Place = field(default=Place("", 0, 0), compare=False)


@dataclass(frozen=True)
class Clause:
    """One sentence of a contract, with its consumers."""

    kind: Literal["numerical", "execution"]
    says: str
    section: str
    consumers: tuple[Consumer, ...]
    place: Place


@dataclass(frozen=True)
class ContractFile:
    """The clauses of all contracts, by id."""

    clauses: Mapping[str, Clause]
