"""Hold the sums of spec/arithmetic against the published models, on the same inputs.

python bench/arithmetic_peers.py [PATTERN] [--count N] [--seed N]

A line for each published model and type set: inputs, results that differ from the chip's arithmetic (signs
of zeros and patterns of NaNs counted apart), and products a second: of one thread, and for C of all. A
model is the authors' own code where it can be imported (`own`), and their model written down (`written`,
published_models.py). Where both are there, `own != written` counts where they differ. Below a line stands
the first input that differs, with every product that does not matter set to zero; `ptxmma explain` takes
it.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from published_models import PEERS, Codes, Form, Values

import ptxmma
from ptxmma.cli.main import run_script
from ptxmma.gen.arithmetic.dot_products import sums_of
from ptxmma.spec.api import load
from ptxmma.spec.arithmetic import arithmetic_of
from ptxmma.spec.numerics_records import Format

TARGET = "sm_90a"
Sums = Callable[[Codes, Codes, Codes], Codes]
Exponents = NDArray[np.int64]


def forms(pattern: str | None) -> Iterator[Form]:
    """One form of each floating-point type set and K, dense ones of wgmma and mma."""
    seen = set()
    for variant in ptxmma.variants(pattern, target=TARGET):
        words = variant.mnemonic.split(".")
        if words[0] not in ("wgmma", "mma") or variant.row.row.sparsity or "m" not in variant.fields:
            continue
        arithmetic = arithmetic_of(variant, TARGET)
        a, b, c, d = (arithmetic.types[part] for part in "ABCD")
        key = (words[0], arithmetic.products, a, b, c, d, variant.fields.get("rnd"))
        if load().formats.get(a) is not None and d != "s32" and key not in seen:
            seen.add(key)
            yield Form(variant.mnemonic, arithmetic.products, a, b, c, d)


class Draw:
    """Inputs of one form: a share from each distribution."""

    def __init__(self, form: Form, count: int, seed: int) -> None:
        self.form, self.count = form, count
        self.formats = {part: load().formats[getattr(form, part)] for part in "abcd"}
        self.rng = np.random.default_rng([seed, form.products, *form.mnemonic.encode()])

    def all(self) -> tuple[Codes, Codes, Codes]:
        """Codes of A and B (jobs, products), and of C (jobs,)."""
        kinds = (self.any_bits, self.spread, self.cancelling, self.small, self.few, self.ties)
        parts = [kind(self.count // len(kinds) + 1) for kind in kinds]
        a, b, c = (np.concatenate([part[n] for part in parts])[: self.count] for n in range(3))
        return a, b, c

    def numbers(self, part: str, exponents: Exponents, plain: bool = False) -> Codes:
        """Random signs and fractions with these exponents, as far as the type has them; `plain`: none."""
        form: Format = self.formats[part]
        least = 1 - form.bias
        most = (1 << form.exponent) - 2 - form.bias
        shape = exponents.shape
        fraction = self.rng.integers(0, 1 << form.fraction, shape)
        fraction = np.where(plain | (self.rng.integers(0, 4, shape) == 0), 0, fraction)
        exponents = np.minimum(exponents, most)
        normal = (np.maximum(exponents, least) + form.bias << form.fraction) + fraction
        low = (fraction + (1 << form.fraction)) >> np.clip(least - exponents, 0, 62)
        code = np.where(exponents < least, low, normal).astype(np.uint64)
        sign = self.rng.integers(0, 2, shape).astype(np.uint64)
        return (code | sign << np.uint64(form.exponent + form.fraction)) << np.uint64(form.ignored)

    def any_bits(self, jobs: int) -> tuple[Codes, Codes, Codes]:
        def drawn(part: str, shape: tuple[int, ...]) -> Codes:
            form: Format = self.formats[part]
            width = 1 + form.exponent + form.fraction
            bits: Codes = self.rng.integers(0, (1 << width) - 1, shape, np.uint64, endpoint=True)
            return bits << np.uint64(form.ignored)

        k = self.form.products
        return drawn("a", (jobs, k)), drawn("b", (jobs, k)), drawn("c", (jobs,))

    def tops(self, jobs: int) -> Exponents:
        """Exponents of the greatest product: all that A and B give and D holds, small ones more often."""
        a, b, d = (self.formats[part] for part in "abd")
        least = max(2 - a.bias - b.bias, 1 - d.bias - d.fraction - 4)
        most = min((1 << a.exponent) + (1 << b.exponent) - 4 - a.bias - b.bias, d.bias)
        low = self.rng.integers(least, min(least + 36, most) + 1, jobs)
        return np.where(self.rng.integers(0, 2, jobs) == 0, low, self.rng.integers(least, most + 1, jobs))

    def spread(self, jobs: int) -> tuple[Codes, Codes, Codes]:
        """Products at all distances below the greatest, many about the window's end; C near or far."""
        shape = (jobs, self.form.products)
        top, window = self.tops(jobs), 13 if self.form.narrow else 25
        about = self.rng.integers(window - 3, window + 4, shape)
        gaps = np.where(self.rng.integers(0, 2, shape) == 0, about, self.rng.integers(0, window + 6, shape))
        gaps[:, 0] = 0
        exponents = top[:, None] - self.rng.permuted(gaps, axis=1)
        of_a = exponents // 2 + self.rng.integers(-3, 4, shape)
        far = self.rng.integers(-window - 4, window + 4, jobs)
        return self.numbers("a", of_a), self.numbers("b", exponents - of_a), self.numbers("c", top + far)

    def cancelling(self, jobs: int) -> tuple[Codes, Codes, Codes]:
        """Pairs of opposite products, and small ones beside them."""
        a, b, c = self.spread(jobs)
        pairs = self.form.products // 2
        sign = np.uint64(
            1 << self.formats["a"].exponent + self.formats["a"].fraction + self.formats["a"].ignored
        )
        keep = self.rng.integers(0, 4, (jobs, pairs)) > 0
        a[:, pairs : 2 * pairs] = np.where(keep, a[:, :pairs] ^ sign, a[:, pairs : 2 * pairs])
        b[:, pairs : 2 * pairs] = np.where(keep, b[:, :pairs], b[:, pairs : 2 * pairs])
        return a, b, c

    def small(self, jobs: int) -> tuple[Codes, Codes, Codes]:
        """Subnormal numbers in A, B or C."""
        shape = (jobs, self.form.products)
        least = {part: 1 - self.formats[part].bias for part in "abc"}
        far = -least["a"] + (1 - self.formats["d"].bias) if least["a"] > -100 else 0
        of_a = least["a"] - self.rng.integers(-2, self.formats["a"].fraction + 1, shape)
        of_b = self.rng.integers(min(far, 0) - 4, 12, shape)
        of_c = least["c"] - self.rng.integers(-3, self.formats["c"].fraction + 2, jobs)
        return self.numbers("a", of_a), self.numbers("b", of_b), self.numbers("c", of_c)

    def few(self, jobs: int) -> tuple[Codes, Codes, Codes]:
        """Most elements zero, beside any others: large against zero, small against small."""
        a, b, c = self.spread(jobs)
        big = self.numbers("b", self.rng.integers(-8, self.formats["b"].bias, b.shape))
        a = np.where(self.rng.integers(0, 3, a.shape) > 0, 0, a).astype(np.uint64)
        b = np.where(a == 0, big, b).astype(np.uint64)
        return a, b, np.where(self.rng.integers(0, 2, jobs) == 0, 0, c).astype(np.uint64)

    def ties(self, jobs: int) -> tuple[Codes, Codes, Codes]:
        """A tie, half of D's least number, and terms about the end of the lowest window."""
        a, b, c = (np.zeros((jobs, self.form.products), np.uint64) for _ in range(3))
        d, window = self.formats["d"], 13 if self.form.narrow else 25
        least = 1 - d.bias - d.fraction
        for product in range(3):
            about = least + 3 - window + self.rng.integers(-5, 6, jobs)
            exponent = least - self.rng.integers(0, 2, jobs) if product == 0 else about
            of_a = exponent // 2
            a[:, product] = self.numbers("a", of_a, plain=True)
            b[:, product] = self.numbers("b", exponent - of_a, plain=True)
        small = self.numbers("c", np.full(jobs, least) + self.rng.integers(0, 4, jobs), plain=True)
        return a, b, np.where(self.rng.integers(0, 2, jobs) == 0, c[:, 0], small)


