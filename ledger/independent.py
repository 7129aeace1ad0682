"""Who says the same as each layout and each field of a descriptor, independently of the text and of one
another.

Peers with numbers of one origin are one witness, and so are all chips together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..spec.errors import Place
from ..spec.specification import Specification
from .device_observations import current_cases
from .peer_verdicts import PeerVerdict
from .silicon_record import Silicon
from .silicon_verdicts import Judged, silicon_verdicts

__all__ = ["SILICON", "Corroboration", "corroborations", "measured"]

SILICON = "silicon"


@dataclass(frozen=True)
class Corroboration:
    """A layout or a field, and who agrees with it: the names of those who say so by origin."""

    part: str
    place: Place
    witnesses: Mapping[str, tuple[str, ...]]

    @property
    def count(self) -> int:
        """How many independent witnesses it has beside the text."""
        return len(self.witnesses)


def measured(specification: Specification, silicon: Sequence[Silicon]) -> dict[str, frozenset[str]]:
    """By layout, address rule or the like, the devices whose measurements all agree with it."""
    rows = {view.id for family in specification.families.values() for view in family.rows}
    agreeing: dict[str, set[str]] = {}
    otherwise: set[tuple[str, str]] = set()
    judged: dict[tuple[str, str], Judged] = {}
    for one in silicon:
        cases = current_cases(specification, one.device, rows)
        for verdict in silicon_verdicts(specification, one, cases, rows, judged):
            for claim in verdict.claims:
                if verdict.state == "agrees":
                    agreeing.setdefault(claim, set()).add(one.device.name)
                else:
                    otherwise.add((claim, one.device.name))
    return {
        claim: frozenset(name for name in names if (claim, name) not in otherwise)
        for claim, names in agreeing.items()
    }


def corroborations(
    specification: Specification, peers: Iterable[PeerVerdict], devices: Mapping[str, frozenset[str]]
) -> tuple[Corroboration, ...]:
    """Every layout and every field, in the order of the specification."""
    said: dict[str, dict[str, dict[str, None]]] = {}
    doubted = set()
    for verdict in peers:
        parts = [f"{verdict.part}, {name}" for name in verdict.fields] or [verdict.part]
        for part in parts:
            if verdict.state == "agrees":
                origins = said.setdefault(part, {})
                origins.setdefault(verdict.origin, {})[verdict.peer.name] = None
            else:
                doubted.add((part, verdict.origin))
    placed = _measured_parts(specification, devices)
    return tuple(
        Corroboration(
            part,
            place,
            {
                **{
                    origin: tuple(names)
                    for origin, names in said.get(part, {}).items()
                    if (part, origin) not in doubted
                },
                **({SILICON: tuple(sorted(placed[part]))} if placed.get(part) else {}),
            },
        )
        for part, place in _parts(specification)
    )


def _parts(specification: Specification) -> Iterable[tuple[str, Place]]:
    for name, layout in specification.layouts.items():
        yield f"layout {name}", layout.layout.place
    for name, descriptor in specification.descriptors.items():
        for field, record in descriptor.fields.items():
            yield f"descriptor {name}, {field}", record.place


def _measured_parts(
    specification: Specification, devices: Mapping[str, frozenset[str]]
) -> dict[str, frozenset[str]]:
    """The devices by layout and field: an address rule that was measured shows its layout, the start, the
    mode and the strides.
    """
    found = {f"layout {name}": devices[name] for name in specification.layouts if name in devices}
    for kind, descriptor in specification.descriptors.items():
        for name, rule in specification.rules_of(kind).items():
            if name not in devices:
                continue
            shown = [*rule.strides.values(), descriptor.field_of("start"), descriptor.field_of("mode")]
            for part in (f"layout {rule.layout}", *(f"descriptor {kind}, {f}" for f in shown if f)):
                found[part] = found.get(part, frozenset()) | devices[name]
    return found
