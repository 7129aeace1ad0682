"""The function or class around a place of a C++ source, as its braces show it."""

from __future__ import annotations

from .tokens import CudaToken, directive, tokens

__all__ = ["enclosing"]

_KINDS = frozenset(("struct", "class", "union", "namespace", "enum"))
_CONTROL = frozenset(("if", "for", "while", "switch", "catch", "return", "else", "do", "asm"))


def enclosing(text: str, offset: int) -> str:
    """The names around an offset, joined by `::`; "" at the outermost level."""
    names: list[str] = []
    branches: list[list[str]] = []
    head: list[CudaToken] = []
    for token in tokens(text, 0, offset):
        if token.kind == "directive":
            word = directive(token).word
            if word in ("if", "ifdef", "ifndef"):
                branches.append(list(names))
            elif word in ("else", "elif") and branches:
                names = list(branches[-1])
            elif word == "endif" and branches:
                branches.pop()
        elif token.kind == "comment":
            continue
        elif token.text == "{":
            names.append(_named(head))
            head = []
        elif token.text in ("}", ";"):
            if token.text == "}" and names:
                names.pop()
            head = []
        else:
            head.append(token)
    return "::".join(name for name in names if name)


def _named(head: list[CudaToken]) -> str:
    """The name that the tokens before a brace give to what it opens."""
    words = [token.text for token in head]
    if "template" in words:  # its parameters may be classes
        depth, start = 0, 0
        for at, word in enumerate(words):
            depth += (word == "<") - (word == ">") - 2 * (word == ">>")
            if word in (">", ">>") and depth <= 0:
                start = at + 1
                break
        words, head = words[start:], head[start:]
    kind = next((at for at, word in enumerate(words) if word in _KINDS), None)
    bracket = words.index("(") if "(" in words else None
    if bracket and head[bracket - 1].kind == "name":
        name = words[bracket - 1]
        if name not in _CONTROL and (kind is None or kind > bracket):
            return name
    if kind is not None and (bracket is None or kind < bracket):
        names = [token.text for token in head[kind + 1 :] if token.kind == "name"]
        return names[0] if names else ""
    return ""
