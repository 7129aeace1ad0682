"""Questions about the rules: do they say all, can each be broken, and is the strict reading strict?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, partial
from itertools import product

from ....spec.ordering import Ordering, Readings, ordering
from ....spec.ordering_records import RULES
from ...smt.obligations import Model, Obligation, refuting
from ...smt.terms import And, Bool, BoolVal, Not, Or, Term, narrowed
from ..axioms import hazards
from ..programs import Mma, Program
from .axioms import SymbolicAxioms
from .program import SymbolicProgram, any_of, wellformed
from .questions import FIRST_STEPS, LENGTH
from .rules import PENDING, RuleFormulas

__all__ = ["FIRST_FENCE", "rule_obligations", "strict_obligations"]

FIRST_FENCE = "first-fence"  # about one step, and what was in its registers before the program
_WAIT_SCOPE, _SHAPE, _RESHAPED = "wait-scope", "same-shape", "reshaped-accumulator"
_EMPTY, _PROXY, _UNWAITED = "empty-groups", "proxy-fence-side", "unwaited-store"
_BEARING: Mapping[str, tuple[str, ...]] = {
    "registers": (_SHAPE, _RESHAPED, _WAIT_SCOPE),
    "shared memory": (_PROXY, _WAIT_SCOPE),
}


class _RuleQuestions:
    """The formulas about programs of `length` steps, made once for each reading."""

    def __init__(self, rules: Ordering, length: int) -> None:
        self.rules = rules
        self.s = SymbolicProgram(length)
        self.last = length - 1
        self.formulas = cache(self._formulas)

    def _formulas(
        self, settings: tuple[tuple[str, str], ...], counts: bool | None, lasting: bool | None
    ) -> RuleFormulas:
        """The rules under some settings; whether empty groups count, and whether a block lasts for its bulk
        stores (None: as the solver likes).
        """
        readings = {**self.rules.default, **dict(settings)}
        term = Bool("empty_groups_count") if counts is None else BoolVal(counts)
        lasts = Bool("block_lasts") if lasting is None else BoolVal(lasting)
        return RuleFormulas(SymbolicAxioms(self.s, readings, term, lasts), readings)

    def under(self, subject: str, readings: Readings, any_end: bool = False) -> RuleFormulas:
        """The rules under readings; `any_end`: whether a block lasts is as the solver likes."""
        settings = tuple((name, readings[name]) for name in _BEARING[subject])
        lasting = None if any_end else readings[_UNWAITED] == "free"
        return self.formulas(settings, readings[_EMPTY] == "count", lasting)

    def broken(self, subject: str, formulas: RuleFormulas) -> Mapping[str, Term]:
        """By rule, whether the first and the last step break it."""
        asked = formulas.of_registers if subject == "registers" else formulas.of_memory
        return asked(0, self.last)

    def hazard(self, subject: str, formulas: RuleFormulas) -> Term:
        """The axioms' verdict on the first and the last step."""
        axioms = formulas.axioms
        return (axioms.register_hazard if subject == "registers" else axioms.memory_hazard)(0, self.last)

    def every(self, subject: str) -> Iterator[RuleFormulas]:
        """The rules under every combination of settings that bears on a subject."""
        switches = [self.rules.switches[name].settings for name in _BEARING[subject]]
        for chosen in product(*switches):
            yield self.formulas(tuple(zip(_BEARING[subject], chosen, strict=True)), None, None)


def _applying(rules: Ordering, broken: Mapping[str, Term], readings: Readings | None) -> Term:
    """Some rule is broken that applies under some readings; None: under whatever readings."""
    found = []
    for name, formula in broken.items():
        rule = rules.rules.get(name)
        if rule is not None and (readings is None or rule.applies(readings)):
            found.append(formula)
    return any_of(found)


