"""Read one kernel of a PTX file as statements, as far as a walk needs them.

This is a second reader of PTX, on purpose: it shares no code with the checker, because it judges the checker.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

__all__ = ["LOCAL", "Kernel", "NoTrace", "Statement", "kernels", "split"]


class NoTrace(Exception):
    """The kernel has no path that an abstract program can express."""


@dataclass(frozen=True)
class Statement:
    """One statement: its words, and where its text starts and ends in the file."""

    guard: str
    name: str
    operands: tuple[str, ...]
    start: int
    end: int


@dataclass(frozen=True)
class Kernel:
    """An entry: statements in the order of the text, labels before them, shared symbols, threads of a CTA.
    `sized`: the text says how many threads; otherwise there are MANY. `cluster`: the blocks of a cluster;
    `clustered`: the text says how many. `first` is the first block of the cluster that is walked. `word` is
    the number of every word of global memory, where one is given, and `fraction` that of every parameter of a
    floating-point type, if it is not that of the others.
    """

    name: str
    statements: tuple[Statement, ...]
    labels: dict[str, int]
    symbols: dict[str, int]
    threads: int
    sized: bool = True
    cluster: tuple[int, int, int] = (1, 1, 1)
    clustered: bool = False
    first: tuple[int, int, int] = (0, 0, 0)
    word: int | None = None
    fraction: float | None = None


TOKEN = re.compile(
    r"//[^\n]*|/\*.*?\*/|[{}]|([$%\w]+):(?!:)|[^\s;{}/][^;{}/]*(?:\{[^{}]*\}[^;{}/]*)*;|[^\s]", re.DOTALL
)
ENTRY = re.compile(r"\.entry\s+([$\w]+)")
THREADS = re.compile(r"\.(?:req|max)ntid\s+([\d, ]+)")
CLUSTER = re.compile(r"\.reqnctapercluster\s+([\d, ]+)")
MANY = 384
LOCAL = re.compile(r"%?[A-Za-z_$][\w$]*")


def split(text: str) -> tuple[str, ...]:
    """The operands, parted by the commas outside braces and brackets."""
    depth, parts, last = 0, [], 0
    for index, letter in enumerate(text):
        if letter in "{[(":
            depth += 1
        elif letter in "}])":
            depth -= 1
        elif letter == "," and depth == 0:
            parts.append(text[last:index].strip())
            last = index + 1
    return (*parts, text[last:].strip()) if text[last:].strip() else tuple(parts)


def kernels(text: str) -> Iterator[Kernel]:
    """The entries of a file."""
    symbols: dict[str, int] = {}
    place = 1024
    for found in re.finditer(r"\.shared\s+(?:\.align\s+\d+\s+)?\.[busf](\d+)\s+([$\w]+)(?:\[(\d*)\])?", text):
        symbols.setdefault(found[2], place)
        place += (int(found[3] or 65536) * int(found[1]) // 8 + 2047) // 1024 * 1024
    for found in ENTRY.finditer(text):
        close = text.index(")", found.end()) if text[found.end() :].lstrip().startswith("(") else found.end()
        start = text.index("{", close)
        sizes = THREADS.search(text, close, start)
        threads = prod(map(int, sizes[1].split(","))) if sizes else MANY
        blocks = CLUSTER.search(text, close, start)
        across = [*map(int, blocks[1].split(","))] if blocks else []
        width, height, depth = (*across, *(1, 1, 1)[len(across) :])
        made = _kernel(found[1], text, start, symbols, threads)
        yield replace(
            made,
            sized=sizes is not None,
            cluster=(width, height, depth),
            clustered=blocks is not None,
        )


def _kernel(name: str, text: str, start: int, symbols: dict[str, int], threads: int) -> Kernel:
    scopes: list[dict[str, str]] = []
    statements: list[Statement] = []
    labels: dict[str, int] = {}

    def rename(word: str, inside: Sequence[dict[str, str]]) -> str:
        for scope in reversed(inside):
            if word in scope:
                return scope[word]
        return word

    tokens: list[re.Match[str]] = []
    opened: list[int] = []
    # First pass: what each scope declares, since a label may be branched to before it stands there.
    declared: dict[int, dict[str, str]] = {}
    for found in TOKEN.finditer(text, start):
        token = found.group()
        if token.startswith(("//", "/*")):
            continue
        tokens.append(found)
        if token == "{":
            opened.append(found.start())
            declared[found.start()] = {}
        elif token == "}":
            opened.pop()
            if not opened:
                break
        elif found[1]:
            if len(opened) > 1:
                declared[opened[-1]][found[1]] = f"{found[1]}@{opened[-1]}"
        elif len(opened) > 1 and token.startswith(".reg"):
            for word in token.rstrip(";").split(None, 2)[2].split(","):
                declared[opened[-1]][word.strip()] = f"{word.strip()}@{opened[-1]}"
    for found in tokens:
        token = found.group()
        if token == "{":
            scopes.append(declared[found.start()])
        elif token == "}":
            scopes.pop()
        elif found[1]:
            labels[rename(found[1], scopes)] = len(statements)
        elif token.startswith("."):
            continue
        else:
            body = token.rstrip(";").strip()
            guard = ""
            if body.startswith("@"):
                guard, body = body[1:].split(None, 1)
            words = body.split(None, 1)
            operands = split(words[1]) if len(words) > 1 else ()
            if len(scopes) > 1:
                operands = tuple(LOCAL.sub(lambda w: rename(w.group(), scopes), o) for o in operands)
                guard = LOCAL.sub(lambda w: rename(w.group(), scopes), guard)
            statements.append(Statement(guard, words[0], operands, found.start(), found.end()))
    return Kernel(name, tuple(statements), labels, symbols, threads)
