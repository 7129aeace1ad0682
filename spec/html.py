"""Small pieces of HTML, for what shows itself in a notebook: every text is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

__all__ = ["code", "paragraph", "scrolled", "table"]


def paragraph(text: str) -> str:
    """A paragraph."""
    return f"<p>{escape(text)}</p>"


def code(text: str) -> str:
    """A literal."""
    return f"<code>{escape(text)}</code>"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; its cells are aligned to the left, as text is."""
    cells = "".join(f'<th style="text-align:left">{escape(name)}</th>' for name in head)
    lines = (
        "<tr>" + "".join(f'<td style="text-align:left">{escape(cell)}</td>' for cell in row) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{cells}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def scrolled(content: str) -> str:
    """HTML that may be wider than the page."""
    return f'<div style="overflow-x:auto">{content}</div>'
