"""What each instruction of PTX does, inside or outside the specification, for reading whole kernels (9.7)."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import field
from functools import cache, cached_property
from pathlib import Path
from typing import Literal

from .cache import ROOT, cached, yaml_files
from .errors import Place, SpecError
from .index import read_index
from .lazy_dataclass import dataclass
from .nodes import Node, compose, pairs, place_of, structure

__all__ = [
    "ASYNCHRONOUS",
    "CALL",
    "EFFECT",
    "NOTHING",
    "RESULT",
    "Action",
    "Does",
    "Effects",
    "load_effects",
    "read",
]

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
    "init",
    "invalidate",
    "expect",
    "give",
    "arrive",
    "await",
    "meet",
    "memory-fence",
    "proxy-fence",
    "multiply",
    "fence",
    "commit",
    "wait",
    "fetch",
    "fetch-wait",
    "tensor-store",
    "tensor-store-wait",
    "tensor-multiply",
    "tensor-copy",
    "tensor-shift",
    "tensor-fence",
    "tensor-release",
    "allocate",
    "deallocate",
    "end-allocation",
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
    """What an instruction does beside its registers. Operands are counted from 0."""

    does: Does
    """What it does to memory, to the order of what does, or to the flow of control.
    Noticed by: tests. Example: `copy-wait`. Refuses: `waits` (not in the list)."""
    space: Literal["shared", "global"] | None = None
    """The state space of its address, where the qualifiers need not say it.
    Noticed by: tests. Example: `shared`. Refuses: `l2` (not in the list)."""
    bytes: int | None = None
    """How many bytes a thread accesses, where the type does not say it.
    Noticed by: tests. Example: `16`. Refuses: `wide` (an integer)."""
    barrier: Literal["object", "named", "cluster", "warp"] | None = None
    """The barrier: an mbarrier in memory, one with a number, the cluster's, or a warp's.
    Noticed by: tests. Example: `named`. Refuses: `block` (not in the list)."""
    count: int | None = None
    """The operand that says how many groups may stay pending (without it a wait is for all of them), how
    many threads or arrivals a barrier has, or how many columns are allocated or given back.
    Noticed by: tests. Example: `0`. Refuses: `first` (an integer)."""
    behind: int | None = None
    """How many operands stand behind the count, which may be left out before them.
    Noticed by: tests. Example: `1`. Refuses: `last` (an integer)."""
    size: int | None = None
    """The operand that says how many bytes are copied, or expected.
    Noticed by: tests. Example: `2`. Refuses: `last` (an integer)."""
    before: int | None = None
    """How many addresses stand before that of the mbarrier: the destination of a copy, and its source where a
    thread names one.
    Noticed by: tests. Example: `2`. Refuses: `first` (an integer)."""
    multiple: int | None = None
    """Of what its size, or else its count, must be a multiple.
    Noticed by: tests. Example: `32`. Refuses: `even` (an integer)."""
    begins: int | None = None
    """At multiples of how many bytes that begins what it copies, and where it copies it.
    Noticed by: tests. Example: `16`. Refuses: `aligned` (an integer)."""
    phase: int | None = None
    """The operand that holds the parity of the phase that is waited for, where the qualifier .parity stands.
    Noticed by: tests. Example: `2`. Refuses: `parity` (an integer)."""
    name: int | None = None
    """The operand that holds the number of a named barrier.
    Noticed by: tests. Example: `0`. Refuses: `a` (an integer)."""
    aligned: bool = False
    """Whether all threads of a warp must execute it together, though no qualifier says so.
    Noticed by: tests. Example: `true`. Refuses: `often` (neither true nor false)."""
    warpgroup: bool = False
    """Whether all threads of a warpgroup must execute it together, though spec/instructions does not hold it.
    Noticed by: tests. Example: `true`. Refuses: `often` (neither true nor false)."""
    pairs: str | None = None
    """The qualifier with which it works in both blocks of a pair; or, of a copy, with which the mbarrier may
    lie in the other one.
    Noticed by: tests. Example: `cta_group::2`. Refuses: `[cta_group::2]` (one qualifier)."""
    returns: bool = False
    """Whether it ends the function that executes it, and the thread only where nobody called that.
    Noticed by: tests. Example: `true`. Refuses: `often` (neither true nor false)."""
    answer: Literal["given", "asked"] | None = None
    """Whether it writes the answer to a request to cancel another cluster's launch, or says what one means.
    Noticed by: tests. Example: `given`. Refuses: `true` (not in the list)."""
    mask: bool = False
    """Whether its last operand says which lanes of the warp take part, where the qualifier .sync stands.
    Noticed by: tests. Example: `true`. Refuses: `often` (neither true nor false)."""
    place: Place = field(default=Place("", 0, 0), compare=False)


NOTHING = Action("nothing")


@dataclass(frozen=True)
class Effects:
    """spec/effects.yaml: what instructions do, and between which threads special registers differ.

    The entry of an opcode is the longest listed name that the opcode begins with, up to a dot.
    """

    results: tuple[tuple[str, ...], ...]
    """Instructions that write their first operand and read the others.
    Noticed by: tests. Example: `[[add, sub]]`. Refuses: `add` (a list)."""
    effects: tuple[tuple[str, ...], ...]
    """Instructions that write no register and read every operand.
    Noticed by: tests. Example: `[[st, bra]]`. Refuses: `[[add]]` (it is a result too)."""
    calls: tuple[str, ...]
    """Instructions that write the registers in parentheses before a function's name, and read those behind.
    Noticed by: tests. Example: `[call]`. Refuses: `call` (a list)."""
    asynchronous: tuple[str, ...]
    """Instructions whose accumulators are read and written later, so that no statement writes them.
    Noticed by: tests. Example: `[wgmma.mma_async]`. Refuses: `wgmma.mma_async` (a list)."""
    threads: tuple[str, ...]
    """Special registers that differ between the threads of a warp.
    Noticed by: tests. Example: `[laneid, tid]`. Refuses: `laneid` (a list)."""
    uniform: tuple[tuple[str, ...], ...]
    """Special registers that are the same in every thread of a warp.
    Noticed by: tests. Example: `[[ctaid, ntid]]`. Refuses: `[ctaid]` (a list of lists)."""
    unjudged: Mapping[str, str]
    """Instructions about which `check` leaves something open, by the name that they begin with, and what that
    is; it says so once for all of them.
    Noticed by: tests. Example: `{tcgen05: their order}`. Refuses: `[tcgen05]` (a mapping)."""
    actions: Mapping[str, Action]
    """What instructions do beside their registers; an instruction that is not listed does nothing.
    Noticed by: tests. Example: `{st: {does: store}}`. Refuses: `{frob: {does: store}}` (no list above
    names frob)."""

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
                found.update(dict.fromkeys(row, kind))
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

    def unjudged_family(self, opcode: str) -> str | None:
        """The name in `unjudged` of the instruction that an opcode spells; None if it has none there."""
        return _longest(opcode, self.unjudged)


def _longest(opcode: str, names: Container[str]) -> str | None:
    """The longest of some names that an opcode begins with, up to a dot."""
    name = opcode
    while name not in names:
        name, dot, _ = name.rpartition(".")
        if not dot:
            return None
    return name


def read(root: Path = ROOT) -> Effects:
    """The effects under `root`; raises SpecError where the file is wrong."""
    named = read_index(root).effects
    node = compose(root / named.text, named.text, named.place)
    effects = structure(node, Effects, named.text)
    _check_kinds(node, named.text)
    for name, action in effects.actions.items():
        if effects.kind(name) is None:
            what = f"nothing says what {name} does to registers"
            raise SpecError(what, action.place, "its name in a list above")
    return effects


def _check_kinds(node: Node, file: str) -> None:
    """No instruction or special register is listed twice; raises SpecError where it stands again."""
    entries = pairs(node, file)
    for kinds in (("results", "effects", "calls", "asynchronous"), ("threads", "uniform")):
        seen: dict[str, str] = {}
        for kind in kinds:
            for word in _words(entries[kind]):
                if word.value in seen:
                    what = f"{word.value} stands in {seen[word.value]} and again in {kind}"
                    raise SpecError(what, place_of(word, file), "one of the two")
                seen[word.value] = kind


def _words(node: Node) -> Iterator[Node]:
    """The words of a list, or of a list of lists."""
    if node.id == "sequence":
        for inner in node.value:
            yield from _words(inner)
    else:
        yield node


@cache
def load_effects() -> Effects:
    """The effects of this package, read once."""
    return cached("effects", Effects, read, yaml_files())
