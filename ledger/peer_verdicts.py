"""What the recorded peers say of today's layouts and descriptors, each held against the YAML.

A peer that computes something else DIFFERS. A record about a layout, parameter or field that is gone is
stale.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..devices.arrays import Ints
from ..gen.point_arrays import point_array
from ..spec.descriptor import encode
from ..spec.errors import Place, Question
from ..spec.maps import LayoutMap
from ..spec.specification import Specification
from .claims import ClaimState
from .peer_record import Peer, PeerMap, PeerRecord, PeerWord

__all__ = ["PeerVerdict", "peer_verdicts"]

_UNKNOWN, _OUTSIDE = -1, -2  # in place of the number of a place
_GREATEST = 1 << 50  # of what one input adds: as many as there are do not fill a word


@dataclass(frozen=True)
class PeerVerdict:
    """What one observation of a peer comes to today.

    `entry` is the contradiction that explains a difference. `part` is the layout or the descriptor, as
    `layout wgmma.d`; `fields` has the descriptor's fields that the
    observation sets to something. `origin` is whose numbers they are. `why` says the first difference, or
    what is gone.
    """

    peer: Peer
    part: str
    function: str
    origin: str
    state: ClaimState
    points: int
    differing: int = 0
    why: str = ""
    place: Place | None = None
    fields: tuple[str, ...] = ()
    entry: str = ""

    @property
    def holds(self) -> bool:
        """Whether the peer agrees, or a contradiction says why it does not."""
        return self.state == "agrees" or bool(self.entry)

    def __str__(self) -> str:
        where = f"{self.place}: " if self.place else ""
        return f"{self.state.upper()}: {where}{self.part}, {self.peer} ({self.function}): {self.why}"


def peer_verdicts(specification: Specification, records: Iterable[PeerRecord]) -> Iterator[PeerVerdict]:
    """A verdict for each observation, in the order of the records."""
    computed: dict[tuple[str, tuple[tuple[str, int], ...]], Ints] = {}
    for record in records:
        for one in record.maps:
            layout = specification.layouts.get(one.layout)
            if layout is None or (gone := _gone(layout, one)):
                why = "no layout has this name any more" if layout is None else gone
                yield _said(record.peer, one, "stale", 0, 0, why)
                continue
            key = one.layout, tuple(sorted(one.parameters.items()))
            if key not in computed:
                computed[key] = point_array(layout, one.parameters)
            yield _of_map(record.peer, one, layout, computed[key])
        for word in record.words:
            yield _of_word(specification, record.peer, word)


def _said(
    peer: Peer,
    one: PeerMap | PeerWord,
    state: ClaimState,
    points: int,
    differing: int,
    why: str,
    place: Place | None = None,
) -> PeerVerdict:
    origin = one.origin or peer.origin
    if isinstance(one, PeerWord):
        part, function = f"descriptor {one.descriptor}", one.function
        fields = tuple(name for name, value in one.fields.items() if value)
    else:
        part, fields = f"layout {one.layout}", ()
        function = ", ".join((one.function, *(f"{name} = {value}" for name, value in one.parameters.items())))
    return PeerVerdict(peer, part, function, origin, state, points, differing, why, place, fields)


def _gone(layout: LayoutMap, one: PeerMap) -> str:
    """What the observation names that the layout no longer has; empty if all is there."""
    inputs, outputs = (
        (layout.outputs, layout.inputs) if _backwards(layout, one) else (layout.inputs, layout.outputs)
    )
    for what, named, has in (
        ("parameters", one.parameters, layout.parameters),
        ("inputs", one.inputs, inputs),
        ("outputs", one.outputs, outputs),
    ):
        if set(named) != set(has):
            return f"it has the {what} {', '.join(has) or 'none'}, no longer {', '.join(named) or 'none'}"
    for name, value in one.parameters.items():
        if value not in layout.layout.params[name].values:
            return f"{name} is no longer {value}"
    return ""


def _backwards(layout: LayoutMap, one: PeerMap) -> bool:
    """Whether the peer maps what the layout has as outputs to its inputs."""
    return set(one.inputs) == set(layout.outputs) and set(one.outputs) == set(layout.inputs)


def _of_map(peer: Peer, one: PeerMap, layout: LayoutMap, points: Ints) -> PeerVerdict:
    """Compare at every point of the layout."""
    place = layout.layout.place
    sizes = {**layout.domain(one.parameters), **layout.shape(one.parameters)}
    for what, says in (("inputs", one.inputs), ("outputs", one.outputs)):
        has = {name: sizes[name] for name in says}
        if has != dict(says):
            why = f"the {what} are {_named(has)} here, {_named(says)} there"
            return _said(peer, one, "differs", len(points), len(points), why, place)
    there = _Places(one, layout)
    numbers = there.numbers(points)
    wrong = np.flatnonzero(numbers != there.expected(points))
    differing, why = len(wrong), ""
    if differing:
        first = [int(value) for value in points[wrong[0]]]
        why = f"{there.words(first)} here, {there.place(int(numbers[wrong[0]]))} there"
        why = f"{differing} of {len(points)} points; {why}"
    return _said(peer, one, "differs" if differing else "agrees", len(points), differing, why, place)


def _table(steps: Sequence[int]) -> Ints:
    """What each value of an input adds, as integers of any size where a word could be too small."""
    wide = max(map(abs, steps), default=0) > _GREATEST
    return np.array(list(steps) or [0], object if wide else np.int64)


class _Places:
    """What a peer says of each point of a layout. A place is a number: its outputs, the first one fastest."""

    def __init__(self, one: PeerMap, layout: LayoutMap) -> None:
        self._outputs = one.outputs
        at = {name: place for place, name in enumerate((*layout.inputs, *layout.outputs))}
        self._from = sorted((at[name], name) for name in one.inputs)
        self._to = sorted((at[name], name) for name in one.outputs)
        steps = dict(zip(one.inputs, one.steps(), strict=True))
        self._tables = [(place, _table(steps[name])) for place, name in self._from]
        self._join = np.bitwise_xor if one.is_linear else np.add
        self._weights, weight = {}, 1
        for name, extent in one.outputs.items():
            self._weights[name], weight = weight, weight * extent
        self._ordered = [(place, self._weights[name], one.outputs[name]) for place, name in self._to]

    def numbers(self, points: Ints) -> Ints:
        """The places to which the peer maps the inputs of points; -1 for inputs that it does not have."""
        numbers, known = np.zeros(len(points), np.int64), np.ones(len(points), bool)
        for place, table in self._tables:
            column = points[:, place]
            known &= (column >= 0) & (column < len(table))
            numbers = self._join(numbers, table[np.clip(column, 0, len(table) - 1)])
        return np.where(known, numbers, _UNKNOWN)

    def expected(self, points: Ints) -> Ints:
        """The places that the layout has for points; another number than all of them for what is outside."""
        numbers, inside = np.zeros(len(points), np.int64), np.ones(len(points), bool)
        for place, weight, extent in self._ordered:
            column = points[:, place]
            inside &= (column >= 0) & (column < extent)
            numbers = numbers + weight * column
        return np.where(inside, numbers, _OUTSIDE)

    def words(self, point: Sequence[int]) -> str:
        """A point of the layout in words."""
        at, to = ({name: point[place] for place, name in some} for some in (self._from, self._to))
        return f"{_named(at)}: {_named(to)}"

    def place(self, number: int) -> str:
        """A place in words."""
        if number < 0:
            return "nothing"
        there = {name: number // self._weights[name] % size for name, size in self._outputs.items()}
        return _named({name: there[name] for _, name in self._to})


def _of_word(specification: Specification, peer: Peer, one: PeerWord) -> PeerVerdict:
    """Encode the same fields, and compare the words."""
    descriptor = specification.descriptors.get(one.descriptor)
    if descriptor is None:
        return _said(peer, one, "stale", 0, 0, "no descriptor has this name any more")
    gone = [name for name in one.fields if name not in descriptor.fields]
    if gone:
        return _said(peer, one, "stale", 0, 0, f"it has no field {', '.join(gone)} any more")
    try:
        word = encode(descriptor, one.fields)
        why = "" if word == one.word else f"{_named(one.fields)} is {word:#x} here, {one.word:#x} there"
    except Question as error:
        why = f"{_named(one.fields)} is {one.word:#x} there, and refused here: {error}"
    place = descriptor.place
    if len(one.fields) == 1:
        place = next(descriptor.fields[name].place for name in one.fields)
    return _said(peer, one, "differs" if why else "agrees", 1, int(bool(why)), why, place)


def _named(values: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())
