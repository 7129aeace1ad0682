"""A page of headings, tables and items, as plain text or as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["Page", "some"]

_NAMED = 3


class Page:
    """Lines of output, in one of the two formats."""

    def __init__(self, markdown: bool) -> None:
        self.markdown = markdown
        self.lines: list[str] = []

    def heading(self, text: str, level: int = 1) -> None:
        """A heading with an empty line before it."""
        if self.lines:
            self.lines.append("")
        self.lines.append(f"{'#' * (level + 1)} {text}" if self.markdown else text)
        if self.markdown:
            self.lines.append("")

    def item(self, text: str, depth: int = 0) -> None:
        """A line of a list, indented below the line it belongs to."""
        self.lines.append(f"{'  ' * depth}- {text}" if self.markdown else f"{'  ' * (depth + 1)}{text}")

    def code(self, text: str) -> str:
        """A mnemonic or another literal inside a line."""
        return f"`{text}`" if self.markdown else text

    def table(self, rows: Sequence[Sequence[str]]) -> None:
        """A table: the first row is its head, the first column text, the others numbers."""
        if self.markdown:
            head, *body = [f"| {' | '.join(row)} |" for row in rows]
            rule = f"|---|{'---:|' * (len(rows[0]) - 1)}"
            self.lines += [head, rule, *body]
            return
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for first, *numbers in rows:
            cells = [text.rjust(width) for text, width in zip(numbers, widths[1:], strict=True)]
            self.lines.append("  ".join([f"  {first:<{widths[0]}}", *cells]).rstrip())

    @property
    def text(self) -> str:
        """The whole page."""
        return "\n".join(self.lines)


def some(names: Sequence[str]) -> str:
    """All of a few names, the first and the last of many."""
    if len(names) <= _NAMED + 1:
        return ", ".join(names)
    return f"{', '.join(names[:_NAMED])} and {len(names) - _NAMED} more, the last {names[-1]}"
