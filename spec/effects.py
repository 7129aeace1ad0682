"""What instructions do to registers, whether the specification holds them or not: for whole kernels (9.7)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from .errors import SpecError
from .nodes import compose, structure

__all__ = ["EFFECT", "RESULT", "Effects", "load_effects"]

_ROOT = Path(__file__).resolve().parent.parent
_FILE = "spec/effects.yaml"
RESULT, EFFECT, CALL, ASYNCHRONOUS = "result", "effect", "call", "asynchronous"


@dataclass(frozen=True)
class Effects:
    """spec/effects.yaml: instructions by what they write, special registers by whom they tell apart."""

    results: tuple[tuple[str, ...], ...]
    effects: tuple[tuple[str, ...], ...]
    calls: tuple[str, ...]
    asynchronous: tuple[str, ...]
    threads: tuple[str, ...]
    uniform: tuple[tuple[str, ...], ...]

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
        """What an opcode does: result, effect, call or asynchronous; None for an unknown one."""
        kinds = self._kinds
        name = opcode
        while name not in kinds:
            name, dot, _ = name.rpartition(".")
            if not dot:
                return None
        return kinds[name]


@cache
def load_effects() -> Effects:
    """The effects, read once; raises SpecError when the file is wrong."""
    return structure(compose(_ROOT / _FILE, _FILE), Effects, _FILE)
