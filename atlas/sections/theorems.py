"""Every theorem on one page: what it states, its formula, how it would fail, and what solvers answered."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup

from ...formal.catalogue import GROUPS
from ...formal.statement_mathml import statement
from ...ledger.solver_record import load_answers
from ...spec.quantities import counted
from ..files import Atlas, AtlasFile, AtlasPage
from ..frame import rendered
from .instruction_answers import answered

__all__ = ["made"]


def made(atlas: Atlas) -> Iterator[AtlasPage | AtlasFile]:
    """The page."""
    records = load_answers()
    body = rendered(
        "theorems.html",
        groups=GROUPS,
        answers=answered(records),
        solvers=[f"{record.solver} {record.version}, {record.date}" for record in records],
        statement=lambda text: Markup(statement(text)),
    )
    count = sum(len(group.theorems) for group in GROUPS)
    yield AtlasPage(
        "theorems.html",
        "What is proven, and how it would fail",
        "Proofs",
        body,
        f"{counted(count, 'theorem')} about the specification; ptxmma prove asks them all again.",
    )
