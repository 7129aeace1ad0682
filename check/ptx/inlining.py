"""Put the bodies of called functions in the place of their calls: every analysis sees what a call does.

Parameters become registers: a store into a parameter, and the load from it, are moves. A call stays where its
body is not in the file, or calls itself, or where the result would be very long.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from ...spec.lazy_dataclass import dataclass
from .operands import address_of, operand_texts, vector_elements
from .operation import Operations
from .source import NAME, Function, PtxModule, PtxScope, PtxStatement

__all__ = ["FAILED", "Call", "Inlining", "call_of"]

FAILED = "__assertfail"  # what a failed assertion calls: the launch ends there

_MOST = 100_000  # statements of a function with the bodies that it calls
_RETURN = "$return"
_SIZE = re.compile(r"\D+(\d+)")
_Part = tuple[str, int, str]  # of a parameter: its name, an offset, a type


@dataclass(frozen=True)
class Call:
    """A call: the function's name (None: it is computed), and what is passed and returned."""

    name: str | None
    returned: tuple[str, ...]
    passed: tuple[str, ...]


def call_of(statement: PtxStatement) -> Call:
    """What a call calls, and with what."""
    parts = list(operand_texts(statement.operands))
    returned = _listed(parts.pop(0)) if parts and parts[0][:1] == "(" else ()
    name = parts[0] if parts and NAME.fullmatch(parts[0]) and parts[0][0] != "%" else None
    passed = _listed(parts[1]) if len(parts) > 1 and parts[1][:1] == "(" else ()
    return Call(name, returned, passed)


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.strip("() ").split(",") if part.strip())


class Inlining:
    """Puts the bodies of a file in the place of their calls; `placed` are the functions that stand there."""

    def __init__(self, module: PtxModule, operations: Operations) -> None:
        self.bodies = {one.name: one for one in module.functions if one.kind == "func"}
        self.operations = operations
        self.placed: set[str] = set()

    def whole(self, function: Function) -> Function:
        """The function with the bodies that it calls; the function itself if it calls none of the file."""
        return self._expanded(function, ()) if self.bodies else function

    def _expanded(self, function: Function, callers: tuple[str, ...]) -> Function:
        """A function with the bodies that it calls, and that these call."""
        callers = (*callers, function.name)
        sites: dict[int, tuple[Call, Function]] = {}
        length = len(function.statements)
        for index, statement in enumerate(function.statements):
            if self.operations.of(statement.opcode).does != "call":
                continue
            call = call_of(statement)
            body = self.bodies.get(call.name or "")
            if body is None or body.name in callers or len(body.parameters) != len(call.passed):
                continue
            body = self._expanded(body, callers)
            length += len(body.statements)
            fits = length <= _MOST and not (body.tables.keys() & function.tables.keys())
            if fits and len(body.returns) >= len(call.returned):
                sites[index] = call, body
                self.placed.add(body.name)
        return _Placement(function, sites, self.operations).written() if sites else function


