"""What a source may be compiled for: PTX ISA versions and targets; and under which of them a guard holds."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ...spec.gates import Isa
from ...spec.lazy_dataclass import dataclass
from ...spec.nodes import Version
from .conditionals import Definition, Guard, GuardPart
from .nvcc import Nvcc
from .preprocessor import Answer, ConditionTree, answer_of, condition, negated

__all__ = ["CudaEnvironment", "Environments", "FileMacros"]

_TARGET = re.compile(r"[a-z]+_(\d+)([a-z]?)")
_SUFFIXES = {"a": "specific", "f": "family"}
_DEEPEST = 24  # macros that stand for macros


@dataclass(frozen=True)
class CudaEnvironment:
    """A PTX ISA version with a target, and the numbers that conditions are made of."""

    ptx: Version
    target: str
    numbers: Mapping[str, int]

    @property
    def number(self) -> int:
        return self.numbers["number"]


class Environments:
    """The environments that are asked about: one version or all, one target or all."""

    def __init__(self, isa: Isa, known: Nvcc, ptx: str | None, target: str | None) -> None:
        self.known = known
        versions = isa.versions if ptx is None else (isa.version(ptx),)
        targets = isa.index.targets if target is None else (isa.target(target),)
        toolkits = _toolkits(isa, known)
        self.all: tuple[CudaEnvironment, ...] = tuple(
            CudaEnvironment(version, name, _numbers(name, toolkits.get(version, 0)))
            for version in versions
            if ptx is not None or version in toolkits
            for name in targets
            if isa.index.targets[name].since <= version
        )
        self._table: dict[str, tuple[Answer, Answer]] = {}
        self._texts: dict[str, Answer] = {}

    def constant(self, value: int | None) -> Answer:
        """One number for every environment."""
        return (value,) * len(self.all)

    def table(self, name: str, depth: int = 0) -> tuple[Answer, Answer] | None:
        """Whether a macro of nvcc.yaml is defined, and its value; None where the file does not have it."""
        found = self._table.get(name)
        if found is None:
            entry, when = self.known.values.get(name), self.known.macros.get(name)
            if depth > _DEEPEST or (entry is None and when is None):
                return None
            defined = self._text(entry.when if entry else when or "", depth)
            if entry is None:
                value = self.constant(1)
            else:
                value = self.constant(None) if entry.value is None else self._text(entry.value, depth)
            found = self._table[name] = defined, value
        return found

    def _text(self, text: str, depth: int) -> Answer:
        def leaf(tree: ConditionTree) -> Answer:
            if tree.operation == "number":
                return self.constant(tree.value)
            if all(tree.word in one.numbers for one in self.all):
                return tuple(one.numbers[tree.word] for one in self.all)
            found = self.table(tree.word, depth + 1)
            return self.constant(None) if found is None else _valued(tree, *found)

        return answer_of(condition(text), leaf)


def _valued(tree: ConditionTree, defined: Answer, value: Answer) -> Answer:
    """What `defined X` or X comes to."""
    if tree.operation == "defined":
        return defined
    return tuple(
        None if there is None else (one if there else 0) for there, one in zip(defined, value, strict=True)
    )


class FileMacros:
    """The macros of one source over those of nvcc.yaml: what its guards come to."""

    def __init__(self, environments: Environments, definitions: Mapping[str, Sequence[Definition]]) -> None:
        self.environments = environments
        self.definitions = definitions
        self._known: dict[tuple[str, int], tuple[Answer, Answer] | None] = {}
        self._parts: dict[GuardPart, Answer] = {}
        self._guards: dict[Guard, Answer] = {}

    def holds(self, guard: Guard, depth: int = 0) -> Answer:
        """Whether a guard holds: 0, another number, or None where that is not known."""
        found = self._guards.get(guard)
        if found is None:
            found = self.environments.constant(1)
            for part in guard:
                found = tuple(
                    0 if one == 0 or other == 0 else None if one is None or other is None else 1
                    for one, other in zip(found, self._part(part, depth), strict=True)
                )
            self._guards[guard] = found
        return found

    def _part(self, part: GuardPart, depth: int) -> Answer:
        found = self._parts.get(part)
        if found is None:
            found = self._text(part.text, part.offset, depth)
            found = self._parts[part] = found if part.holds else negated(found)
        return found

    def _text(self, text: str, offset: int, depth: int) -> Answer:
        """What an expression comes to at a place of the source."""

        def leaf(tree: ConditionTree) -> Answer:
            if tree.operation == "number":
                return self.environments.constant(tree.value)
            found = None
            if tree.operation != "unknown" and depth < _DEEPEST:
                found = self.environments.table(tree.word) or self._macro(tree.word, offset, depth)
            return self.environments.constant(None) if found is None else _valued(tree, *found)

        return answer_of(condition(text), leaf)

    def _macro(self, name: str, offset: int, depth: int) -> tuple[Answer, Answer] | None:
        """Whether a macro is defined at a place, and its value, as the source before the place has it."""
        definitions = self.definitions.get(name, ())
        before = [one for one in definitions if one.offset < offset]
        key = name, len(before) or -offset
        if key not in self._known:
            self._known[key] = self._defined(before, depth)
            if not before and any(part.offset == offset for one in definitions for part in one.guard):
                # `#ifndef X`, then `#define X`: nothing has defined it there
                self._known[key] = self.environments.constant(0), self.environments.constant(None)
        return self._known[key]

    def _defined(self, definitions: Sequence[Definition], depth: int) -> tuple[Answer, Answer] | None:
        if not definitions or any(one.parameters is not None for one in definitions):
            return None
        there, value = self.environments.constant(0), self.environments.constant(None)
        for one in definitions:
            guard = self.holds(one.guard, depth + 1)
            meaning = self._text(one.body, one.offset, depth + 1)
            there = tuple(
                1 if old or new else (None if old is None or new is None else 0)
                for old, new in zip(there, guard, strict=True)
            )
            value = tuple(mean if new else old for new, mean, old in zip(guard, meaning, value, strict=True))
        return there, value


def _numbers(target: str, toolkit: int) -> Mapping[str, int]:
    found = _TARGET.fullmatch(target)
    number, suffix = (int(found[1]), found[2]) if found else (0, "")
    return {
        "number": number,
        "toolkit": toolkit,
        **{word: int(suffix == letter) for letter, word in _SUFFIXES.items()},
    }


def _toolkits(isa: Isa, known: Nvcc) -> Mapping[Version, int]:
    """The toolkit of each version, as 1208 for 12.8."""
    texts = {Version.of(ptx): toolkit for ptx, toolkit in known.toolkits.items()}
    texts |= {one.ptx: one.assemblers[-1].version for one in isa.index.releases if one.assemblers}
    return {version: _toolkit(*text.split(".")[:2]) for version, text in texts.items()}


def _toolkit(major: str, minor: str) -> int:
    return 100 * int(major) + int(minor)
