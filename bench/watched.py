"""Change one thing in the YAML at a time, and ask who notices: loader, proofs, assemblers, silicon or tests.

python bench/watched.py [FILE…] [--sample N] [--seed S] [--field FIELD] [--name NAME] [--list] [--format F]
                        [--record] [--stale] [--read LINES] | --recorded | --equal

A slip changes one scalar, list member, key or entry of one file. Its name is printed, and --name judges it
again. The format `lines` prints each outcome as JSON when it is known; --read takes what is printed so in
place of judging those slips again. Without --sample every slip is judged, which takes hours; --sample judges
N of them, chosen by a seed.

--record keeps the table of each file that was judged whole in bench/watched.json, --stale judges only files
whose slips are others than recorded there, and --recorded prints that table and judges none. --equal prints
by name, with its proof, every recorded slip that changes no meaning.

Exit code 0: somebody notices every slip, or it changes no meaning; 1: a slip is left, or the record is of
other slips; 2: none to judge.
"""

from __future__ import annotations

import argparse
import datetime
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import track

from ptxmma.audit.mutation.baseline import Baseline
from ptxmma.audit.mutation.corpus import Corpus, sample
from ptxmma.audit.mutation.forks import outcomes
from ptxmma.audit.mutation.recorded import (
    RecordedFile,
    as_outcomes,
    by_slip_kind,
    equal_slips,
    load_recorded,
    record,
    slips_digest,
)
from ptxmma.audit.mutation.table import (
    OPEN_COLUMNS,
    SlipCounts,
    as_json,
    by_field,
    by_file,
    by_kind,
    counted,
    undeclared,
)
from ptxmma.audit.mutation.trial import SlipOutcome
from ptxmma.cli.main import run_script
from ptxmma.formal.mutation.slips import Slip
from ptxmma.spec.api import load
from ptxmma.spec.errors import PtxmmaError, Question
from ptxmma.spec.workers import cores

RECORD = Path(__file__).with_name("watched.json")


def main() -> int:
    parser = _parser()
    args = parser.parse_args()
    if args.record and (args.sample is not None or args.field or args.name):
        parser.error("--record is of whole files: without --sample, --field and --name")
    try:
        return _asked(args)
    except PtxmmaError as error:
        parser.error(str(error))


def _parser() -> argparse.ArgumentParser:
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
    parser.add_argument("--record", action="store_true", help=f"keep the table in {RECORD.name}")
    parser.add_argument("--stale", action="store_true", help="only files that are not recorded as they are")
    parser.add_argument("--recorded", action="store_true", help="print the recorded table, and judge none")
    parser.add_argument(
        "--equal", action="store_true", help="print the recorded slips that are proven equal, and by what"
    )
    parser.add_argument(
        "--read", type=Path, action="append", default=[], metavar="LINES", help="outcomes of an earlier run"
    )
    parser.add_argument("--jobs", type=int, default=cores(), metavar="N", help="how many at once")
    parser.add_argument("--limit", type=float, default=120.0, metavar="S", help="seconds a slip may take")
    parser.add_argument("--format", choices=("text", "json", "lines"), default="text")
    return parser


