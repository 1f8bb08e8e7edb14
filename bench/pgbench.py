"""Runs pgbench, the load generator that comes with PostgreSQL, on our scripts."""

import os
import re
import subprocess
import tempfile
import time

from queues.embedded import binary

APPLICATION = "pgbench"
PROCESSED = re.compile(r"number of transactions actually processed: (\d+)")
# What a careful driver would set: the statements never change, so neither need their plans.
OPTIONS = "-c plan_cache_mode=force_generic_plan"
WINDOWS = 10
"""How often seconds are tried in which nothing was done: they count from before pgbench has connected."""


class PgbenchError(RuntimeError):
    """pgbench did not finish its work."""


def run_transactions(url: str, script: str, clients: int, transactions: int) -> float:
    """Each of `clients` runs the script `transactions` times; returns the seconds it took."""
    started = time.monotonic()
    processed = _run(url, script, clients, f"--transactions={transactions}")
    if processed != clients * transactions:
        raise PgbenchError(f"{processed} transactions instead of {clients * transactions}")
    return time.monotonic() - started


def run_seconds(url: str, script: str, clients: int, seconds: int) -> int:
    """Each of `clients` runs the script over and over; returns how many times they did, which is never 0."""
    for _ in range(WINDOWS):
        if processed := _run(url, script, clients, f"--time={seconds}"):
            return processed
    raise PgbenchError(f"no transaction in {WINDOWS} times {seconds} s")


def _run(url: str, script: str, clients: int, limit: str) -> int:
    """Prepared statements, every one a transaction of its own."""
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as file:
        file.write(script)
        file.flush()
        command = [str(binary("pgbench")), "--no-vacuum", "--protocol=prepared", f"--client={clients}", limit]
        command += ["--define=receipt_handles={}"]  # what a client has in hand at its first call
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
