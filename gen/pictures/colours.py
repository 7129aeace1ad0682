"""A colour a thread: no two of 128 alike, told apart by people with any colour vision.

A hue (blue, orange, green, red) says the warp, or threadID_in_group where one warp holds the matrix. The
colour darkens with groupID. A search found the numbers: at one lane, two hues differ by at least 12 in CIELAB
for normal and for every dichromatic vision (tests/gen/test_pictures.py), and black text is read on each.
"""

from __future__ import annotations

import colorsys

from ...spec.lazy_dataclass import dataclass

__all__ = ["colour"]

_GROUP, _WARP = 4, 32  # threads of a group, and of a warp


@dataclass(frozen=True)
class _Hue:
    """A hue, its saturation, its lightness for groupID 0, and how much darker each next groupID is."""

    hue: float
    saturation: float
    lightest: float
    step: float


_HUES = (
    _Hue(0.64, 0.712, 0.933, 0.025),
    _Hue(0.096, 0.937, 0.801, 0.023),
    _Hue(0.40, 0.935, 0.891, 0.028),
    _Hue(0.007, 1.0, 0.816, 0.016),
)
# What a thread of a group adds to hue, lightness and saturation, where the hue says the warp.
_MEMBER = (0.011, -0.009, -0.048)


def colour(thread: int, threads: int) -> tuple[int, int, int]:
    """Red, green and blue, 0 to 255, light enough for black text."""
    warp, lane = divmod(thread, _WARP)
    group, member = divmod(lane, _GROUP)
    shared = threads > _WARP
    of = _HUES[warp % len(_HUES) if shared else member]
    hue, lightness, saturation = of.hue, of.lightest - of.step * group, of.saturation
    if shared:
        hue += _MEMBER[0] * (member - 1.5)
        lightness += _MEMBER[1] * member
        saturation = min(1.0, saturation + _MEMBER[2] * (member - 1.5))
    red, green, blue = colorsys.hls_to_rgb(hue % 1, lightness, saturation)
    return round(red * 255), round(green * 255), round(blue * 255)
