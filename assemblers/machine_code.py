"""Assemble each legal statement, and check that the machine code holds an instruction for it.

Every statement gets a kernel that stores the statement's results, since the optimiser deletes unused results;
and a twin kernel without the statement. The code of the two is compared as a bag of opcodes (the low bits of
each 16-byte instruction word), read from the ELF file that ptxas writes to a pipe.
"""

from __future__ import annotations

import itertools
import re
import struct
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ..gen.pairwise import covering, products
from ..spec.gates import EffectiveGate
from ..spec.nodes import Version
from ..spec.variants import Family
from ..spec.workers import over_jobs
from .asking import Asking, register_types
from .assembler_settings import AssemblerSetting, targets_known
from .toolchains import Ptxas
from .universe import Universe
from .universe_points import open_for

__all__ = ["Code", "Coded", "assembled", "coded", "entries", "opcodes"]

_WORD = 16
_OPCODE = 0xFFF
_STORED = {"pred": None, "f16": "b16", "f16x2": "b32"}
_BATCH = 100


@dataclass(frozen=True)
class Coded:
    """A statement to be assembled, with the operands that it writes, and whether it has any operand."""

    statement: str
    written: tuple[str, ...]
    bare: bool = False


@dataclass(frozen=True)
class Code:
    """The opcodes that only a statement's kernel has, or why there are none.

    A bare statement has no operands: it orders what stands around it, and may leave nothing where that is
    nothing.
    """

    statement: str
    setting: AssemblerSetting
    opcodes: tuple[int, ...]
    words: str = ""
    bare: bool = False

    @property
    def shown(self) -> bool:
        """Whether the assembler takes the statement, and its code has it if it must."""
        return bool(self.opcodes) or (self.bare and not self.words)


def coded(universe: Universe, family: Family) -> Iterator[tuple[Coded, EffectiveGate]]:
    """Every legal form of an instruction with the operands that it writes, and when it is legal.

    For the least of each row's numbers every immediate takes every value; of the others each takes one.
    """
    operands = family.instruction.operands
    seen: set[tuple[object, ...]] = set()
    for variant, form in universe.legal(family):
        written = universe.write(variant, form)
        gate = variant.gate
        if form.gate is not None:
            gate = family.isa.effective([*variant.row.gates_on(variant.fields), form.gate])
        stored = tuple(n for n, name in enumerate(form.operands) if operands[name].role != "source")
        alone = tuple(value for value in variant.fields.values() if isinstance(value, str))
        first = (variant.row.id, form.operands, alone) not in seen
        seen.add((variant.row.id, form.operands, alone))
        choices = [
            tuple(map(str, variant.values(operands[name])))
            if operands[name].accepts == ("immediate",)
            else ()
            for name in form.operands
        ]
        texts = [values or (text,) for values, text in zip(choices, written.operands, strict=True)]
        world = dict(zip(form.operands, texts, strict=True))
        for chosen in products(world) if first else covering(world):
            own = tuple(map(str, chosen.values()))
            parts = replace(written, operands=own)
            yield Coded(parts.text, tuple(own[n] for n in stored), not own), gate


def _vectors(registers: Sequence[str]) -> Iterator[tuple[int, str, str]]:
    """Registers in vectors of what memory takes at once: where, of which type, and the vector's text."""
    types = register_types()
    place = 0
    for kind, alike in itertools.groupby(registers, lambda one: _STORED.get(types[one], types[one])):
        group = list(alike) if kind else []
        while kind and group:
            size = 4 if len(group) >= 4 and not kind.endswith("64") else 2 if len(group) >= 2 else 1
            part, group = group[:size], group[size:]
            text = f"{{{', '.join(part)}}}" if size > 1 else part[0]
            yield _WORD * place, f"v{size}.{kind}" if size > 1 else kind, text
            place += 1


def entry(name: str, coded: Coded, with_statement: bool) -> str:
    """A kernel that stores every register the statement writes, with the statement or without it."""
    types = register_types()
    named = list(dict.fromkeys(re.findall(r"%[a-z]+\d+", coded.statement)))
    stored = [r for text in coded.written for r in re.findall(r"%[a-z]+\d+", text)]
    lines = [f".visible .entry {name}(.param .u64 out) {{", ".reg .b64 %to;"]
    lines += [f".reg .{types[register]} {register};" for register in named]
    lines.append("ld.param.u64 %to, [out];")
    lines += [f"ld.global.{kind} {vector}, [%to+{at}];" for at, kind, vector in _vectors(named)]
    if with_statement:
        lines.append(coded.statement)
    lines += [f"st.global.{kind} [%to+{at}], {vector};" for at, kind, vector in _vectors(stored)]
    return "\n".join([*lines, "ret;", "}"])


