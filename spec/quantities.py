"""Say how many there are of something: `1 operand`, `4 operands`."""

from __future__ import annotations

__all__ = ["counted"]


def counted(count: int, what: str) -> str:
    """A number with its noun, which gets an s unless the number is 1."""
    return f"{count} {what}{'' if count == 1 else 's'}"
