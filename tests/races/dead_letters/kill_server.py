# ruff: noqa: T201 - standard output is how it answers
"""Kill matrix with a server that stops at once, in a PostgreSQL of its own, so that no other connection breaks.

One job of each kind waits at its statement, the server stops as if the power were gone, and starts again. Needs
SIGNALBOX_HOME; prints a line for each statement.
"""

import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import django
import psycopg
from psycopg.types.json import Jsonb

DEADLINE_SECONDS = 120.0


def main() -> None:
    django.setup()
    from django.core.management import call_command
    from django.db import connection

    from queues.database.connections import dsn
    from tests.races.dead_letters import kill_matrix

    call_command("migrate", verbosity=0)
    kill_matrix.install_watch(setattr)
    kill_matrix.small_batches(setattr)
    most = max(kill_matrix.statements_of(case) for case in _cases(dsn(), 0))
    for number in range(1, most + 2):
        cases = _cases(dsn(), number)
        _stop_at(number, cases)
        connection.close()
        for case in cases:
            case.engine.connection = psycopg.connect(dsn(), autocommit=True)
            case.finish()
            case.engine.connection.close()
        print(number, flush=True)


def _cases(dsn: str, number: int) -> list[Any]:
    from tests.dlq.dead_letter_scenes import DeadLetterScene
    from tests.engine import Engine
    from tests.races.dead_letters import kill_matrix

    cases = []
    for kind, make in kill_matrix.CASES.items():
        session = psycopg.connect(dsn, autocommit=True)
        queue = f"{kind}-{number}"
        row = session.execute("select signalbox.create_queue(%s, %s)", [queue, Jsonb({})]).fetchone()
        assert row
        cases.append(make(DeadLetterScene(Engine(session, queue, row[0]))))
    return cases


def _stop_at(number: int, cases: list[Any]) -> None:
    """Each job comes to its statement or to its end; then the server stops, and is there again."""
    there, go_on = threading.Barrier(len(cases) + 1, timeout=DEADLINE_SECONDS), threading.Event()
    threads = [threading.Thread(target=_run, args=(case, number, there, go_on)) for case in cases]
    for thread in threads:
        thread.start()
    there.wait()
    _stop_server()
    go_on.set()
    for thread in threads:
        thread.join()


def _run(case: Any, number: int, there: threading.Barrier, go_on: threading.Event) -> None:
    from django.db import connection

    from dlq.jobs.runner import PASSING
    from tests.races.dead_letters import kill_matrix

    arrived = []

    def wait() -> None:
        arrived.append(True)
        there.wait()
        assert go_on.wait(DEADLINE_SECONDS)

    try:
        with kill_matrix.before_statement(number, wait):
            case.run_slice()
    except PASSING:
        pass
    if not arrived:
        there.wait()
    connection.close()


def _stop_server() -> None:
    """An immediate stop: no checkpoint, no goodbye. Its keeper starts it again."""
    from queues.database.embedded import EmbeddedPostgres

    server = EmbeddedPostgres(Path(os.environ["SIGNALBOX_HOME"]))
    pid_file = server.folders.data / "postmaster.pid"
    before = int(pid_file.read_text().split("\n", 1)[0])
    os.kill(before, signal.SIGQUIT)
    deadline = time.monotonic() + DEADLINE_SECONDS
    while time.monotonic() < deadline:
        try:
            if int(pid_file.read_text().split("\n", 1)[0]) != before:
                psycopg.connect(server.url(), connect_timeout=5).close()
                return
        except (OSError, ValueError, psycopg.OperationalError):
            pass
        time.sleep(0.02)
    sys.exit("the server did not come back")


if __name__ == "__main__":
    main()