def strict_obligations(length: int = LENGTH) -> Iterator[Obligation]:
    """A hazard under any reading, on values or on the text alone, is one under the strict settings."""
    rules = ordering()
    questions = _RuleQuestions(rules, length)

    @cache
    def text(subject: str) -> str:
        strict = questions.broken(subject, questions.under(subject, rules.strict))
        every = (questions.broken(subject, formulas) for formulas in questions.every(subject))
        some = [_applying(rules, broken, None) for broken in every]
        return refuting(wellformed(questions.s), Or(*some), Not(_applying(rules, strict, rules.strict)))

    def asked(subject: str, kind: type) -> str:
        return narrowed(text(subject), questions.s.is_a(0, kind))

    def explain(model: Model) -> str:
        return _not_strict(rules, questions.s.program(model))

    for subject, kinds in FIRST_STEPS.items():
        for kind in kinds:
            title = f"{subject}, {kind.__name__} first, {length} steps"
            yield Obligation("ordering.strict", title, partial(asked, subject, kind), explain)


def _not_strict(rules: Ordering, program: Program) -> str:
    """Each setting that forbids, alone beside the strict ones, what these allow; and the program."""
    found: dict[str, str] = {}
    places = []
    for name, switch in rules.switches.items():
        for setting in switch.settings:
            broken = [
                hazard.rule
                for hazard in hazards(program, {**rules.strict, name: setting})
                if (hazard.steps[0], hazard.steps[-1]) == (0, len(program) - 1)
            ]
            if broken:
                found[f"{name}={setting}"] = broken[0]
                places.append(switch.place)
    said = ", ".join(f"{setting} has the hazard {rule}" for setting, rule in found.items())
    where = f"{places[0]}: " if places else ""
    return f"{where}{said or 'some reading has a hazard'}; the settings called strict have none: {program}"


def rule_obligations(length: int = LENGTH) -> Iterator[Obligation]:
    """The rules on values say together what the axioms forbid, none too many; and each can be broken."""
    rules = ordering()
    questions = _RuleQuestions(rules, length)

    def unexplained(subject: str) -> str:
        formulas = questions.under(subject, rules.default, any_end=True)
        broken = questions.broken(subject, formulas)
        said = []
        waited = formulas.waited(0, questions.last)
        for name, formula in broken.items():
            rule = rules.rules.get(name)
            if rule is not None and rule.effect == "values":
                # Where a wait stands between, the rule about the wait must say why it does not help.
                said.append(And(formula, Not(waited)) if name in PENDING else formula)
        return refuting(wellformed(questions.s), questions.hazard(subject, formulas) != any_of(said))

    def explain(model: Model) -> str:
        return f"{_file(rules)}: the rules and the axioms disagree about: {questions.s.program(model)}"

    for subject in FIRST_STEPS:
        title = f"{subject}, {length} steps"
        yield Obligation("ordering.rules", title, partial(unexplained, subject), explain)
    for name in dict.fromkeys((*RULES, *rules.rules)):
        yield Obligation(
            "ordering.broken",
            name,
            partial(_can_be_broken, questions, rules, name),
            partial(_never_broken, rules, name),
            expects="sat",
        )


def _can_be_broken(questions: _RuleQuestions, rules: Ordering, name: str) -> str:
    """A program whose first and last step break a rule under readings under which it applies."""
    rule = rules.rules.get(name)
    if rule is None:
        return refuting(BoolVal(False))
    s = questions.s
    if name == FIRST_FENCE:
        return refuting(wellformed(s), s.is_a(0, Mma))
    readings = {**rules.default, **rule.under}
    for subject in FIRST_STEPS:
        formulas = questions.under(subject, readings)
        broken = questions.broken(subject, formulas)
        if name in broken:
            alone = Not(questions.hazard(subject, formulas)) if rule.effect == "text" else BoolVal(True)
            return refuting(wellformed(s), broken[name], alone)
    return refuting(BoolVal(False))


def _file(rules: Ordering) -> str:
    return next(iter(rules.rules.values())).place.file


def _never_broken(rules: Ordering, name: str, _: Model) -> str:
    if name not in rules.rules:
        return f"{_file(rules)}: the models name the rule {name}, which is not there"
    return f"{rules.rules[name].place}: no program breaks the rule {name}, or it changes values"
