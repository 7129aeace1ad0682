"""Variants that show themselves as a table in a notebook; a tuple otherwise."""

from __future__ import annotations

from ..spec import html
from ..spec.quantities import counted
from ..spec.variants import Variant

__all__ = ["VariantTable"]

_SHOWN = 100  # rows of the table; a selection may have thousands


class VariantTable(tuple[Variant, ...]):
    """Variants in the order of the specification."""

    def _repr_html_(self) -> str:
        """What a notebook shows: mnemonics, versions and targets, the first hundred of many."""
        rows = [
            (one.mnemonic, one.gate.versions, ", ".join(name for name, _ in one.gate.targets))
            for one in self[:_SHOWN]
        ]
        more = f", of which {_SHOWN} are shown" if len(self) > _SHOWN else ""
        count = html.paragraph(f"{counted(len(self), 'variant')}{more}")
        return html.scrolled(html.table(("mnemonic", "PTX ISA", "targets"), rows) + count)
