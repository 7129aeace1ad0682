"""What metadata codes do on sm_90, typed by hand from what was measured; and what the loader refuses."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ptxmma.spec.arithmetic import arithmetic
from ptxmma.spec.arithmetic_records import ArithmeticFile, ChipCodes
from ptxmma.spec.chip_codes import check_codes, parts_met
from ptxmma.spec.errors import SpecError
from ptxmma.spec.expressions import parse
from ptxmma.spec.specification import Specification

WATCHES = ("spec/arithmetic/*.yaml",)
# The columns of B that the two slots meet, by code; each a digit.
TWO_OF_FOUR = "00 10 20 30 01 11 21 31 02 12 22 32 03 13 23 33"


@pytest.fixture
def family() -> ArithmeticFile:
    (family,) = arithmetic().families
    return family


def met(specification: Specification, family: ArithmeticFile, name: str) -> list[tuple[tuple[int, ...], ...]]:
    return [
        parts_met(family.codes[name], specification.sparsities[name], code)
        for code in range(1 << specification.sparsities[name].code_bits)
    ]


def test_what_codes_do(specification: Specification, family: ArithmeticFile) -> None:
    columns = [tuple(map(int, word)) for word in TWO_OF_FOUR.split()]
    assert met(specification, family, "2:4") == [((first,), (second,)) for first, second in columns]
    assert met(specification, family, "4:8") == [
        tuple((2 * column + place,) for column in pair for place in (0, 1)) for pair in columns
    ]
    assert met(specification, family, "1:2") == [(halves,) for halves in columns]
    assert [codes.pieces for codes in family.codes.values()] == [1, 1, 2]


@pytest.mark.parametrize(
    ("name", "changes", "said"),
    [
        ("2:4", {"part": "code & 3"}, "the code 0b0100 of 2:4 is valid, and meets other elements"),
        ("2:4", {"part": "code"}, "the code 0b0100 of 2:4 meets part 4"),
        ("1:2", {"pieces": 1}, "the code 0b0010 of 1:2 meets part 2"),
        ("1:2", {"pieces": 0}, "pieces is 0"),
        ("4:8", {"part": "nosuch + slot"}, r"reads nosuch"),
        (
            "2:4",
            {"part": "code // (2 * slot) & 3"},
            "cannot be evaluated for the code 0b0000 of 2:4: integer division",
        ),
        (
            "2:4",
            {"part": "code >> slot - 1"},
            "cannot be evaluated for the code 0b0000 of 2:4: negative shift",
        ),
    ],
)
def test_what_codes_cannot_do(
    specification: Specification, family: ArithmeticFile, name: str, changes: dict[str, object], said: str
) -> None:
    codes: ChipCodes = family.codes[name]
    given = {
        key: replace(codes.part, text=value, tree=parse(value)) if isinstance(value, str) else value
        for key, value in changes.items()
    }
    other = replace(family, codes={**family.codes, name: replace(codes, **given)})  # type: ignore[arg-type]
    with pytest.raises(SpecError, match=said):
        check_codes(other, specification)


def test_every_coding_has_codes(specification: Specification, family: ArithmeticFile) -> None:
    some = {name: codes for name, codes in family.codes.items() if name != "1:2"}
    with pytest.raises(SpecError, match="codes of 1:2 are missing"):
        check_codes(replace(family, codes=some), specification)
    with pytest.raises(SpecError, match="3:4"):
        check_codes(replace(family, codes={**some, "3:4": family.codes["1:2"]}), specification)
