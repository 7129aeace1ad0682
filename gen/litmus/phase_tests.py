"""The litmus tests of barriers with phases, with the verdict each deserves."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from ...formal.ordering.phases.phase_programs import PhaseProgram, parse_thread
from ...spec.errors import SpecError
from ...spec.ordering import ordering, phases

__all__ = ["PhaseLitmus", "phase_suite"]


@dataclass(frozen=True)
class PhaseLitmus:
    """A litmus test: threads by name, and the rules that they break."""

    name: str
    title: str
    source: str
    why: str
    names: tuple[str, ...]
    program: PhaseProgram
    hazards: tuple[str, ...]

    @property
    def lines(self) -> tuple[str, ...]:
        """The counts, and the steps by thread."""
        counts = [f"b{number} takes {count}" for number, count in enumerate(self.program.counts)]
        threads = zip(self.names, self.program.threads, strict=True)
        return (*counts, *(f"{name}: {'; '.join(map(str, steps))}" for name, steps in threads))

    @property
    def sections(self) -> tuple[str, ...]:
        """The sections of the PTX ISA that it exercises."""
        own, others = phases().rules, ordering().rules
        named = [own[rule].section if rule in own else others[rule].section for rule in self.hazards]
        return tuple(dict.fromkeys("; ".join(named or ["9.7.13.15"]).split("; ")))


@cache
def phase_suite() -> tuple[PhaseLitmus, ...]:
    """Every litmus test of phases; raises SpecError where a program is wrong."""
    found = []
    for name, test in phases().tests.items():
        try:
            program = PhaseProgram(test.counts, tuple(map(parse_thread, test.threads.values())))
        except ValueError as error:
            raise SpecError(f"{name}: {error}", test.place) from None
        names = tuple(test.threads)
        found.append(PhaseLitmus(name, test.title, test.source, test.why, names, program, test.hazards))
    return tuple(found)
