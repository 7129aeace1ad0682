"""ptxmma ordering: both ordering models held against each other, by running them and by a solver."""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..spec.errors import Question
from ..spec.ordering import Readings, ordering

if TYPE_CHECKING:
    from ..formal.agreement import Tally
    from ..formal.closure import Closure

__all__ = ["add"]

_PATIENCE = 600_000  # milliseconds


def add(subparsers: Any) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser("ordering", help="do the two models of the ordering rules agree?")
    parser.add_argument("reading", nargs="?", help="default, strict or SWITCH=SETTING; every one if left out")
    parser.add_argument("--steps", type=int, default=2, metavar="N", help="run every program of N steps (2)")
    parser.add_argument(
        "--states", type=int, default=5, metavar="N", help="joint states up to N steps (5); 0: all"
    )
    parser.add_argument("--length", type=int, default=0, metavar="N", help="ask z3 about programs of N steps")
    parser.add_argument("--alphabet", action="store_true", help="the steps that programs are made of")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Exit code 0 the models agree, 1 they do not; what was looked at is printed."""
    from ..formal.agreement import alphabet

    if args.alphabet:
        for step in alphabet():
            print(step)
        return 0
    if args.steps < 1 or args.states < 0 or args.length not in (0, *range(2, 65)):
        raise Question("--steps must be at least 1, --states at least 0, and --length 2 to 64")
    every = ordering().every()
    if args.reading is not None and args.reading not in every:
        raise Question(f"there is no reading {args.reading!r}; right would be: {', '.join(every)}")
    chosen = every if args.reading is None else {args.reading: every[args.reading]}
    return _agree(chosen, args.steps, args.states or None, args.length, args.format)


def _agree(chosen: Mapping[str, Readings], steps: int, states: int | None, length: int, form: str) -> int:
    from ..formal.agreement import alphabet, enumerate_programs
    from ..formal.closure import close_locations

    begun = time.perf_counter()
    records = []
    faults: list[str] = []
    reached: Counter[str] = Counter()
    if form == "text":
        print(f"{len(alphabet())} steps over 2 registers, 2 buffers, 2 mbarriers and 2 threads")
    for name, tally in enumerate_programs(steps, chosen):
        closures = close_locations(chosen[name], states)
        faults += tally.faults
        reached.update(tally.hazards)
        for closure in closures.values():
            faults += closure.faults
            reached.update(closure.hazards)
        asked = _ask(name, chosen[name], length) if length else []
        faults += [f"{subject}: {said}" for subject, said in asked if said != "unsat"]
        records.append(_record(name, tally, closures) | {"z3": dict(asked)})
        if form == "text":
            print(_line(name, tally, closures), flush=True)
            if asked:
                proven = sum(said == "unsat" for _, said in asked)
                print(
                    f"  z3: {proven} of {len(asked)} unsat, no program of at most {length} steps", flush=True
                )
    if form == "json":
        print(json.dumps(records, indent=1))
    else:
        for fault in faults:
            print(f"DISAGREE: {fault}")
        print(f"hazards reached: {', '.join(f'{rule} {count}' for rule, count in sorted(reached.items()))}")
        print(f"{len(faults)} disagreements; {time.perf_counter() - begun:.0f} s")
    return 1 if faults else 0


def _ask(name: str, readings: Readings, length: int) -> list[tuple[str, str]]:
    """What z3 says of every obligation: unsat, or the program that it found, or unknown."""
    from ..formal.solvers import ask
    from ..formal.symbolic import ordering_obligations

    found = []
    for obligation in ordering_obligations(name, readings, length):
        answer = ask("z3", obligation.smt, _PATIENCE)
        said = obligation.explain(answer.model) if answer.status == "sat" else answer.status
        found.append((obligation.subject, said))
    return found


def _line(name: str, tally: Tally, closures: dict[str, Closure]) -> str:
    programs = sum(tally.programs.values())
    parts = [f"{programs} programs of at most {max(tally.programs)} steps"]
    for location, closure in closures.items():
        scope = "every length" if closure.closed else f"up to {len(closure.states)} steps"
        parts.append(f"one {location}: {sum(closure.states)} states, {closure.tried} next steps, {scope}")
    return f"{name}: {'; '.join(parts)}"


def _record(name: str, tally: Tally, closures: dict[str, Closure]) -> dict[str, Any]:
    return {
        "reading": name,
        "programs": {str(length): count for length, count in sorted(tally.programs.items())},
        "hazards": dict(sorted(tally.hazards.items())),
        "faults": tally.faults,
        "states": {
            location: {
                "by-length": closure.states,
                "tried": closure.tried,
                "closed": closure.closed,
                "hazards": dict(sorted(closure.hazards.items())),
                "faults": closure.faults,
            }
            for location, closure in closures.items()
        },
    }
