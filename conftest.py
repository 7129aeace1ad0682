"""The repository's root is the package ptxmma itself: pytest must not import it a second time."""

from __future__ import annotations

from pathlib import Path

import pytest


def pytest_collect_directory(path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Take the root as a plain folder, whatever the checkout is called."""
    if path == Path(__file__).parent:
        return pytest.Dir.from_parent(parent, path=path)
    return None
