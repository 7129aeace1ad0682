"""The litmus tests: written by hand and synthesised, with their PTX and the verdict each deserves."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property

from ...formal.ordering.notation import parse
from ...formal.ordering.programs import Program
from ...formal.ordering.synthesis import synthesise
from ...formal.ordering.verdicts import rules
from ...spec.errors import SpecError
from ...spec.ordering import Readings, litmus_tests, ordering, synthesised_tests
from .litmus_ptx import LitmusKernel, module

__all__ = ["MAKER", "SuiteLitmus", "single_settings", "suite", "synthesised_file", "written"]

MAKER = "formal/ordering/synthesis.py"
_LINE = 140  # characters of a line of YAML
_HEAD = """\
# yaml-language-server: $schema=../schemas/ordering.synthesised.json
# Litmus tests that formal/ordering/synthesis.py makes; `ptxmma litmus --synthesise` prints this file.
# A name says which accesses are ordered, in which of several ways, and (of a spoilt program) what was
# done to one step.
tests:
"""


@dataclass(frozen=True)
class SuiteLitmus:
    """A litmus test: `hazards` are the rules that its program breaks under the default readings.

    `stated` says, for one by hand, what it breaks with one `switch=setting` where that differs.
    """

    name: str
    title: str
    source: str
    why: str
    program: Program
    hazards: tuple[str, ...]
    stated: Mapping[str, tuple[str, ...]] | None

    @cached_property
    def under(self) -> Mapping[str, tuple[str, ...]]:
        """The rules it breaks with one `switch=setting` other than the default, where they differ."""
        if self.stated is not None:
            return self.stated
        broken = {name: rules(self.program, readings) for name, readings in single_settings().items()}
        return {name: found for name, found in broken.items() if found != self.hazards}

    @property
    def entry(self) -> str:
        """The name of its kernel."""
        return "litmus_" + "".join(letter if letter.isalnum() else "_" for letter in self.name)

    @cached_property
    def kernel(self) -> LitmusKernel:
        """Its kernel, with what it is about in comments."""
        known = ordering()
        verdict = "defined" if not self.hazards else f"undefined: {', '.join(self.hazards)}"
        lines = [f"test {self.name}: {self.title}", f"verdict: {verdict}"]
        for rule in self.hazards:
            lines.append(f"rule {rule} ({known.rules[rule].section}): {known.rules[rule].title}")
        if self.under:
            lines.append(f"depends on: {', '.join(self.under)}")
        lines += [f"{number:3} {step}" for number, step in enumerate(self.program.steps)]
        return LitmusKernel(self.entry, tuple(lines), self.program)

    @property
    def ptx(self) -> str:
        """A PTX file of this test alone."""
        return module([self.kernel])

    @property
    def sections(self) -> tuple[str, ...]:
        """The sections of the PTX ISA that it exercises."""
        known = ordering().rules
        named = "; ".join([*(known[rule].section for rule in self.hazards)] or ["9.7.15.7"])
        return tuple(dict.fromkeys(named.split("; ")))


@cache
def single_settings() -> Mapping[str, Readings]:
    """The readings in which one switch is not set by default, by `switch=setting`."""
    return {name: readings for name, readings in ordering().every().items() if "=" in name}


@cache
def written() -> tuple[SuiteLitmus, ...]:
    """The tests written by hand."""
    tests = []
    for name, test in litmus_tests().items():
        try:
            program = parse(test.program)
        except ValueError as error:
            raise SpecError(f"{name}: {error}", test.place) from None
        tests.append(SuiteLitmus(name, test.title, test.source, test.why, program, test.hazards, test.under))
    return tuple(tests)


@cache
def suite() -> tuple[SuiteLitmus, ...]:
    """Every test, those written by hand first."""
    known, tests = ordering(), list(written())
    for name, made in synthesised_tests().items():
        why = known.rules[made.hazards[0]].why if made.hazards else "every step but the accesses is needed"
        title = "synthesised: spoilt" if made.hazards else "synthesised: ordered, and no step can be left out"
        tests.append(SuiteLitmus(name, title, MAKER, why, parse(made.program), made.hazards, None))
    return tuple(tests)


def synthesised_file() -> str:
    """The text of spec/ordering/synthesised.yaml, made anew."""
    default = ordering().default
    entries = [_entry(made.name, str(made.program), rules(made.program, default)) for made in synthesise()]
    return _HEAD + "\n".join(entries) + "\n"


def _entry(name: str, program: str, hazards: Iterable[str]) -> str:
    """A synthesised test as YAML."""
    lines = textwrap.wrap(
        f'    program: "{program}"', _LINE, subsequent_indent="      ", break_on_hyphens=False
    )
    return "\n".join([f"  {name}:", *lines, f"    hazards: [{', '.join(hazards)}]"])
