"""The mutation run: every integer and operator of every layout expression changed, one at a time.

python bench/mutation.py [SUBJECT…] [--format text|json] [--timeout S]

What survives is held against the maps that devices showed (evidence/silicon-*.json), and so is every layout
of threads with two bits of its inputs exchanged: another bijection, which no theorem about one map refutes.

Exit code 0; 1 if a survivor is no map of its kind (a hole in the theorems), a question stays open, or
measurements are about a map and do not refute it.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from ptxmma.check.observations import load_silicon
from ptxmma.check.survivors import Witness
from ptxmma.formal.mutation import Mutation, Outcome, subjects
from ptxmma.formal.solvers import solver_version
from ptxmma.formal.theorems import STATEMENTS
from ptxmma.spec.expressions import source
from ptxmma.spec.loading import load_files

_SOLVER = "z3"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("subjects", nargs="*", metavar="SUBJECT", help="only those with this in their name")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.add_argument("--timeout", type=float, default=20.0, metavar="S", help="seconds a question")
    args = parser.parse_args()
    begun = time.perf_counter()
    specification = load_files()
    mutation = Mutation(specification, _SOLVER, int(args.timeout * 1000))
    chosen = [
        s for s in subjects(specification) if not args.subjects or any(w in s.name for w in args.subjects)
    ]
    if not chosen:
        parser.error(f"nothing is called {' or '.join(args.subjects)}")
    outcomes = {subject.name: list(mutation.run(subject)) for subject in chosen}
    seconds = time.perf_counter() - begun
    trials = [_trial(Witness(specification, silicon), outcomes) for silicon in load_silicon()]
    if args.format == "json":
        print(json.dumps({**_json(outcomes, seconds), "silicon": trials}, indent=1, ensure_ascii=False))
    else:
        _report(outcomes, seconds)
        _tell(trials)
    unsettled = any(_open(outcome) for found in outcomes.values() for outcome in found)
    standing = any(trial["exchanges"]["standing"] for trial in trials)
    return 1 if unsettled or standing or any(s["measured"] for t in trials for s in t["standing"]) else 0


def _trial(witness: Witness, outcomes: Mapping[str, Sequence[Outcome]]) -> dict[str, Any]:
    """What one device says of every survivor, and of the exchanges."""
    refuted, standing = [], []
    for outcome in (o for found in outcomes.values() for o in found if o.verdict == "survivor"):
        refutation, why = witness.judge(outcome.mutant)
        entry = {"mutant": str(outcome.mutant)}
        if refutation is not None:
            refuted.append({**entry, "by": str(refutation)})
        else:
            measured = any(witness.about(outcome.mutant.put(witness.specification)))
            standing.append({**entry, "measured": measured, "why": why})
    exchanged = witness.exchanged()
    return {
        "device": vars(witness.device),
        "refuted": refuted,
        "standing": standing,
        "exchanges": {
            "tried": exchanged.tried,
            "standing": [str(exchange) for exchange in exchanged.standing],
            "unmeasured": list(exchanged.unmeasured),
        },
    }


def _tell(trials: Sequence[Mapping[str, Any]]) -> None:
    if not trials:
        print("no device's observations are recorded: nothing else is held against the survivors")
    for trial in trials:
        device = f"{trial['device']['name']} ({trial['device']['target']}, {trial['device']['date']})"
        for entry in trial["refuted"]:
            print(f"refuted by {device}: {entry['mutant']}\n          {entry['by']}")
        for entry in trial["standing"]:
            print(f"survives {device} too: {entry['mutant']}\n          {entry['why']}")
        exchanges = trial["exchanges"]
        refuted, tried = len(trial["refuted"]), exchanges["tried"]
        print(
            f"{device}: {refuted} of {refuted + len(trial['standing'])} survivors refuted; "
            f"{tried - len(exchanges['standing'])} of {tried} layouts with two bits exchanged refuted"
        )
        for name in exchanges["standing"]:
            print(f"stands: {name}")
        if exchanges["unmeasured"]:
            print(f"not measured there: {', '.join(exchanges['unmeasured'])}")


def _open(outcome: Outcome) -> bool:
    return not outcome.sound or outcome.verdict == "unknown"


def _count(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    def by(verdict: str) -> dict[str, int]:
        return dict(Counter(o.by for o in outcomes if o.verdict == verdict))

    return {
        "mutants": len(outcomes),
        "refused": sum(o.verdict == "refused" for o in outcomes),
        "equal": by("equal"),
        "refuted": {name: n for name in STATEMENTS if (n := by("refuted").get(name))},
        "unknown": by("unknown"),
        "survivors": sum(o.verdict == "survivor" for o in outcomes),
    }


def _json(outcomes: Mapping[str, Sequence[Outcome]], seconds: float) -> dict[str, Any]:
    everything = [outcome for found in outcomes.values() for outcome in found]
    return {
        "seconds": round(seconds, 1),
        "solver": f"{_SOLVER} {solver_version(_SOLVER)}",
        "total": _count(everything),
        "subjects": {name: _count(found) for name, found in outcomes.items()},
        "survivors": [
            {
                "formula": outcome.mutant.name,
                "old": source(outcome.mutant.old.tree),
                "new": source(outcome.mutant.new),
                "sound": outcome.sound,
                "enumerated": outcome.by,
            }
            for outcome in everything
            if outcome.verdict == "survivor"
        ],
    }


def _report(outcomes: Mapping[str, Sequence[Outcome]], seconds: float) -> None:
    console = Console(width=None if sys.stdout.isatty() else 140, highlight=False)
    table = Table(
        "subject",
        *("mutants", "refused", "equal"),
        "refuted, by the first theorem that does",
        "unknown",
        "survive",
    )
    for column in table.columns[1:]:
        column.justify = "right"
    table.columns[4].justify = "left"
    everything = [outcome for found in outcomes.values() for outcome in found]
    for name, found in outcomes.items():
        table.add_row(name, *_cells(found))
    table.add_section()
    table.add_row("all", *_cells(everything))
    console.print(table)
    total = _count(everything)
    theorems = Table("theorem", "states", "refutes first")
    for name, statement in STATEMENTS.items():
        if name in total["refuted"]:
            theorems.add_row(name, statement, str(total["refuted"][name]))
    console.print(theorems)
    for outcome in everything:
        if outcome.verdict == "survivor":
            verdict = outcome.by if outcome.sound else f"A HOLE: {outcome.by}"
            console.print(f"survives: {outcome.mutant}\n          {verdict}", soft_wrap=True, markup=False)
        if outcome.verdict == "unknown":
            console.print(f"UNKNOWN ({outcome.by}): {outcome.mutant}", soft_wrap=True, markup=False)
    holes = sum(not outcome.sound for outcome in everything)
    console.print(
        f"{total['mutants']} mutants: {total['refused']} refused by the loader, "
        f"{sum(total['equal'].values())} proven equal, {sum(total['refuted'].values())} refuted, "
        f"{sum(total['unknown'].values())} unknown, {total['survivors']} survive ({holes} of them holes); "
        f"{seconds:.0f} s with {_SOLVER} {solver_version(_SOLVER)}"
    )


def _cells(outcomes: Sequence[Outcome]) -> list[str]:
    count = _count(outcomes)
    equal = ", ".join(f"{n} {solver}" for solver, n in count["equal"].items())
    refuted = ", ".join(f"{name} {n}" for name, n in count["refuted"].items())
    unknown = str(sum(count["unknown"].values()) or "")
    return [
        str(count["mutants"]),
        str(count["refused"] or ""),
        equal,
        refuted,
        unknown,
        str(count["survivors"] or ""),
    ]


if __name__ == "__main__":
    sys.exit(main())
