"""The instruction of a value kernel as inline PTX in CUDA C++."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from .cuda_names import identifier
from .kernel_list import Kernel
from .statement import Vector, written

__all__ = ["execute"]


def execute(kernel: Kernel) -> Iterator[str]:
    """The instruction with what stands around it; one on opaque fragments with their accesses."""
    around = kernel.instruction.around
    if not kernel.accesses:
        yield from _asm(kernel, around.before, around.after, {})
        return
    of = {str(operand.part): identifier(name) for name, operand in kernel.operands()}
    for part in "ABCD":
        if part == "D":
            yield from _asm(kernel, (), (), {})
        access = kernel.accesses[part]
        single = Kernel("value", access.variant, access.form_name, {})
        names = {}
        for name, operand in single.operands():
            stem = part.lower()
            is_fragment = operand.part not in ("address", "stride")
            names[name] = (
                of[part] if is_fragment else f"{stem}_{'at' if operand.part == 'address' else 'stride'}"
            )
        yield from _asm(single, (), (), names)


def _asm(
    kernel: Kernel, before: Sequence[str], after: Sequence[str], names: Mapping[str, str]
) -> Iterator[str]:
    """One statement with its operands, what is around it, and nothing between."""
    outputs: list[str] = []
    inputs: list[str] = []
    places: dict[str, list[tuple[bool, int]]] = {}
    for name, operand in kernel.operands():
        vector = Vector.of(kernel.variant, name)
        stem = names.get(name, identifier(name))
        if vector:
            letter = "l" if vector.kind == "b64" else "r"
            marks = {"source": "", "destination": "=", "both": "+"}[operand.role]
            into = inputs if operand.role == "source" else outputs
            places[name] = []
            for number in range(vector.registers):
                places[name].append((operand.role == "source", len(into)))
                into.append(f'"{marks}{letter}"(r.{stem}[{number}])')
        elif operand.descriptor or operand.part in ("scale-d", "stride", "address"):
            wide = operand.descriptor or (operand.part == "address" and _wide(kernel))
            places[name] = [(True, len(inputs))]
            inputs.append(f'"{"l" if wide else "r"}"(r.{stem})')
    arguments: dict[str, list[str] | str] = {}
    for name, found in places.items():
        operand = kernel.instruction.operands[name]
        numbers = [f"%{place + len(outputs) * source}" for source, place in found]
        arguments[name] = numbers if Vector.of(kernel.variant, name) else numbers[0]
    predicates = [n for n, operand in kernel.operands() if operand.part == "scale-d"]
    statements = list(before)
    for name in predicates:
        stem = identifier(name)
        statements = [f".reg .pred {stem}", f"setp.ne.u32 {stem}, {arguments[name]}, 0", *statements]
        arguments[name] = stem
    statements += [written(kernel, arguments), *after]
    if predicates:
        statements = ["{", *statements, "}"]
    yield "asm volatile("
    for number, statement in enumerate(statements):
        end = "" if statement in "{}" else ";"
        yield (
            f'    "{statement}{end}"' if number == len(statements) - 1 else f'    "{statement}{end}\\n\\t"'
        )
    yield f"    : {', '.join(outputs)}"
    yield f"    : {', '.join(inputs)}"
    yield '    : "memory");'


def _wide(kernel: Kernel) -> bool:
    """Whether an address takes 64 bits: a generic or a global one."""
    return kernel.generic or kernel.space == "global"
