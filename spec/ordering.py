"""The ordering rules, and the readings of the text that switches choose between (9.7.15.4, 9.7.15.7)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, TypeVar

from .cache import ROOT, cached, yaml_files
from .errors import Place, Question, SpecError
from .index import read_index
from .lazy_dataclass import dataclass
from .nodes import FileName, compose, nearest, structure
from .ordering_records import (
    PHASE_RACES,
    PHASE_RULES,
    RULES,
    LitmusFile,
    LitmusTest,
    PhaseFile,
    PhaseRule,
    Rule,
    RuleFile,
    SynthesisedFile,
    SynthesisedTest,
)
from .switches import SWITCHES, Conduct, ShapeField, Switch, SwitchFile, check_conduct, check_switches

__all__ = ["Ordering", "Readings", "litmus_tests", "ordering", "phases", "read", "synthesised_tests"]


Readings = Mapping[str, str]
T = TypeVar("T")


# The fields of a conduct that order the writes of accumulators; shared memory does not depend on them.
_REGISTERS_ALONE = frozenset({"same_shape", "fence_orders_shapes"})


@dataclass(frozen=True)
class Ordering:
    """Every rule and every switch, checked against each other."""

    rules: Mapping[str, Rule]
    switches: Mapping[str, Switch]

    @property
    def default(self) -> Readings:
        """The default setting of every switch."""
        return {name: switch.default for name, switch in self.switches.items()}

    @property
    def strict(self) -> Readings:
        """The setting of every switch that allows least."""
        return {name: switch.strict for name, switch in self.switches.items()}

    def readings(self, chosen: Mapping[str, str]) -> Readings:
        """The default readings with some switches set; raises Question for an unknown switch or setting."""
        for name, setting in chosen.items():
            self._must_know("switch", name, self.switches)
            self._must_know(f"setting of {name}", setting, self.switches[name].settings)
        return {**self.default, **chosen}

    def every(self) -> Mapping[str, Readings]:
        """The readings that theorems are asked under: all default, all strict, each other setting alone."""
        found = {"default": self.default, "strict": self.strict}
        for name, switch in self.switches.items():
            for setting in switch.settings:
                if setting != switch.default:
                    found[f"{name}={setting}"] = self.readings({name: setting})
        return found

    def bearing(self, readings: Readings, registers: bool = True) -> Readings:
        """The settings that values depend on; without `registers`, those that values in shared memory depend
        on.

        The other switches decide only whether a rule with an effect on the text alone applies, or (of shared
        memory) in which order accumulators are written.
        """
        of_text = {name for rule in self.rules.values() if rule.effect == "text" for name in rule.under}
        of_values = {name for rule in self.rules.values() if rule.effect == "values" for name in rule.under}
        found = {}
        for name, switch in self.switches.items():
            settled = {field for setting in switch.settings.values() for field in setting.machine.settled}
            text_alone = not settled and name in of_text - of_values
            registers_alone = bool(settled) and settled <= _REGISTERS_ALONE
            if not text_alone and (registers or not registers_alone):
                found[name] = readings[name]
        return found

    def conduct(self, readings: Readings | None = None) -> Conduct:
        """The machine's conduct under some readings (None: the default ones)."""
        chosen = self.default if readings is None else readings
        return _joined(self.switches[name].settings[setting].machine for name, setting in chosen.items())

    def same_shape(self, readings: Readings) -> tuple[ShapeField, ...]:
        """The fields in which two shapes must agree to be the same, under some readings."""
        return self.switches["same-shape"].settings[readings["same-shape"]].machine.same_shape

    def conducts(self) -> tuple[Conduct, ...]:
        """Every conduct that some combination of settings gives."""
        settings = (switch.settings.values() for switch in self.switches.values())
        conducts = (dict.fromkeys(setting.machine for setting in some) for some in settings)
        return tuple(dict.fromkeys(map(_joined, product(*conducts))))

    @staticmethod
    def _must_know(kind: str, name: str, known: Mapping[str, object]) -> None:
        if name not in known:
            guess = nearest(name, known) or ", ".join(known)
            raise Question(f"there is no {kind} {name!r}; right would be: {guess}")


def _joined(parts: Iterable[Conduct]) -> Conduct:
    values: dict[str, Any] = {}
    for part in parts:
        values |= part.settled
    return Conduct(**values)


