"""Ordering rules and the switches that settle how their sentences are read (9.7.15.4, 9.7.15.7)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, TypeVar

from .cache import ROOT, cached, yaml_files
from .errors import Question, SpecError
from .index import read_index
from .nodes import FileName, compose, nearest, structure
from .ordering_records import LitmusFile, LitmusTest, Rule, RuleFile, SynthesisedFile, SynthesisedTest
from .switches import Conduct, ShapeField, Switch, SwitchFile, check_switches

__all__ = ["Ordering", "Readings", "litmus_tests", "ordering", "read", "synthesised_tests"]


Readings = Mapping[str, str]
T = TypeVar("T")


_OF_ACCUMULATORS = frozenset({"same_shape", "fence_orders_shapes"})  # they bear on registers alone


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
        """The settings on which a value can depend; without `registers`, one read from shared memory.

        The other switches decide only whether rules that exist in the text alone apply, or, of shared
        memory, in which order accumulators are written.
        """
        textual = {name for rule in self.rules.values() if rule.effect == "text" for name in rule.under}
        valued = {name for rule in self.rules.values() if rule.effect == "values" for name in rule.under}
        found = {}
        for name, switch in self.switches.items():
            changed = {field for setting in switch.settings.values() for field in setting.machine.settled}
            apart = textual - valued if not changed else ()
            if name not in apart and (registers or not changed or changed - _OF_ACCUMULATORS):
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
    _check_conduct(switches)
    for rule in rules.values():
        for name, setting in rule.under.items():
            if name not in switches or setting not in switches[name].settings:
                raise SpecError(f"there is no reading {name}: {setting}", rule.place, ", ".join(switches))
    return Ordering(rules, switches)


def _check_conduct(switches: Mapping[str, Switch]) -> None:
    """Each field of the machine's conduct is settled by one switch, in all of its settings."""
    owners: dict[str, str] = {}
    for name, switch in switches.items():
        settled = {field for setting in switch.settings.values() for field in setting.machine.settled}
        for field in sorted(settled):
            if field in owners:
                raise SpecError(
                    f"{name} settles {field}, and so does {owners[field]}", switch.place, "one switch a field"
                )
            owners[field] = name
            for key, setting in switch.settings.items():
                if field not in setting.machine.settled:
                    raise SpecError(
                        f"{name}={key} does not settle {field}", setting.place, f"machine: {{{field}: …}}"
                    )
    for conduct_field in fields(Conduct):
        if conduct_field.name not in owners:
            place = next(iter(switches.values())).place
            raise SpecError(f"no switch settles {conduct_field.name}", place, "one switch a field")


def _file(root: Path, named: FileName, wanted: type[T]) -> T:
    return structure(compose(root / named.text, named.text, named.place), wanted, named.text)


@cache
def ordering() -> Ordering:
    """The rules and switches of this package."""
    return cached("ordering", Ordering, read, yaml_files())


def litmus_tests_of(root: Path) -> Mapping[str, LitmusTest]:
    """The litmus tests written by hand under `root`; raises SpecError where the file is wrong."""
    return _file(root, read_index(root).ordering.litmus, LitmusFile).tests


def synthesised_tests_of(root: Path) -> Mapping[str, SynthesisedTest]:
    """The synthesised litmus tests under `root`; raises SpecError where the file is wrong."""
    return _file(root, read_index(root).ordering.synthesised, SynthesisedFile).tests


@cache
def litmus_tests() -> Mapping[str, LitmusTest]:
    """The litmus tests of this package that were written by hand."""
    return litmus_tests_of(ROOT)


@cache
def synthesised_tests() -> Mapping[str, SynthesisedTest]:
    """The synthesised litmus tests of this package."""
    return synthesised_tests_of(ROOT)
