"""Side of the comparison for pgmq, whose functions come as SQL inside its Python client."""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

import psycopg

from bench.scenarios import Side

VERSION = "1.1.4"
PGMQ = Side(f"pgmq {VERSION}, archiving", "pgmq")


class CannotInstall(RuntimeError):  # noqa: N818 - what happened
    """Failure to download the client."""


def install(connection: psycopg.Connection) -> None:
    """Make pgmq's schema and a queue in this database. Raises CannotInstall."""
    connection.execute(sql())
    connection.execute(PGMQ.sql("schema"))


def sql() -> str:
    """Schema and functions of pgmq, downloaded from PyPI."""
    with TemporaryDirectory(prefix="signalbox-pgmq-") as folder:
        download = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder]
        process = subprocess.run([*download, f"pgmq=={VERSION}"], capture_output=True, text=True)
        if process.returncode:
            raise CannotInstall(process.stderr)
        (wheel,) = Path(folder).glob("pgmq-*.whl")
        with ZipFile(wheel) as archive:
            return archive.read("pgmq/sql/pgmq.sql").decode()
