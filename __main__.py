"""python -m ptxmma."""

from .cli.main import entry

entry()
