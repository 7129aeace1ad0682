"""Gates: since which version, until which, on which targets; their conjunction is the effective gate."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from .errors import Question, SpecError
from .index import Index
from .model import Gate
from .nodes import Version, nearest
from .special_registers import late_registers, special_types

__all__ = ["EffectiveGate", "Isa"]

# What people write before the number of a target.
_PREFIX = re.compile(r"^(?:\.?target\s+)?(?:sm|compute)?[\s_.-]*")


@dataclass(frozen=True)
class EffectiveGate:
    """When and where a form is legal: the conjunction of every gate that applies.

    `targets` maps each admitted target to the version from which the form is legal on it;
    `since` is the least of them. An empty `targets` means that nothing satisfies the gates.
    """

    since: Version
    deprecated: Version | None
    removed: Version | None
    targets: tuple[tuple[str, Version], ...]

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[type[EffectiveGate], tuple[object, ...]]:
        """Without what was derived: texts have another hash in another process."""
        return EffectiveGate, (self.since, self.deprecated, self.removed, self.targets)

    @cached_property
    def _hash(self) -> int:
        return hash((self.since, self.deprecated, self.removed, self.targets))

    def __repr__(self) -> str:
        return f"EffectiveGate({self.versions}, on {len(self.targets)} targets)"

    @property
    def versions(self) -> str:
        """The versions in words: `since 6.0, deprecated 6.4`. What is removed cannot be deprecated later."""
        removed, deprecated = self.removed, self.deprecated
        words = f"since {self.since}"
        if deprecated is not None and (removed is None or deprecated < removed):
            words += f", deprecated {deprecated}"
        return words if removed is None else f"{words}, removed {removed}"

    @property
    def satisfiable(self) -> bool:
        return bool(self.targets) and (self.removed is None or self.since < self.removed)

    @cached_property
    def begins(self) -> Mapping[str, Version]:
        """The version from which the form is legal, by target."""
        return dict(self.targets)

    def opens(self, version: Version, target: str) -> bool:
        """Whether the form is legal under a version and on a target."""
        since = self.begins.get(target)
        return since is not None and since <= version and (self.removed is None or version < self.removed)


class Isa:
    """The versions and targets of specs.yaml, and how gates combine over them."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self._known: dict[tuple[Gate, ...], EffectiveGate] = {}
        # By the identities of the gates, which are kept with the answer: the hash of a gate takes long.
        self._same: dict[tuple[int, ...], tuple[tuple[Gate, ...], EffectiveGate]] = {}
        self._closures: dict[str, frozenset[str]] = {}
        self.versions = (*index.earlier, *(release.ptx for release in index.releases))
        self._named = {str(version): version for version in self.versions}
        for name, target in index.targets.items():
            for included in target.includes:
                if included not in index.targets:
                    raise SpecError(
                        f"the target {name} includes the unknown {included!r}",
                        target.place,
                        nearest(included, index.targets),
                    )
        for name in index.targets:
            self._check_acyclic(name, ())
        self.including = {name: self._including(name) for name in index.targets}
        for name in index.targets:
            self._check_direct(name)

    def _check_direct(self, name: str) -> None:
        """Raise SpecError where a target includes one that another of its targets includes already."""
        target = self.index.targets[name]
        for included in target.includes:
            others = [other for other in target.includes if other != included]
            by = next((other for other in others if included in self._closure(other)), None)
            if by is not None:
                what = f"{name} includes {included}, which {by} includes already"
                raise SpecError(what, target.place, "only targets that no other one there includes")

    @cached_property
    def special_types(self) -> Mapping[str, str]:
        """The type of every special register, and of every component of one, by its text."""
        return special_types(self.index)

    @cached_property
    def late_registers(self) -> Mapping[str, EffectiveGate]:
        """The gate of every special register that has one, and of its components, by its text."""
        return {text: self.effective([gate]) for text, gate in late_registers(self.index).items()}

    def _check_acyclic(self, name: str, inside: tuple[str, ...]) -> None:
        """Raise SpecError where a target includes itself, directly or by way of others."""
        target = self.index.targets[name]
        if name in inside:
            way = " includes ".join((*inside[inside.index(name) :], name))
            raise SpecError(f"a target includes itself: {way}", target.place, "targets with fewer features")
        for included in target.includes:
            self._check_acyclic(included, (*inside, name))

    def _closure(self, name: str) -> frozenset[str]:
        if name not in self._closures:
            found, rest = {name}, [name]
            while rest:
                more = [one for one in self.index.targets[rest.pop()].includes if one not in found]
                found.update(more)
                rest += more
            self._closures[name] = frozenset(found)
        return self._closures[name]

    def _including(self, name: str) -> frozenset[str]:
        return frozenset(other for other in self.index.targets if name in self._closure(other))

    @cached_property
    def older_names(self) -> Mapping[str, str]:
        """By target, the name that it had before a version renamed it."""
        return {t.renamed.to: name for name, t in self.index.targets.items() if t.renamed}

    def name_note(self, target: str, ptx: Version) -> str | None:
        """What a target is named under a version, where that is another name; None where it is not."""
        targets = self.index.targets
        renamed, older = targets[target].renamed, self.older_names.get(target)
        if renamed and renamed.since <= ptx:
            return f"{target} is renamed {renamed.to} since PTX ISA {renamed.since}"
        if older and targets[older].since <= ptx < targets[target].since:
            return f"{target} is the name since PTX ISA {targets[target].since}; before, it is {older}"
        return None

    def version(self, text: str) -> Version:
        """A known PTX ISA version; raises Question with the nearest."""
        if text in self._named:
            return self._named[text]
        try:
            wanted = Version.of(text)
        except SpecError as error:
            raise Question(f"{error.what}; write it like 8.4") from None
        if wanted not in self.versions:
            known = ", ".join(map(str, self.versions))
            raise Question(f"PTX ISA {text} is not known; known are {known}")
        return wanted

    def target(self, text: str) -> str:
        """A known target; raises Question with the one that is only written otherwise, or with all."""
        if text not in self.index.targets:
            meant = f"sm_{_PREFIX.sub('', text.strip().lower())}"
            if meant in self.index.targets:
                raise Question(f"the target {text!r} is not known; did you mean {meant}?")
            raise Question(f"the target {text!r} is not known; known are {', '.join(self.index.targets)}")
        return text

    def admitted(self, gate: Gate) -> frozenset[str]:
        """Every target that a single gate admits."""
        if gate.targets == ("any",):
            return frozenset(self.index.targets)
        admitted: set[str] = set()
        for name in gate.targets:
            if name not in self.index.targets:
                raise SpecError(
                    f"the gate names the unknown target {name!r}",
                    gate.place,
                    nearest(name, self.index.targets) or "a target of specs.yaml",
                )
            admitted |= self.including[name]
        return frozenset(admitted)

    def effective(self, gates: Iterable[Gate]) -> EffectiveGate:
        """The conjunction: the latest since, the earliest end, the common targets."""
        key = tuple(gates)
        same = tuple(map(id, key))
        if same not in self._same:
            if key not in self._known:
                self._known[key] = self._effective(key)
            self._same[same] = key, self._known[key]
        return self._same[same][1]

    def _effective(self, gates: tuple[Gate, ...]) -> EffectiveGate:
        since = max(gate.since for gate in gates)
        removed = min((g.removed for g in gates if g.removed), default=None)
        deprecated = min((g.deprecated for g in gates if g.deprecated), default=None)
        common = frozenset.intersection(*(self.admitted(gate) for gate in gates))
        begins = {name: max(since, self.index.targets[name].since) for name in common}
        alive = {name: begin for name, begin in begins.items() if removed is None or begin < removed}
        ordered = tuple((name, alive[name]) for name in self.index.targets if name in alive)
        return EffectiveGate(
            min((begin for _, begin in ordered), default=since), deprecated, removed, ordered
        )
