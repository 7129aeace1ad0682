"""Every slip of every YAML file of the specification, and samples of them by seed."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ...check.rule_texts import FILES as RULES
from ...formal.mutation.slips import Slip, Vocabulary, slips, vocabulary
from ...ledger.contradiction_file import FILES as CONTRADICTIONS
from ...spec.cache import ROOT
from ...spec.errors import Question
from ...spec.field_docs import field_docs, records
from ...spec.nodes import Node, compose, written_fields
from ...spec.ordering_records import SynthesisedFile
from ...spec.schema import FILES

__all__ = ["READERS", "Corpus", "noticed_by", "sample"]

READERS = "readers"  # in `noticed by`: the field is documentation, and no machine can contradict it
_KINDS: Mapping[str, type] = {**FILES, **CONTRADICTIONS, **RULES}


def noticed_by(field: str) -> tuple[str, ...]:
    """The witnesses that a field's documentation declares, by "Gate.since"; nothing where it says none."""
    record, _, name = field.partition(".")
    found = _declared().get(record, {})
    return found.get(name.partition(".")[0], ())


_DECLARED: dict[str, dict[str, tuple[str, ...]]] = {}


def _declared() -> dict[str, dict[str, tuple[str, ...]]]:
    if not _DECLARED:
        for kind in _KINDS.values():
            for record in records(kind):
                docs = field_docs(record)
                _DECLARED[record.__name__] = {name: docs[name].noticed_by for name in written_fields(record)}
    return _DECLARED


@dataclass(frozen=True)
class Corpus:
    """The files that state claims, as nodes. A file that is generated is judged by making it anew."""

    root: Path = ROOT

    @cached_property
    def nodes(self) -> Mapping[str, tuple[Node, type]]:
        """By file, its root node and its kind."""
        found: dict[str, tuple[Node, type]] = {}
        for pattern, kind in _KINDS.items():
            for path in sorted(self.root.glob(pattern)):
                name = path.relative_to(self.root).as_posix()
                if (pattern == name or name not in _KINDS) and kind is not SynthesisedFile:
                    found[name] = compose(path, name), kind
        return found

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """By field, every word that the files have there."""
        return vocabulary(self.nodes)

    def slips(self, files: Sequence[str] = ()) -> Iterator[Slip]:
        """Every slip of these files, or of all; raises Question where a file is unknown."""
        for file in files:
            if file not in self.nodes:
                raise Question(f"{file} states no claims; these files do: {', '.join(self.nodes)}")
        for file in files or self.nodes:
            root, kind = self.nodes[file]
            yield from slips(file, root, kind, self.vocabulary, lambda field: READERS in noticed_by(field))


def sample(every: Sequence[Slip], count: int, seed: int) -> list[Slip]:
    """So many slips, chosen by a seed, in the order of the files; the same for the same files and seed.

    Each field gives one slip before any field gives a second, so that small samples reach most fields.
    """
    chance = random.Random(seed)
    by_field: dict[str, list[Slip]] = {}
    for slip in every:
        by_field.setdefault(slip.field, []).append(slip)
    heaps = list(by_field.values())
    for heap in heaps:
        chance.shuffle(heap)
    chance.shuffle(heaps)
    order = {id(slip): number for number, slip in enumerate(every)}
    chosen: list[Slip] = []
    while heaps and len(chosen) < count:
        chosen += [heap.pop() for heap in heaps][: count - len(chosen)]
        heaps = [heap for heap in heaps if heap]
    return sorted(chosen, key=lambda slip: order[id(slip)])