def entries(batch: Sequence[Coded], ptx: Version, target: str) -> str:
    """A PTX file with two kernels a statement: `with…` and its twin `without…`, which several may share."""
    kernels = [f".version {ptx}", f".target {target}", ".address_size 64"]
    for number, (coded, twin) in enumerate(zip(batch, _twins(batch), strict=True)):
        kernels.append(entry(f"with{number}", coded, True))
        if twin == number:
            kernels.append(entry(f"without{number}", coded, False))
    return "\n".join(kernels) + "\n"


def _twins(batch: Sequence[Coded]) -> list[int]:
    """By statement, the first whose kernel is the same without it."""
    first: dict[str, int] = {}
    return [first.setdefault(entry("", coded, False), number) for number, coded in enumerate(batch)]


def opcodes(image: bytes) -> dict[str, Counter[int]]:
    """By kernel, how often each opcode stands in its code; raises ValueError for any other file."""
    if image[:4] != b"\x7fELF" or len(image) < 64:
        raise ValueError("no ELF file")
    offset, size, count, names = (
        *struct.unpack_from("<Q", image, 40),
        *struct.unpack_from("<3H", image, 58),
    )
    try:
        headers = [struct.unpack_from("<IIQQQQ", image, offset + size * i) for i in range(count)]
        strings = headers[names][4]
        found: dict[str, Counter[int]] = {}
        for name, _, _, _, start, length in headers:
            text = image[strings + name : image.index(b"\0", strings + name)].decode()
            if text.startswith(".text."):
                words = range(start, start + length - _WORD + 1, _WORD)
                found[text[6:]] = Counter(struct.unpack_from("<I", image, w)[0] & _OPCODE for w in words)
    except (struct.error, IndexError, ValueError, UnicodeDecodeError):
        raise ValueError("the ELF file is broken off") from None
    return found


@dataclass(frozen=True)
class _FormWork:
    setting: AssemblerSetting
    batch: tuple[Coded, ...]


def assembled(
    universe: Universe, families: Sequence[Family], releases: Sequence[Ptxas]
) -> Iterator[tuple[str, Code]]:
    """Every legal form in machine code, on the oldest and the newest release that know it."""
    isa = universe.specification.isa
    knowing = targets_known(isa, releases)
    wanted: dict[tuple[str, AssemblerSetting], list[Coded]] = {}
    for family in families:
        name = family.instruction.instruction
        places: dict[EffectiveGate, tuple[AssemblerSetting, ...]] = {}
        for one, gate in coded(universe, family):
            if gate not in places:
                places[gate] = tuple(_oldest_and_newest(gate, knowing))
            for setting in places[gate]:
                wanted.setdefault((name, setting), []).append(one)
    work = [
        (name, _FormWork(setting, tuple(asked[start : start + _BATCH])))
        for (name, setting), asked in wanted.items()
        for start in range(0, len(asked), _BATCH)
    ]
    results = over_jobs([job for _, job in work], _perform)
    for (name, _), codes in zip(work, results, strict=True):
        for code in codes:
            yield name, code


def _oldest_and_newest(
    gate: EffectiveGate, knowing: Mapping[str, Sequence[Ptxas]]
) -> Iterator[AssemblerSetting]:
    """The first and the last release that can assemble something, under its own version."""
    able = [
        AssemblerSetting(ptxas, ptxas.ptx, target)
        for target, _ in gate.targets
        for ptxas in knowing[target]
        if open_for(gate, ptxas.ptx, target)
    ]
    if able:
        by_age = sorted(able, key=lambda setting: setting.ptxas.ptx)
        yield from dict.fromkeys((by_age[0], by_age[-1]))


def _perform(job: _FormWork) -> list[Code]:
    setting = job.setting
    return list(_batch(Asking(setting.ptxas, setting.ptx, setting.target), setting, job.batch))


def _batch(asking: Asking, setting: AssemblerSetting, batch: Sequence[Coded]) -> Iterator[Code]:
    text = entries(batch, setting.ptx, setting.target)
    code, said, image = asking.assemble(text, "/dev/stdout")
    why = said.strip() or f"exit code {code}"
    if code == 0:
        try:
            found = opcodes(image)
        except ValueError as error:
            found, why = {}, str(error)
        twins = _twins(batch)
        if all(f"with{n}" in found and f"without{twin}" in found for n, twin in enumerate(twins)):
            for number, one in enumerate(batch):
                without = found[f"without{twins[number]}"]
                more = found[f"with{number}"] - without
                new = tuple(sorted(op for op in more if op not in without))
                yield Code(one.statement, setting, new or tuple(sorted(more)), bare=one.bare)
            return
    if len(batch) == 1:
        yield Code(batch[0].statement, setting, (), why)
        return
    middle = len(batch) // 2
    yield from _batch(asking, setting, batch[:middle])
    yield from _batch(asking, setting, batch[middle:])
