"""Change one thing in the YAML at a time, and ask who notices: loader, proofs, assemblers, silicon or tests.

python bench/watched.py [FILE…] [--sample N] [--seed S] [--field FIELD] [--name NAME] [--list] [--format F]

A slip changes one scalar, list member, key or entry of one file. Its name is printed, and --name judges it
again. The format `lines` prints each outcome as JSON when it is known. Without --sample every slip is
judged, which takes hours; --sample judges N of them, chosen by a seed.

Exit code 0: somebody notices every slip, or it changes no meaning; 1: a slip is left; 2: none to judge.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.progress import track

from ptxmma.audit.mutation.baseline import Baseline
from ptxmma.audit.mutation.corpus import Corpus, sample
from ptxmma.audit.mutation.forks import outcomes
from ptxmma.audit.mutation.table import as_json, by_field, by_file, by_kind, undeclared
from ptxmma.audit.mutation.trial import SlipOutcome
from ptxmma.formal.mutation.slips import Slip
from ptxmma.spec.api import load
from ptxmma.spec.errors import PtxmmaError
from ptxmma.spec.workers import cores


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", metavar="FILE", help="only slips in these files")
    parser.add_argument("--sample", type=int, metavar="N", help="judge so many, some of every field")
    parser.add_argument("--seed", type=int, help="what the sample is chosen by (default: another each time)")
    parser.add_argument("--field", metavar="FIELD", help="only fields that begin so: Gate.since, Row")
    parser.add_argument(
        "--name", metavar="NAME", help="the slip of this name, or those that have it in theirs"
    )
    parser.add_argument("--list", action="store_true", help="print the names of the slips, and judge none")
    parser.add_argument("--jobs", type=int, default=cores(), metavar="N", help="how many at once")
    parser.add_argument("--limit", type=float, default=120.0, metavar="S", help="seconds a slip may take")
    parser.add_argument("--format", choices=("text", "json", "lines"), default="text")
    args = parser.parse_args()
    corpus = Corpus()
    try:
        load()  # a specification that is wrong as it stands has no slips
        every = list(corpus.slips([name.removeprefix("./") for name in args.files]))
    except PtxmmaError as error:
        parser.error(str(error))
    if args.field:
        every = [slip for slip in every if f"{slip.field}.".startswith(f"{args.field}.")]
    if args.name:
        every = [s for s in every if s.name == args.name] or [s for s in every if args.name in s.name]
    if not every:
        parser.error("no slip is called so; --list lists them")
    seed = random.randrange(1 << 32) if args.seed is None else args.seed
    chosen = every if args.sample is None else sample(every, args.sample, seed)
    if args.list:
        print("".join(f"{slip.place}: {slip.name}\n" for slip in chosen), end="")
        return 0
    begun, console = time.perf_counter(), Console(width=None if sys.stdout.isatty() else 150, highlight=False)
    found = []
    for outcome in _judged(Baseline(corpus), chosen, args):
        found.append(outcome)
        if args.format == "lines":
            print(json.dumps(as_json(outcome), ensure_ascii=False), flush=True)
    if args.format == "json":
        print(json.dumps({"seed": seed, "slips": [as_json(outcome) for outcome in found]}, indent=1))
    elif args.format == "text":
        _report(console, found)
        console.print(
            f"{len(found)} of {len(every)} slips, seed {seed}: {sum(o.open for o in found)} left to mend; "
            f"{time.perf_counter() - begun:.0f} s, {sum(o.seconds for o in found):.0f} s of processor"
        )
    return 1 if any(outcome.open for outcome in found) else 0


def _judged(base: Baseline, chosen: Sequence[Slip], args: argparse.Namespace) -> Iterator[SlipOutcome]:
    base.prepare({slip.file for slip in chosen})
    ran = outcomes(base, chosen, args.jobs, args.limit)
    yield from track(ran, "slips", len(chosen), console=Console(stderr=True), disable=not sys.stderr.isatty())


def _report(console: Console, found: Sequence[SlipOutcome]) -> None:
    left = [outcome for outcome in found if outcome.open]
    console.print(by_kind(found))
    console.print(by_file(found))
    if left:
        console.print(by_field(found))
    for outcome in sorted(left, key=lambda outcome: (outcome.slip.field, outcome.slip.name)):
        word = {"survives": "NOBODY", "placeless": "NO PLACE", "timeout": "LATE"}.get(
            outcome.verdict, outcome.verdict.upper()
        )
        why = f"\n    {outcome.by}: {outcome.why}" if outcome.why else ""
        console.print(
            f"{word} {outcome.slip.field}, {outcome.slip.place}\n    {outcome.slip.name}{why}",
            soft_wrap=True,
            markup=False,
        )
    for line in undeclared(found):
        console.print(f"UNDECLARED {line}", soft_wrap=True, markup=False)


if __name__ == "__main__":
    sys.exit(main())
