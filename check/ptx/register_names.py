"""Names for registers and labels that do not depend on how a compiler counts them."""

from __future__ import annotations

import re

from .source import NAME, Function

__all__ = ["RegisterNames"]

_COUNTED = re.compile(r"[%$][\w$]*\d")


class RegisterNames:
    """The registers of a function, each by the opcode that first names it and the position there."""

    def __init__(self, function: Function) -> None:
        self._names: dict[str, str] = {}  # of the statements that were read so far
        self._rest = iter(function.statements)

    def _name(self, register: str) -> str:
        """The name of a register, or of a label; statements are read up to the first that names it."""
        while register not in self._names and (statement := next(self._rest, None)) is not None:
            for position, name in enumerate(NAME.findall(statement.operands)):
                if name not in self._names:
                    self._names[name] = f"<{statement.opcode} {position}>"
        return self._names.get(register, "label")

    def renamed(self, statement: str) -> str:
        """A statement of the function with these names."""
        return NAME.sub(self._renamed, statement)

    def _renamed(self, found: re.Match[str]) -> str:
        name = found[0]
        return self._name(name) if _COUNTED.match(name) else name
