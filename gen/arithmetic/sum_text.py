"""The stages of a chip's sums as C, which is CUDA too: a function for one element of D, and one for many."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from ...spec.arithmetic_bounds import Span
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
from ...spec.nodes import Formula
from ...spec.specification import Specification
from .word_text import word_text, word_type

__all__ = ["SumText", "code_type"]

_HEAD = """\
#ifndef FUNCTION
#ifdef __CUDACC__
#define FUNCTION static __device__ __forceinline__
#else
#define FUNCTION static inline __attribute__((always_inline))
#endif
#endif
typedef unsigned long long word64;
typedef {word} word;
#define N(value) (value##ull)

/* How many binary digits a number has. */
FUNCTION word64 bits64(word64 value) {{
#ifdef __CUDA_ARCH__
  return 64 - __clzll((long long)value);
#else
  return value ? 64 - __builtin_clzll(value) : 0;
#endif
}}
FUNCTION word64 bits(word value) {{
  return {bits};
}}

/* A value where a condition holds, else 0. */
FUNCTION word64 taken64(int condition, word64 value) {{
  return value & -(word64)condition;
}}
FUNCTION word taken(int condition, word value) {{
  return value & -(word)condition;
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
        lines += [f"FUNCTION word64 sum_of_products({self._factors}, word64 c) {{", *calls]
        return "\n".join([*lines, f"  return sum_{last};", "}", ""])

    def many(self, lanes: str = "") -> str:
        """The same, and `sums_of_products` for jobs one after another.

        `lanes` may define LANES and `sums_of_lanes`, which computes so many jobs at once.
        """
        count = self.arithmetic.products
        a, b, c, d = (self.type_of(part) for part in PARTS)
        at = f"a + {count} * job, b + {count} * job"
        return self.text() + "\n".join(
            [
                lanes,
                f"void sums_of_products(const {a} *a, const {b} *b, const {c} *c, {d} *d, word64 jobs,",
                "                      unsigned negated_a, unsigned negated_b) {",
                "  word64 job = 0;",
                "#ifdef LANES",
                "  if (!(negated_a | negated_b))",
                "    for (; job + LANES <= jobs; job += LANES)",
                f"      sums_of_lanes({at}, c + job, d + job);",
                "#endif",
                "  for (; job < jobs; job++)",
                f"    d[job] = ({d})sum_of_products({at}, negated_a, negated_b, c[job]);",
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
        yield f"  const word64 sum_{number} = block_{function}({given});"

    def _function(self, number: int, block: SumBlock) -> Iterator[str]:
        """The function of a block: products by the numbers in `at`, and addends."""
        constants = block_constants(self.specification, self.arithmetic, block)
        addends = "".join(f", word64 addend_{n}" for n in range(len(block.addends)))
        yield f"FUNCTION word64 block_{number}({self._factors}, const unsigned short *at{addends}) {{"
        for name, value in constants.items():
            yield f"  const word64 {_own(name)} = N({value});"
        text = _BlockText(block, {name: (value, value) for name, value in constants.items()})
        body = list(self._body(text))
        for name, span in text.terms.items():
            yield f"  {word_type(span)} all_{name}[{len(block.products) + len(block.addends)}];"
        yield from body
        yield f"  return {_own('code')};"
        yield "}"

    def _body(self, text: _BlockText) -> Iterator[str]:
        block, products = text.block, len(text.block.products)
        if products:
            yield f"  for (int i = 0; i < {products}; i++) {{"
            spans = dict(text.result)
            for part in FACTORS:
                low = part.lower()
                yield f"    const word64 {_own(f'{low}_code')} = {low}[at[i]];"
                yield f"    const word64 {_own(f'{low}_negated')} = negated_{low};"
                width = spans[f"{low}_width"][0]
                spans |= {f"{low}_code": (0, (1 << width) - 1), f"{low}_negated": (0, 1)}
                yield from text.elements(part, spans)
            yield from text.each("product", spans, "i")
            yield "  }"
        for n, element in enumerate(block.types):
            known = constants_of(self.specification, element)
            spans = {
                **text.result,
                **{f"c_{name}": (value, value) for name, value in known.items()},
                "c_code": (0, (1 << known["width"]) - 1),
                "c_negated": (0, 0),
            }
            yield "  {"
            yield f"    const word64 {_own('c_code')} = addend_{n}, {_own('c_negated')} = 0;"
            for name, value in known.items():
                yield f"    const word64 {_own(f'c_{name}')} = N({value});"
            yield from text.elements("C", spans)
            yield from text.each("addend", spans, str(products + n))
            yield "  }"
        for stage in block.model.stages:
            if stage.each == "term":
                yield from text.over_terms(stage)
            elif stage.each == "result":
                yield from text.of_result(stage)


@dataclass(frozen=True)
class _BlockText:
    """The statements of a block's stages; `result` and `terms` have the bounds of the names so far."""

    block: SumBlock
    result: dict[str, Span]
    terms: dict[str, Span] = field(default_factory=dict)

    @cached_property
    def kept(self) -> tuple[str, ...]:
        return _kept(self.block)

    def _declared(
        self, name: str, formula: Formula, spans: dict[str, Span], spelled: Callable[[str], str]
    ) -> str:
        """The declaration of a name; its bounds are known from then on."""
        text, spans[name] = word_text(formula.tree, self.block.step.word, spans, spelled)
        return f"const {word_type(spans[name])} {spelled(name)} = {text};"

    def elements(self, part: str, spans: dict[str, Span]) -> Iterator[str]:
        """The names of an element, with the prefix of its part from the beginning."""
        prefix = f"{part.lower()}_"

        def spelled(name: str) -> str:
            return _own(name if name in self.block.names else prefix + name)

        own = {name: spans[name] for name in self.block.names}
        own |= {name.removeprefix(prefix): span for name, span in spans.items() if name.startswith(prefix)}
        for stage in self.block.model.stages:
            for name, formula in stage.let.items() if stage.each == "element" else ():
                yield f"    {self._declared(name, formula, own, spelled)}"
                spans[prefix + name] = own[name]

    def each(self, each: str, spans: dict[str, Span], index: str) -> Iterator[str]:
        """The names of a product or an addend; those that terms need are kept."""
        for stage in self.block.model.stages:
            for name, formula in stage.let.items() if stage.each == each else ():
                yield f"    {self._declared(name, formula, spans, _own)}"
                if name in self.kept:
                    yield f"    all_{name}[{index}] = {_own(name)};"
                    (a, b), (c, d) = spans[name], self.terms.get(name, spans[name])
                    self.terms[name] = min(a, c), max(b, d)

    def over_terms(self, stage: ArithmeticStage) -> Iterator[str]:
        """A stage over all terms; what is reduced is `one_` name of each."""

        def spelled(name: str) -> str:
            return f"one_{name}" if stage.reduce and name in stage.let else _own(name)

        count = len(self.block.products) + len(self.block.addends)
        spans, lines = {**self.result, **self.terms}, list[str]()
        for name in self.kept:
            if name not in stage.let and any(name in names(f.tree) for f in stage.let.values()):
                lines.append(f"    const {word_type(spans[name])} {_own(name)} = all_{name}[i];")
        for name, formula in stage.let.items():
            lines.append(f"    {self._declared(name, formula, spans, spelled)}")
            low, high = spans[name]
            if stage.reduce == "greatest":
                lines.append(f"    {_own(name)} = one_{name} > {_own(name)} ? one_{name} : {_own(name)};")
                self.result[name] = low, high
            elif stage.reduce == "sum":
                lines.append(f"    {_own(name)} += one_{name};")
                self.result[name] = 0, min(count * high, (1 << self.block.step.word) - 1)
            elif name in self.kept:
                lines.append(f"    all_{name}[i] = {_own(name)};")
                self.terms[name] = low, high
        for name in stage.let if stage.reduce else ():
            yield f"  {word_type(self.result[name])} {_own(name)} = 0;"
        yield f"  for (int i = 0; i < {count}; i++) {{"
        yield from lines
        yield "  }"

    def of_result(self, stage: ArithmeticStage) -> Iterator[str]:
        """A stage of the sum."""
        for name, formula in stage.let.items():
            yield f"  {self._declared(name, formula, self.result, _own)}"


def _kept(block: SumBlock) -> tuple[str, ...]:
    """The names of terms that a stage over terms reads."""
    stages = block.model.stages
    given = [n for s in stages if s.each in ("product", "term") and not s.reduce for n in s.let]
    read = {name for s in stages if s.each == "term" for f in s.let.values() for name in names(f.tree)}
    return tuple(name for name in given if name in read)


def _own(name: str) -> str:
    """A name of the model as an identifier that no keyword of C is."""
    return f"v_{name}"
