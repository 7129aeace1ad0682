"""The examples that take long, so that they run once, elsewhere than with the others."""

from __future__ import annotations

__all__ = ["ATLAS", "PROVE"]

PROVE = "ptxmma prove"  # a step of .ci/run
ATLAS = "ptxmma atlas --out site"  # it makes the site that the tests of the atlas look at
