"""Where the parts of a product lie in tensor memory: its mnemonic, its descriptor's word, and numbers say it.

A world is one set of values of the descriptor's fields, with the settings of the statement and what the
descriptor says of both. Where a word is given there is one; otherwise as many as go with what is given.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from .described_operands import descriptor_of, holding, settings_of
from .descriptor_rules import field_names, judge_word, rule_tree, said_trees, values_of
from .errors import Question
from .expressions import Expression, Name, compiled, names
from .lazy_dataclass import dataclass
from .memory_records import Descriptor
from .parts import TENSOR_MEMORY, placed_parts
from .paths import path_of, path_values
from .quantities import counted, one_of
from .variants import RowView, Variant

if TYPE_CHECKING:
    from .specification import Specification

__all__ = [
    "DescribedProduct",
    "PlacedLayouts",
    "PlacedPart",
    "described_product",
    "placed_layouts",
    "placed_part",
]

World = Mapping[str, int]
# By a descriptor, what statements say for its settings, and a part: the layouts that may apply.
PlacedLayouts = dict[tuple[str, tuple[tuple[str, int], ...], str], tuple[str, ...]]


@dataclass(frozen=True)
class PlacedPart:
    """A layout of a part in tensor memory, and the value of each of its parameters."""

    layout: str
    parameters: Mapping[str, int]


@dataclass(frozen=True)
class DescribedProduct:
    """A product whose shape is in a descriptor: what its statement says, and the word where it is known."""

    specification: Specification
    variant: Variant
    descriptor: Descriptor
    settings: Mapping[str, int]
    word: Mapping[str, int] | None

    def placed(self, part: str, given: Mapping[str, int]) -> PlacedPart:
        """The layout of a part, by what is given: parameters of the layout, or what the descriptor says.

        Raises Question where several layouts apply or a parameter may have several values, naming what must
        be given; and where nothing goes with what is given.
        """
        told = {name: value for name, value in given.items() if name in self.descriptor.says}
        worlds = self._worlds({*self._asked(part), *told}, told)
        if not worlds:
            raise Question(self._refused(told))
        names_of = {tuple(self._paths(part, world)) for world in worlds}
        if len(names_of) > 1:
            raise Question(self._missing(part, self._asked(part), worlds))
        found = next(iter(names_of))
        if not found:
            raise Question(f"no layout of {part} in tensor memory is known with {self._said(part, worlds)}")
        return PlacedPart(found[0], self._parameters(part, found[0], given, told, worlds))

    def said(self, name: str) -> int:
        """What the word says of itself by a name; raises Question where there is no word, or no such name."""
        worlds = self._worlds({name}, {}) if self.word is not None and name in self.descriptor.says else ()
        if not worlds:
            raise Question(f"the instruction descriptor of {self.variant.mnemonic} does not say {name}")
        return worlds[0][name]

    def possible(self, part: str) -> dict[str, dict[str, tuple[int, ...]]]:
        """Every layout that may apply to a part: by its id, the values of what decides."""
        asked = self._asked(part)
        worlds = self._worlds(asked, {})
        deciding = self._roots(asked, worlds)
        found: dict[str, dict[str, tuple[int, ...]]] = {}
        for world in worlds:
            for name in self._paths(part, world):
                kept = found.setdefault(name, dict.fromkeys(deciding, ()))
                for key in deciding:
                    kept[key] = tuple(sorted({*kept[key], world[key]}))
        return found

    def _parameters(
        self,
        part: str,
        name: str,
        given: Mapping[str, int],
        told: Mapping[str, int],
        worlds: Sequence[World],
    ) -> dict[str, int]:
        layout = self.specification.layouts[name].layout
        unknown = [one for one in given if one not in told and one not in layout.params]
        if unknown:
            known = ", ".join(dict.fromkeys((*self.descriptor.says, *layout.params)))
            raise Question(f"{part} of {self.variant.mnemonic} has no {unknown[0]}; it has {known}")
        read = {
            one: _WorldFormula.of(layout.arguments[one].tree if one in layout.arguments else Name(one))
            for one in layout.params
        }
        reads = {used for formula in read.values() for used in formula.names}
        worlds = self._worlds({*self._asked(part), *told, *reads}, told)
        own = {one: value for one, value in given.items() if one not in told}
        return {
            one: self._parameter(part, one, formula, tuple(map(int, layout.params[one].values)), own, worlds)
            for one, formula in read.items()
        }

    def _parameter(
        self,
        part: str,
        name: str,
        formula: _WorldFormula,
        allowed: tuple[int, ...],
        given: Mapping[str, int],
        worlds: Sequence[World],
    ) -> int:
        """The value of one parameter: what follows from the descriptor, or what is given, or the only one."""
        follows = all(used in world for world in worlds for used in formula.names)
        may = sorted({formula.at(world) for world in worlds}) if follows else allowed
        whole = [value for value in may if value in allowed]
        fitting = [value for value in whole if given.get(name, value) == value]
        if not fitting:
            is_, right = (given[name], whole) if name in given and whole else (one_of(may), allowed)
            raise Question(f"{part}: {name} is {is_}; it must be {one_of(right)}")
        if len(fitting) > 1:
            if {*formula.names} & self.descriptor.says.keys():
                fit = [world for world in worlds if formula.at(world) in fitting]
                raise Question(self._missing(part, frozenset(formula.names), fit))
            some = ", ".join(map(str, fitting))
            raise Question(f"{part} of {self.variant.mnemonic} needs {name}: one of {some}")
        return fitting[0]

    def _refused(self, told: Mapping[str, int]) -> str:
        """Why nothing goes with what is told."""
        for name, value in told.items():
            may = sorted({world[name] for world in self._worlds({name}, {})})
            if value not in may:
                whose = "with this instruction descriptor" if self.word else f"of {self.variant.mnemonic}"
                return f"{name} {whose} is {value}; it must be {one_of(may)}"
        said = ", ".join(f"{name} {value}" for name, value in told.items())
        return f"no instruction descriptor of {self.variant.mnemonic} has {said} together"

    def _missing(self, part: str, asked: frozenset[str], worlds: Sequence[World]) -> str:
        """The sentence that says what must be given, and what it may be."""
        roots = self._roots(asked, worlds)
        values = {name: one_of(sorted({world[name] for world in worlds})) for name in roots}
        shown = ", and ".join(f"{name} must be given: {some}" for name, some in values.items())
        return (
            f"where {part} of {self.variant.mnemonic} lies depends on {' and '.join(roots)}, which its "
            f"instruction descriptor has; {shown} (or the descriptor)"
        )

    def _roots(self, asked: frozenset[str], worlds: Sequence[World]) -> list[str]:
        """What the descriptor says of itself, behind some names, and that is not one value in all worlds."""
        says, found = self.descriptor.says, []
        waiting, seen = sorted(asked), set(asked)
        while waiting:
            name = waiting.pop(0)
            if name not in says:
                continue
            behind = [used for used in sorted(names(says[name].tree)) if used in says]
            if behind:
                waiting += [used for used in behind if used not in seen]
                seen.update(behind)
            elif len({world[name] for world in worlds}) > 1:
                found.append(name)
        return [name for name in says if name in found]

    def _said(self, part: str, worlds: Sequence[World]) -> str:
        """What decides, in words."""
        asked = {*self._asked(part), *self.settings}
        values = {name: sorted({world[name] for world in worlds}) for name in worlds[0] if name in asked}
        return ", ".join(f"{name} {one_of(some)}" for name, some in values.items())

    def _asked(self, part: str) -> frozenset[str]:
        """What the descriptor says that the conditions of a part's layouts ask for."""
        layouts = self.specification.layouts.values()
        conditions = (one.layout.when for one in layouts if one.layout.part == part)
        asked = frozenset[str]().union(*(names(when.tree) for when in conditions if when))
        return asked & self.descriptor.says.keys()

    def _paths(self, part: str, world: World) -> list[str]:
        """The layouts that apply; what this descriptor lacks is the least that others have."""
        return path_of(self.specification.layouts, part, {**self._rest, **world})

    @cached_property
    def _rest(self) -> dict[str, int]:
        return {name: values[0] for name, values in path_values(self.specification.descriptors).items()}

    def _worlds(self, asked: set[str] | frozenset[str], told: Mapping[str, int]) -> list[World]:
        """Every world that goes with what is told, over the fields that are behind some names."""
        return list(self._each_world(asked, told))

    @cached_property
    def _says(self) -> Mapping[str, _WorldFormula]:
        return {name: _WorldFormula.of(tree) for name, tree in said_trees(self.descriptor).items()}

    @cached_property
    def _rules(self) -> list[_WorldFormula]:
        """The rules that hold for every version and target."""
        return [
            _WorldFormula.of(rule_tree(self.descriptor, rule))
            for rule in self.descriptor.rules
            if rule.lifted is None and rule.only is None
        ]

    @cached_property
    def _domains(self) -> dict[str, list[int]]:
        """By field, the values that the word has, or that the rules about it alone let it have."""
        if self.word is not None:
            return {name: [value] for name, value in self.word.items()}
        found = {}
        for name, own in field_names(self.descriptor).items():
            alone = [r for r in self._rules if own in r.names and {*r.names} <= {own, *self.settings}]
            values = values_of(self.descriptor.fields[name])
            found[own] = [v for v in values if all(rule.at({**self.settings, own: v}) for rule in alone)]
        return found

    def _each_world(self, asked: set[str] | frozenset[str], told: Mapping[str, int]) -> Iterator[World]:
        wanted = {used for n in asked for used in (self._says[n].names if n in self._says else (n,))}
        sure = {name: values[0] for name, values in self._domains.items() if len(values) == 1}
        open_ = [name for name in self._domains if name in wanted and name not in sure]
        known = {*self.settings, *sure, *open_}
        rules = self._rules if self.word is None else []
        tied = [rule for rule in rules if {*rule.names} <= known and not set(open_).isdisjoint(rule.names)]
        said = {name: formula for name, formula in self._says.items() if {*formula.names} <= known}
        for values in itertools.product(*(self._domains[name] for name in open_)):
            world = {**self.settings, **sure, **dict(zip(open_, values, strict=True))}
            if all(rule.at(world) for rule in tied):
                world |= {name: formula.at(world) for name, formula in said.items()}
                if all(world.get(name) == value for name, value in told.items()):
                    yield world


