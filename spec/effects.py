"""What instructions do, whether the specification holds them or not: for reading whole kernels (9.7)."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Literal

from .cache import ROOT, cached
from .errors import Place, SpecError
from .nodes import compose, structure

__all__ = ["ASYNCHRONOUS", "CALL", "EFFECT", "NOTHING", "RESULT", "Action", "Does", "Effects", "load_effects"]

_FILE = "spec/effects.yaml"
RESULT, EFFECT, CALL, ASYNCHRONOUS = "result", "effect", "call", "asynchronous"
Does = Literal[
    "nothing",
    "move",
    "load",
    "store",
    "update",
    "copy",
    "copy-commit",
    "copy-wait",
    "copy-arrive",
    "bulk-copy",
    "bulk-commit",
    "bulk-wait",
    "arrive",
    "await",
    "meet",
    "proxy-fence",
    "multiply",
    "fence",
    "commit",
    "wait",
    "elect",
    "vote",
    "shuffle",
    "map-address",
    "jump",
    "switch",
    "leave",
    "abort",
    "call",
]


@dataclass(frozen=True)
class Action:
    """What an instruction does beside its registers.

    `space` is the state space of its address and `bytes` the size of its access, where qualifiers and type
    need not say them. `count`, `size`, `phase` and `name` are positions of operands, from 0: how many groups
    may stay pending, how many bytes are copied, the phase waited for, the number of a named barrier.
    """

    does: Does
    space: Literal["shared", "global"] | None = None
    bytes: int | None = None
    barrier: Literal["object", "named", "cluster", "warp"] | None = None
    count: int | None = None
    size: int | None = None
    phase: int | None = None
    name: int | None = None
    place: Place = field(default=Place("", 0, 0), compare=False)


NOTHING = Action("nothing")


@dataclass(frozen=True)
class Effects:
    """spec/effects.yaml: instructions by what they do, special registers by whom they tell apart."""

    results: tuple[tuple[str, ...], ...]
    effects: tuple[tuple[str, ...], ...]
    calls: tuple[str, ...]
    asynchronous: tuple[str, ...]
    threads: tuple[str, ...]
    uniform: tuple[tuple[str, ...], ...]
    unjudged: tuple[str, ...]
    actions: Mapping[str, Action]

    @cached_property
    def _kinds(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for kind, rows in (
            (RESULT, self.results),
            (EFFECT, self.effects),
            (CALL, (self.calls,)),
            (ASYNCHRONOUS, (self.asynchronous,)),
        ):
            for row in rows:
                for name in row:
                    if found.setdefault(name, kind) != kind:
                        raise SpecError(f"{_FILE}: {name} is both a {found[name]} and a {kind}")
        return found

    @cached_property
    def uniform_names(self) -> frozenset[str]:
        """Special registers that are the same in every thread of a warp."""
        return frozenset(name for row in self.uniform for name in row)

    def kind(self, opcode: str) -> str | None:
        """What an opcode does to registers: result, effect, call or asynchronous; None for an unknown one."""
        name = _longest(opcode, self._kinds)
        return None if name is None else self._kinds[name]

    def action(self, opcode: str) -> Action:
        """What an opcode does beside its registers."""
        name = _longest(opcode, self.actions)
        return NOTHING if name is None else self.actions[name]

    def is_unjudged(self, opcode: str) -> bool:
        """Whether an opcode is a tensor-core instruction that the specification does not hold."""
        return _longest(opcode, self.unjudged) is not None


def _longest(opcode: str, names: Container[str]) -> str | None:
    """The longest of some names that an opcode begins with, up to a dot."""
    name = opcode
    while name not in names:
        name, dot, _ = name.rpartition(".")
        if not dot:
            return None
    return name


@cache
def load_effects() -> Effects:
    """The effects, read once; raises SpecError when the file is wrong."""
    return cached("effects", Effects, _read, [ROOT / _FILE])


def _read() -> Effects:
    found = structure(compose(ROOT / _FILE, _FILE), Effects, _FILE)
    for name, action in found.actions.items():
        if found.kind(name) is None:
            what = f"nothing says what {name} does to registers"
            raise SpecError(what, action.place, "its name in a list above")
    return found
