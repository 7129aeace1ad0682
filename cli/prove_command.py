"""ptxmma prove: every theorem of every row, by one solver or two."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..spec.api import load
from ..spec.errors import Question
from ..spec.naming import like
from ..spec.specification import Specification
from ..spec.writing import write_folder
from .options import add_scheduler, seconds

if TYPE_CHECKING:
    from ..formal.catalogue import TheoremSubject
    from ..formal.prove import ProofResult
    from ..formal.smt.obligations import Obligation
    from ..formal.theorem import Enumeration

__all__ = ["add", "parts_in_words"]

_SOLVERS = ("z3", "cvc5")


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument(
        "pattern",
        nargs="?",
        help="only rows with all that they rest on, parts or theorems that match (with *); "
        "a mnemonic means its row",
    )
    parser.add_argument(
        "--solver", choices=(*_SOLVERS, "both"), default="both", help="who is asked (default: %(default)s)"
    )
    parser.add_argument("--timeout", type=seconds, default=20.0, metavar="S", help="seconds a proof")
    parser.add_argument("--dump", metavar="DIR", help="also write every obligation as SMT-LIB")
    parser.add_argument("--record", action="store_true", help="prove it all, and write it to evidence/")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.add_argument(
        "--claims",
        metavar="FILE",
        help="layouts of other codebases as JSON: is each equal to the specification's?",
    )
    parser.add_argument("--list", action="store_true", help="the theorems and what they state")
    add_scheduler(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Prove; exit code 0: everything holds, 1: something refuted or unknown, 2: nothing to prove."""
    from ..formal.prove import prove
    from ..formal.smt.obligations import Obligation

    if args.list:
        _list(args.format)
        return 0
    if args.claims is not None:
        from .layout_claims import prove_claims

        if args.pattern or args.record or args.dump:
            raise Question("--claims goes with no pattern, and with neither --record nor --dump")
        return prove_claims(args.claims, args.format)
    if args.record and args.pattern:
        raise Question("a record is of everything: --record goes with no pattern")
    if args.record:
        from ..ledger.records import require_writable

        require_writable()
    specification = load()
    solvers = _SOLVERS if args.solver == "both" else (args.solver,)
    folder = None if args.dump is None else Path(args.dump)

    meant = _Meant.by(specification, args.pattern)

    def wanted(part: str, obligation: Obligation | Enumeration) -> bool:
        if not meant.has(part, obligation.theorem, obligation.subject):
            return False
        if folder is not None and isinstance(obligation, Obligation):
            name = f"{obligation.theorem}-{obligation.digest}.smt2"
            header = f"; {obligation.theorem} of {obligation.subject}: expects {obligation.expects}\n"
            write_folder(folder, [(name, header + obligation.smt)])
        return True

    begun = time.perf_counter()
    milliseconds = int(args.timeout * 1000)
    results: list[ProofResult] = []
    for result in prove(specification, solvers, wanted, milliseconds, concerning=meant.concerns):
        if not results and args.format != "json":
            _prepare_report(solvers)
        results.append(result)
    seconds = time.perf_counter() - begun
    if not results:
        raise Question(f"nothing matches {args.pattern!r}; `ptxmma prove --list` names the theorems")
    if args.record:
        from ..ledger.solver_record import answers_of, write_answers

        for answers in answers_of(results):
            count = sum(result.solver == answers.solver for result in results)
            print(f"{write_answers(answers)}: {count} results", file=sys.stderr)
    bad = [result for result in results if not result.holds]
    if args.format == "json":
        print(json.dumps(_json(results, seconds), indent=1))
    else:
        _report(specification, results, solvers, seconds, meant if args.pattern else None)
    return 1 if bad else 0


