"""ptxmma: the machine-checked specification of NVIDIA's PTX tensor-core instructions.

What is exported here is the Python API; every function and class of it is described in `ptxmma.api`.
"""

# ruff: noqa: E402 (what answers Ctrl-C stands before the imports that take long)
import os
import signal
import sys
from typing import TYPE_CHECKING, Any

# `ptxmma …` or `python -m ptxmma …`: while Python looks for the module that -m names, -m stands for its path.
_NAMED = os.path.basename((*sys.argv, "")[0])
if _NAMED == "-m":
    _NAMED = sys.orig_argv[-len(sys.argv) :][0].removeprefix("-m")
# This must stand here: Python runs this file, and so what it imports, before __main__.py and cli/. That takes
# most of the time until the command line listens. Another program that imports the package keeps its answer.
if _NAMED == "ptxmma" and signal.getsignal(signal.SIGINT) is signal.default_int_handler:

    def _end(number: int, _: object) -> None:
        os.write(2, b"ptxmma: interrupted\n")
        os._exit(128 + number)

    signal.signal(signal.SIGINT, _end)

# Absolute, unlike all other imports of the package: pytest imports this file once more, as a plain
# module named like the checkout, and must get the same objects.
# The folder `check` comes first: to import it sets ptxmma.check, which is the function from then on.
import ptxmma.check  # noqa: F401
from ptxmma.api import (
    Holder,
    MatrixDescriptor,
    OperandLayout,
    SparseMatrix,
    check,
    compress,
    decompress,
    descriptor,
    diff,
    dot,
    explain,
    layout,
    legal,
    load,
    matmul,
    numerics,
    variants,
)
from ptxmma.spec.errors import PtxmmaError, Question, SpecError
from ptxmma.spec.legality import Verdict
from ptxmma.spec.specification import Specification
from ptxmma.spec.variants import Variant

if TYPE_CHECKING:
    from ptxmma.audit.version_differences import Change
    from ptxmma.check.check_file import FileReport

    __version__: str

__all__ = [
    "Change",
    "FileReport",
    "Holder",
    "MatrixDescriptor",
    "OperandLayout",
    "PtxmmaError",
    "Question",
    "SparseMatrix",
    "SpecError",
    "Specification",
    "Variant",
    "Verdict",
    "__version__",
    "check",
    "compress",
    "decompress",
    "descriptor",
    "diff",
    "dot",
    "explain",
    "layout",
    "legal",
    "load",
    "matmul",
    "numerics",
    "variants",
]


def __dir__() -> list[str]:
    """What is public, as a notebook completes it."""
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    """What takes long to import, when it is asked for: the version, and classes of large modules."""
    match name:
        case "__version__":
            from importlib.metadata import version

            return version("ptxmma")
        case "FileReport":
            from ptxmma.check.check_file import FileReport

            return FileReport
        case "Change":
            from ptxmma.audit.version_differences import Change

            return Change
    raise AttributeError(f"module 'ptxmma' has no attribute {name!r}")
