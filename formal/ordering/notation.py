"""Programs as text, such as `fence; mma m64n8k16.f32.f16.f16 r0 s0 s0; commit; wait 0; read r0`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .programs import (
    OTHER,
    WARPGROUP,
    BlockEnd,
    Buffer,
    BulkCommit,
    BulkCopy,
    BulkStore,
    BulkWait,
    Commit,
    CpAsync,
    CpAsyncCommit,
    CpAsyncWait,
    CtaBarrier,
    MbarrierArrive,
    MbarrierWait,
    Mma,
    MmaShape,
    Program,
    ProxyFence,
    Register,
    RegisterRead,
    RegisterWrite,
    SharedRead,
    SharedWrite,
    Step,
    Wait,
    WgmmaFence,
)

__all__ = ["parse"]

# By the first word of a step: the letters of its operands ("" for a plain number), and the operation.
_KINDS = {
    "read": ("r", RegisterRead),
    "write": ("r", RegisterWrite),
    "load": ("s", SharedRead),
    "store": ("s", SharedWrite),
    "proxy-fence": ("", ProxyFence),
    "fence": ("", WgmmaFence),
    "commit": ("", Commit),
    "wait": (("",), Wait),
    "cp.async": ("s", CpAsync),
    "cp.async.commit": ("", CpAsyncCommit),
    "cp.async.wait": (("",), CpAsyncWait),
    "bulk": ("sb", BulkCopy),
    "bulk-store": ("s", BulkStore),
    "bulk.commit": ("", BulkCommit),
    "bulk.wait": (("",), BulkWait),
    "arrive": ("b", MbarrierArrive),
    "await": ("b", MbarrierWait),
    "barrier": ("", CtaBarrier),
    "end": ("", BlockEnd),
}


def parse(lines: str | Sequence[str]) -> Program:
    """Read what str() of a program writes: steps in a list, or in one text with `;` between.

    Raises ValueError, which quotes the faulty step.
    """
    items: Iterable[str] = lines.split(";") if isinstance(lines, str) else lines
    return Program(tuple(_step(" ".join(item.split())) for item in items if item.strip()))


def _step(text: str) -> Step:
    words = text.removeprefix("other: ").split(" ")
    kind = _KINDS.get(words[0])
    try:
        if words[0] == "mma":
            return Step(_mma(words[1:]))
        if kind is None:
            raise ValueError(f"no operation is called {words[0]!r}")
        letters, make = kind
        if len(letters) != len(words) - 1:
            raise ValueError(f"{words[0]} takes {len(letters)} operands")
        numbers = [_number(letter, word) for letter, word in zip(letters, words[1:], strict=True)]
        return Step(make(*numbers), OTHER if text.startswith("other: ") else WARPGROUP)
    except ValueError as error:
        raise ValueError(f"`{text}`: {error}") from None


def _mma(words: Sequence[str]) -> Mma:
    scale_d = "scale-d=0" not in words
    rest = [word for word in words if word != "scale-d=0"]
    if len(rest) != 4:
        raise ValueError("an mma is written `mma m64n8k16.f32.f16.f16 r0 s0 s1` (shape, D, A, B)")
    shape, d, a, b = rest
    first: Register | Buffer
    first = Register(_number("r", a)) if a.startswith("r") else Buffer(_number("s", a))
    return Mma(MmaShape.of(shape), _number("r", d), first, _number("s", b), scale_d)


def _number(letter: str, word: str) -> int:
    digits = word.removeprefix(letter)
    if not word.startswith(letter) or not (digits.isascii() and digits.isdigit()):
        raise ValueError(f"{word!r} is not an operand such as {letter}0")
    return int(digits)
