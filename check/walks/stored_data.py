"""Where does what threads write to shared memory come from: from which addresses of global memory?

Two warps that write the same bytes may write the same, as compilers have them do. They do not where each has
got what it writes from other addresses, or writes numbers that are known.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..ptx.decode import DecodedFunction
from ..ptx.operands import Address, vector_elements
from ..ptx.operation import BROUGHT

__all__ = ["StoredData"]

_NOWHERE = frozenset(("param", "const", "shared"))  # what stands there all share, or it is not looked at


class StoredData:
    """What the stores and copies of a function write."""

    def __init__(self, code: DecodedFunction) -> None:
        self.code = code
        self._origins: dict[int, Sequence[tuple[str, int]] | None] = {}

    def texts(self, index: int) -> Sequence[str]:
        """The operands that a statement stores; none where it is no plain store."""
        statement = self.code[index]
        plain = statement.does == "store" and statement.rows is None and len(statement.operands) == 2
        return vector_elements(statement.operands[1]) if plain else ()

    def is_moved(self, index: int) -> bool:
        """Whether some of these registers may have been moved on since."""
        origins = self.origins(index) or ()
        return any(len(self.code.definitions.get(name, ())) > 1 for name, _ in origins)

    def origins(self, index: int) -> Sequence[tuple[str, int]] | None:
        """The registers with the addresses in global memory from which a statement gets what it writes, and
        how many bytes behind these; None where it gets it elsewhere, too, or they are written again.
        """
        if index not in self._origins:
            found = self._found(index)
            self._origins[index] = None if found is None else sorted(found)
        return self._origins[index]

    def _found(self, index: int) -> set[tuple[str, int]] | None:
        statement = self.code[index]
        if statement.does == "copy":
            return self._place(statement.source, index)
        texts = self.texts(index) or statement.operands[1:]
        waiting = [name for text in texts for name in self.code.registers_in(text, statement.scope)]
        seen: set[str] = set()
        found: set[tuple[str, int]] = set()
        while waiting:
            name = waiting.pop()
            if name in seen:
                continue
            seen.add(name)
            definitions = self.code.definitions.get(name, ())
            if sum(name not in self.code[made].reads for made in definitions) > 1:
                return None  # on some ways it holds something else
            for made in definitions:
                step = self.code[made]
                if step.guard is not None or step.operation.words[0] == "selp":
                    return None
                if step.does not in BROUGHT:
                    waiting += step.reads
                elif step.does != "load" or step.operation.space not in (*_NOWHERE, "global"):
                    return None
                elif step.operation.space == "global":
                    place = self._place(step.address, made)
                    if place is None:
                        return None
                    found |= place
        return found

    def _place(self, address: Address | None, index: int) -> set[tuple[str, int]] | None:
        """A register and an offset, if it is written once, and then only moved on from what it holds."""
        base = None if address is None else address.base
        names = () if base is None else self.code.unique((base,), self.code[index].scope)
        for name in names:
            made = (self.code[one] for one in self.code.definitions.get(name, ()))
            first = [one for one in made if one.operation.words[0] != "add" or name not in one.reads]
            if len(first) != 1 or first[0].guard is not None:
                return None
        return {(name, address.offset) for name in names} or None if address is not None else None
