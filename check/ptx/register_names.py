"""Names for registers and labels that do not depend on how a compiler counts them."""

from __future__ import annotations

import re
from functools import cached_property

from .source import NAME, Function

__all__ = ["RegisterNames"]

_COUNTED = re.compile(r"[%$][\w$]*\d")


class RegisterNames:
    """The registers of a function, each by the opcode that first names it and the position there."""

    def __init__(self, function: Function) -> None:
        self.function = function

    @cached_property
    def _names(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for statement in self.function.statements:
            for position, name in enumerate(NAME.findall(statement.operands)):
                if name not in found:
                    found[name] = f"<{statement.opcode} {position}>"
        return found

    def renamed(self, statement: str) -> str:
        """A statement of the function with these names."""
        return NAME.sub(self._renamed, statement)

    def _renamed(self, found: re.Match[str]) -> str:
        name = found[0]
        return self._names.get(name, "label") if _COUNTED.match(name) else name
