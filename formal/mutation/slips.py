"""Slips: every change of one thing in a YAML file, found by the typed model and not from a list of places.

A slip changes one scalar, list member, key or entry. The file's record type says what stands where, and so
which changes are likely: an integer one up or down, another word of the same vocabulary, a version one step
later, an operator of a formula. A vocabulary is every word that the files have in one field.
"""

from __future__ import annotations

import copy
import dataclasses
import re
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin

from ...spec.errors import Place, SpecError
from ...spec.expressions import parse_range
from ...spec.nodes import FileName, Formula, Node, Scalars, Version, place_of, retagged, written_fields
from .formula_slips import formula_slips

__all__ = ["SLIP_KINDS", "Slip", "SlipKind", "Vocabulary", "changed_root", "slips", "vocabulary"]

SlipKind = Literal[
    "integer",
    "word",
    "boolean",
    "version",
    "formula",
    "text",
    "null",
    "key dropped",
    "key renamed",
    "member dropped",
    "member added",
    "members exchanged",
    "entry dropped",
    "entry doubled",
    "entries exchanged",
]
SLIP_KINDS: tuple[SlipKind, ...] = get_args(SlipKind)
Vocabulary = Mapping[str, Sequence[str]]
_VALUES = (FileName, Formula, Scalars, Version)
_DIGEST = re.compile("[0-9a-f]{64}")
_INTEGER = re.compile(r"-?(0x[0-9a-fA-F]+|0b[01]+|0|[1-9]\d*)")
_TOKEN = re.compile(r"[^\s.,;\[\]{}]+")
_SENTENCE = re.compile(r"[ ;{}]")
_LONG = 8  # members of a list, or entries, beyond which only the first two are exchanged
_TOKENS = 12  # of a text, each dropped in turn
_FEW = 4  # words of a vocabulary that are all tried
At = tuple[int, ...]


@dataclass(frozen=True)
class Slip:
    """One change of one thing: in which file, at which path, of which field, from what to what.

    `at` leads from the root of the file to the node that `new` replaces: the number of a member, or of an
    entry whose value is meant.
    """

    file: str
    path: str
    field: str
    kind: SlipKind
    before: str
    after: str
    place: Place
    at: At = dataclasses.field(compare=False, repr=False)
    new: Node = dataclasses.field(compare=False, repr=False)

    @property
    def name(self) -> str:
        """The slip's name, one line: the same as long as its place in the file and the change are."""
        change = f"{self.before} → {self.after}".replace("\n", "\\n")
        return f"{self.file} {self.path}: {self.kind}: {change}"


def changed_root(root: Node, slip: Slip) -> Node:
    """The file's root with the slip; nothing of the old root is changed."""
    return _put(root, slip.at, slip.new)


def _put(node: Node, at: At, new: Node) -> Node:
    if not at:
        return new
    changed = copy.copy(node)
    changed.value = list(node.value)
    number, rest = at[0], at[1:]
    if node.id == "mapping":
        key, value = node.value[number]
        changed.value[number] = (key, _put(value, rest, new))
    else:
        changed.value[number] = _put(node.value[number], rest, new)
    return changed


@dataclass(frozen=True)
class _Site:
    """A node with the type that it is read as, and the field that it belongs to."""

    node: Node
    wanted: Any
    label: str
    path: str
    at: At
    beside: tuple[str, ...] = ()  # other keys of a mapping in the same record, one of which the node names

    def inner(self, number: int, node: Node, wanted: Any, label: str, step: str) -> _Site:
        return _Site(node, wanted, label, f"{self.path}{step}", (*self.at, number))


def _sites(site: _Site) -> Iterator[_Site]:
    """A site and all below it, as the typed model reads them."""
    wanted = _chosen(site.node, site.wanted)
    site = dataclasses.replace(site, wanted=wanted)
    yield site
    node, origin = site.node, get_origin(wanted)
    if node.id == "sequence" and origin is tuple:
        inner = get_args(wanted)[0]
        for number, member in enumerate(node.value):
            yield from _sites(site.inner(number, member, inner, site.label, _step(number, member)))
    elif node.id == "mapping" and origin is not None and issubclass(origin, Mapping):
        inner = get_args(wanted)[1]
        label = f"{site.label}.*" if inner in (Scalars, str) else site.label
        for number, (key, value) in enumerate(node.value):
            own = f"{site.label}.{key.value}" if inner is Scalars else label
            yield from _sites(site.inner(number, value, inner, own, f".{key.value}"))
    elif node.id == "mapping" and _is_record(wanted):
        hints = _hints(wanted)
        known = written_fields(wanted)
        for number, (key, value) in enumerate(node.value):
            if key.value in known:
                label = f"{wanted.__name__}.{key.value}"
                inner = site.inner(number, value, hints[key.value], label, f".{key.value}")
                yield from _sites(dataclasses.replace(inner, beside=_beside(node, value)))


