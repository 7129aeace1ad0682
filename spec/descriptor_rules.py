"""Is a descriptor's word legal? Its fields, settings of the statement, and the rules between them.

A word is judged in one order: reserved bits, each field's values, each rule. What fails first is the reason.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import prod

from .descriptor import fields_of, legal_values, limit, reserved
from .diagnosis import Reason
from .errors import Question
from .expressions import Expression, Number, compiled, names, substitute
from .lazy_dataclass import dataclass
from .memory_records import Descriptor, DescriptorField, DescriptorRule

__all__ = [
    "Refusal",
    "RuleHolds",
    "WordVerdict",
    "assignments",
    "coded_names",
    "count_legal",
    "field_names",
    "judge_word",
    "refusals",
    "rule_tree",
    "said_trees",
    "shown_value",
    "values_of",
]

RuleHolds = Callable[[DescriptorRule], bool]  # whether a rule holds for the version and target in question
Settings = Mapping[str, int]


@dataclass(frozen=True)
class Refusal:
    """A reason to refuse a word, and the rule that gives it; None where a field's own bits do.

    `tolerated`: released compilers write such words.
    """

    reason: Reason
    rule: DescriptorRule | None
    tolerated: bool = False


@dataclass(frozen=True)
class WordVerdict:
    """What a word's fields are, the settings it was judged with, and why it is refused, if it is.

    Of settings that were not given those are taken with which the word is refused for the fewest reasons.
    """

    word: int
    fields: Mapping[str, int]
    settings: Settings
    refusals: tuple[Refusal, ...]

    def __bool__(self) -> bool:
        return not self.refusals

    @property
    def reasons(self) -> tuple[Reason, ...]:
        return tuple(refusal.reason for refusal in self.refusals)


def field_names(descriptor: Descriptor) -> Mapping[str, str]:
    """What rules call each field: its name with _ for -."""
    return {name: name.replace("-", "_") for name in descriptor.fields}


def coded_names(descriptor: Descriptor) -> Mapping[str, int]:
    """What the names of coded values stand for in rules."""
    return {name: code for field in descriptor.fields.values() for name, code in field.values.items()}


def rule_tree(descriptor: Descriptor, rule: DescriptorRule) -> Expression:
    """What a rule states, over fields and settings alone."""
    codes = coded_names(descriptor)
    return substitute(rule.holds.tree, {name: Number(code) for name, code in codes.items()})


def said_trees(descriptor: Descriptor) -> Mapping[str, Expression]:
    """What a descriptor says beside its fields, each over fields and settings alone."""
    bindings: dict[str, Expression] = {n: Number(code) for n, code in coded_names(descriptor).items()}
    found: dict[str, Expression] = {}
    for name, formula in descriptor.says.items():
        found[name] = substitute(formula.tree, {**bindings, **found})
    return found


def shown_value(field: DescriptorField, value: int) -> str:
    """A field's value for a person: by its name, where it has one."""
    return next((name for name, code in field.values.items() if code == value), str(value))


def assignments(descriptor: Descriptor, given: Settings) -> Iterator[Settings]:
    """Every value of the settings that are not given, beside those that are.

    Raises Question for an unknown setting or value.
    """
    for name, value in given.items():
        if name not in descriptor.settings:
            known = ", ".join(descriptor.settings) or "none"
            raise Question(f"the descriptor has no setting {name!r}; it has: {known}")
        allowed = descriptor.settings[name].values
        if value not in allowed:
            raise Question(f"{name}: {value} is not a value; it must be {' or '.join(map(str, allowed))}")
    open_ = {name: scalars.values for name, scalars in descriptor.settings.items() if name not in given}
    for values in itertools.product(*open_.values()):
        yield {**given, **{name: int(value) for name, value in zip(open_, values, strict=True)}}


