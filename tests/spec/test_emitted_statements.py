"""What compilers emit for tensor memory is legal; a vector with a register less is not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

import ptxmma

TARGET = "sm_100a"
LINES = [
    line
    for line in Path(__file__).with_name("emitted_tcgen05.txt").read_text().splitlines()
    if line and line[0] != "#"
]
ALL = [tuple(line.split(" | ")) for line in LINES if " | " in line]
ALL_WORDS = [
    (mnemonic, int(word, 16))
    for mnemonic, words in (line.split(" = ") for line in LINES if " = " in line)
    for word in words.split()
]


def opcode(text: str) -> str:
    """The first two words of a mnemonic, or of an instruction's name."""
    return ".".join(re.split(r"[.:]+", text)[:2])


# Statements of an opcode wait until the specification holds an instruction of that opcode.
HELD = {opcode(instruction.name) for instruction in ptxmma.load().instructions.values()}
EMITTED = [line for line in ALL if opcode(line[2]) in HELD]
WORDS = [(mnemonic, word) for mnemonic, word in ALL_WORDS if opcode(mnemonic) in HELD]
REGISTERS = ".reg .b32 %r<400>; .reg .b64 %d<400>; .reg .b16 %h<400>; .reg .pred %p<400>; "
VECTOR = re.compile(r"\{(\d+)(\w)\}")


def statement(mnemonic: str, operands: str) -> str:
    """A statement whose registers are all different, behind their declarations."""
    numbers = count(1)

    def vector(found: re.Match[str]) -> str:
        return "{" + ", ".join(f"%{found[2]}{next(numbers)}" for _ in range(int(found[1]))) + "}"

    spelled = VECTOR.sub(vector, "" if operands == "-" else operands)
    spelled = re.sub(r"(?<![\w%])[rdhp]\b", lambda found: f"%{found[0]}{next(numbers)}", spelled)
    return f"{REGISTERS}{mnemonic} {spelled};"


def shorter() -> Iterator[tuple[str, str, str]]:
    """The statements with a vector of which a register is taken."""
    for ptx, _, mnemonic, operands in EMITTED:
        for found in VECTOR.finditer(operands):
            less = f"{{{int(found[1]) - 1}{found[2]}}}"
            if found[1] != "1":
                yield ptx, mnemonic, operands[: found.start()] + less + operands[found.end() :]


def test_the_list_is_whole() -> None:
    assert (len(ALL), len(ALL_WORDS)) == (174, 129)
    assert all(len(line) == 4 for line in ALL)


def test_emitted_statements_are_legal() -> None:
    told = {line: ptxmma.legal(statement(line[2], line[3]), line[0], TARGET) for line in EMITTED}
    assert {line: verdict for line, verdict in told.items() if not verdict} == {}


def test_a_register_less_is_illegal() -> None:
    told = {line: ptxmma.legal(statement(line[1], line[2]), line[0], TARGET).verdict for line in shorter()}
    assert {line: verdict for line, verdict in told.items() if verdict != "illegal"} == {}


@pytest.mark.parametrize("bit", [None, 31])
def test_emitted_descriptors_are_legal(bit: int | None) -> None:
    """And none of one CTA and no scale factors is, with the greatest shift of `.ws` set."""
    operands = {mnemonic: operands for _, _, mnemonic, operands in EMITTED}
    words = WORDS
    if bit is not None:
        words = [
            (name, word | 1 << bit) for name, word in WORDS if "block_scale" not in name and ".ws" not in name
        ]
    told = {
        (mnemonic, hex(word)): ptxmma.legal(
            statement(mnemonic, operands[mnemonic]), "9.4", TARGET, idesc=word
        ).verdict
        for mnemonic, word in words
    }
    expected = "legal" if bit is None else "illegal"
    assert {line: verdict for line, verdict in told.items() if verdict != expected} == {}
