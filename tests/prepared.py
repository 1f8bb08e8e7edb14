"""Data of a freshly migrated, unused server: tests start servers of their own with a copy.

Made once for what the code says, kept for a while with the other things that runs keep, and copied in less time than a
migration takes. All copies have the identity of one PostgreSQL cluster, as a server and its standby have.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from queues.database.embedded import EmbeddedPostgres
from queues.database.embedded.binaries import install_directory
from queues.database.embedded.folders import Folders

PROJECT = Path(__file__).resolve().parents[1]
KEPT = PROJECT / ".pytest_cache" / "prepared"
KEPT_SECONDS = 7_200.0
"""No older is what a migration has made for the hours to come."""
SERVER = hashlib.sha256(str(install_directory()).encode()).hexdigest()[:6]
"""Which PostgreSQL: tests/proof/matrix has another."""
SOURCES = ("console", "dlq", "metrics", "pipeline", "queues", "requirements.lock")


def prepare(folders: Folders) -> None:
    """Put it where a server that has never run begins."""
    folders.prepare()
    KEPT.mkdir(parents=True, exist_ok=True)
    with (KEPT / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the first process makes it; none deletes what another copies
        _copy(_made(), folders.data)


def _made() -> Path:
    """The data for this code."""
    data = KEPT / f"{SERVER}-{_digest()}"
    if not data.exists() or time.time() - data.stat().st_ctime > KEPT_SECONDS:
        for former in KEPT.glob(f"{SERVER}-*"):
            shutil.rmtree(former)
        _make(data)
    return data


def _make(data: Path) -> None:
    home = Path(tempfile.mkdtemp(prefix="signalbox-prepared-"))
    server = EmbeddedPostgres(home)
    environment = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    try:
        server.ensure_running()
        subprocess.run(
            [sys.executable, PROJECT / "manage.py", "migrate", "--verbosity=0"],
            env={**environment, "SIGNALBOX_HOME": str(home), "PYTHONPATH": str(PROJECT)},
            check=True,
        )
        server.stop()
        draft = data.with_suffix(".draft")
        _copy(server.folders.data, draft)
        draft.rename(data)
    finally:
        server.stop()
        shutil.rmtree(home, ignore_errors=True)


def _copy(source: Path, target: Path) -> None:
    """Copy the data with its owner, who is not root where tests run."""
    subprocess.run(["cp", "-a", source, target], check=True)


def _digest() -> str:
    """Digest of everything that determines a migrated database."""
    found = hashlib.sha256()
    for name in SOURCES:
        place = PROJECT / name
        for path in sorted(place.rglob("*")) if place.is_dir() else [place]:
            if path.suffix in {".py", ".sql", ".lock"}:
                found.update(path.relative_to(PROJECT).as_posix().encode() + b"\0" + path.read_bytes())
    return found.hexdigest()[:16]
