"""ptxmma clauses: every clause of the contracts, with its consumers (what would fail if it were wrong)."""

from __future__ import annotations

import argparse
import json
from collections import defaultdict

from ..spec.api import load
from ..spec.contract_records import Consumer
from ..spec.editions import note
from ..spec.specification import Specification

__all__ = ["add", "users"]


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.set_defaults(run=run)


def users(specification: Specification) -> dict[str, list[str]]:
    """For every clause, the rows (numerical) or instructions (execution) that have it."""
    found: dict[str, list[str]] = defaultdict(list)
    for family in specification.families.values():
        for clause in family.instruction.execution:
            found[clause].append(family.instruction.instruction)
        for view in family.rows:
            for clause in view.row.numerical:
                found[clause].append(view.id)
    return found


def name_of(consumer: Consumer) -> str:
    """A consumer in words."""
    if consumer.theorem:
        return f"theorem {consumer.theorem}"
    if consumer.legality:
        return f"reason {consumer.legality}"
    if consumer.case:
        return f"cases {consumer.case}"
    if consumer.varies:
        return f"cases of every {consumer.varies}"
    if consumer.nobody:
        return f"nobody: {consumer.nobody}"
    return f"litmus tests of {consumer.litmus}" if consumer.litmus else f"check {consumer.check}"


def run(args: argparse.Namespace) -> int:
    """Print the clauses; exit code 1 when one has no consumer or no user."""
    from ..check.rules import rules
    from ..formal.consumers import check_consumers
    from ..spec.ordering import litmus_tests, synthesised_tests

    specification = load()
    hazards = {hazard for test in litmus_tests().values() for hazard in test.hazards}
    hazards |= {hazard for test in synthesised_tests().values() for hazard in test.hazards}
    check_consumers(specification, hazards, rules())
    used = users(specification)
    idle = [
        name for name, clause in specification.clauses.items() if not clause.consumers or not used.get(name)
    ]
    if args.format == "json":
        records = [
            {
                "id": name,
                "kind": clause.kind,
                "says": clause.says,
                "section": clause.section,
                "consumers": [name_of(consumer) for consumer in clause.consumers],
                "users": used.get(name, []),
            }
            for name, clause in specification.clauses.items()
        ]
        print(json.dumps(records, indent=1))
        return 1 if idle else 0
    for name, clause in specification.clauses.items():
        print(f"{name} ({clause.kind}, {clause.section})")
        print(f"  {clause.says}")
        print(f"  consumers: {', '.join(map(name_of, clause.consumers)) or 'NONE'}")
        print(f"  on {len(used.get(name, []))} rows or instructions")
    print(note(specification.index))
    print(f"{len(specification.clauses)} clauses, {len(idle)} without a consumer or a user")
    return 1 if idle else 0
