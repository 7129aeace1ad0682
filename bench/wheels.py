"""Fetch the wheels that carry ptxas, measure them, and record what they are in evidence/wheels.json.

python bench/wheels.py [VERSION…]

pip brings each wheel for each platform, whatever specs.yaml says of its builds. Recorded are its SHA-256, its
size, and the SHA-256 of the ptxas in it. `ptxmma evidence` holds specs.yaml against the record. About 1 GB.

Exit code 0: recorded; 2: pip brings no wheel of a release.
"""

from __future__ import annotations

import argparse
import datetime
import subprocess
import sys
import tempfile
import zipfile
from hashlib import file_digest
from pathlib import Path

from ptxmma.cli.main import run_script
from ptxmma.ledger.wheel_record import RecordedWheel, load_wheels, write_wheels
from ptxmma.spec.api import load
from ptxmma.spec.index import Assembler

PLATFORMS = {  # the newest tag first, as pip prefers it: 11.8.89 has two wheels
    f"linux-{machine}": [f"{tag}_{machine}" for tag in ("manylinux_2_17", "manylinux2014", "manylinux1")]
    for machine in ("x86_64", "aarch64")
}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("versions", nargs="*", metavar="VERSION", help="only these releases")
    args = parser.parse_args()
    recorded = load_wheels()
    every = [one for release in load().index.releases for one in release.assemblers]
    for assembler in every:
        if not args.versions or assembler.version in args.versions:
            found = {platform: _fetched(assembler, tags) for platform, tags in PLATFORMS.items()}
            wheels = {platform: wheel for platform, wheel in found.items() if wheel}
            if not wheels:
                print(f"pip brings no wheel of {assembler.package} {assembler.version}", file=sys.stderr)
                return 2
            recorded = {**recorded, (assembler.package, assembler.version): wheels}
            print(f"{write_wheels(recorded)}: {assembler.package} {assembler.version}: {', '.join(wheels)}")
    return 0


def _fetched(assembler: Assembler, tags: list[str]) -> RecordedWheel | None:
    """What pip brings for a platform; None where there is no wheel for it."""
    name = f"{assembler.package}=={assembler.version}"
    platforms = [word for tag in tags for word in ("--platform", tag)]
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "-qq", "--no-deps", "--only-binary=:all:"]
        ran = subprocess.run([*command, *platforms, "--dest", folder, name], capture_output=True, text=True)
        found = list(Path(folder).glob("*.whl"))
        if ran.returncode or len(found) != 1:
            if "No matching distribution" not in ran.stderr:
                raise SystemExit(f"pip cannot fetch {name}: {ran.stderr.strip()}")
            return None
        return _measured(found[0])


def _measured(wheel: Path) -> RecordedWheel:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith("/bin/ptxas"))
        with archive.open(name) as binary:
            ptxas = file_digest(binary, "sha256").hexdigest()  # type: ignore[arg-type]
    with wheel.open("rb") as file:
        sha256 = file_digest(file, "sha256").hexdigest()
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    return RecordedWheel(sha256, wheel.stat().st_size, ptxas, today)


if __name__ == "__main__":
    run_script(main)
