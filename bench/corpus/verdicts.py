"""Check a corpus and say what was found, kernel by kernel: python bench/corpus/verdicts.py FOLDER.

FOLDER/TABLE.md gets one row a kernel; what is printed has one row a source (a folder below FOLDER).
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

TIERS = ("error", "likely", "reading")
_FILES = 40  # in one call


def reports(files: list[Path]) -> list[dict[str, Any]]:
    """What `ptxmma check` says of each file."""
    found = []
    for first in range(0, len(files), _FILES):
        words = (sys.executable, "-m", "ptxmma", "check", "--strict", "--format", "json")
        done = subprocess.run((*words, *files[first : first + _FILES]), capture_output=True, text=True)
        found += json.loads(done.stdout)["files"]
    return found


def write(folder: Path) -> None:
    """Write the table of a corpus, and print its sums."""
    rows = ["| Source | File | Kernels | Findings |", "|---|---|---|---|"]
    sums: dict[str, Counter[str]] = {}
    for source in sorted(path for path in folder.iterdir() if path.is_dir() and path.name != ".packages"):
        sums[source.name] = Counter()
        for report in reports(sorted(source.rglob("*.ptx"))):
            told = Counter((f["tier"], f["rule"]) for f in report["findings"] if f["tier"] in TIERS)
            sums[source.name].update({"files": 1, "kernels": report["functions"]})
            for (tier, _), count in told.items():
                sums[source.name][tier] += count
            words = ", ".join(f"{tier} {rule}: {count}" for (tier, rule), count in sorted(told.items()))
            name = Path(report["file"]).stem
            rows.append(f"| {source.name} | {name} | {report['functions']} | {words or 'none'} |")
    (folder / "TABLE.md").write_text("\n".join(rows) + "\n")
    columns = ("files", "kernels", *TIERS)
    print("| Source | " + " | ".join(columns) + " |\n|" + "---|" * (len(columns) + 1))
    for name, counts in sums.items():
        print(f"| {name} | " + " | ".join(str(counts[column]) for column in columns) + " |")
    total = sum(sums.values(), Counter())
    print("| together | " + " | ".join(str(total[column]) for column in columns) + " |")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
