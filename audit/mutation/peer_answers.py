"""What recorded peers say of layouts and descriptors with a slip: those that agreed must agree still."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ...ledger.claims import ClaimState
from ...ledger.peer_record import PeerRecord
from ...ledger.peer_verdicts import PeerVerdict, peer_verdicts
from ...spec.specification import Specification

__all__ = ["PeerAnswers"]


@dataclass(frozen=True)
class PeerAnswers:
    """The records of peers, and what each observation comes to without a slip."""

    specification: Specification
    records: Sequence[PeerRecord]

    @cached_property
    def _states(self) -> dict[int, ClaimState]:
        """By the identity of an observation, its state."""
        observed = (one for record in self.records for one in (*record.maps, *record.words))
        verdicts = peer_verdicts(self.specification, self.records)
        return {id(one): verdict.state for one, verdict in zip(observed, verdicts, strict=True)}

    def prepare(self) -> None:
        """Compare every observation; a second."""
        _ = self._states

    def differing(
        self, changed: Specification, layouts: Collection[str], descriptors: Collection[str]
    ) -> Iterator[PeerVerdict]:
        """The verdicts on some layouts and descriptors that are others now."""
        some = [
            replace(
                record,
                maps=tuple(one for one in record.maps if one.layout in layouts),
                words=tuple(one for one in record.words if one.descriptor in descriptors),
            )
            for record in self.records
        ]
        observed = (one for record in some for one in (*record.maps, *record.words))
        for one, verdict in zip(observed, peer_verdicts(changed, some), strict=True):
            if verdict.state != self._states[id(one)]:
                yield verdict
