"""A statement's place in its function: what a finding about the statement needs."""

from __future__ import annotations

from ...spec.errors import Place
from ...spec.lazy_dataclass import dataclass
from .source import Function, PtxModule, PtxStatement, Variable

__all__ = ["Site"]


@dataclass(frozen=True, slots=True)
class Site:
    """A statement of a function, by its index."""

    module: PtxModule
    function: Function
    index: int

    @property
    def statement(self) -> PtxStatement:
        """The statement as it is written."""
        return self.function.statements[self.index]

    @property
    def place(self) -> Place:
        """Where it begins."""
        return self.module.place(self.statement.offset)

    def variable(self, name: str) -> Variable | None:
        """The variable that a name refers to there."""
        return self.function.variable(name, self.statement.scope) or self.module.variables.get(name)
