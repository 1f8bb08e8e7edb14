"""The zip file of the modules that Spark's tasks need, for machines of a Spark cluster: no module needs Django."""

from __future__ import annotations

import atexit
import shutil
import tempfile
import zipfile
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NEEDED = (
    "pipeline/*.py",
    "pipeline/[!m]*/*.py",  # no migrations, no management
    "queues/__init__.py",
    "queues/queries/__init__.py",
    "queues/queries/archive/*.sql",
)


@cache
def packed() -> Path:
    """Write the zip file to a temporary folder, which is deleted when this process ends."""
    folder = Path(tempfile.mkdtemp(prefix="signalbox-pipeline-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return pack(folder / "pipeline.zip")


def pack(path: Path) -> Path:
    """Write the zip file to this path."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for pattern in NEEDED:
            for file in sorted(ROOT.glob(pattern)):
                archive.write(file, file.relative_to(ROOT))
    return path