def _beside(record: Node, value: Node) -> tuple[str, ...]:
    """The other keys of each mapping of a record that has a scalar of the record among its keys."""
    mappings = (other for _, other in record.value if value.id == "scalar" and other.id == "mapping")
    listed = ([key.value for key, _ in mapping.value] for mapping in mappings)
    return tuple(key for keys in listed if value.value in keys for key in keys if key != value.value)


def _step(number: int, member: Node) -> str:
    """A member's name in a path: its id if it has one, else its number."""
    if member.id == "mapping":
        for key, value in member.value:
            if key.value == "id" and value.id == "scalar":
                return f"[{value.value}]"
    return f"[{number}]"


_hints = cache(typing.get_type_hints)


def _is_record(wanted: Any) -> bool:
    return dataclasses.is_dataclass(wanted) and wanted not in _VALUES


def _chosen(node: Node, wanted: Any) -> Any:
    """The alternative of a union that a node is read as; a null stays one."""
    if get_origin(wanted) not in (Union, types.UnionType):
        return wanted
    rest = [one for one in get_args(wanted) if one is not types.NoneType]
    if node.id == "scalar" and node.tag.endswith(":null"):
        return wanted
    if len(rest) == 1:
        return rest[0]
    return next((one for one in rest if (node.id == "mapping") == _is_record(one)), rest[0])


def _root(root: Node, wanted: type) -> _Site:
    return _Site(root, wanted, wanted.__name__, "", ())


def vocabulary(files: Mapping[str, tuple[Node, type]]) -> Vocabulary:
    """By field, every word that the files have there, in the order in which they have it."""
    found: dict[str, dict[str, None]] = {}
    for root, wanted in files.values():
        for site in _sites(_root(root, wanted)):
            node = site.node
            if node.id == "scalar" and site.wanted in (str, FileName, Scalars, Version):
                found.setdefault(site.label, {})[node.value] = None
            elif node.id == "sequence" and site.wanted is Scalars:
                words = found.setdefault(site.label, {})
                words.update(dict.fromkeys(one.value for one in node.value))
            elif node.id == "mapping" and not _is_record(site.wanted):
                keys = found.setdefault(f"{site.label} keys", {})
                keys.update(dict.fromkeys(key.value for key, _ in node.value))
    return {label: tuple(words) for label, words in found.items()}


def slips(
    file: str, root: Node, wanted: type, words: Vocabulary, documents: Callable[[str], bool] = lambda f: False
) -> Iterator[Slip]:
    """Every slip of a file, in its order; a field that only `documents` has one change of its text."""
    seen: set[tuple[str, str, str, str]] = set()
    for site in _sites(_root(root, wanted)):
        for slip in _Changes(file, site, words, documents(site.label)).all():
            key = slip.path, slip.kind, slip.before, slip.after
            if key not in seen:
                seen.add(key)
                yield slip


