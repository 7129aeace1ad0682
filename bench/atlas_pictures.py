"""Pictures of the atlas for its guide, at three widths: python bench/atlas_pictures.py SITE FOLDER.

SITE is what `ptxmma atlas --out SITE` wrote. It needs Chromium and Playwright.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Literal
from urllib.parse import urlencode

from playwright.sync_api import sync_playwright

STATEMENT = "wgmma.mma_async.sp.sync.aligned.m64n8k64.s32.u8.s8 {a,b,c,d}, da, db, meta, 1, p;"
SPARSE = "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16"
Theme = Literal["dark", "light"]
# Name, page with its state, width, height, theme.
PICTURES: tuple[tuple[str, str, int, int, Theme], ...] = (
    (
        "search",
        "index.html#" + urlencode({"q": STATEMENT, "ptx": "8.3", "target": "sm_90a"}),
        768,
        720,
        "light",
    ),
    (
        "layouts",
        "layouts.html#" + urlencode({"mnemonic": SPARSE, "operand": "A", "row": 9, "col": 3}),
        1280,
        960,
        "dark",
    ),
    ("order", "order.html#" + urlencode({"test": "wait-before-commit"}), 360, 900, "light"),
)


def main() -> None:
    """Take them all."""
    site, folder = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name, page, width, height, theme in PICTURES:
            opened = browser.new_page(viewport={"width": width, "height": height}, color_scheme=theme)
            opened.goto(f"{(site / 'index.html').as_uri().rpartition('/')[0]}/{page}")
            opened.wait_for_load_state("networkidle")
            opened.wait_for_timeout(500)
            opened.screenshot(path=folder / f"atlas-{name}.png")
        browser.close()


if __name__ == "__main__":
    main()
