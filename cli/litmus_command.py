"""ptxmma litmus: check the ordering tests against both models and, on request, every ptxas."""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import textwrap
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..spec.api import load
from ..spec.editions import note
from ..spec.errors import Question
from ..spec.naming import like
from ..spec.ordering import ordering
from ..spec.writing import write_folder
from .phase_litmus import phase_verdicts

if TYPE_CHECKING:
    from ..assemblers.litmus_reactions import Reaction, ReactionKind
    from ..formal.ordering.verdicts import ModelVerdict
    from ..gen.litmus.litmus_tests import SuiteLitmus

__all__ = ["add"]


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument("pattern", nargs="?", help="only tests whose name or rule matches (with *)")
    parser.add_argument("--ptx", action="store_true", help="print the tests as one PTX file")
    parser.add_argument("--emit", metavar="DIR", help="write a PTX file of every test")
    parser.add_argument(
        "--ptxas", action="store_true", help="what every assembler on this machine does with them"
    )
    parser.add_argument(
        "--record", action="store_true", help="with --ptxas: record what they do, for the atlas"
    )
    parser.add_argument("--synthesise", action="store_true", help="make the synthesised tests anew, as YAML")
    parser.add_argument("--phases", action="store_true", help="the tests of barriers with phases")
    parser.add_argument("--switches", action="store_true", help="the readings that the text leaves open")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Exit code 0: every verdict is as expected and both models agree; 1: otherwise; 2: no test matches."""
    if args.switches:
        return _switches(args.format)
    if args.phases:
        return phase_verdicts(args.pattern, args.format)
    from ..gen.litmus.litmus_ptx import module
    from ..gen.litmus.litmus_tests import suite, synthesised_file

    if args.synthesise:
        print(synthesised_file(), end="")
        return 0
    tests = [test for test in suite() if test.name == args.pattern]
    tests = tests or [test for test in suite() if _matches(args.pattern, test)]
    if not tests:
        raise Question(f"no litmus test matches {args.pattern!r}; `ptxmma litmus` lists them")
    if args.ptx:
        print(module([test.kernel for test in tests]), end="")
        return 0
    if args.emit:
        return _emit(Path(args.emit), tests)
    if args.record and (args.pattern or not args.ptxas):
        raise Question("--record goes with --ptxas, and with all tests")
    if args.ptxas:
        return _reactions(tests, args.format, args.record)
    return _verdicts(tests, args.format)


def _matches(pattern: str | None, test: SuiteLitmus) -> bool:
    if pattern is None:
        return True
    return like(pattern, test.name, *test.hazards)


def _switches(form: str) -> int:
    known = ordering().switches
    if form == "json":
        records = {
            name: {
                "question": switch.question,
                "section": switch.section,
                "settings": {setting: how.says for setting, how in switch.settings.items()},
                "default": switch.default,
                "strict": switch.strict,
                "why": switch.why,
            }
            for name, switch in known.items()
        }
        print(json.dumps(records, indent=1))
        return 0
    for name, switch in known.items():
        print(
            "\n".join(
                textwrap.wrap(f"{name} ({switch.section}): {switch.question}", 110, subsequent_indent="  ")
            )
        )
        for setting, how in switch.settings.items():
            marks = [mark for mark in ("default", "strict") if getattr(switch, mark) == setting]
            print(f"  {setting}{' (' + ' and '.join(marks) + ')' if marks else ''}: {how.says}")
        print(f"  why: {switch.why}")
    print(note(load().index))
    return 0


def _emit(folder: Path, tests: Sequence[SuiteLitmus]) -> int:
    write_folder(folder, ((f"{test.name}.ptx", test.ptx) for test in tests))
    print(f"{len(tests)} PTX files in {folder}")
    return 0


def _verdicts(tests: Sequence[SuiteLitmus], form: str) -> int:
    from ..formal.ordering.verdicts import judge

    default = ordering().default
    results: list[tuple[SuiteLitmus, ModelVerdict, float, str | None]] = []
    for test in tests:
        begun = time.perf_counter()
        verdict = judge(test.program, default)
        wrong = verdict.disagreement
        if verdict.rules != test.hazards:
            wrong = f"expected {_named(test.hazards)}, found {_named(verdict.rules)}"
        results.append((test, verdict, time.perf_counter() - begun, wrong))
    bad = [result for result in results if result[3]]
    if form == "json":
        print(json.dumps([_record(*result) for result in results], indent=1))
    elif len(results) == 1:
        print("\n".join(_in_full(*results[0])))
    else:
        for test, verdict, _, wrong in results:
            print(f"{'WRONG' if wrong else 'ok':<5} {test.name}: {wrong or _named(verdict.rules)}")
        _summary(results, len(bad))
    return 1 if bad else 0


def _summary(results: Sequence[tuple[SuiteLitmus, ModelVerdict, float, str | None]], bad: int) -> None:
    rules = Counter(rule for test, *_ in results for rule in test.hazards)
    median = statistics.median(seconds for _, _, seconds, _ in results)
    undefined = sum(bool(test.hazards) for test, *_ in results)
    print(f"rules: {', '.join(f'{rule} {count}' for rule, count in rules.most_common())}")
    print(
        f"{len(results)} tests, {undefined} undefined and {len(results) - undefined} defined; "
        f"{bad} not as expected; median {median * 1000:.1f} ms"
    )


def _named(rules: Sequence[str]) -> str:
    return ", ".join(rules) if rules else "defined"


def _record(test: SuiteLitmus, verdict: ModelVerdict, seconds: float, wrong: str | None) -> dict[str, Any]:
    return {
        "name": test.name,
        "title": test.title,
        "source": test.source,
        "why": test.why,
        "program": [str(step) for step in test.program.steps],
        "verdict": "undefined" if test.hazards else "defined",
        "expected": list(test.hazards),
        "hazards": [{"rule": hazard.rule, "steps": list(hazard.steps)} for hazard in verdict.hazards],
        "sections": list(test.sections),
        "under": {setting: list(rules) for setting, rules in test.under.items()},
        "schedules": [list(schedule) for schedule in verdict.schedules or ()],
        "ptx": test.ptx,
        "seconds": round(seconds, 5),
        "wrong": wrong,
    }


def _in_full(test: SuiteLitmus, verdict: ModelVerdict, seconds: float, wrong: str | None) -> list[str]:
    known = ordering().rules
    lines = [f"{test.name}: {test.title}", f"source: {test.source}", ""]
    lines += [f"{number:3}  {step}" for number, step in enumerate(test.program.steps)]
    lines += ["", f"verdict: {'undefined' if test.hazards else 'defined'}: {test.why}"]
    for hazard in verdict.hazards:
        rule = known[hazard.rule]
        lines.append(f"{hazard}: {rule.title} ({rule.section})")
        lines.append(f"  {rule.mend}")
    for setting, rules in test.under.items():
        lines.append(f"with {setting}: {_named(rules)}")
    lines.append(note(load().index))
    if verdict.schedules:
        for word, schedule in zip(("one schedule", "another"), verdict.schedules, strict=True):
            lines += [f"{word}:", *(f"  {line}" for line in schedule)]
    if wrong:
        lines.append(f"WRONG: {wrong}")
    return lines


def _reactions(tests: Sequence[SuiteLitmus], form: str, record: bool) -> int:
    from ..assemblers.litmus_reactions import KINDS, react
    from ..assemblers.toolchains import available
    from ..ledger.litmus_record import load_litmus_record, recorded_anew, write_litmus_record

    releases = available()
    if not releases:
        raise Question("no ptxas is at hand; `ptxmma toolchain fetch` gets one")
    found = {ptxas.version: react(ptxas, tests) for ptxas in releases}
    if record:
        write_litmus_record(recorded_anew(load_litmus_record(), tests, found))
    if form == "json":
        print(
            json.dumps(
                {release: _reacted(tests, reactions) for release, reactions in found.items()}, indent=1
            )
        )
        return 0
    from rich.console import Console
    from rich.table import Table

    console = Console(width=None if sys.stdout.isatty() else 110, highlight=False)
    for word, wanted in (("undefined", True), ("defined", False)):
        count = sum(bool(test.hazards) is wanted for test in tests)
        table = Table("ptxas", *KINDS, title=f"{count} {word} tests")
        for release, reactions in found.items():
            kinds = Counter(
                reaction.kind
                for test, reaction in zip(tests, reactions, strict=True)
                if bool(test.hazards) is wanted
            )
            table.add_row(release, *(str(kinds[kind] or "") for kind in KINDS))
        console.print(table)
    newest = releases[-1].version
    table = Table("rule", *KINDS, title=f"undefined tests by the first rule they break, ptxas {newest}")
    by_rule: Mapping[str, Counter[ReactionKind]] = {rule: Counter() for rule in ordering().rules}
    for test, reaction in zip(tests, found[newest], strict=True):
        if test.hazards:
            by_rule[test.hazards[0]][reaction.kind] += 1
    for rule, kinds in by_rule.items():
        if kinds:
            table.add_row(rule, *(str(kinds[kind] or "") for kind in KINDS))
    console.print(table)
    return 0


def _reacted(tests: Sequence[SuiteLitmus], reactions: Sequence[Reaction]) -> list[dict[str, Any]]:
    return [
        {
            "test": test.name,
            "verdict": "undefined" if test.hazards else "defined",
            "ptxas": reaction.kind,
            "words": list(reaction.words),
        }
        for test, reaction in zip(tests, reactions, strict=True)
    ]