def _list(wanted: str) -> None:
    """Print every theorem: what it states, its formula, and what is found where it is false."""
    from ..formal.catalogue import GROUPS, STATEMENTS

    listed = [theorem for group in GROUPS for theorem in group.theorems]
    if wanted == "json":
        said = [
            {
                "theorem": one.name,
                "says": STATEMENTS[one.name],
                "formula": one.formula,
                "fails": one.fails,
            }
            for one in listed
        ]
        print(json.dumps(said, indent=1, ensure_ascii=False))
        return
    for one in listed:
        print(f"{one.name:<26} {STATEMENTS[one.name]}")
        print(f"  {one.formula}")
        print(f"  would fail with: {one.fails}")


@dataclass(frozen=True)
class _Meant:
    """What a pattern means: the rows that it matches, the other rows, and the parts of the specification
    behind the first. Parts behind every row are about none of them, and are left out.

    The name of a row means that row alone (`exact`), and so does a mnemonic, which means its row.
    """

    pattern: str | None
    exact: bool
    rows: Mapping[str, TheoremSubject]
    others: frozenset[str]
    parts: frozenset[str]

    @classmethod
    def by(cls, specification: Specification, pattern: str | None) -> _Meant:
        """What is asked about: all, where there is no pattern."""
        from ..formal.catalogue import behind_all, subjects

        names = [view.id for family in specification.families.values() for view in family.rows]
        named = [name for name in names if pattern and name.lower() == pattern.lower()]
        variant = specification.judge().variant_of(pattern) if pattern and not named else None
        if variant is not None:
            named = [variant.row.id]
        meant = frozenset(named or (name for name in names if pattern and like(pattern, name)))
        rows = {subject.row: subject for subject in subjects(specification, meant.__contains__)}
        behind = frozenset(part for subject in rows.values() for part in subject.parts)
        parts = behind - behind_all(specification) if rows else behind
        return cls(pattern, bool(named), rows, frozenset(names) - meant, parts)

    def concerns(self, part: str) -> bool:
        """Whether a part of the specification can have something that is meant."""
        return not self.exact or part in self.parts

    def has(self, part: str, theorem: str, subject: str) -> bool:
        """Whether a claim about a subject, made in a part of the specification, is meant: the pattern matches
        it, or one of the rows rests on it.
        """
        row = subject.partition(" ")[0]  # a subject begins with the name of its row, if it has one
        if part in self.parts and row not in self.others:
            return True
        return not self.exact and (not self.pattern or like(self.pattern, part, theorem, subject))


def _json(results: Sequence[ProofResult], seconds: float) -> dict[str, Any]:
    return {
        "seconds": round(seconds, 3),
        "results": [
            {
                "part": result.part,
                "theorem": result.obligation.theorem,
                "subject": result.obligation.subject,
                "obligation": result.obligation.digest,
                "solver": result.solver,
                "verdict": result.verdict,
                "seconds": round(result.seconds, 4),
                "detail": result.detail,
            }
            for result in results
        ],
    }


def _prepare_report(solvers: Sequence[str]) -> None:
    """Do what a report needs and takes a moment, while the solvers work."""
    import rich.console
    import rich.table

    from ..formal.smt.solvers import solver_version

    assert rich.console and rich.table
    for solver in solvers:
        solver_version(solver)


