"""A colour a thread: no two of 128 alike, told apart by people with any colour vision.

The hue is one of four that Okabe and Ito chose for all kinds of colour vision. It says the warp, or,
where one warp holds the matrix, threadID_in_group. The lightness falls with groupID.
"""

from __future__ import annotations

import colorsys

__all__ = ["colour"]

_HUES = (0.565, 0.105, 0.435, 0.9)  # sky blue, orange, bluish green, reddish purple
_GROUP, _WARP = 4, 32  # threads of a group, and of a warp
_LIGHTEST, _STEP, _SHIFT = 0.93, 0.034, 0.018


def colour(thread: int, threads: int) -> tuple[int, int, int]:
    """Red, green and blue, 0 to 255, light enough for black text."""
    warp, lane = divmod(thread, _WARP)
    group, member = divmod(lane, _GROUP)
    if threads > _WARP:
        hue, lightness = _HUES[warp % 4] + _SHIFT * (member - 1.5), _LIGHTEST - _STEP * group - 0.008 * member
    else:
        hue, lightness = _HUES[member], _LIGHTEST - _STEP * group
    red, green, blue = colorsys.hls_to_rgb(hue % 1, lightness, 0.75)
    return round(red * 255), round(green * 255), round(blue * 255)
