"""Scripts of the site that need no page, run in node."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import ptxmma

SCRIPTS = Path(ptxmma.__file__).parent / "atlas" / "scripts"


def in_node(scripts: Sequence[str], data: Mapping[str, Any], given: Any, body: str) -> Any:
    """What the JavaScript function body returns for `given`, with scripts and data of the site loaded."""
    path = shutil.which("node")
    if path is None:
        pytest.skip("no node is installed; on Debian: apt-get install nodejs")
    loaded = "".join((SCRIPTS / f"{name}.js").read_text() + "\n" for name in scripts)
    text = (
        f"globalThis.ptxmma = {{ data: {json.dumps(data)} }};\n{loaded}\n"
        f"console.log(JSON.stringify(((given) => {{ {body} }})({json.dumps(given)})));"
    )
    done = subprocess.run([path, "-"], input=text, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)
