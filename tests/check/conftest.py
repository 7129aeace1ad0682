"""A fixture for tests of one analysis: a small kernel, decoded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from ptxmma.check.ptx.decode import DecodedFunction
from ptxmma.check.ptx.flow import Flow, build_flow
from ptxmma.check.ptx.operation import Operations
from ptxmma.check.ptx.reader import read_module
from ptxmma.check.ptx.source import PtxModule
from ptxmma.spec.api import load

HEAD = """.version 8.6
.target sm_90a
.address_size 64
.shared .align 128 .b8 tile[4096];
.visible .entry k(.param .u64 out, .param .u32 count)
{threads}
{{
.reg .b32 %r<32>;
.reg .f32 %f<32>;
.reg .b64 %rd<16>;
.reg .pred %p<8>;
{body}
}}
"""


@dataclass(frozen=True)
class DecodedKernel:
    """A kernel, and what every analysis of it begins with."""

    module: PtxModule
    code: DecodedFunction
    flow: Flow


KernelOf = Callable[..., DecodedKernel]


@pytest.fixture(scope="session")
def operations() -> Operations:
    return Operations(load().judge("8.6", "sm_90a"))


@pytest.fixture
def kernel(operations: Operations) -> KernelOf:
    """Decode the body of a kernel of 256 threads along x, unless `threads` says otherwise."""

    def one(body: str, threads: str = ".reqntid 256, 1, 1") -> DecodedKernel:
        module = read_module(HEAD.format(threads=threads, body=body), "k.ptx")
        (function,) = module.functions
        flow = build_flow(function, module, operations)
        return DecodedKernel(module, DecodedFunction(function, operations), flow)

    return one