def values(form: Format, codes: Codes) -> Values:
    """The numbers that bit patterns stand for."""
    stored = (codes >> np.uint64(form.ignored)).astype(np.int64)
    fraction = stored & (1 << form.fraction) - 1
    field = stored >> form.fraction & (1 << form.exponent) - 1
    low = field == 0
    size = np.where(low, fraction, fraction + (1 << form.fraction)).astype(np.float64)
    with np.errstate(over="ignore"):  # an infinity's field
        found = np.ldexp(size, np.where(low, 1, field) - form.bias - form.fraction)
    last = field == (1 << form.exponent) - 1
    if form.specials == "ieee":
        found = np.where(last, np.where(fraction == 0, np.inf, np.nan), found)
    elif form.specials == "nan":
        found = np.where(last & (fraction == (1 << form.fraction) - 1), np.nan, found)
    signed: Values = np.where(stored >> form.exponent + form.fraction & 1 == 1, -found, found)
    return signed


def written_sums(draw: Draw, index: int) -> Sums | None:
    """The model of a peer, as a function of codes; None where it has no such form."""
    model = PEERS[index].written(draw.form)
    if model is None:
        return None
    of = draw.formats
    return lambda a, b, c: model.codes(draw.form, values(of["a"], a), values(of["b"], b), values(of["c"], c))


def timed(sums: Sums, given: tuple[Codes, Codes, Codes]) -> tuple[Codes, float]:
    """Results, and products a second."""
    start = time.perf_counter()
    found = sums(*given)
    return found, given[0].size / (time.perf_counter() - start)


