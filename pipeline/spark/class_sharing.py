"""Class data sharing: a Java process writes its loaded classes to a file, which later Java processes map into memory.

Reading, checking and linking the same thousands of classes takes most of the start of a session. The first Java process
writes the file when it ends, about 160 MB. Java ignores a file that does not fit its version or its class path.
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

from queues.database.embedded import locks
from signalbox.logs import in_brief

log = logging.getLogger(__name__)

JAVA_OPTIONS = "spark.driver.extraJavaOptions"
QUIET = "-Xlog:disable -Xlog:all=error:stderr"
"""Suppresses Java's warnings about a file that does not fit, which is ignored and replaced anyway."""
STOP_SECONDS = 300.0
"""Limit for the end of a Java process, which writes its classes for about ten seconds."""


class SharedClasses:
    """The file of loaded classes in a folder, for the versions of Java and Spark that are installed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / f"classes-{_installed()}.jsa"
        self.begun = self.file.with_suffix(f".{os.getpid()}.begun")
        self.lock = folder / "classes.lock"

    @contextmanager
    def used(self, options: Mapping[str, str]) -> Iterator[dict[str, str]]:
        """Yield the options for a Java process that starts and ends (`end`) within the block."""
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
        """Lock the folder for the one Java process that writes; None when it is locked or cannot be written to."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            return locks.try_exclusive(self.lock)
        except OSError as error:
            log.info("Java's loaded classes are not stored for later sessions: %s", in_brief(error))
            return None

    def _keep(self) -> None:
        """Keep the file of a Java process that ended normally, and delete the files of other versions."""
        with suppress(FileNotFoundError):
            self.begun.replace(self.file)
            for other in self.folder.glob("classes-*.jsa"):
                if other != self.file:
                    other.unlink(missing_ok=True)


def end(java: subprocess.Popen[bytes], seconds: float = STOP_SECONDS) -> None:
    """End a Java process of PySpark by closing its standard input.

    Kills a process that does not end, and raises `TimeoutExpired`, because its file of classes is incomplete.
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
    """Identify the installed versions of Java and Spark."""
    import pyspark

    home = os.environ.get("JAVA_HOME")
    java = Path(home) / "bin" / "java" if home else Path(shutil.which("java") or "java")
    with suppress(OSError):
        java = java.resolve()
        changed_at = java.stat().st_mtime_ns
        return hashlib.sha256(f"{java} {changed_at} {pyspark.__version__} {pyspark.__file__}".encode()).hexdigest()[:12]
    return "unknown"
