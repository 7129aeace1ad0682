"""ptxmma ordering: compare the two ordering models with each other, in three ways; and those of phases."""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from ..spec.errors import Question
from ..spec.ordering import ordering

if TYPE_CHECKING:
    from ..formal.ordering.agreement_proof import ProofBounds, ReadingProof
    from ..formal.ordering.phases.phase_comparison import PhaseTally

__all__ = ["add"]

_PHASES = 4  # steps of programs with phases; some minutes
_DRAWN = 100  # random programs with phases for each step above 2
_DIRECT = 4  # steps of programs that both models are run on; some minutes a reading


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument("reading", nargs="?", help="default, strict or SWITCH=SETTING; every one if left out")
    parser.add_argument(
        "--steps",
        type=int,
        default=8,
        metavar="N",
        help="count every program of N steps over joint states (8)",
    )
    parser.add_argument(
        "--direct", type=int, default=3, metavar="N", help="run both models on every program of N steps (3)"
    )
    parser.add_argument(
        "--stride",
        type=int,
        default=1,
        metavar="N",
        help="run both models from every Nth class of states (1)",
    )
    parser.add_argument(
        "--length", type=int, default=12, metavar="N", help="ask z3 about programs of N steps (12); 0: do not"
    )
    parser.add_argument(
        "--phases",
        type=int,
        default=2,
        metavar="N",
        help="run the models of phases on every program of N steps (2); 0: do not",
    )
    parser.add_argument("--alphabet", action="store_true", help="the steps that programs are made of")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Compare the models and print what was compared; exit code 0 they agree, 1 they do not."""
    from ..formal.ordering.agreement_proof import ProofBounds
    from ..formal.ordering.alphabet import alphabet

    if args.alphabet:
        steps = [str(step) for step in alphabet()]
        print(json.dumps(steps, indent=1) if args.format == "json" else "\n".join(steps))
        return 0
    if args.steps < 1 or args.direct < 1 or args.stride < 1 or args.length not in (0, *range(2, 34)):
        raise Question("--steps, --direct and --stride must be at least 1, --length 0 or 2 to 33")
    if args.direct > _DIRECT:
        most = f"--direct is at most {_DIRECT}, some 2,600,000 programs a reading"
        raise Question(f"{most}; each step more takes 40 times as long. --steps counts longer programs")
    if not 0 <= args.phases <= _PHASES:
        raise Question(
            f"--phases is at most {_PHASES}; each step more takes some 30 times as long. 0: do not"
        )
    every = ordering().every()
    if args.reading is not None and args.reading not in every:
        raise Question(f"there is no reading {args.reading!r}; right would be: {', '.join(every)}")
    names = list(every) if args.reading is None else [args.reading]
    bounds = ProofBounds(args.steps, args.direct, args.stride, args.length)
    return _agree(names, bounds, args.phases, args.format)


def _agree(names: list[str], bounds: ProofBounds, phases: int, form: str) -> int:
    from ..formal.ordering.agreement_proof import prove_agreement
    from ..formal.ordering.alphabet import alphabet
    from ..formal.ordering.reached import reached

    begun = time.perf_counter()
    every = ordering().every()
    proofs: list[ReadingProof] = []
    if form == "text":
        print(f"{len(alphabet())} steps over 2 registers, 2 buffers, 2 mbarriers and 2 threads")
    for proof in prove_agreement({name: every[name] for name in names}, bounds):
        proofs.append(proof)
        if form == "text":
            print("\n".join(_lines(proof, bounds)), flush=True)
    with_phases = _compared(phases)
    if form == "text" and phases:
        print("\n".join(_phase_lines(with_phases)), flush=True)
    faults = [fault for proof in proofs for fault in proof.faults] + with_phases.faults
    by_rule, by_reading = reached(bounds.steps)
    if form == "json":
        records = [_record(proof) for proof in proofs]
        answer = {"readings": records, "rules": by_rule, "settings": by_reading}
        print(json.dumps({**answer, "phases": _phase_record(with_phases)}, indent=1))
        return 1 if faults else 0
    for fault in faults:
        print(f"DISAGREE: {fault}")
    closed: Counter[str] = Counter()
    for proof in proofs:
        closed.update(proof.tally.hazards)
        for scope in proof.locations.values():
            closed.update(scope.hazards)
    print(f"litmus tests of at most {bounds.steps} steps, and hazards closed above, by rule:")
    print(*(f"  {rule}: {count}, {closed[rule]}" for rule, count in by_rule.items()), sep="\n")
    print(f"litmus tests of at most {bounds.steps} steps whose rules a reading changes:")
    print(*(f"  {name}: {count}" for name, count in by_reading.items()), sep="\n")
    print(f"{len(faults)} disagreements; {time.perf_counter() - begun:.0f} s")
    return 1 if faults else 0


def _compared(steps: int) -> PhaseTally:
    """What the models of phases say; nothing is asked for 0 steps."""
    from ..formal.ordering.phases.phase_comparison import PhaseTally, compare_phases

    return compare_phases(steps, _DRAWN * max(0, steps - 2)) if steps else PhaseTally()


def _phase_lines(tally: PhaseTally) -> list[str]:
    """The lines on what was compared about phases."""
    lines = ["barriers with phases (enumerated, not proven; no branches, proxies or groups):"]
    lines += [f"  {kind}: both models run on {count} programs" for kind, count in tally.programs.items()]
    return [*lines, *(f"  {rule}: {count} programs" for rule, count in sorted(tally.hazards.items()))]


def _phase_record(tally: PhaseTally) -> dict[str, Any]:
    return {
        "programs": dict(tally.programs),
        "hazards": dict(sorted(tally.hazards.items())),
        "faults": tally.faults,
    }


def _lines(proof: ReadingProof, bounds: ProofBounds) -> list[str]:
    """The lines on what was compared under one reading."""
    direct = (
        f"both models run on {sum(proof.tally.programs.values())} programs of at most {bounds.direct} steps"
    )
    if proof.same_values_as:
        return [f"{proof.reading}: no value can differ from {proof.same_values_as}", f"  {direct}"]
    lines = [f"{proof.reading}:"]
    for kind, scope in proof.locations.items():
        lines.append(
            f"  every length, one {kind}: {scope.states} joint states, {scope.tried} next steps; "
            f"both models run on {scope.confirmed} programs through them"
        )
    for level in proof.counts:
        states = "" if level.states is None else f", {level.states} joint states"
        lines.append(
            f"  length {level.length}: {level.programs} programs, {level.hazards} with a hazard{states}"
        )
    lines.append(f"  {direct}")
    if proof.answers:
        unsat = sum(said == "unsat" for said in proof.answers.values())
        lines.append(
            f"  z3: {unsat} of {len(proof.answers)} unsat, no program of at most {bounds.length} steps"
        )
    return lines


def _record(proof: ReadingProof) -> dict[str, Any]:
    return {
        "reading": proof.reading,
        "alike": proof.same_values_as,
        "joint-states": {
            kind: {
                "states": scope.states,
                "by-length": {str(length): count for length, count in scope.levels.items()},
                "tried": scope.tried,
                "hazards": dict(sorted(scope.hazards.items())),
                "confirmed": scope.confirmed,
            }
            for kind, scope in proof.locations.items()
        },
        "lengths": [
            {
                "length": level.length,
                "programs": level.programs,
                "hazards": level.hazards,
                "states": level.states,
            }
            for level in proof.counts
        ],
        "direct": {
            "programs": {str(length): count for length, count in sorted(proof.tally.programs.items())},
            "hazards": dict(sorted(proof.tally.hazards.items())),
        },
        "z3": proof.answers,
        "faults": proof.faults,
    }
