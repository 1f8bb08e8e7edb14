"""Run pgbench, the load generator of PostgreSQL, with the benchmark's scripts."""

import os
import re
import subprocess
import tempfile
import time

from queues.database.embedded import binary

APPLICATION = "pgbench"
PROCESSED = re.compile(r"number of transactions actually processed: (\d+)")
# Settings of a careful driver: the statements never change, so their plans can be kept.
OPTIONS = "-c plan_cache_mode=force_generic_plan"
WINDOWS = 10
"""Attempts when no transaction was done in time: pgbench counts the seconds from before it has connected."""


class PgbenchError(RuntimeError):
    """Failure of pgbench to finish its work."""


def run_transactions(url: str, script: str, clients: int, transactions: int) -> float:
    """Run the script `transactions` times in each of `clients`; return the seconds."""
    started = time.monotonic()
    processed = _run(url, script, clients, f"--transactions={transactions}")
    if processed != clients * transactions:
        raise PgbenchError(f"{processed} transactions instead of {clients * transactions}")
    return time.monotonic() - started


def run_seconds(url: str, script: str, clients: int, seconds: int) -> int:
    """Run the script over and over in each of `clients`; return the number of runs, which is never 0."""
    for _ in range(WINDOWS):
        if processed := _run(url, script, clients, f"--time={seconds}"):
            return processed
    raise PgbenchError(f"no transaction in {WINDOWS} times {seconds} s")


def _run(url: str, script: str, clients: int, limit: str) -> int:
    """Command with prepared statements, each a transaction of its own."""
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as file:
        file.write(script)
        file.flush()
        command = [str(binary("pgbench")), "--no-vacuum", "--protocol=prepared", f"--client={clients}", limit]
        command += ["--define=receipt_handles={}"]  # messages held by a client at its first call
        process = subprocess.run(
            [*command, f"--file={file.name}", url],
            env={**os.environ, "PGOPTIONS": OPTIONS, "PGAPPNAME": APPLICATION},
            capture_output=True,
            text=True,
        )
    processed = PROCESSED.search(process.stdout)
    if process.returncode or processed is None:
        raise PgbenchError(f"{process.stdout}\n{process.stderr}")
    return int(processed[1])
