"""ptxmma: the machine-checked specification of NVIDIA's PTX tensor-core instructions."""

# Absolute, unlike all other imports of the package: pytest imports this file once more, as a plain
# module named like the checkout, and must get the same objects.
from ptxmma.spec.api import compress, find, judge, layout, legal, load
from ptxmma.spec.errors import PtxmmaError, Question, SpecError

__all__ = [
    "PtxmmaError",
    "Question",
    "SpecError",
    "compress",
    "find",
    "judge",
    "layout",
    "legal",
    "load",
]