class _Placement:
    """Writes one function with some calls replaced."""

    def __init__(
        self, function: Function, sites: Mapping[int, tuple[Call, Function]], operations: Operations
    ) -> None:
        self.function = function
        self.operations = operations
        self.sites = sites
        self.statements: list[PtxStatement] = []
        self.scopes = [_copied(scope, scope.parent) for scope in function.scopes]
        self.tables = dict(function.tables)
        self.passed = {name for call, _ in sites.values() for name in (*call.passed, *call.returned)}

    def written(self) -> Function:
        """The function."""
        function = self.function
        starts: list[int] = []
        for index, statement in enumerate(function.statements):
            starts.append(len(self.statements))
            site = self.sites.get(index)
            if site is not None:
                self._body(statement, *site)
            else:
                self.statements += self._moves(statement, statement.scope, self.passed, "")
        starts.append(len(self.statements))
        for scope, new in zip(function.scopes, self.scopes, strict=False):
            new.labels.update({label: starts[index] for label, index in scope.labels.items()})
        return replace(
            function, statements=self.statements, scopes=self.scopes, tables=self.tables, outermost={}
        )

    def _body(self, at: PtxStatement, call: Call, body: Function) -> None:
        """The statements of a call: what is passed, the body, what is returned."""
        skip = f"$behind{len(self.statements)}"
        if at.guard is not None:
            guard = at.guard[1:] if at.guard[0] == "!" else f"!{at.guard}"
            self.statements.append(PtxStatement(at.offset, "bra", skip, guard, at.scope))
        base, prefix = len(self.scopes), f"{body.name}$"
        for scope in body.scopes:
            self.scopes.append(_copied(scope, at.scope if scope.parent < 0 else base + scope.parent))
        self.tables.update(body.tables)
        inner = self.scopes[base]
        parameters, returns = (
            dict(zip(body.parameters, call.passed, strict=True)),
            dict(zip(body.returns, call.returned, strict=False)),
        )
        formals = {*body.parameters, *body.returns}
        moved: list[PtxStatement] = []
        starts: list[int] = []
        read: dict[_Part, None] = {}
        stored: dict[_Part, None] = {}
        for statement in body.statements:
            starts.append(len(moved))
            for slot in self._parts(statement, formals):
                (read if slot[0] in parameters else stored)[slot] = None
                inner.registers[f"{prefix}{slot[0]}${slot[1]}"] = slot[2]
            for one in self._moves(statement, base + statement.scope, formals, prefix):
                ends = self.operations.of(one.opcode).action.returns
                moved.append(replace(one, opcode="bra", operands=_RETURN) if ends else one)
        starts.append(len(moved))
        for formal, actual in parameters.items():
            if formal in body.scopes[0].registers:
                self._move(at, base, body.scopes[0].registers[formal], formal, actual)
        for name, offset, kind in read:
            self._move(
                at, base, kind, f"{prefix}{name}${offset}", self._actual(at, parameters[name], offset, kind)
            )
        first = len(self.statements)
        for scope, new in zip(body.scopes, self.scopes[base:], strict=True):
            new.labels.update({label: first + starts[index] for label, index in scope.labels.items()})
        self.statements += moved
        inner.labels[_RETURN] = len(self.statements)
        for formal, actual in returns.items():
            if formal in body.scopes[0].registers:
                self._move(at, base, body.scopes[0].registers[formal], actual, formal)
        for name, offset, kind in stored:
            if name in returns:
                self._move(
                    at, base, kind, self._actual(at, returns[name], offset, kind), f"{prefix}{name}${offset}"
                )
        self.scopes[at.scope].labels[skip] = len(self.statements)

    def _actual(self, at: PtxStatement, name: str, offset: int, kind: str) -> str:
        """The register that stands for a part of what the caller passes; declared where its variable is."""
        scope = at.scope
        while scope > 0 and name not in self.function.scopes[scope].variables:
            scope = self.function.scopes[scope].parent
        slot = f"{name}${offset}"
        self.scopes[scope].registers.setdefault(slot, kind)
        return slot

    def _move(self, at: PtxStatement, scope: int, kind: str, to: str, source: str) -> None:
        self.statements.append(PtxStatement(at.offset, _mov(kind), f"{to}, {source}", None, scope))

    def _parts(self, statement: PtxStatement, names: set[str]) -> list[_Part]:
        """The parts of parameters among `names` that a statement loads or stores."""
        operation = self.operations.of(statement.opcode)
        words = operation.words
        if operation.does not in ("load", "store") or operation.space != "param" or len(words) < 3:
            return []
        texts = operand_texts(statement.operands)
        address = address_of(texts[operation.does == "load"]) if len(texts) == 2 else None
        if address is None or address.base not in names:
            return []
        size = _SIZE.fullmatch(words[-1])
        count = int(words[-2][1:]) if re.fullmatch(r"v\d", words[-2]) else 1
        step = int(size[1]) // 8 if size else 4
        return [(str(address.base), address.offset + step * i, words[-1]) for i in range(count)]

    def _moves(
        self, statement: PtxStatement, scope: int, names: set[str], prefix: str
    ) -> Iterator[PtxStatement]:
        """The statement; an access of a parameter among `names` as moves from or to registers."""
        slots = self._parts(statement, names)
        if not slots:
            yield replace(statement, scope=scope)
            return
        stores = self.operations.of(statement.opcode).does == "store"
        texts = operand_texts(statement.operands)
        values = vector_elements(texts[stores])
        for (name, offset, kind), value in zip(slots, values, strict=False):
            slot = f"{prefix}{name}${offset}"
            if not prefix:
                self._actual(replace(statement, scope=scope), name, offset, kind)
            operands = f"{slot}, {value}" if stores else f"{value}, {slot}"
            yield PtxStatement(statement.offset, _mov(kind), operands, statement.guard, scope)


def _mov(kind: str) -> str:
    """The move of a type; there is none of bytes."""
    return f"mov.{kind if kind[1:] != '8' else 'u16'}"


def _copied(scope: PtxScope, parent: int) -> PtxScope:
    """A copy of a scope without labels, which are numbered anew."""
    return PtxScope(parent, dict(scope.registers), dict(scope.ranges), dict(scope.variables), {})
