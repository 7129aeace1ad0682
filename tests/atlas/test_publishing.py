"""The recipe of docs/guides/atlas.md: the folder that it publishes is the one that its command writes."""

from __future__ import annotations

import re
import shlex

import yaml

from ptxmma.cli.commands import COMMANDS
from ptxmma.spec.loading import ROOT

PAGE = (ROOT / "docs" / "guides" / "atlas.md").read_text()
(RECIPE,) = (
    yaml.load(block, yaml.BaseLoader) for block in re.findall(r"^```yaml\n(.*?)^```", PAGE, re.S | re.M)
)


def test_what_is_written_is_published() -> None:
    (job,) = RECIPE["jobs"].values()
    install, write = [shlex.split(step["run"]) for step in job["steps"] if "run" in step]
    assert install == ["pip", "install", "."]
    assert write[:2] == ["ptxmma", "atlas"] and "atlas" in COMMANDS
    (published,) = [step["with"]["path"] for step in job["steps"] if "pages-artifact" in step.get("uses", "")]
    assert write[2:] == ["--out", published]


def test_every_area_has_its_line() -> None:
    from ptxmma.atlas.site import AREAS

    named = re.findall(r"^\| (\w[\w ]*) \|", PAGE, re.M)
    assert [name for _, name in AREAS if name not in (*named, "Docs")] == []
