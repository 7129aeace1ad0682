"""ptxmma: the machine-checked specification of NVIDIA's PTX tensor-core instructions."""

from .spec.api import compress, find, judge, layout, legal, load
from .spec.errors import PtxmmaError, Question, SpecError

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
