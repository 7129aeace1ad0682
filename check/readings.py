"""Under which readings of the text a program is undefined, and what settling them leaves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING

from ..spec.errors import Question
from ..spec.ordering import ordering
from ..spec.ordering_records import Rule
from ..spec.switches import Switch
from .findings import EVERYWHERE, READING, Finding, Undefined

if TYPE_CHECKING:
    from ..formal.ordering.programs import Program

__all__ = ["LETTER", "chosen_readings", "known_switches", "settled", "shown", "undefined"]

LETTER: Undefined = ((("letter", "undefined"),),)  # only if the text is read by its letter
_Chosen = Mapping[str, str]
_Bearing = tuple[tuple[str, tuple[str, ...]], ...]  # switches and their settings


def known_switches() -> Mapping[str, Switch]:
    """Every switch that findings name: of ordering, of sparse metadata, and the checker's own."""
    from ..spec.api import load
    from .rule_texts import rule_texts  # slow to import, and few commands name the switches

    return {**ordering().switches, **load().switches, **rule_texts().switches}


def chosen_readings(words: Iterable[str]) -> dict[str, str]:
    """The settings that `NAME=SETTING` words choose; raises Question for one that does not exist."""
    found: dict[str, str] = {}
    for word in words:
        name, equals, setting = word.partition("=")
        if not equals:
            raise Question(f"{word!r} is not NAME=SETTING, as `wait-scope=warpgroup`")
        switches = known_switches()
        _must_know("switch", name, switches)
        _must_know(f"setting of {name}", setting, switches[name].settings)
        if found.setdefault(name, setting) != setting:
            raise Question(f"{name} is settled twice: {found[name]} and {setting}")
    return found


def _must_know(kind: str, name: str, known: Iterable[str]) -> None:
    from ..spec.nodes import nearest

    names = list(known)
    if name not in names:
        raise Question(
            f"there is no {kind} {name!r}; right would be: {nearest(name, names) or ', '.join(names)}"
        )


@lru_cache(maxsize=1 << 12)
def undefined(program: Program) -> Mapping[str, Undefined]:
    """By rule: the readings under which the last step of a program closes a hazard that breaks the rule.

    The first rule is the one to report: a hazard on values comes before one on the text, and of two such
    the one under more readings.
    """
    from ..formal.ordering.axioms import closing  # most files have no hazard

    known = ordering()
    text = {name for rule in known.rules.values() for name in rule.under}
    strict = {name: known.strict[name] for name in text}
    names = [name for name, switch in known.switches.items() if name not in text and _steers(switch)]
    bearing = {name: tuple(known.switches[name].settings) for name in names}
    found: dict[str, list[_Chosen]] = {}
    for settings in product(*bearing.values()):
        chosen = dict(zip(bearing, settings, strict=True))
        for rule in dict.fromkeys(
            hazard.rule for hazard in closing(program, {**known.default, **strict, **chosen})
        ):
            found.setdefault(rule, []).append(chosen)
    values = [
        chosen for rule, all_ in found.items() if known.rules[rule].effect == "values" for chosen in all_
    ]
    order = sorted(found, key=lambda rule: (known.rules[rule].effect != "values", -len(found[rule])))
    return {
        rule: _alternatives(
            known.rules[rule], values if known.rules[rule].effect == "values" else found[rule], bearing
        )
        for rule in order
    }


def _steers(switch: Switch) -> bool:
    """Whether a switch settles something of the machine's conduct."""
    return any(setting.machine.settled for setting in switch.settings.values())


def _alternatives(rule: Rule, chosen: list[_Chosen], bearing: Mapping[str, tuple[str, ...]]) -> Undefined:
    """The readings as few alternatives: a setting stands in one only if another would change the answer."""
    points = frozenset(tuple(one[name] for name in bearing) for one in chosen)
    found = _fewest(points, tuple(bearing.items()))
    under = tuple(rule.under.items())
    if rule.effect == "text" and not under:
        under = LETTER[0]
    return tuple((*one, *under) for one in found)


@lru_cache(maxsize=1 << 10)
def _fewest(
    points: frozenset[tuple[str, ...]], bearing: tuple[tuple[str, tuple[str, ...]], ...]
) -> Undefined:
    """Alternatives that cover these points, and no other; programs are many, and sets of points are few."""
    found: dict[tuple[tuple[str, str], ...], None] = {}
    for point in sorted(points):
        kept = list(range(len(bearing)))
        for position in range(len(bearing)):
            without = [k for k in kept if k != position]
            if all(other in points for other in _agreeing(point, without, bearing)):
                kept = without
        found[tuple((bearing[k][0], point[k]) for k in kept)] = None
    return tuple(found)


def _agreeing(point: tuple[str, ...], kept: list[int], bearing: _Bearing) -> Iterator[tuple[str, ...]]:
    """The points that agree with one in the kept coordinates."""
    return product(*((point[k],) if k in kept else values for k, (_, values) in enumerate(bearing)))


def settled(finding: Finding, chosen: _Chosen) -> Finding | None:
    """The finding once some switches are settled; None if it does not hold then.

    Its tier is READING as long as a setting that is open decides.
    """
    if finding.readings == EVERYWHERE:
        return finding
    left: dict[tuple[tuple[str, str], ...], None] = {}
    for alternative in finding.readings:
        if all(chosen.get(name, setting) == setting for name, setting in alternative):
            left[tuple(pair for pair in alternative if pair[0] not in chosen)] = None
    if not left:
        return None
    if () in left:
        return replace(finding, readings=EVERYWHERE)
    return replace(finding, readings=tuple(left), tier=READING)


def shown(readings: Undefined) -> str:
    """The readings as a sentence shows them: `a=x and b=y; or c=z`."""
    return "; or ".join(" and ".join(f"{name}={setting}" for name, setting in one) for one in readings)
