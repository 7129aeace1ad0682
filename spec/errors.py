"""Errors that say what is wrong, where (file:line:column) and what would be right."""

from __future__ import annotations

from .lazy_dataclass import dataclass

__all__ = ["Place", "PtxmmaError", "Question", "SpecError", "missing"]


@dataclass(frozen=True)
class Place:
    """A position in a source file; line and column count from 1."""

    file: str
    line: int
    column: int

    def shifted(self, columns: int) -> Place:
        """The place `columns` further right on the same line."""
        return Place(self.file, self.line, self.column + columns)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class PtxmmaError(Exception):
    """Base of every error that ptxmma raises on purpose."""


class SpecError(PtxmmaError):
    """The specification itself is wrong: nothing of it may be used."""

    def __init__(self, what: str, place: Place | None = None, right: str | None = None) -> None:
        self.what = what
        self.place = place
        self.right = right
        super().__init__(self.render())

    def render(self) -> str:
        where = f"{self.place}: " if self.place else ""
        hint = f"\n  right would be: {self.right}" if self.right else ""
        return f"{where}{self.what}{hint}"

    def at(self, place: Place) -> SpecError:
        """The same error with this place, unless it has a place already."""
        return self if self.place else SpecError(self.what, place, self.right)


class Question(PtxmmaError):
    """The question cannot be asked (an unknown version, operand, file …); exit code 2."""


def missing(error: ModuleNotFoundError) -> Question:
    """What a broken installation comes to; raises the error itself where a module of ptxmma is missing."""
    package = __name__.partition(".")[0]
    if error.name is None or error.name.partition(".")[0] == package:
        raise error
    return Question(f"the Python package {error.name} is missing; `pip install {package}` installs it too")