def least_case(one: Sums, other: Sums, given: tuple[Codes, Codes, Codes]) -> tuple[Codes, Codes, Codes]:
    """One input on which two differ, with every product zero that may be."""
    a, b, c = (part.copy() for part in given)
    for product in range(a.shape[1]):
        kept = a[0, product], b[0, product]
        a[0, product] = b[0, product] = 0
        if np.array_equal(one(a, b, c), other(a, b, c)):
            a[0, product], b[0, product] = kept
    return a, b, c


def listed(codes: Codes) -> str:
    """Codes, without the zeros at the end."""
    numbers = [int(code) for code in codes.reshape(-1)]
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers.pop()
    return ",".join(hex(number) for number in numbers)


def compare(name: str, draw: Draw, chip: Sums, given: tuple[Codes, Codes, Codes], peer: Sums) -> Codes:
    """Print one line, and the first difference of each kind; gives the peer's results."""
    wanted = chip(*given)
    found, rate = timed(peer, given)
    form = draw.formats["d"]
    one, other = values(form, found), values(form, wanted)
    unlike = found != wanted
    zeros, nans = unlike & (one == other), unlike & np.isnan(one) & np.isnan(other)
    kinds = {"differ": unlike & ~zeros & ~nans, "in the sign of 0": zeros, "in a NaN's pattern": nans}
    counts = ", ".join(
        f"{int(kind.sum())} {word}" for word, kind in kinds.items() if word == "differ" or kind.any()
    )
    print(f"    {name + ':':30} {len(found)} inputs, {counts}; {rate:.1e} products/s")
    for kind in kinds.values():
        if kind.any():
            j = int(np.nonzero(kind)[0][0])
            a, b, c = least_case(chip, peer, (given[0][j : j + 1], given[1][j : j + 1], given[2][j : j + 1]))
            print(f"      --a {listed(a)} --b {listed(b)} --c {listed(c)}")
            print(f"      the chip gives {int(chip(a, b, c)[0]):#x}, {name} {int(peer(a, b, c)[0]):#x}")
    return found


def of_form(form: Form, count: int, slow: int, seed: int) -> None:
    """All lines of one form."""
    draw = Draw(form, count, seed)
    given = draw.all()
    a, b, c = (part[:: max(1, count // slow)] for part in given)
    sums = sums_of(form.mnemonic, TARGET)
    print(form.mnemonic)
    rates = [f"numpy {timed(sums.arrays.codes, (a, b, c))[1]:.1e}"]
    if (
        sums.compiled is not None
        and sums.compiled.codes(given[0][:1], given[1][:1], given[2][:1]) is not None
    ):
        rates.append(f"C {timed(lambda *codes: ptxmma.dot(form.mnemonic, *codes), given)[1]:.1e}")
    print(f"    {'ptxmma:':30} {', '.join(rates)} products/s")

    def chip(a: Codes, b: Codes, c: Codes) -> Codes:
        return ptxmma.dot(form.mnemonic, a, b, c).astype(np.uint64)

    for index, peer in enumerate(PEERS):
        own, written = peer.own(form), written_sums(draw, index)
        if written is not None:
            compare(f"{peer.name} (written)", draw, chip, given, written)
        if own is not None:
            found = compare(f"{peer.name} (own)", draw, chip, (a, b, c), own)
            if written is not None:
                print(f"      own != written: {int((found != written(a, b, c)).sum())} of {len(found)}")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pattern", nargs="?", help="mnemonics, as of `ptxmma list`; default: all")
    parser.add_argument(
        "--count", type=int, default=100_000, help="inputs of each type set (default: %(default)s)"
    )
    parser.add_argument(
        "--own",
        type=int,
        default=2_000,
        help="of them, for the authors' code and numpy (default: %(default)s)",
    )
    parser.add_argument("--seed", type=int, default=1, help="of the inputs (default: %(default)s)")
    asked = parser.parse_args(arguments)
    if min(asked.count, asked.own) < 1:
        parser.error("--count and --own count inputs: at least 1")
    found = list(forms(asked.pattern))
    if not found:
        parser.error(f"no dense floating-point form of wgmma or mma matches {asked.pattern}")
    for peer in PEERS:
        if any(peer.own(form) for form in found):
            print(f"{peer.name}: its own code")
        elif any(peer.written(form) for form in found):
            print(f"{peer.name}: own code not installed ({peer.where})")
    for form in found:
        if any(peer.own(form) or peer.written(form) for peer in PEERS):
            of_form(form, asked.count, asked.own, asked.seed)
    left = [form for form in found if not any(peer.own(form) or peer.written(form) for peer in PEERS)]
    print(
        f"{len(left)} of {len(found)} dense floating-point forms have no published model{':' if left else ''}"
    )
    for form in left:
        print(f"    {form.mnemonic}")
    return 0


if __name__ == "__main__":
    run_script(main)
