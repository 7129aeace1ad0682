"""Ordering rules and the switches that settle how their sentences are read (9.7.15.4, 9.7.15.7)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, Literal, TypeVar

from .errors import Place, Question, SpecError
from .nodes import compose, nearest, structure

__all__ = [
    "Conduct",
    "LitmusFile",
    "LitmusTest",
    "Ordering",
    "Readings",
    "Rule",
    "RuleFile",
    "Setting",
    "ShapeField",
    "Switch",
    "SwitchFile",
    "SynthesisedFile",
    "SynthesisedTest",
    "litmus_tests",
    "ordering",
    "synthesised_tests",
]

_ROOT = Path(__file__).resolve().parent.parent
_FOLDER = "spec/ordering"

Readings = Mapping[str, str]
T = TypeVar("T")


@dataclass(frozen=True)
class Rule:
    """A named hazard: what the text demands, and whether a value can depend on it.

    It applies under the settings of switches that `under` names (none: always).
    """

    title: str
    says: str
    section: str
    effect: Literal["values", "text"]
    under: Mapping[str, str]
    why: str
    mend: str
    place: Place

    def applies(self, readings: Readings) -> bool:
        """Whether the rule holds under these readings."""
        return all(readings[switch] == setting for switch, setting in self.under.items())


ShapeField = Literal["m", "n", "k", "types"]


@dataclass(frozen=True, slots=True)
class Conduct:
    """How the machine behaves where the text leaves it open; a field that is not settled is None or ().

    The machine is the operational model of formal/ordering/machine.py. Each field belongs to one switch of
    switches.yaml, and every setting of that switch settles it.
    """

    same_shape: tuple[ShapeField, ...] = ()
    fence_orders_shapes: bool | None = None
    empty_groups_count: bool | None = None
    proxy_fence_covers_all: bool | None = None
    wait_covers_all: bool | None = None

    @property
    def settled(self) -> Mapping[str, object]:
        """The fields that have a value."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value not in (None, ())}


_OF_ACCUMULATORS = frozenset({"same_shape", "fence_orders_shapes"})  # they bear on registers alone


@dataclass(frozen=True)
class Setting:
    """One reading of a sentence: in words, and as what it settles of the machine's conduct."""

    says: str
    machine: Conduct
    place: Place


@dataclass(frozen=True)
class Switch:
    """A question that the text leaves open; `default` and `strict` are among its settings."""

    question: str
    section: str
    settings: Mapping[str, Setting]
    default: str
    strict: str
    why: str
    place: Place


@dataclass(frozen=True)
class LitmusTest:
    """A hand-written test: a program in the notation of formal/ordering/programs.py, and what it deserves.

    `hazards` are the rules it breaks under the default readings, in order of the steps that close them;
    `under` those that it breaks with one `switch=setting` other than the default, where that differs.
    """

    title: str
    source: str
    program: tuple[str, ...]
    hazards: tuple[str, ...]
    why: str
    under: Mapping[str, tuple[str, ...]]
    place: Place


@dataclass(frozen=True)
class SynthesisedTest:
    """A test of formal/ordering/synthesis.py: the rules its program breaks under the default readings."""

    program: str
    hazards: tuple[str, ...]


@dataclass(frozen=True)
class RuleFile:
    """spec/ordering/rules.yaml."""

    rules: Mapping[str, Rule]


@dataclass(frozen=True)
class SwitchFile:
    """spec/ordering/switches.yaml."""

    switches: Mapping[str, Switch]


@dataclass(frozen=True)
class LitmusFile:
    """spec/ordering/litmus.yaml."""

    tests: Mapping[str, LitmusTest]


@dataclass(frozen=True)
class SynthesisedFile:
    """spec/ordering/synthesised.yaml, which `ptxmma litmus --synthesise` prints."""

    tests: Mapping[str, SynthesisedTest]


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
        return _joined(self.switches[name].settings[setting] for name, setting in chosen.items())

    def same_shape(self, readings: Readings) -> tuple[ShapeField, ...]:
        """The fields in which two shapes must agree to be the same, under some readings."""
        return self.switches["same-shape"].settings[readings["same-shape"]].machine.same_shape

    def conducts(self) -> tuple[Conduct, ...]:
        """Every conduct that some combination of settings gives."""
        combinations = product(*(switch.settings.values() for switch in self.switches.values()))
        return tuple(dict.fromkeys(map(_joined, combinations)))

    @staticmethod
    def _must_know(kind: str, name: str, known: Mapping[str, object]) -> None:
        if name not in known:
            guess = nearest(name, known) or ", ".join(known)
            raise Question(f"there is no {kind} {name!r}; right would be: {guess}")


def _joined(settings: Iterable[Setting]) -> Conduct:
    values: dict[str, Any] = {}
    for setting in settings:
        values |= setting.machine.settled
    return Conduct(**values)


def read(root: Path = _ROOT) -> Ordering:
    """Read and check the rules and switches under `root`; raises SpecError where they are wrong."""
    switches = _file(root, "switches.yaml", SwitchFile).switches
    rules = _file(root, "rules.yaml", RuleFile).rules
    for name, switch in switches.items():
        for setting in (switch.default, switch.strict):
            if setting not in switch.settings:
                raise SpecError(
                    f"{name} has no setting {setting!r}", switch.place, ", ".join(switch.settings)
                )
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


def _file(root: Path, name: str, wanted: type[T]) -> T:
    shown = f"{_FOLDER}/{name}"
    return structure(compose(root / shown, shown), wanted, shown)


@cache
def ordering() -> Ordering:
    """The rules and switches of this package."""
    return read()


@cache
def litmus_tests() -> Mapping[str, LitmusTest]:
    """The hand-written litmus tests."""
    return _file(_ROOT, "litmus.yaml", LitmusFile).tests


@cache
def synthesised_tests() -> Mapping[str, SynthesisedTest]:
    """The synthesised litmus tests."""
    return _file(_ROOT, "synthesised.yaml", SynthesisedFile).tests
