"""Runs pgbench, the load generator that comes with PostgreSQL, with scripts of ours."""

import os
import re
import subprocess
import tempfile
from pathlib import Path

from queues.embedded import binary

PROCESSED = re.compile(r"number of transactions actually processed: (\d+)")
FAILED = re.compile(r"number of failed transactions: (\d+)")
# What a driver of a queue would set: the statements never change, so neither need their plans.
OPTIONS = "-c plan_cache_mode=force_generic_plan"


class PgbenchError(RuntimeError):
    """pgbench did not finish its work."""


def run(url: str, script: str, clients: int, transactions: int) -> None:
    """Let each of `clients` run the script `transactions` times, prepared, each statement a transaction of its own."""
    command = [str(binary("pgbench")), "--no-vacuum", "--protocol=prepared", "--jobs=1"]
    limits = [f"--client={clients}", f"--transactions={transactions}"]
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as file:
        file.write(script)
        file.flush()
        process = subprocess.run(
            [*command, *limits, f"--file={file.name}", url],
            env={**os.environ, "PGOPTIONS": OPTIONS, "PGAPPNAME": "pgbench"},
            cwd=Path("/"),
            capture_output=True,
            text=True,
        )
    processed = PROCESSED.search(process.stdout)
    if process.returncode or processed is None or int(processed[1].split("/")[0]) != clients * transactions:
        raise PgbenchError(f"{process.stdout}\n{process.stderr}")
