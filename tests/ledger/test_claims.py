"""What a claim's hash covers: a corrected section number leaves every one as it was, a corrected fact does not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ptxmma.ledger.claims import addresses_digest, layout_digest, legality_digest, metadata_digest
from ptxmma.spec import validation
from ptxmma.spec.loading import load_files
from ptxmma.spec.specification import Specification

INSTRUCTIONS = ("wgmma.fence", "movmatrix", "stmatrix")


def digests(specification: Specification) -> dict[str, str]:
    """By what each is about, the hashes of claims."""
    layouts, memory = specification.layouts, specification.addresses
    found = {f"layout {name}": layout_digest(layout) for name, layout in layouts.items()}
    for name, layout in layouts.items():
        if "metadata" in name:
            for pattern, sparsity in specification.sparsities.items():
                found[f"metadata {name} {pattern}"] = metadata_digest(layout, sparsity)
    kinds = {rule: one for one in specification.descriptors.values() for rule in one.addresses}
    for name, rule in memory.addresses.items():
        descriptor = kinds[name]
        found[f"addresses {name}"] = addresses_digest(rule, layouts[rule.layout], memory.swizzle, descriptor)
    for name in INSTRUCTIONS:
        found.update((f"row {view.id}", legality_digest(view)) for view in specification.families[name].rows)
    return found


def test_a_section_number_is_no_part_of_a_claim(specification: Specification, files: Path) -> None:
    corrected = 0
    for path in (files / "spec").rglob("*.yaml"):
        text, count = re.subn(r'section: "[0-9][^"]*"', 'section: "0.0"', path.read_text(encoding="utf-8"))
        path.write_text(text, encoding="utf-8")
        corrected += count
    assert corrected > 200
    found, before = digests(load_files(files)), digests(specification)
    assert found == before
    assert {name.split()[0] for name in found} == {"layout", "metadata", "addresses", "row"}


@pytest.mark.parametrize(
    ("file", "old", "new", "kinds"),
    [
        (
            "spec/sparsity.yaml",
            'position: "(code >> 2*slot) & 3"',
            'position: "(code >> 2*slot) & 1"',
            {"metadata"},
        ),
        ("spec/sparsity.yaml", "title: two of four consecutive elements", "title: two of four", set()),
        (
            "spec/layouts/mma.sp.yaml",
            "threadID_in_group // 2 == s",
            "threadID_in_group // 2 + s == 1",
            {"layout", "metadata"},
        ),
        ("spec/descriptors.yaml", "low: 32, high: 45", "low: 33, high: 46", {"addresses"}),
    ],
)
def test_a_corrected_fact_is_another_claim(
    monkeypatch: pytest.MonkeyPatch,
    specification: Specification,
    files: Path,
    file: str,
    old: str,
    new: str,
    kinds: set[str],
) -> None:
    monkeypatch.setattr(validation, "check_code_order", lambda name, sparsity: None)
    path = files / file
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    found, before = digests(load_files(files)), digests(specification)
    assert {name.split()[0] for name in found if found[name] != before[name]} == kinds
