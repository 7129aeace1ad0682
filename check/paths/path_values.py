"""What the statements of a path compute: their results as terms, by what registers hold on the path."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping

from ...spec.constants import SyntaxFault
from ...spec.effects import Effects
from ...spec.statements import argument_of
from ..ptx.decode import DecodedFunction, DecodedStatement
from ..ptx.operands import vector_places
from ..ptx.source import NAME
from ..values.arithmetic import MASK
from ..values.block_threads import WARP
from .path_slice import PathSlice
from .path_terms import PathTerm, PathTerms, PathValue

__all__ = ["Environment", "PathValues", "is_uniform"]

Environment = Mapping[str, PathValue]


def is_uniform(effects: Effects, special: str) -> bool:
    """Whether a special register is the same in all threads of a block."""
    name = special.lstrip("%").split(".")[0]
    return name in effects.uniform_names and name != "warpid"


class PathValues:
    """Evaluates the statements of one function."""

    def __init__(self, code: DecodedFunction) -> None:
        self.code = code
        self.terms = PathTerms()
        self.effects: Effects = code.effects
        self._of_lane: dict[tuple[str, int], PathValue | None] = {}

    def guard(self, statement: DecodedStatement, values: Environment) -> PathValue:
        """The predicate of a guard, without its negation."""
        return self.operand(statement.guard or "", statement.scope, values)

    def operand(self, text: str, scope: int, values: Environment) -> PathValue:
        """What an operand holds."""
        if text[:1] == "!":
            return self.terms.negated(self.operand(text[1:].strip(), scope, values))
        register = self.code.function.register(text, scope)
        if register is not None:
            return self.register(register[0], values)
        try:
            found = argument_of(text)
        except SyntaxFault:
            return self.terms.leaf(("text", text))
        if found.shape == "immediate":
            return found.value & MASK
        uniform = text[:1] != "%" or is_uniform(self.effects, text)
        return self.terms.leaf(("name", NAME.findall(text)[0] if NAME.findall(text) else text, text), uniform)

    def register(self, name: str, values: Environment) -> PathValue:
        """What a register holds; one that nothing wrote yet is a leaf."""
        found = values.get(name)
        return self.terms.leaf(("entry", name)) if found is None else found

    def results(self, index: int, values: Environment, taken: Iterable[PathTerm]) -> dict[str, PathValue]:
        """The registers that a statement writes, and what they hold then.

        `taken` are terms from which a new unknown must differ.
        """
        statement = self.code[index]
        writes = statement.writes
        if statement.does == "load" and self._is_parameter(statement):
            base = NAME.findall(statement.operands[1])[0]
            kind, whole = statement.operation.words[-1], self.code.function.kind == "entry"
            return {
                register: self.terms.leaf(("name", base, statement.operands[1], kind, position), whole)
                for position, register in enumerate(writes)
            }
        if statement.does == "elect":
            return self._elected(statement, values)
        if statement.does == "shuffle" and (shuffled := self._shuffled(statement)) is not None:
            return {**self._unknown(index, writes[1:], taken), writes[0]: shuffled}
        if PathSlice.is_opaque(statement) or self._is_volatile(statement):
            return self._unknown(index, writes, taken)
        words, texts = statement.operation.words, statement.operands
        args = tuple(self.operand(text, statement.scope, values) for text in texts[1:] if text[:1] != "{")
        if len(args) < len(texts) - 1 or not args:
            return self._unknown(index, writes, taken)
        places, elements = vector_places(texts[0])
        if len(writes) == 1 == elements:
            return {writes[0]: self.terms.apply(words, args)}
        if words[0] == "setp" and len(writes) == 2:
            first = self.terms.apply(words, args)
            if len(args) == 2:
                return {writes[0]: first, writes[1]: self.terms.negated(first)}
        parts = places if len(places) == len(writes) else range(len(writes))
        return {
            register: self.terms.apply((*words, f"part{position}"), args)
            for position, register in zip(parts, writes, strict=True)
        }

    def is_computed(self, index: int) -> bool:
        """Whether a statement's results depend on nothing but what it reads."""
        statement = self.code[index]
        if PathSlice.is_opaque(statement) or statement.does in ("load", "elect"):
            return False
        texts = statement.operands[1:]
        return bool(texts) and not any(text[:1] == "{" for text in texts) and not self._is_volatile(statement)

    def _shuffled(self, statement: DecodedStatement) -> PathValue | None:
        """What a shuffle of a whole warp from one lane gives its threads; None where that is not known.

        So the number of a warp and that of its warpgroup, each taken from lane 0, are numbers of one thread.
        """
        texts, scope = statement.operands, statement.scope
        if len(texts) < 4 or "idx" not in statement.operation.words:
            return None
        lane, clamp = (self._alike(text, scope, 0) for text in texts[2:4])
        if not isinstance(lane, int) or clamp != WARP - 1:
            return None
        return self._alike(texts[1], scope, lane % WARP)

    def _alike(self, text: str, scope: int, lane: int) -> PathValue | None:
        """What an operand holds in a lane, if it holds that wherever the lane has come from."""
        register = self.code.function.register(text, scope)
        if register is None:
            found = self.operand(text, scope, {})
            return found if isinstance(found, int) or found.uniform else self._special(text, lane)
        key = register[0], lane
        if key not in self._of_lane:
            self._of_lane[key] = None  # if it depends on itself, it changes
            self._of_lane[key] = self._made(register[0], lane)
        return self._of_lane[key]

    def _made(self, name: str, lane: int) -> PathValue | None:
        """What the only statement that writes a register computes in a lane."""
        definitions = self.code.definitions.get(name, ())
        if len(definitions) != 1:
            return None
        statement = self.code[definitions[0]]
        if statement.guard is not None or len(statement.writes) != 1:
            return None
        if statement.does == "shuffle":
            return self._shuffled(statement)
        if statement.does == "load" and self._is_parameter(statement):
            found = self.results(definitions[0], {}, ())[name]
            return found if isinstance(found, int) or found.uniform else None
        if not self.is_computed(definitions[0]):
            return None
        args = [self._alike(text, statement.scope, lane) for text in statement.operands[1:]]
        known = tuple(arg for arg in args if arg is not None)
        return self.terms.apply(statement.operation.words, known) if len(known) == len(args) else None

    def _special(self, text: str, lane: int) -> PathValue | None:
        """A special register of a lane: a thread finds its own number there, but for the last bits."""
        name, threads = text.lstrip("%"), self.code.function.threads
        if name == "laneid":
            return lane
        if name.split(".")[0] not in self.effects.threads:
            return None
        if name == "tid.x" and threads is not None and threads[1:] == (1, 1):
            own = self.operand(text, 0, {})
            first = self.terms.apply(("and", "b32"), (own, (1 << 32) - WARP))
            return self.terms.apply(("or", "b32"), (first, lane))
        return self.terms.leaf(("lane", lane, text))

    def _elected(self, statement: DecodedStatement, values: Environment) -> dict[str, PathValue]:
        """Who is elected: of the same lanes the same one each time (9.7.13.14)."""
        mask = self.operand(statement.operands[-1], statement.scope, values)
        last = len(statement.writes) - 1  # the predicate; before it stands the lane
        return {
            register: self.terms.leaf(("elected", mask, position - last))
            for position, register in enumerate(statement.writes)
        }

    def _is_parameter(self, statement: DecodedStatement) -> bool:
        """Whether a load reads a parameter of the function, which nothing changes."""
        base = NAME.findall(statement.operands[1]) if len(statement.operands) > 1 else []
        return (
            statement.operation.space == "param"
            and len(base) == 1
            and self.code.function.register(base[0], statement.scope) is None
            and self.code.function.variable(base[0], statement.scope) is None
        )

    def _is_volatile(self, statement: DecodedStatement) -> bool:
        """Whether an operand is a special register that may change, such as a clock."""
        for text in statement.operands[1:]:
            if text[:1] == "%" and self.code.function.register(text, statement.scope) is None:
                name = text.lstrip("%").split(".")[0]
                if name not in self.effects.uniform_names and name not in self.effects.threads:
                    return True
        return False

    def _unknown(self, index: int, writes: Iterable[str], taken: Iterable[PathTerm]) -> dict[str, PathValue]:
        """New leaves: the least number that no leaf in use has keeps paths round a loop alike."""
        used: set[Hashable] = set()
        for term in taken:
            used |= term.leaves
        found: dict[str, PathValue] = {}
        for register in writes:
            turn = 0
            while ("unknown", index, register, turn) in used:
                turn += 1
            found[register] = self.terms.leaf(("unknown", index, register, turn))
        return found
