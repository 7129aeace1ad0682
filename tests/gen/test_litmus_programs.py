"""The programs of the litmus tests that are written by hand, step by step: litmus_programs.txt has each again."""

from __future__ import annotations

from pathlib import Path

from ptxmma.formal.ordering.notation import parse
from ptxmma.gen.litmus.litmus_tests import written

WATCHES = ("spec/ordering/litmus.yaml",)
WORDS = {
    "F": "fence", "C": "commit", "W": "wait", "+": "write", "-": "read", "S": "store", "L": "load", "X": "cp.async",
    "c": "cp.async.commit", "w": "cp.async.wait", "T": "bulk", "P": "proxy-fence", "B": "barrier", "a": "arrive",
    "A": "await", "D": "bulk-store", "d": "bulk.commit", "v": "bulk.wait", "E": "end",
}  # fmt: skip


def step(short: str) -> str:
    """A step in the notation of the litmus tests."""
    who, short = ("other: ", short[1:]) if short.startswith("~") else ("", short)
    letter, *rest = short.split()
    if letter != "M":
        return " ".join([f"{who}{WORDS[letter]}", *rest])
    scale = " scale-d=0" * (rest[-1] == "new")
    places, shape = rest[:3], [word for word in rest[3:] if word != "new"] or ["n8", "k16", "f32.f16.f16"]
    return f"{who}mma m64{shape[0]}{shape[1]}.{shape[2]} {' '.join(places)}{scale}"


def test_every_program() -> None:
    lines = Path(__file__).with_name("litmus_programs.txt").read_text(encoding="utf-8").splitlines()
    listed = [line.split(": ", 1) for line in lines if not line.startswith("#")]
    wanted = [(name, parse([step(short) for short in program.split("; ")]).steps) for name, program in listed]
    assert [(test.name, test.program.steps) for test in written()] == wanted