class _WorldFormula(NamedTuple):
    """A formula as a function, with the names that it reads."""

    names: tuple[str, ...]
    function: Callable[..., int]

    @classmethod
    def of(cls, tree: Expression) -> _WorldFormula:
        reads = tuple(sorted(names(tree)))
        return cls(reads, compiled(tree, reads))

    def at(self, world: World) -> int:
        return self.function(*[world[name] for name in self.names])


def placed_part(specification: Specification, variant: Variant, name: str) -> str | None:
    """The part that a name of a part or of an operand means, where it may lie in tensor memory; else None."""
    operand = variant.instruction.operands.get(name)
    if operand is not None and operand.space != TENSOR_MEMORY:
        return None
    part = str(operand.part) if operand is not None else name
    return part if part in placed_parts(specification.layouts, variant) else None


def described_product(
    specification: Specification, variant: Variant, word: int | None = None
) -> DescribedProduct:
    """A product that takes an instruction descriptor, with the word where it is given.

    Raises Question where the mnemonic takes none, or none that is known, and for a word that is not legal.
    """
    operand = next((o for o in variant.instruction.operands.values() if o.word is not None), None)
    if operand is None:
        raise Question(f"{variant.mnemonic} takes no instruction descriptor")
    kind = descriptor_of(operand, variant)
    if kind is None:
        raise Question(
            f"the instruction descriptor of {variant.mnemonic} is not known, so where its matrices lie is not"
        )
    descriptor = specification.descriptors[kind]
    settings = settings_of(operand, variant, descriptor)
    fields = None
    if word is not None:
        verdict = judge_word(descriptor, word, settings, holding(specification.judge()))
        if not verdict:
            first, *more = (reason.message for reason in verdict.reasons)
            beside = f" (and {counted(len(more), 'reason')} more)" if more else ""
            raise Question(
                f"{word:#x} is not an instruction descriptor of {variant.mnemonic}: {first}{beside}"
            )
        own = field_names(descriptor)
        fields = {own[name]: value for name, value in verdict.fields.items()}
    return DescribedProduct(specification, variant, descriptor, settings, fields)


def placed_layouts(specification: Specification, view: RowView, known: PlacedLayouts) -> list[str]:
    """The layouts that parts of a row's products may have in tensor memory; `known` keeps what was found."""
    found: dict[str, None] = {}
    operand = next((o for o in view.family.instruction.operands.values() if o.word is not None), None)
    if operand is None:
        return []
    for variant in view.variants():
        kind = descriptor_of(operand, variant)
        if kind is None:
            continue
        product = described_product(specification, variant)
        for part in placed_parts(specification.layouts, variant):
            key = kind, tuple(product.settings.items()), part
            if key not in known:
                known[key] = tuple(product.possible(part))
            found.update(dict.fromkeys(known[key]))
    return list(found)