@dataclass(frozen=True)
class _Changes:
    """The slips at one site."""

    file: str
    site: _Site
    words: Vocabulary
    documents: bool

    def all(self) -> Iterator[Slip]:
        node, wanted = self.site.node, self.site.wanted
        if node.id == "scalar":
            yield from self._scalar(node, wanted)
        elif node.id == "sequence":
            yield from self._members(node, wanted)
        elif _is_record(wanted):
            yield from self._keys(node, wanted)
        else:
            yield from self._entries(node)

    def _slip(self, kind: SlipKind, before: str, after: str, new: Node, node: Node | None = None) -> Slip:
        place = place_of(self.site.node if node is None else node, self.file)
        path = self.site.path.removeprefix(".") or "(all)"
        return Slip(
            self.file, path, self.site.label, kind, _short(before), _short(after), place, self.site.at, new
        )

    def _change(self, kind: SlipKind, text: str) -> Slip:
        """The scalar with another text."""
        return self._slip(kind, self.site.node.value, text, _scalar(self.site.node, text))

    # Scalars.

    def _scalar(self, node: Node, wanted: Any) -> Iterator[Slip]:
        found = list(self._likely(node, wanted))
        yield from found
        if not found and wanted is Formula:
            yield self._change("formula", f"{node.value} + 1")
        elif not found and not node.tag.endswith(":null"):
            yield from (self._change("word", word) for word in self._unlikely(node.value))

    def _likely(self, node: Node, wanted: Any) -> Iterator[Slip]:
        text = node.value
        if not self.documents:
            yield from (self._change("word", word) for word in self.site.beside)
        if get_origin(wanted) in (Union, types.UnionType):
            yield from self._null(node, wanted)
        elif self.documents:
            yield self._change("text", f"{text} (sic)")
        elif get_origin(wanted) is Literal:
            yield from (self._change("word", word) for word in _others(text, get_args(wanted)))
        elif wanted is bool:
            flipped = "false" if text.lower() in ("true", "yes", "on") else "true"
            yield self._change("boolean", flipped)
        elif wanted is int:
            yield from self._integers(text)
        elif wanted is Version:
            yield from (self._change("version", word) for word in self._steps(text))
        elif wanted is Formula:
            yield from (self._change("formula", new) for new in formula_slips(text, self.words))
        elif wanted is Scalars:
            yield from self._one_of(text)
        elif wanted is FileName:
            yield from (self._change("word", word) for word in _others(text, self._known()))
        else:
            yield from self._text(text)

    def _null(self, node: Node, wanted: Any) -> Iterator[Slip]:
        """Something where nothing stands."""
        inner = next(one for one in get_args(wanted) if one is not types.NoneType)
        if self.documents:
            return
        known = list(get_args(inner)) if get_origin(inner) is Literal else list(self._known())
        if inner is Version:
            known = self._versions()[len(self._versions()) // 2 :]
        if known:
            filled = copy.copy(node)
            filled.value, filled.style, filled.tag = str(known[0]), '"', "tag:yaml.org,2002:str"
            yield self._slip("null", "null", filled.value, filled)

    def _integers(self, text: str) -> Iterator[Slip]:
        if _INTEGER.fullmatch(text):
            value = int(text, 0)
            yield from (self._change("integer", str(other)) for other in (value + 1, value - 1))
        else:
            yield from self._text(text)

    def _versions(self) -> list[str]:
        every = {word for label in ("Release.ptx", "Index.earlier") for word in self.words.get(label, ())}
        return sorted(every, key=lambda word: [int(part) for part in word.split(".")])

    def _steps(self, text: str) -> Iterator[str]:
        """The versions one step earlier and later."""
        known = self._versions()
        if text in known:
            number = known.index(text)
            yield from known[max(number - 1, 0) : number]
            yield from known[number + 1 : number + 2]
        else:
            yield from known[-1:]

    def _one_of(self, text: str) -> Iterator[Slip]:
        """One value of a field, or a range."""
        try:
            spread = parse_range(text)
        except SpecError:
            spread = None
        if spread:
            yield from self._range(text)
        elif _INTEGER.fullmatch(text):
            yield from self._integers(text)
        else:
            yield from (self._change("word", word) for word in _others(text, self._known()))

    def _range(self, text: str) -> Iterator[Slip]:
        for found in _INTEGER.finditer(text):
            for value in (int(found[0]) + 1, int(found[0]) - 1, 2 * int(found[0])):
                new = f"{text[: found.start()]}{value}{text[found.end() :]}"
                yield self._change("integer", new)

    def _text(self, text: str) -> Iterator[Slip]:
        if _DIGEST.fullmatch(text):
            yield self._change("text", text[:-1] + ("0" if text[-1] != "0" else "1"))
            return
        if not _SENTENCE.search(text) and len(self._known()) > 1:
            yield from (self._change("word", word) for word in _others(text, self._known()))
            return
        tokens = list(_TOKEN.finditer(text))
        if len(tokens) > 1:
            for token in tokens[:_TOKENS]:
                yield self._change("text", _without(text, token))
            for number in list(_INTEGER.finditer(text))[:_TOKENS]:
                new = f"{text[: number.start()]}{int(number[0], 0) + 1}{text[number.end() :]}"
                yield self._change("text", new)
        else:
            yield self._change("text", f"{text}x")

    def _known(self) -> Sequence[str]:
        return self.words.get(self.site.label, ())

    def _unlikely(self, text: str, present: Sequence[str] = ()) -> Sequence[str]:
        """What to change a word to if the files have no other word in its field."""
        if _INTEGER.fullmatch(text):
            numbers = (str(int(text, 0) + step) for step in (1, -1))
            return [number for number in numbers if number not in present] or [str(int(text, 0) * 2 + 1)]
        field = self.site.label.rpartition(".")[2]
        known = (
            word
            for label in ("Row.bind", "Instruction.bind")
            for word in self.words.get(f"{label}.{field}", ())
        )
        others = [word for word in dict.fromkeys(known) if word not in (text, *present)]
        return others[:2] or [f"{text}x"]

    # Lists, mappings and records.

    def _members(self, node: Node, wanted: Any) -> Iterator[Slip]:
        members = node.value
        entries = bool(members) and members[0].id != "scalar"
        names = [_written(member) for member in members]
        dropped: SlipKind = "entry dropped" if entries else "member dropped"
        exchanged: SlipKind = "entries exchanged" if entries else "members exchanged"
        for number, name in enumerate(names):
            without = _with(node, [*members[:number], *members[number + 1 :]])
            yield self._slip(dropped, f"{name} ({number})", "nothing", without, members[number])
        for number in range(len(members) - 1 if len(members) <= _LONG else 1):
            turned = [*members[:number], members[number + 1], members[number], *members[number + 2 :]]
            before, after = f"{names[number]}, {names[number + 1]}", f"{names[number + 1]}, {names[number]}"
            yield self._slip(exchanged, before, after, _with(node, turned), members[number])
        if entries:
            for number, name in enumerate(names):
                doubled = _with(node, [*members[: number + 1], *members[number:]])
                yield self._slip("entry doubled", name, f"{name}, {name}", doubled, members[number])
            return
        for word in self._additional(wanted, [member.value for member in members]):
            added = _new_scalar(node, word)
            yield self._slip("member added", "nothing", word, _with(node, [*members, added]))
        if wanted is Scalars:  # each member is a value; it has no site of its own
            present = [member.value for member in members]
            for number, member in enumerate(members):
                words = [word for word in _others(member.value, self._known()) if word not in present]
                for word in words or self._unlikely(member.value, present):
                    other = [*members[:number], _scalar(member, word), *members[number + 1 :]]
                    yield self._slip("word", f"{member.value} ({number})", word, _with(node, other), member)

    def _additional(self, wanted: Any, present: Sequence[str]) -> Sequence[str]:
        """A word that could stand in the list too."""
        inner = (get_args(wanted) or (str,))[0]
        known = [str(word) for word in get_args(inner)] if get_origin(inner) is Literal else self._known()
        return [word for word in known if word not in present][:2]

    def _keys(self, node: Node, wanted: type) -> Iterator[Slip]:
        for number, (key, value) in enumerate(node.value):
            label = f"{wanted.__name__}.{key.value}"
            without = _with(node, [*node.value[:number], *node.value[number + 1 :]])
            slip = self._slip("key dropped", f"{key.value}: {_written(value)}", "nothing", without, key)
            yield dataclasses.replace(slip, field=label)

    def _entries(self, node: Node) -> Iterator[Slip]:
        entries = node.value
        present = [key.value for key, _ in entries]
        known = self.words.get(f"{self.site.label} keys", ())
        for number, (key, value) in enumerate(entries):
            without = _with(node, [*entries[:number], *entries[number + 1 :]])
            yield self._slip("entry dropped", key.value, "nothing", without, key)
            word = next((w for w in _others(key.value, known) if w not in present), f"{key.value}-x")
            renamed = [*entries[:number], (_scalar(key, word), value), *entries[number + 1 :]]
            yield self._slip("key renamed", key.value, word, _with(node, renamed), key)
        for number in range(len(entries) - 1 if len(entries) <= _LONG else 1):
            (first, one), (second, two) = entries[number : number + 2]
            turned = [*entries[:number], (first, two), (second, one), *entries[number + 2 :]]
            before = f"{first.value}, {second.value}"
            after = f"{second.value}, {first.value}"
            yield self._slip("entries exchanged", before, after, _with(node, turned), first)


def _others(text: str, known: Sequence[Any]) -> list[str]:
    """Other words of a vocabulary: all if they are few, else the two beside the word."""
    listed = [str(word) for word in known]
    if len(listed) <= _FEW:
        return [word for word in listed if word != text]
    if text not in listed:
        return listed[:2]
    number = listed.index(text)
    return [listed[number - 1], listed[(number + 1) % len(listed)]]


def _without(text: str, token: re.Match[str]) -> str:
    """A text without one token, and without the separator before it."""
    start = token.start()
    if start and text[start - 1] in " .":
        start -= 1
    return text[:start] + text[token.end() :]


def _with(node: Node, value: list[Any]) -> Node:
    changed = copy.copy(node)
    changed.value = value
    return changed


def _scalar(node: Node, text: str) -> Node:
    """A scalar of another text, quoted as the old one is."""
    changed = copy.copy(node)
    changed.value = text
    return retagged(changed)


def _new_scalar(beside: Node, text: str) -> Node:
    import yaml

    made = yaml.ScalarNode("tag:yaml.org,2002:str", text, beside.start_mark, beside.end_mark)
    if _INTEGER.fullmatch(text):
        made.tag = "tag:yaml.org,2002:int"
    elif re.fullmatch(r"\d+\.\d+", text):
        made.style = '"'
    return made


def _written(node: Node) -> str:
    """A node in a few words."""
    if node.id == "scalar":
        return str(node.value)
    if node.id == "sequence":
        return "[" + ", ".join(map(_written, node.value)) + "]"
    for key, value in node.value:
        if key.value in ("id", "statement", "toolkit", "ptx"):
            return _written(value)
    return "{" + ", ".join(f"{key.value}: {_written(value)}" for key, value in node.value) + "}"


def _short(text: str) -> str:
    return text if len(text) <= 160 else f"{text[:120]}…{text[-36:]}"
