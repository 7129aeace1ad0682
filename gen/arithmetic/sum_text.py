"""The stages of a chip's sums as C, which is CUDA too: a function for one element of D, and one for many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...spec.arithmetic_records import ArithmeticStage
from ...spec.chip_arithmetic import (
    FACTORS,
    PARTS,
    ZERO,
    C,
    ChipArithmetic,
    SumBlock,
    block_constants,
    constants_of,
)
from ...spec.expressions import names
from ...spec.specification import Specification
from ..c_reading import c_text

__all__ = ["SumText", "code_type"]

_HEAD = """\
#ifndef FUNCTION
#ifdef __CUDACC__
#define FUNCTION static __device__ __forceinline__
#else
#define FUNCTION static inline
#endif
#endif
typedef unsigned long long word64;
typedef {word} word;
#define N(value) ((word)(value##ull))

/* How many binary digits a number has. */
FUNCTION word bits64(word64 value) {{
#ifdef __CUDA_ARCH__
  return 64 - __clzll((long long)value);
#else
  return value ? 64 - __builtin_clzll(value) : 0;
#endif
}}
FUNCTION word bits(word value) {{
  return {bits};
}}
"""
_WORDS = {
    64: ("word64", "bits64(value)"),
    128: ("unsigned __int128", "value >> 64 ? bits64(value >> 64) + 64 : bits64(value)"),
}


def code_type(bits: int) -> str:
    """The C type of an element's bit pattern."""
    return (
        f"unsigned {'char' if bits <= 8 else 'short' if bits <= 16 else 'int' if bits <= 32 else 'long long'}"
    )


@dataclass(frozen=True)
class SumText:
    """The text of one variant's arithmetic on a chip."""

    specification: Specification
    arithmetic: ChipArithmetic

    def type_of(self, part: str) -> str:
        """The C type of an element of A, B, C or D."""
        return code_type(self.specification.index.types[self.arithmetic.types[part]].bits)

    def text(self) -> str:
        """Declarations and `sum_of_products`, which gives the pattern of one element of D."""
        wide = max(block.step.word for block in self.arithmetic.blocks)
        word, bits = _WORDS[wide]
        lines = [_HEAD.format(word=word, bits=bits)]
        known: dict[object, int] = {}  # by what a function depends on, its number
        calls: list[str] = []
        for number, block in enumerate(self.arithmetic.blocks):
            key = (id(block.step), len(block.products), block.types, block.result)
            if key not in known:
                known[key] = number
                lines += [*self._function(number, block), ""]
            calls += self._call(number, known[key], block)
        last = len(self.arithmetic.blocks) - 1
        lines += [f"FUNCTION word sum_of_products({self._factors}, word c) {{", *calls]
        return "\n".join([*lines, f"  return sum_{last};", "}", ""])

    def many(self) -> str:
        """The same, and `sums_of_products` for jobs one after another."""
        count = self.arithmetic.products
        a, b, c, d = (self.type_of(part) for part in PARTS)
        return self.text() + "\n".join(
            [
                "",
                f"void sums_of_products(const {a} *a, const {b} *b, const {c} *c, {d} *d, word64 jobs,",
                "                      unsigned negated_a, unsigned negated_b) {",
                "  for (word64 job = 0; job < jobs; job++)",
                f"    d[job] = ({d})sum_of_products(a + {count} * job, b + {count} * job,",
                "                                  negated_a, negated_b, c[job]);",
                "}",
                "",
            ]
        )

    @property
    def _factors(self) -> str:
        a, b = (self.type_of(part) for part in FACTORS)
        return f"const {a} *a, const {b} *b, unsigned negated_a, unsigned negated_b"

    def _call(self, number: int, function: int, block: SumBlock) -> Iterator[str]:
        listed = ", ".join(map(str, block.products)) or "0"
        names_of = {C: "c", ZERO: "0"}
        addends = "".join(f", {names_of.get(n, f'sum_{n}')}" for n in block.addends)
        yield f"  static const unsigned short at_{number}[] = {{{listed}}};"
        given = f"a, b, negated_a, negated_b, at_{number}{addends}"
        yield f"  const word sum_{number} = block_{function}({given});"

    def _function(self, number: int, block: SumBlock) -> Iterator[str]:
        """The function of a block: products by the numbers in `at`, and addends."""
        products, stages = len(block.products), block.model.stages
        terms = products + len(block.addends)
        kept = _kept(block)
        addends = "".join(f", word addend_{n}" for n in range(len(block.addends)))
        yield f"FUNCTION word block_{number}({self._factors}, const unsigned short *at{addends}) {{"
        for name, value in block_constants(self.specification, self.arithmetic, block).items():
            yield f"  const word {_own(name)} = N({value});"
        for name in kept:
            yield f"  word all_{name}[{terms}];"
        if products:
            yield f"  for (int i = 0; i < {products}; i++) {{"
            for part in FACTORS:
                low = part.lower()
                yield f"    const word {_own(f'{low}_code')} = {low}[at[i]];"
                yield f"    const word {_own(f'{low}_negated')} = negated_{low};"
                yield from _elements(block, part)
            for stage in stages:
                if stage.each == "product":
                    yield from _terms(stage, kept, "i")
            yield "  }"
        for n, element in enumerate(block.types):
            yield "  {"
            yield f"    const word {_own('c_code')} = addend_{n}, {_own('c_negated')} = 0;"
            for name, value in constants_of(self.specification, element).items():
                yield f"    const word {_own(f'c_{name}')} = N({value});"
            yield from _elements(block, "C")
            for stage in stages:
                if stage.each == "addend":
                    yield from _terms(stage, kept, str(products + n))
            yield "  }"
        for stage in stages:
            if stage.each == "term":
                yield from _over_terms(stage, kept, terms)
            elif stage.each == "result":
                for name, formula in stage.let.items():
                    yield f"  const word {_own(name)} = {c_text(formula.tree, _number, _own)};"
        yield f"  return {_own('code')};"
        yield "}"


