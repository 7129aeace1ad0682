"""The programs of numpy as C that computes several jobs at once, one in each lane of a processor's vectors.

No formula and no operation is written a second time: the steps are those of numpy's programs, and
lane_words.py makes C of numpy's own functions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib import resources

from ...spec.chip_arithmetic import FACTORS, PARTS, ZERO, C, ChipArithmetic
from ...spec.errors import Question
from ...spec.specification import Specification
from .array_operations import WIDE
from .array_programs import block_programs
from .lane_words import lane_function, lane_kind, lane_value
from .listed_operations import ArrayProgram, ArrayStep
from .sum_text import SumText

__all__ = ["lane_text"]

# With other vectors, lanes are slower than words.
_PROCESSOR = "#if defined(__AVX512F__) && defined(__AVX512DQ__)"
_NAMES = {
    "+": "add",
    "-": "subtract",
    "*": "multiply",
    "&": "and",
    "|": "or",
    "^": "differ",
    "<<": "shift_left",
    ">>": "shift_right",
    "==": "equal",
    "!=": "unequal",
    "<": "less",
    "<=": "at_most",
    ">": "more",
    ">=": "at_least",
}


def lane_text(specification: Specification, arithmetic: ChipArithmetic) -> str:
    """Declarations and `sums_of_lanes`, which gives an element of D for each lane, where nothing is negated.

    Nothing where a block has several products: the loop over them leaves a processor as busy.
    """
    if any(len(block.products) > 1 for block in arithmetic.blocks):
        return ""
    try:
        programs = block_programs(specification, arithmetic, (False, False))
    except Question:  # numpy has no such operation
        return ""
    types = [SumText(specification, arithmetic).type_of(part) for part in PARTS]
    return "\n".join([_PROCESSOR, *_LaneText(arithmetic, programs, types).lines(), "#endif", ""])


@dataclass(frozen=True)
class _LaneText:
    """The text of the programs of blocks; `types` are those of A, B, C and D."""

    arithmetic: ChipArithmetic
    programs: Sequence[ArrayProgram]
    types: Sequence[str]
    functions: dict[str, tuple[str, str]] = field(default_factory=dict)  # by name: text and kind of result

    def lines(self) -> Iterator[str]:
        yield resources.files(__package__).joinpath("lanes.h").read_text(encoding="utf-8")
        numbers: dict[int, int] = {}  # of chains, by the identity of their program
        chains: list[str] = []
        for number, program in enumerate(self.programs):
            if id(program) not in numbers:
                numbers[id(program)] = number
                chains += [*self._chain(number, program), ""]
        yield from (text for text, _ in self.functions.values())
        yield from chains
        yield from self._sums([numbers[id(program)] for program in self.programs])

    def _sums(self, chains: Sequence[int]) -> Iterator[str]:
        a, b, c, d = self.types
        yield f"FUNCTION void sums_of_lanes(const {a} *a, const {b} *b, const {c} *c, {d} *d) {{"
        yield from _loaded("c_codes", "c[i]")
        for number, (block, chain) in enumerate(zip(self.arithmetic.blocks, chains, strict=True)):
            given: list[str] = []
            for k in block.products:
                for part in map(str.lower, FACTORS):
                    given.append(f"{part}_{number}")
                    yield from _loaded(given[-1], f"{part}[{self.arithmetic.products} * i + {k}]")
            given += ["c_codes" if n == C else f"sum_{n}" for n in block.addends if n != ZERO]
            yield f"  const lanes sum_{number} = chain_{chain}({', '.join(given)});"
        yield "  for (int i = 0; i < LANES; i++)"
        yield f"    d[i] = ({d})sum_{len(chains) - 1}[i];"
        yield "}"

    def _chain(self, number: int, program: ArrayProgram) -> Iterator[str]:
        """The function of a block; the value of each step is `s` and the number of its slot."""
        texts = {slot: lane_value(value) for slot, value in enumerate(program.values) if value is not None}
        kinds = {slot: lane_kind(value) for slot, value in enumerate(program.values) if value is not None}
        for slot in program.inputs:
            texts[slot], kinds[slot] = f"s{slot}", "lanes"
        yield f"FUNCTION lanes chain_{number}({', '.join(f'lanes s{slot}' for slot in program.inputs)}) {{"
        for step in program.steps:
            if _is_same(step):
                texts[step.slot], kinds[step.slot] = texts[step.given[0]], kinds[step.given[0]]
                continue
            name = self._function(step, [kinds[slot] for slot in step.given])
            texts[step.slot], kinds[step.slot] = f"s{step.slot}", self.functions[name][1]
            given = ", ".join(texts[slot] for slot in step.given)
            yield f"  const {kinds[step.slot]} s{step.slot} = {name}({given});"
        yield f"  return {texts[program.output]};"
        yield "}"

    def _function(self, step: ArrayStep, kinds: Sequence[str]) -> str:
        """The name of the function of a step, which is written once."""
        operation = "mask64" if step.operation.startswith("mask") else step.operation
        if step.width == WIDE and operation.startswith("as"):
            operation = "as64"
        name = f"{'wide' if step.width == WIDE else 'lanes'}_{_NAMES.get(operation, operation)}"
        if name not in self.functions:
            self.functions[name] = lane_function(name, operation, step.width, kinds)
        return name


def _is_same(step: ArrayStep) -> bool:
    """Whether a step only gives words another width, of which lanes hold all."""
    return step.operation.startswith("as") and WIDE not in (step.width, int(step.operation[2:]))


def _loaded(name: str, code: str) -> Iterator[str]:
    yield f"  lanes {name};"
    yield "  for (int i = 0; i < LANES; i++)"
    yield f"    {name}[i] = {code};"
