"""No pattern repeats a group possessively: Python before 3.11.5 goes on in the midst of one that fails."""

from __future__ import annotations

import re

import pytest

from ptxmma.spec.loading import ROOT

POSSESSIVE = re.compile(r"\)(?:[*+?]|\{[\d,]*\})\+")
FOLDERS = ("spec", "formal", "gen", "check", "assemblers", "devices", "ledger", "audit", "atlas", "cli")


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_group_is_repeated_possessively(folder: str) -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in (ROOT / folder).rglob("*.py")}
    found = {
        (str(path.relative_to(ROOT)), text.count("\n", 0, one.start()) + 1)
        for path, text in texts.items()
        for one in POSSESSIVE.finditer(text)
    }
    assert texts
    assert found == set()