def read(root: Path = ROOT) -> Ordering:
    """Read and check the rules and switches under `root`; raises SpecError where they are wrong."""
    files = read_index(root).ordering
    switches = _file(root, files.switches, SwitchFile).switches
    rules = _file(root, files.rules, RuleFile).rules
    check_switches(switches)
    check_conduct(switches)
    _must_be(files.switches, "switch", SWITCHES, switches)
    _must_be(files.rules, "rule", RULES, rules)
    for rule in rules.values():
        for name, setting in rule.under.items():
            if name not in switches or setting not in switches[name].settings:
                raise SpecError(f"there is no reading {name}: {setting}", rule.place, ", ".join(switches))
    return Ordering(rules, switches)


def _must_be(
    file: FileName, kind: str, wanted: Sequence[str], written: Mapping[str, Rule | Switch | PhaseRule]
) -> None:
    """Raise SpecError where a rule or switch is missing that the models look for, or one that they do not."""
    for name in wanted:
        if name not in written:
            what = f"the {kind} {name!r} is missing, and the models look for it"
            raise SpecError(what, Place(file.text, 1, 1), f"{name}: …")
    for name, record in written.items():
        if name not in wanted:
            right = nearest(name, wanted) or ", ".join(wanted)
            raise SpecError(f"the models know no {kind} {name!r}", record.place, right)


def _file(root: Path, named: FileName, wanted: type[T]) -> T:
    return structure(compose(root / named.text, named.text, named.place), wanted, named.text)


@cache
def ordering() -> Ordering:
    """The rules and switches of this package."""
    return cached("ordering", Ordering, read, yaml_files())


def litmus_tests_of(root: Path) -> Mapping[str, LitmusTest]:
    """The litmus tests written by hand under `root`; raises SpecError where the file is wrong."""
    tests = _file(root, read_index(root).ordering.litmus, LitmusFile).tests
    _check_tests(tests, ordering() if root == ROOT else read(root))
    return tests


def _check_tests(tests: Mapping[str, LitmusTest], known: Ordering) -> None:
    """The rules and settings that tests name exist, and a setting is named where it changes something."""
    settings = {name for name in known.every() if "=" in name}
    for test in tests.values():
        for listed in (test.hazards, *test.under.values()):
            for name in listed:
                if name not in known.rules:
                    right = nearest(name, known.rules) or ", ".join(known.rules)
                    raise SpecError(f"there is no rule {name!r}", test.place, right)
        for name, listed in test.under.items():
            if name not in settings:
                what = f"{name!r} is not a setting of a switch beside its default"
                raise SpecError(what, test.place, nearest(name, settings) or ", ".join(sorted(settings)))
            if listed == test.hazards:
                what = f"the test breaks the same rules under {name} as without it"
                raise SpecError(what, test.place, f"no entry for {name}")


def synthesised_tests_of(root: Path) -> Mapping[str, SynthesisedTest]:
    """The synthesised litmus tests under `root`; raises SpecError where the file is wrong."""
    return _file(root, read_index(root).ordering.synthesised, SynthesisedFile).tests


def phases_of(root: Path) -> PhaseFile:
    """The rules and litmus tests of barriers with phases under `root`; raises SpecError where the file is
    wrong.
    """
    named = read_index(root).ordering.phases
    found = _file(root, named, PhaseFile)
    _must_be(named, "rule", PHASE_RULES, found.rules)
    known = (*PHASE_RULES, *PHASE_RACES)
    for test in found.tests.values():
        for name in test.hazards:
            if name not in known:
                right = nearest(name, known) or ", ".join(known)
                raise SpecError(f"there is no rule {name!r} of phases", test.place, right)
        if list(test.hazards) != sorted(set(test.hazards)):
            right = ", ".join(sorted(set(test.hazards)))
            raise SpecError("the rules stand in another order than that of the alphabet", test.place, right)
    return found


@cache
def phases() -> PhaseFile:
    """The rules and litmus tests of barriers with phases of this package."""
    return phases_of(ROOT)


@cache
def litmus_tests() -> Mapping[str, LitmusTest]:
    """The litmus tests of this package that were written by hand."""
    return litmus_tests_of(ROOT)


@cache
def synthesised_tests() -> Mapping[str, SynthesisedTest]:
    """The synthesised litmus tests of this package."""
    return synthesised_tests_of(ROOT)
