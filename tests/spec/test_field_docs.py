"""Every field of every YAML record is documented, and the documentation is right.

Each example is read as the field's type. Each refused value is refused as the field's type, or it is put into a
real file, in place of what stands there: then the specification must not load. Either way the error names the
file, the line and the column.
"""

from __future__ import annotations

import re
import types
import typing
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Union, get_args, get_origin

import pytest
import yaml

import ptxmma
from ptxmma.check.rule_texts import FILES as RULES
from ptxmma.ledger.contradiction_file import FILES as CONTRADICTIONS
from ptxmma.ledger.contradiction_file import ContradictionFile, read_contradictions
from ptxmma.spec import arithmetic, effects, ordering
from ptxmma.spec.arithmetic_records import ArithmeticFile
from ptxmma.spec.errors import SpecError
from ptxmma.spec.field_docs import field_docs, records
from ptxmma.spec.loading import ROOT, load_files
from ptxmma.spec.nodes import compose, structure, written_fields
from ptxmma.spec.ordering_records import LitmusFile, PhaseFile, RuleFile, SynthesisedFile
from ptxmma.spec.schema import FILES
from ptxmma.spec.switches import SwitchFile

Way = tuple[str | int, ...]
ALL = {**FILES, **CONTRADICTIONS, **RULES}
RECORDS = list(dict.fromkeys(record for file in ALL.values() for record in records(file)))
FIELDS = [(record, name) for record in RECORDS for name in written_fields(record)]
hints_of = cache(typing.get_type_hints)


def test_every_record_is_looked_at() -> None:
    assert len(RECORDS) > 45
    assert len(FIELDS) > 250


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__name__)
def test_every_field_is_documented(record: type) -> None:
    assert list(field_docs(record)) == list(written_fields(record))
    assert record.__doc__ and record.__doc__.split("\n")[0].endswith(".")


def _ids(field: tuple[type, str]) -> str:
    return f"{field[0].__name__}.{field[1]}"


def _node(text: str) -> Any:
    return yaml.compose(text, Loader=yaml.SafeLoader)


@pytest.mark.parametrize("field", FIELDS, ids=_ids)
def test_an_example_is_read(field: tuple[type, str]) -> None:
    record, name = field
    structure(_node(field_docs(record)[name].example), hints_of(record)[name], "example")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory, read_once: None) -> Path:
    """A copy of the YAML of the specification."""
    root = tmp_path_factory.mktemp("tree")
    for file in (ROOT / "specs.yaml", ROOT / "contradictions.yaml", *(ROOT / "spec").rglob("*.yaml")):
        copy = root / file.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(file.read_bytes())
    return root


@pytest.mark.parametrize("field", FIELDS, ids=_ids)
def test_a_refused_value_is_refused_at_its_place(field: tuple[type, str], tree: Path) -> None:
    record, name = field
    refused = _node(field_docs(record)[name].refused)
    try:
        structure(refused, hints_of(record)[name], "refused.yaml")
    except SpecError as error:  # whatever stands around it
        assert re.match(r"refused.yaml:\d+:\d+: .+", error.render())
        return
    file, kind, at = _first_use(record, name)
    node = compose(tree / file, file)
    text = yaml.serialize(_replaced(node, at, refused), Dumper=yaml.CSafeDumper)
    before = (tree / file).read_text(encoding="utf-8")
    (tree / file).write_text(text, encoding="utf-8")
    try:
        with pytest.raises(SpecError) as raised:
            LOADERS.get(kind, load_files)(tree)
    finally:
        (tree / file).write_text(before, encoding="utf-8")
    assert re.match(r"\S+\.yaml:\d+:\d+: .+", raised.value.render())


def contradictions(root: Path) -> object:
    return read_contradictions(root, ptxmma.load())


LOADERS: dict[type, Callable[[Path], object]] = {
    ArithmeticFile: arithmetic.read,
    effects.Effects: effects.read,
    RuleFile: ordering.read,
    SwitchFile: ordering.read,
    LitmusFile: ordering.litmus_tests_of,
    PhaseFile: ordering.phases_of,
    SynthesisedFile: ordering.synthesised_tests_of,
    ContradictionFile: contradictions,
}


def _first_use(record: type, name: str) -> tuple[str, type, Way]:
    """A file, its kind, and the way from its root to a mapping that is read as the record and has (or may have) the key."""
    uses = _all_uses()[record]
    having = (use for use in uses if any(key.value == name for key, _ in use.node.value))
    use = next(having, uses[0])
    return use.file, use.kind, (*use.at, name)


@dataclass(frozen=True)
class _Use:
    """A mapping that is read as a record: its file, the file's kind, the way from the root, the node."""

    file: str
    kind: type
    at: Way
    node: Any


@cache
def _all_uses() -> Mapping[type, list[_Use]]:
    """Every mapping of every file, by the record as which it is read."""
    found: dict[type, list[_Use]] = defaultdict(list)
    for file, kind in _files():
        for record, at, node in _uses(compose(ROOT / file, file), kind):
            found[record].append(_Use(file, kind, at, node))
    return found


def _files() -> Iterator[tuple[str, type]]:
    for pattern, kind in ALL.items():
        for path in sorted(ROOT.glob(pattern)):
            name = str(path.relative_to(ROOT))
            if pattern == name or name not in ALL:
                yield name, kind


def _uses(node: Any, wanted: Any, at: Way = ()) -> Iterator[tuple[type, Way, Any]]:
    """The mappings under a node, each with the record as which it is read."""
    origin, arguments = get_origin(wanted), get_args(wanted)
    if origin in (Union, types.UnionType):
        for argument in arguments:
            yield from _uses(node, argument, at)
    elif origin is None and wanted in RECORDS and node.id == "mapping":
        yield wanted, at, node
        hints = hints_of(wanted)
        for key, value in node.value:
            if key.value in hints:
                yield from _uses(value, hints[key.value], (*at, key.value))
    elif origin is tuple and node.id == "sequence":
        for number, item in enumerate(node.value):
            yield from _uses(item, arguments[0], (*at, number))
    elif isinstance(origin, type) and issubclass(origin, Mapping) and node.id == "mapping":
        for key, value in node.value:
            yield from _uses(value, arguments[1], (*at, key.value))


def _replaced(node: Any, at: Way, by: Any) -> Any:
    """The node with another one at the end of the way; nodes on the way are changed in place."""
    *way, last = at
    inner = node
    for step in way:
        inner = inner.value[step] if isinstance(step, int) else {k.value: v for k, v in inner.value}[step]
    keys = [key.value for key, _ in inner.value]
    pair = (yaml.ScalarNode("tag:yaml.org,2002:str", str(last)), by)
    if last in keys:
        inner.value[keys.index(last)] = pair
    else:
        inner.value.append(pair)
    return node
