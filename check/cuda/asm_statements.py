"""The asm statements of a C++ source, each with its string, its operands and the conditions around it.

The text of a macro is read, too: what its parameters spell is a hole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from .branches import chosen_branches
from .conditionals import Conditionals, Definition, Guard
from .tokens import ASM, CudaToken, coarse, decoded, directive, is_cut, tokens

__all__ = ["AsmOperand", "AsmStatement", "CudaSource", "Spelled", "read_source"]

_QUALIFIERS = frozenset(("volatile", "__volatile__", "__volatile", "inline", "goto"))
_STRINGS = ("string", "raw")
_OPENING, _CLOSING = ("(", "[", "{"), (")", "]", "}")
_DEEPEST = 8  # macros that stand for macros that stand for strings
# The head of a PTX file, behind white space and comments.
_PTX_HEAD = re.compile(r"(?>(?:\s+|//[^\n]*|/\*.*?\*/)*)(\.version\s+\d)", re.S)
# Characters with the offsets at which the source spells them; None is a hole.
Spelled = tuple[tuple[str | None, int], ...]


class AsmOperand(NamedTuple):
    """An operand: its constraint (None: a macro spells it), its name or "", its expression's text, and
    whether it stands in the list of outputs.
    """

    constraint: str | None
    name: str
    expression: str
    output: bool


@dataclass(frozen=True)
class AsmStatement:
    """An asm statement: `template` is its string, `operands` None where a macro spells part of the lists.

    `extended` is whether it has lists; without, `%` is a plain character. `divided` is whether the
    preprocessor chooses parts of it in more ways than are told apart.
    """

    offset: int
    template: Spelled
    operands: tuple[AsmOperand, ...] | None
    extended: bool
    divided: bool
    guard: Guard


@dataclass
class CudaSource:
    """What was read of a source; `faults` are offsets with what is wrong there."""

    statements: list[AsmStatement] = field(default_factory=list)
    conditionals: Conditionals = field(default_factory=Conditionals)
    faults: list[tuple[int, str]] = field(default_factory=list)


def read_source(text: str) -> CudaSource:
    """Read a source: its asm statements in the order of the text."""
    source = CudaSource()
    nul = text.find("\0")
    if nul >= 0:
        source.faults.append(
            (nul, "this is not a source: it holds a NUL byte, as binary files and UTF-16 do")
        )
        return source
    if head := _PTX_HEAD.match(text):
        source.faults.append((head.start(1), "this is PTX; `ptxmma check` without --cuda checks it"))
        return source
    places: list[tuple[int, Guard]] = []
    macros: list[tuple[str, int, Guard]] = []
    for token in coarse(text):
        if token.kind == "directive":
            line = directive(token)
            source.conditionals.read(line)
            if line.word == "define" and ASM.search(line.rest):
                macros.append((line.rest, line.offset, source.conditionals.guard))
        elif token.kind == "asm":
            places.append((token.end, source.conditionals.guard))
        elif is_cut(token):
            what = "comment" if token.kind == "comment" else "raw string"
            source.faults.append((token.offset, f"the {what} is not closed"))
    defined = source.conditionals.defined
    for offset, guard in places:
        inside = _inside(text, offset)
        if isinstance(inside, str):
            source.faults += [(offset, inside)] if inside else []
        else:
            source.statements += _statements(text, inside, guard, defined, 0)
    for body, shift, guard in macros:
        for token in tokens(body):
            if token.kind == "name" and ASM.fullmatch(token.text):
                inside = _inside(body, token.end)
                if not isinstance(inside, str):
                    source.statements += _statements(body, inside, guard, defined, shift)
    source.statements.sort(key=lambda one: one.offset)
    return source


def _inside(text: str, start: int) -> list[CudaToken] | str:
    """The tokens between the brackets behind `asm`; what is wrong, or "" where it is not an asm statement."""
    found: list[CudaToken] | None = None
    depth = 0
    for token in tokens(text, start):
        if token.kind == "comment":
            continue
        if found is None:
            if token.text == "(":
                found, depth = [], 1
            elif token.text not in _QUALIFIERS:
                return ""
            continue
        depth += (token.text in _OPENING) - (token.text in _CLOSING)
        if not depth:
            return found
        if (depth == 1 and token.text == ";") or (token.kind == "name" and ASM.fullmatch(token.text)):
            break
        found.append(token)
    return "" if found is None else "the asm statement is not closed; a ')' is missing"


def _statements(
    text: str,
    inside: Sequence[CudaToken],
    guard: Guard,
    defined: Mapping[str, Sequence[Definition]],
    shift: int,
) -> Iterator[AsmStatement]:
    """The statement; where the preprocessor chooses parts of it, one for each choice."""
    for chosen, more in chosen_branches(inside):
        divided = any(token.kind == "directive" for token in chosen)
        yield _statement(text, _parted(chosen), (*guard, *more), divided, defined, shift)


def _parted(inside: Sequence[CudaToken]) -> list[list[CudaToken]]:
    """The sections of an asm statement, which colons part."""
    parts: list[list[CudaToken]] = [[]]
    depth = 0
    for token in inside:
        depth += (token.text in _OPENING) - (token.text in _CLOSING)
        if not depth and token.text in (":", "::"):
            parts += [[] for _ in token.text]
        else:
            parts[-1].append(token)
    return parts


def _statement(
    text: str,
    parts: Sequence[Sequence[CudaToken]],
    guard: Guard,
    divided: bool,
    defined: Mapping[str, Sequence[Definition]],
    shift: int,
) -> AsmStatement:
    template = tuple(_spelled(parts[0], defined, 0))
    operands: list[AsmOperand] | None = []
    for section in (1, 2):
        for item in _items(parts[section]) if section < len(parts) else ():
            operand = _operand(text, item, section == 1)
            if operand is None or operands is None:
                operands = None
            else:
                operands.append(operand)
    offset = parts[0][0].offset if parts[0] else 0
    return AsmStatement(
        offset + shift,
        tuple((character, at + shift) for character, at in template),
        None if operands is None else tuple(operands),
        len(parts) > 1,
        divided,
        guard,
    )


def _spelled(
    part: Sequence[CudaToken], defined: Mapping[str, Sequence[Definition]], depth: int
) -> Iterator[tuple[str | None, int]]:
    """The characters of adjacent strings; a macro that always is one string is replaced by it."""
    inside = 0
    for token in part:
        if token.text in _CLOSING:
            inside -= 1
        elif inside:
            pass
        elif token.kind in _STRINGS:
            yield from decoded(token)
        else:
            meaning = _string_of(token, defined, depth)
            if meaning is None:
                yield None, token.offset
            else:
                yield from ((character, token.offset) for character, _ in meaning)
        inside += token.text in _OPENING


def _string_of(
    token: CudaToken, defined: Mapping[str, Sequence[Definition]], depth: int
) -> tuple[tuple[str | None, int], ...] | None:
    """What a macro without parameters spells, if the source defines it as the same string everywhere."""
    definitions = defined.get(token.text, ()) if token.kind == "name" and depth < _DEEPEST else ()
    if not definitions or any(one.parameters is not None for one in definitions):
        return None
    if len({" ".join(one.body.split()) for one in definitions}) > 1:
        return None
    body = [one for one in tokens(definitions[0].body) if one.kind != "comment"]
    found = tuple(_spelled(body, defined, depth + 1))
    return None if any(character is None for character, _ in found) else found


def _items(part: Sequence[CudaToken]) -> Iterator[list[CudaToken]]:
    """The tokens of each operand of a list: to a comma, or to the end of its brackets, for nvcc takes lists
    that lack commas.
    """
    item: list[CudaToken] = []
    depth = 0
    for token in part:
        depth += (token.text in _OPENING) - (token.text in _CLOSING)
        if token.text != "," or depth:
            item.append(token)
        if not depth and (token.text == ")" or token.text == ",") and item:
            yield item
            item = []
    if item:
        yield item


def _operand(text: str, item: list[CudaToken], output: bool) -> AsmOperand | None:
    """`[name] "constraint" (expression)`; None for anything else."""
    name = ""
    if len(item) > 2 and item[0].text == "[" and item[2].text == "]":
        name, item = item[1].text, item[3:]
    bracket = next((at for at, token in enumerate(item) if token.text == "("), None)
    if not bracket or item[-1].text != ")" or item[0].kind not in _STRINGS:
        return None  # a macro may spell several operands
    characters = [one for token in item[:bracket] for one in _spelled((token,), {}, 0)]
    texts = [character for character, _ in characters]
    constraint = None if None in texts else "".join(text for text in texts if text is not None)
    return AsmOperand(constraint, name, text[item[bracket].end : item[-1].offset].strip(), output)
