"""Class data sharing: a Java keeps what it has loaded in a file, from which the next one begins.

Most of a session's start is reading, checking and linking thousands of classes, the same each time. The first Java of a
home writes them down when it ends, a file of some 160 MB that later ones map into their memory. Java itself refuses a
file that does not fit its version or its class path, and then does without.
"""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from queues.database.embedded import locks
from signalbox.logs import in_brief

log = logging.getLogger(__name__)

JAVA_OPTIONS = "spark.driver.extraJavaOptions"
QUIET = "-Xlog:disable -Xlog:all=error:stderr"
"""No message about a file that does not fit: a person who runs a command cannot act on it."""
STOP_SECONDS = 300.0
"""How long a Java may take to end: writing takes some ten seconds of a core."""


class SharedClasses:
    """The file of one home, for the Java and the Spark that are installed now."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / f"classes-{_installed()}.jsa"
        self.begun = self.file.with_suffix(f".{os.getpid()}.begun")
        self.lock = folder / "classes.lock"

    @contextmanager
    def used(self, options: Mapping[str, str]) -> Iterator[dict[str, str]]:
        """Yield the options with which a Java starts within the block; it has ended by the block's end (`end`)."""
        if self.file.exists():
            yield _with(options, f"-XX:SharedArchiveFile={self.file}")
            return
        recording = self._try_lock()
        if recording is None:
            yield dict(options)
            return
        try:
            for left in self.folder.glob("classes-*.begun"):
                left.unlink(missing_ok=True)
            yield _with(options, f"-XX:ArchiveClassesAtExit={self.begun}")
            self._keep()
        finally:
            os.close(recording)

    def _try_lock(self) -> int | None:
        """Lock the folder: one Java at a time writes, and none where the folder cannot be written to."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            return locks.try_exclusive(self.lock)
        except OSError as error:
            log.info("classes are not kept for the next start: %s", in_brief(error))
            return None

    def _keep(self) -> None:
        """Keep the file of a Java that ended well, and delete those of versions installed before."""
        with suppress(FileNotFoundError):
            self.begun.replace(self.file)
            for other in self.folder.glob("classes-*.jsa"):
                if other != self.file:
                    other.unlink(missing_ok=True)


def end(java: subprocess.Popen[bytes], seconds: float = STOP_SECONDS) -> None:
    """End a Java of PySpark by closing the pipe that it reads.

    A Java that does not end is killed, and is an error: what it was writing is not whole.
    """
    if java.stdin is not None:
        java.stdin.close()
    try:
        java.wait(seconds)
    except subprocess.TimeoutExpired:
        java.kill()
        java.wait()
        raise


def _with(options: Mapping[str, str], more: str) -> dict[str, str]:
    given = options.get(JAVA_OPTIONS, "")
    return {**options, JAVA_OPTIONS: f"{QUIET} {more} {given}".strip()}


def _installed() -> str:
    """Identify the Java and the Spark that are installed."""
    import pyspark

    home = os.environ.get("JAVA_HOME")
    java = Path(home) / "bin" / "java" if home else Path(shutil.which("java") or "java")
    with suppress(OSError):
        java = java.resolve()
        at: Any = java.stat().st_mtime_ns
        return hashlib.sha256(f"{java} {at} {pyspark.__version__} {pyspark.__file__}".encode()).hexdigest()[:12]
    return "unknown"
