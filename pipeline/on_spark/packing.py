"""Our code as one file, for machines that have no copy of it: what tasks import, and nothing that needs Django."""

from __future__ import annotations

import atexit
import shutil
import tempfile
import zipfile
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1]
NEEDED = ("*.py", "[!m]*/*.py", "marts/*.py", "archive/sql/*.sql")  # no migrations, no management


@cache
def packed() -> Path:
    """The zip file; it goes with this process."""
    folder = Path(tempfile.mkdtemp(prefix="signalbox-pipeline-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return pack(folder / "pipeline.zip")


def pack(path: Path) -> Path:
    """Write the zip file there."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for pattern in NEEDED:
            for file in sorted(FOLDER.glob(pattern)):
                archive.write(file, Path(FOLDER.name) / file.relative_to(FOLDER))
    return path
