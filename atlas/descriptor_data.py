"""Descriptors as data for scripts: fields, rules as JavaScript text, and the address rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..gen.javascript_reading import javascript_text
from ..spec.described_operands import holding
from ..spec.descriptor_rules import field_names, rule_tree, said_trees
from ..spec.expressions import names
from ..spec.memory_records import ColumnMask, Descriptor, DescriptorField, DescriptorRule, Swizzle
from ..spec.specification import Specification

__all__ = ["descriptor_data"]

_DescriptorJson = dict[str, Any]
_RuleGates = tuple[str, str]  # where a rule is lifted, and where alone it holds
_ANY = "any"  # the target that is not said


def descriptor_data(specification: Specification) -> _DescriptorJson:
    """Every descriptor, with the address rules that it names."""
    gated: dict[_RuleGates, DescriptorRule] = {}
    descriptors = {name: _descriptor(one, gated) for name, one in specification.descriptors.items()}
    rules = specification.addresses
    return {
        "descriptors": descriptors,
        "versions": [str(release.ptx) for release in specification.index.releases],
        "targets": list(specification.index.targets),
        "silent": [_silent(specification, rule) for rule in gated.values()],
        "addresses": {
            name: {
                "title": rule.title,
                "major": rule.major,
                "layout": rule.layout,
                "widths": dict(rule.widths),
                "strides": dict(rule.strides),
                "swizzle": _swizzle(rule.swizzle or rules.swizzle),
            }
            for name, rule in rules.addresses.items()
        },
        "layouts": sorted({rule.layout for rule in rules.addresses.values()}),
    }


def _swizzle(swizzle: Swizzle) -> _DescriptorJson:
    return {"address": javascript_text(swizzle.address.tree), "line": swizzle.line, "unit": swizzle.unit}


def _descriptor(descriptor: Descriptor, gated: dict[_RuleGates, DescriptorRule]) -> _DescriptorJson:
    known = field_names(descriptor)
    rules = []
    for rule in descriptor.rules:
        tree = rule_tree(descriptor, rule)
        gates = (str(rule.lifted), str(rule.only))
        if rule.lifted or rule.only:
            gated.setdefault(gates, rule)
        rules.append(
            {
                "id": rule.id,
                "holds": javascript_text(tree),
                "reads": sorted(names(tree)),
                "why": rule.why,
                "section": rule.source.section,
                "silent": list(gated).index(gates) if gates in gated else -1,
            }
        )
    return {
        "title": descriptor.title,
        "section": descriptor.source.section,
        "bits": descriptor.bits,
        "fields": {name: _field(field) for name, field in descriptor.fields.items()},
        "names": dict(known),
        "settings": {name: list(scalars.values) for name, scalars in descriptor.settings.items()},
        "rules": rules,
        "says": {
            name: [javascript_text(tree), sorted(names(tree))]
            for name, tree in said_trees(descriptor).items()
        },
        "parts": {part: descriptor.field_of(part) for part in ("start", "base", "mode")},
        "addresses": list(descriptor.addresses),
        "columns": None if descriptor.columns is None else _columns(descriptor.columns),
    }


def _field(field: DescriptorField) -> _DescriptorJson:
    about: _DescriptorJson = {"what": field.what, "low": field.low, "high": field.high, "unit": field.unit}
    optional: Mapping[str, Any] = {
        "values": dict(field.values),
        "constant": field.constant,
        "unplaced": dict(field.unplaced),
    }
    return about | {name: value for name, value in optional.items() if value not in (None, {})}


def _columns(mask: ColumnMask) -> _DescriptorJson:
    return {
        "counts": list(mask.counts.values),
        "parts": javascript_text(mask.parts.tree),
        "start": mask.start,
        "first": mask.first,
        "position": javascript_text(mask.position.tree),
        "zeroed": javascript_text(mask.zeroed.tree),
    }


def _silent(specification: Specification, rule: DescriptorRule) -> dict[str, list[str]]:
    """By target, the versions in which a rule does not hold; targets that have none are left out."""
    versions = [str(release.ptx) for release in specification.index.releases]
    found = {}
    for target in (None, *specification.index.targets):
        judges = ((version, specification.judge(version, target)) for version in versions)
        silent = [version for version, judge in judges if not holding(judge)(rule)]
        if silent:
            found[target or _ANY] = silent
    return found
