"""Which numbers parameters are taken to have: sizes, and pointers far from them."""

from __future__ import annotations

from typing import Any

import pytest

from ptxmma.check.walks.parameters import ParameterNumbers
from ptxmma.check.walks.registers import Registers
from ptxmma.check.walks.walk_steps import WalkSteps

LOAD = "ld.param.u64 %rd9, [out];\n"


@pytest.mark.parametrize(
    ("use", "is_pointer"),
    [
        ("st.global.u32 [%rd9], %r1;", True),
        ("add.u64 %rd8, %rd9, 64; st.global.u32 [%rd8+4], %r1;", True),
        ("mov.u64 %rd8, %rd9; cvta.to.global.u64 %rd7, %rd8;", True),
        ("mad.lo.u64 %rd8, %rd7, 4, %rd9; ld.global.u32 %r1, [%rd8];", True),
        ("cp.async.cg.shared.global [%r1], [%rd9], 16;", True),
        ("setp.lt.u64 %p1, %rd7, %rd9;", False),
        ("mul.lo.u64 %rd8, %rd7, %rd9; add.u64 %rd8, %rd8, 64; st.global.u32 [%rd8], %r1;", False),
    ],
)
def test_eight_bytes_are_a_pointer_if_addresses_are_made_of_them(
    kernel: Any, use: str, is_pointer: bool
) -> None:
    made = kernel(f"{LOAD}{use}\nret;")
    load = next(one for one in made.code if one.does == "load")
    found = ParameterNumbers(made.code).source(load.operands[1], load.operation.words)
    assert isinstance(found, int) == is_pointer
    assert found is not None and (is_pointer or found == (8, "out+0"))


def test_parts_of_eight_bytes_are_sizes(kernel: Any) -> None:
    made = kernel(f"{LOAD}ld.param.u32 %r2, [out+4]; st.global.u32 [%rd9], %r2;\nret;")
    load = next(one for one in made.code if one.does == "load")
    assert ParameterNumbers(made.code).source("[out]", load.operation.words) == (4, "out+0", "out+4")


def test_a_number_of_floating_point_is_as_large(kernel: Any) -> None:
    made = kernel("ld.param.f32 %f1, [out]; ld.param.u32 %r2, [out];\nret;")
    steps = WalkSteps(made.module, made.code, made.flow)
    registers = Registers(steps, (0,), 1024)
    for index in range(2):
        registers.execute(steps.step(index))
    real, whole = (registers.numbers[made.code[index].writes[0]] for index in range(2))
    assert (real, whole) == (0x44800000, 1024)
