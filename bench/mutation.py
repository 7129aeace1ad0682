"""The mutation run: every integer and operator of every layout expression changed, one at a time.

python bench/mutation.py [SUBJECT…] [--silicon] [--format text|json] [--timeout S]

Survivors of the proofs are compared with the maps that devices showed (evidence/silicon-*.json). So is every
layout of threads with two bits of its inputs exchanged: another bijection, which no theorem about one map
refutes. --silicon prints this second half only. All 7577 mutants take some 15 minutes of a processor.

Exit code 0; 1 if a survivor is not a map of its kind (a hole in the theorems), a question stays open, a map
is measured and not refuted, or a layout that runs on a device was not measured there.
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

from ptxmma.cli.main import run_script
from ptxmma.formal.catalogue import STATEMENTS
from ptxmma.formal.mutation.mutants import MutantOutcome, Mutation, subjects
from ptxmma.formal.smt.solvers import solver_version
from ptxmma.ledger.silicon_record import load_silicon
from ptxmma.ledger.survivors import Exchanges, Witness
from ptxmma.spec.expressions import source
from ptxmma.spec.loading import load_files

_SOLVER = "z3"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("subjects", nargs="*", metavar="SUBJECT", help="only those with this in their name")
    parser.add_argument(
        "--silicon", action="store_true", help="only what survives the proofs, and silicon on it"
    )
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
        proofs = {} if args.silicon else _json(outcomes, seconds)
        print(json.dumps({**proofs, "silicon": trials}, indent=1, ensure_ascii=False))
    else:
        if not args.silicon:
            _report(outcomes, seconds)
        _tell(trials)
    unsettled = any(_open(outcome) for found in outcomes.values() for outcome in found)
    return 1 if unsettled or any(trial["open"] for trial in trials) else 0


def _trial(witness: Witness, outcomes: Mapping[str, Sequence[MutantOutcome]]) -> dict[str, Any]:
    """What one device says of every survivor and of the exchanges, by subject; `open` lists what it should
    have refuted or measured, and did not."""
    by_subject, unmeasured, still_open = {}, {}, []
    for name, found in outcomes.items():
        refuted, standing = [], []
        for mutant in (outcome.mutant for outcome in found if outcome.verdict == "survivor"):
            refutation, why = witness.judge(mutant)
            if refutation is not None:
                refuted.append({"mutant": str(mutant), "by": str(refutation)})
                continue
            standing.append({"mutant": str(mutant), "why": why})
            if any(witness.about(mutant.put(witness.specification))):
                still_open.append(str(mutant))
        layout = name in witness.specification.layouts
        exchanged = witness.exchanged(name) if layout else Exchanges(name, 0, ())
        still_open += map(str, exchanged.standing)
        if layout and (why := witness.silent(name)):
            unmeasured[name] = why
            if "run there" in why:
                still_open.append(name)
        by_subject[name] = {
            "refuted": refuted,
            "standing": standing,
            "exchanged": exchanged.tried,
            "exchanges standing": [str(exchange) for exchange in exchanged.standing],
        }
    return {
        "device": vars(witness.device),
        "subjects": by_subject,
        "unmeasured": unmeasured,
        "open": still_open,
    }


def _tell(trials: Sequence[Mapping[str, Any]]) -> None:
    """A table a device: by subject the survivors and the exchanges, and what became of them; then each."""
    if not trials:
        print("no device's observations are recorded: the survivors are compared with nothing else")
    console = Console(width=None if sys.stdout.isatty() else 140, highlight=False)
    heads = ("survive the proofs", "refuted", "survive both", "bits exchanged", "refuted", "survive both")
    for trial in trials:
        device = f"{trial['device']['name']}, {trial['device']['target']}, {trial['device']['date']}"
        table = Table("subject", *heads, title=device)
        for column in table.columns[1:]:
            column.justify = "right"
        total = Counter[int]()
        for name, found in trial["subjects"].items():
            refuted, standing = len(found["refuted"]), len(found["standing"])
            tried, left = found["exchanged"], len(found["exchanges standing"])
            cells = (refuted + standing, refuted, standing, tried, tried - left, left)
            if any(cells):
                table.add_row(name, *(str(cell or "") for cell in cells))
                total.update(dict(enumerate(cells)))
        table.add_section()
        table.add_row("all", *(str(total[place]) for place in range(len(heads))))
        console.print(table)
        for found in trial["subjects"].values():
            for entry in found["refuted"]:
                _say(console, f"refuted: {entry['mutant']}\n         {entry['by']}")
        for found in trial["subjects"].values():
            for entry in found["standing"]:
                _say(console, f"survives both: {entry['mutant']}\n         {entry['why']}")
            for name in found["exchanges standing"]:
                _say(console, f"survives both: {name}")
        for name, why in trial["unmeasured"].items():
            _say(console, f"not measured: {name}: {why}")
        for name in trial["open"]:
            _say(console, f"OPEN: {name}")


def _say(console: Console, line: str) -> None:
    console.print(line, soft_wrap=True, markup=False)


def _open(outcome: MutantOutcome) -> bool:
    return not outcome.sound or outcome.verdict == "unknown"


def _count(outcomes: Sequence[MutantOutcome]) -> dict[str, Any]:
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


def _json(outcomes: Mapping[str, Sequence[MutantOutcome]], seconds: float) -> dict[str, Any]:
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


def _report(outcomes: Mapping[str, Sequence[MutantOutcome]], seconds: float) -> None:
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


def _cells(outcomes: Sequence[MutantOutcome]) -> list[str]:
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
    run_script(main)