def _asked(args: argparse.Namespace) -> int:
    corpus = Corpus()
    load()  # a specification that is wrong as it stands has no slips
    of_file: dict[str, list[Slip]] = {}
    for slip in corpus.slips([name.removeprefix("./") for name in args.files]):
        of_file.setdefault(slip.file, []).append(slip)
    recorded = load_recorded(RECORD)
    if args.equal:
        for file in sorted(of_file.keys() & recorded.keys()):
            for proof, names in recorded[file].equal.items():
                print("".join(f"{proof}: {file} {name}\n" for name in names), end="")
        return 0
    if args.recorded:
        return _tell(_console(), recorded, of_file)
    if args.stale:
        of_file = {file: slips for file, slips in of_file.items() if _stale(recorded, file, slips)}
    every = [slip for slips in of_file.values() for slip in slips]
    if args.field:
        every = [slip for slip in every if f"{slip.field}.".startswith(f"{args.field}.")]
    if args.name:
        every = [s for s in every if s.name == args.name] or [s for s in every if args.name in s.name]
    if not every and not args.stale:
        raise Question("no slip is called so; --list lists them")
    seed = random.randrange(1 << 32) if args.seed is None else args.seed
    chosen = every if args.sample is None else sample(every, args.sample, seed)
    if args.list:
        print("".join(f"{slip.place}: {slip.name}\n" for slip in chosen), end="")
        return 0
    begun, console = time.perf_counter(), _console()
    found = [outcome for path in args.read for outcome in as_outcomes(chosen, path)]
    known = {outcome.slip.name for outcome in found}
    for outcome in _judged(Baseline(corpus), [slip for slip in chosen if slip.name not in known], args):
        found.append(outcome)
        if args.format == "lines":
            print(json.dumps(as_json(outcome), ensure_ascii=False), flush=True)
    if args.format == "json":
        print(json.dumps({"seed": seed, "slips": [as_json(outcome) for outcome in found]}, indent=1))
    elif args.format == "text" and found:
        _report(console, found)
        console.print(
            f"{len(found)} of {len(every)} slips, seed {seed}: {sum(o.open for o in found)} left to mend; "
            f"{time.perf_counter() - begun:.0f} s, {sum(o.seconds for o in found):.0f} s of processor"
        )
        if args.sample is not None and any(outcome.open for outcome in found):
            again = " ".join([*args.files, f"--sample {args.sample} --seed {seed}"])
            console.print(f"the same slips again: python bench/watched.py {again}", soft_wrap=True)
    if args.record:
        today = datetime.date.today().isoformat()
        for file, slips in of_file.items():
            own = [outcome for outcome in found if outcome.slip.file == file]
            counts, equal = by_slip_kind(own), equal_slips(own)
            recorded[file] = RecordedFile(today, slips_digest(slips), counts, equal)
        record(RECORD, dict(sorted((file, one) for file, one in recorded.items() if file in corpus.nodes)))
    if args.stale or args.record:
        console = _console() if args.format == "text" else Console(stderr=True, highlight=False)
        return _tell(console, load_recorded(RECORD), {f: list(corpus.slips([f])) for f in corpus.nodes})
    return 1 if any(outcome.open for outcome in found) else 0


def _console() -> Console:
    return Console(width=None if sys.stdout.isatty() else 150, highlight=False)


def _stale(recorded: Mapping[str, RecordedFile], file: str, slips: Sequence[Slip]) -> bool:
    return file not in recorded or recorded[file].digest != slips_digest(slips)


def _tell(
    console: Console, recorded: Mapping[str, RecordedFile], of_file: Mapping[str, Sequence[Slip]]
) -> int:
    """Print the recorded table of these files, and what of it is not of today's slips; the exit code."""
    kept = {file: one for file, one in recorded.items() if file in of_file}
    counts: SlipCounts = Counter()
    for one in kept.values():
        counts.update(one.counts)
    holes = sum(count for (_, column), count in counts.items() if column in OPEN_COLUMNS)
    if kept:
        console.print(by_kind(counts))
        dates = sorted({one.date for one in kept.values()})
        console.print(f"recorded {' to '.join(dict.fromkeys((dates[0], dates[-1])))}: {holes} holes")
    stale = [file for file, slips in of_file.items() if _stale(recorded, file, slips)]
    for file in stale:
        changed = f"changed since {recorded[file].date}" if file in recorded else "not recorded"
        console.print(f"STALE {file}: {changed}: bench/watched.py --record {file}", soft_wrap=True)
    return 1 if holes or stale else 0


def _judged(base: Baseline, chosen: Sequence[Slip], args: argparse.Namespace) -> Iterator[SlipOutcome]:
    base.prepare({slip.file for slip in chosen})
    ran = outcomes(base, chosen, args.jobs, args.limit)
    yield from track(ran, "slips", len(chosen), console=Console(stderr=True), disable=not sys.stderr.isatty())


def _report(console: Console, found: Sequence[SlipOutcome]) -> None:
    left = [outcome for outcome in found if outcome.open]
    console.print(by_kind(by_slip_kind(found)))
    console.print(by_file(counted(found, lambda outcome: outcome.slip.file)))
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
    run_script(main)