def _report(
    specification: Specification,
    results: Sequence[ProofResult],
    solvers: Sequence[str],
    seconds: float,
    meant: _Meant | None,
) -> None:
    """Print tables of theorems and rows; with a pattern, also a line for each part that was asked about."""
    from rich.console import Console
    from rich.table import Table

    from ..formal.catalogue import STATEMENTS
    from ..formal.prove import ENUMERATION
    from ..formal.smt.solvers import solver_version

    console = Console(width=None if sys.stdout.isatty() else 110, highlight=False)
    by_theorem: dict[str, dict[tuple[str, str], int]] = defaultdict(lambda: defaultdict(int))
    for result in results:
        by_theorem[result.obligation.theorem][result.solver, result.verdict] += 1
    table = Table("theorem", "states", *(f"{s} {solver_version(s)}" for s in solvers))
    for theorem, statement in STATEMENTS.items():
        if theorem in by_theorem:
            tried = _cell(by_theorem[theorem], ENUMERATION)
            cells = [tried or _cell(by_theorem[theorem], solver) for solver in solvers]
            table.add_row(theorem, statement, *cells)
    console.print(table)
    if meant is not None:
        for line in parts_in_words(specification, results):
            console.print(line, soft_wrap=True, markup=False)
    _rows(console, specification, results, solvers, tuple(meant.rows.values()) if meant is not None else ())
    for result in results:
        if result.detail:
            verdict = "FOUND" if result.verdict == "proven" else result.verdict.upper()
            console.print(
                f"{verdict} by {result.solver}: {result.obligation.theorem} of "
                f"{result.obligation.subject}: {result.detail}",
                soft_wrap=True,
                markup=False,
            )
    asked = [result for result in results if result.solver != ENUMERATION]
    proven = sum(result.verdict == "proven" for result in asked)
    per = ", ".join(f"{s} {sum(r.seconds for r in asked if r.solver == s):.1f} s of solving" for s in solvers)
    said = [f"{proven} of {len(asked)} proven in {seconds:.1f} s ({per})"] if asked else []
    enumerated = [result for result in results if result.solver == ENUMERATION]
    if enumerated:
        said.append(f"{sum(result.holds for result in enumerated)} of {len(enumerated)} enumerated")
    console.print("; ".join(said))


def parts_in_words(specification: Specification, results: Sequence[ProofResult]) -> Iterator[str]:
    """A line for each part: whether all that was asked about it is proven, what it is, and the theorems."""
    from ..formal.catalogue import STATEMENTS, titles

    known = titles(specification)
    by_part: dict[str, list[ProofResult]] = defaultdict(list)
    for result in results:
        by_part[result.part].append(result)
    order = {name: place for place, name in enumerate(known)}
    for part in sorted(by_part, key=lambda name: order.get(name, len(order))):
        own = by_part[part]
        bad = [r for r in own if not r.holds]
        verdict = f"{len(own) - len(bad)} of {len(own)} PROVEN" if bad else _best(own)
        named = {r.obligation.theorem for r in own}
        theorems = ", ".join(theorem for theorem in STATEMENTS if theorem in named)
        yield f"{verdict}: {part}" + (f": {known[part]}" if part in known else "") + f" ({theorems})"


def _best(results: Sequence[ProofResult]) -> str:
    """What the results of a part are, where all hold: enumerated only where nothing is proven."""
    return "proven" if any(result.verdict == "proven" for result in results) else "enumerated"


def _cell(counts: dict[tuple[str, str], int], solver: str) -> str:
    words = [
        f"{counts[solver, verdict]} {verdict}"
        for verdict in ("proven", "enumerated", "refuted", "unknown")
        if counts[solver, verdict]
    ]
    return ", ".join(words)


def _rows(
    console: Any,
    specification: Specification,
    results: Sequence[ProofResult],
    solvers: Sequence[str],
    meant: Sequence[TheoremSubject],
) -> None:
    """A line for each row that is meant, else for each that is concerned: its obligations, and how many are
    proven.
    """
    from rich.table import Table

    from ..formal.catalogue import subjects

    by_part: dict[str, list[ProofResult]] = defaultdict(list)
    for result in results:
        by_part[result.part].append(result)
    table = Table("row", "mnemonics", *(f"proven by {solver}" for solver in solvers))
    for subject in meant or subjects(specification):
        own = [result for part in subject.parts for result in by_part[part]]
        if all(result.solver not in solvers for result in own):
            continue
        cells = []
        for solver in solvers:
            mine = [result for result in own if result.solver == solver]
            proven = sum(result.verdict == "proven" for result in mine)
            cells.append(f"{proven} of {len(mine)}")
        table.add_row(subject.row, str(subject.mnemonics), *cells)
    if table.rows:
        console.print(table)
