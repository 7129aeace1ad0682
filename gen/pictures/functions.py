"""Paste-ready index functions of an operand's map, in CUDA C++ and in Python."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ...spec.editions import brief
from ...spec.errors import Question
from ...spec.expressions import Expression, python_text
from ..c_reading import c_text
from .tables import MapTable

__all__ = ["cuda", "python"]

_ARGUMENT = {"t": "thread", "i": "element"}


def _stem(table: MapTable) -> str:
    """What every function's name begins with: the mnemonic, the operand, the selectors."""
    words: list[str] = []
    if table.variant is not None:
        family = table.variant.row.family
        named = family.instruction.instruction.split(".")
        words = [w for w in table.variant.mnemonic.split(".") if w in named or w not in family.fixed]
    chosen = [f"{name}{value}" for name, value in table.selected.items()]
    return re.sub(r"\W+", "_", "_".join((*words, table.operand.lower(), *chosen)))


def _places(table: MapTable) -> tuple[int, int]:
    if table.packing is None:
        raise Question("metadata has no register packing")
    return table.packing.width, table.packing.word


def _section(table: MapTable) -> str:
    return brief(table.index, table.layout.layout.source.section)


def cuda(table: MapTable) -> str:
    """Forward, inverse and register functions as CUDA C++ (or C: define __host__ and __device__)."""
    stem = _stem(table)
    lines = [
        f"// {table.title}: {table.layout.layout.title}",
        f"// section {_section(table)}; {_shape(table)}",
    ]

    def function(name: str, arguments: list[str], body: Mapping[str, Expression], result: str) -> None:
        given = ", ".join(f"unsigned {a}" for a in arguments)
        (expression,) = [c_text(tree) for key, tree in body.items() if key == result]
        lines.append(
            f"static __host__ __device__ inline unsigned {name}({given}) {{ {_unused(arguments, expression)}"
            f"return {expression}; }}"
        )

    inputs, outputs = list(table.layout.inputs), list(table.layout.outputs)
    for name in outputs:
        function(f"{stem}_{name}", inputs, table.forward, name)
    for name in inputs:
        function(f"{stem}_{_ARGUMENT.get(name, name)}", outputs, table.backward, name)
    if table.layout.condition is not None:
        function(f"{stem}_holds", inputs, {"holds": _condition(table)}, "holds")
    if table.packing is not None:
        width, word = _places(table)
        lines.append(
            f"static __host__ __device__ inline unsigned {stem}_register(unsigned i) "
            f"{{ return i * {width} / {word}; }}"
        )
        lines.append(
            f"static __host__ __device__ inline unsigned {stem}_bit_low(unsigned i) "
            f"{{ return i * {width} % {word}; }}"
        )
    return "\n".join(lines)


def _condition(table: MapTable) -> Expression:
    """Which (thread, element) the selectors let take part."""
    condition = table.layout.at(table.parameters).condition
    if condition is None:
        raise Question(f"every thread takes part in {table.title}")
    return condition


def _unused(arguments: list[str], expression: str) -> str:
    absent = [a for a in arguments if not re.search(rf"\b{a}\b", expression)]
    return "".join(f"(void){a}; " for a in absent)


def python(table: MapTable) -> str:
    """The same functions as Python."""
    stem = _stem(table)
    lines = [
        f'"""{table.title}: {table.layout.layout.title}.',
        "",
        f"Section {_section(table)}; {_shape(table)}",
        '"""',
        "",
        "",
    ]

    def write(name: str, arguments: list[str], body: str) -> None:
        lines.extend((f"def {name}({', '.join(arguments)}):", f"    return {body}", "", ""))

    inputs, outputs = list(table.layout.inputs), list(table.layout.outputs)
    forward = ", ".join(python_text(table.forward[name]) for name in outputs)
    backward = ", ".join(python_text(table.backward[name]) for name in inputs)
    write(f"{stem}_position", inputs, forward)
    write(f"{stem}_holder", outputs, backward)
    if table.layout.condition is not None:
        write(f"{stem}_holds", inputs, python_text(_condition(table)))
    if table.packing is not None:
        width, word = _places(table)
        write(f"{stem}_place", ["i"], f"i * {width} // {word}, i * {width} % {word}")
    return "\n".join(lines).rstrip()


def _shape(table: MapTable) -> str:
    shape = table.layout.shape(table.parameters)
    sizes = " x ".join(f"{name} {size}" for name, size in shape.items())
    holder = " and ".join(table.headings[: len(table.layout.inputs)])
    threads = f"{table.threads} threads; " if "t" in table.layout.inputs else ""
    return f"{threads}{sizes}; from {holder} to {', '.join(table.layout.outputs)}, and back"