def refusals(descriptor: Descriptor, word: int, settings: Settings, holds: RuleHolds) -> Iterator[Refusal]:
    """Every reason to refuse a word under settings that are all given, in the order of judgement."""
    extra = reserved(descriptor, word)
    if extra:
        yield Refusal(Reason("descriptor.reserved", extra), None)
    values = fields_of(descriptor, word)
    for name, field in descriptor.fields.items():
        allowed = legal_values(field)
        if allowed is not None and values[name] not in allowed:
            right = " or ".join(f"{shown_value(field, v)}{f' ({v})' * bool(field.values)}" for v in allowed)
            message = f"{name} is {values[name]}; it must be {right}"
            yield Refusal(Reason("descriptor.value", message), None, field.tolerated is not None)
    symbols = {**{name.replace("-", "_"): value for name, value in values.items()}, **settings}
    for rule, reads, function in _compiled(descriptor):
        if not function(*(symbols[name] for name in reads)) and holds(rule):
            shown = [
                f"{name} = {shown_value(field, values[name])}"
                for name, field in descriptor.fields.items()
                if name.replace("-", "_") in reads
            ]
            shown += [f"{name} = {value}" for name, value in settings.items() if name in reads]
            yield Refusal(Reason(f"descriptor.{rule.id}", f"{rule.why} ({', '.join(shown)})"), rule)


_CompiledRule = tuple[DescriptorRule, tuple[str, ...], Callable[..., int]]
# By the identity of a descriptor, which is kept with the answer: its hash takes long.
_rules: dict[int, tuple[Descriptor, tuple[_CompiledRule, ...]]] = {}


def _compiled(descriptor: Descriptor) -> tuple[_CompiledRule, ...]:
    """The rules of a descriptor with the names that each reads, as functions of them."""
    if id(descriptor) not in _rules:
        trees = [(rule, rule_tree(descriptor, rule)) for rule in descriptor.rules]
        reads = [tuple(sorted(names(tree))) for _, tree in trees]
        found = [(rule, own, compiled(tree, own)) for (rule, tree), own in zip(trees, reads, strict=True)]
        _rules[id(descriptor)] = descriptor, tuple(found)
    return _rules[id(descriptor)][1]


def judge_word(descriptor: Descriptor, word: int, given: Settings, holds: RuleHolds) -> WordVerdict:
    """The verdict on a word; settings that are not given may be any. Raises Question for too long a word."""
    if not 0 <= word < 1 << descriptor.bits:
        raise Question(f"{word:#x} is not a {descriptor.bits}-bit word")
    found: tuple[Settings, tuple[Refusal, ...]] | None = None
    for settings in assignments(descriptor, given):
        faults = tuple(refusals(descriptor, word, settings, holds))
        if found is None or len(faults) < len(found[1]):
            found = settings, faults
        if not faults:
            break
    assert found is not None
    return WordVerdict(word, fields_of(descriptor, word), *found)


def values_of(field: DescriptorField) -> Sequence[int]:
    """Every value that a field may have by itself."""
    allowed = legal_values(field)
    return range(0, limit(field) + 1, field.unit) if allowed is None else allowed


def count_legal(descriptor: Descriptor, settings: Settings, holds: RuleHolds) -> int:
    """How many words are legal under settings that are all given.

    Fields that no rule ties are counted apart.
    """
    known = field_names(descriptor)
    numbers = {name: Number(value) for name, value in settings.items()}
    trees = [substitute(rule_tree(descriptor, rule), numbers) for rule in descriptor.rules if holds(rule)]
    domains = {known[name]: list(values_of(field)) for name, field in descriptor.fields.items()}
    tied: list[tuple[tuple[str, ...], Callable[..., int]]] = []
    for tree in trees:
        reads = tuple(sorted(names(tree)))
        function = compiled(tree, reads)
        if not reads:
            if not function():
                return 0
        elif len(reads) == 1:
            domains[reads[0]] = [value for value in domains[reads[0]] if function(value)]
        else:
            tied.append((reads, function))
    return prod(_points(group, domains, tied) for group in _groups(domains, (reads for reads, _ in tied)))


def _groups(known: Iterable[str], ties: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The names in groups: two that a tie has both are in one."""
    groups = [{name} for name in known]
    for tie in ties:
        joined = [group for group in groups if not group.isdisjoint(tie)]
        groups = [group for group in groups if group.isdisjoint(tie)] + [set().union(*joined)]
    return [tuple(sorted(group)) for group in groups]


def _points(
    group: tuple[str, ...],
    domains: Mapping[str, Sequence[int]],
    tied: Iterable[tuple[tuple[str, ...], Callable[..., int]]],
) -> int:
    """How many values of a group of fields satisfy the rules about them."""
    own = [
        (tuple(group.index(name) for name in reads), function)
        for reads, function in tied
        if reads[0] in group
    ]
    return sum(
        all(function(*(point[place] for place in places)) for places, function in own)
        for point in itertools.product(*(domains[name] for name in group))
    )