def _elements(block: SumBlock, part: str) -> Iterator[str]:
    """The names of an element, with the prefix of its part from the beginning."""

    def spelled(name: str) -> str:
        return _own(name if name in block.names else f"{part.lower()}_{name}")

    for stage in block.model.stages:
        if stage.each == "element":
            for name, formula in stage.let.items():
                yield f"    const word {spelled(name)} = {c_text(formula.tree, _number, spelled)};"


def _terms(stage: ArithmeticStage, kept: Sequence[str], index: str) -> Iterator[str]:
    for name, formula in stage.let.items():
        yield f"    const word {_own(name)} = {c_text(formula.tree, _number, _own)};"
        if name in kept:
            yield f"    all_{name}[{index}] = {_own(name)};"


def _over_terms(stage: ArithmeticStage, kept: Sequence[str], terms: int) -> Iterator[str]:
    """A stage over all terms; what is reduced is `one_` name of each."""

    def spelled(name: str) -> str:
        return f"one_{name}" if stage.reduce and name in stage.let else _own(name)

    for name in stage.let if stage.reduce else ():
        yield f"  word {_own(name)} = 0;"
    yield f"  for (int i = 0; i < {terms}; i++) {{"
    for name in kept:
        if name not in stage.let and any(name in names(f.tree) for f in stage.let.values()):
            yield f"    const word {_own(name)} = all_{name}[i];"
    for name, formula in stage.let.items():
        yield f"    const word {spelled(name)} = {c_text(formula.tree, _number, spelled)};"
        if stage.reduce == "greatest":
            yield f"    {_own(name)} = one_{name} > {_own(name)} ? one_{name} : {_own(name)};"
        elif stage.reduce == "sum":
            yield f"    {_own(name)} += one_{name};"
        elif name in kept:
            yield f"    all_{name}[i] = {_own(name)};"
    yield "  }"


def _kept(block: SumBlock) -> tuple[str, ...]:
    """The names of terms that a stage over terms reads."""
    stages = block.model.stages
    given = [n for s in stages if s.each in ("product", "term") and not s.reduce for n in s.let]
    read = {name for s in stages if s.each == "term" for f in s.let.values() for name in names(f.tree)}
    return tuple(name for name in given if name in read)


def _own(name: str) -> str:
    """A name of the model as an identifier that no keyword of C is."""
    return f"v_{name}"


def _number(value: int) -> str:
    return f"N({value})"
