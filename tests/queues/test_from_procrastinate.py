"""The guide docs/use/procrastinate-moving.md, run as written, while procrastinate's own application goes on."""

from __future__ import annotations

import re
import sys
import threading
import types
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import procrastinate
import psycopg
import pytest

from signalbox import Client

pytestmark = pytest.mark.proof
GUIDE = (Path(__file__).parents[2] / "docs" / "use" / "procrastinate-moving.md").read_text()
QUEUE, TRIGGER, STOCK = re.findall(r"^```sql\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)
[HANDLER] = re.findall(r"^```python\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)
JOBS = 60
SCHEMA = "procrastinate_guide"

done: Counter[str] = Counter()
failed_once: set[str] = set()


@pytest.fixture
def dsn_of_guide(dsn: str, connect: Callable[..., psycopg.Connection[Any]]) -> Iterator[str]:
    owner = connect()
    owner.execute(f"create schema {SCHEMA}")
    yield f"{dsn} options='-c search_path={SCHEMA},public'"
    owner.execute(f"drop schema {SCHEMA} cascade")


@pytest.fixture
def app(dsn_of_guide: str) -> Iterator[procrastinate.App]:
    app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=dsn_of_guide))
    app.task(name="ship", queue="guide", retry=1)(ship)
    with app.replace_connector(procrastinate.SyncPsycopgConnector(conninfo=dsn_of_guide)), app.open():
        app.schema_manager.apply_schema()
        yield app


def ship(order: str) -> None:
    if order.endswith("3") and order not in failed_once:
        failed_once.add(order)
        raise ValueError(order)
    done[order] += 1


def work(dsn: str, over: threading.Event) -> None:
    """Procrastinate's worker, again and again, as a supervisor would start it."""
    while not over.is_set():
        worker = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=dsn))
        worker.task(name="ship", queue="guide", retry=1)(ship)
        worker.run_worker(wait=False, install_signal_handlers=False, listen_notify=False)


def test_the_guide_moves_a_running_application(
    app: procrastinate.App, dsn_of_guide: str, connect: Callable[..., psycopg.Connection[Any]]
) -> None:
    owner = connect(options=f"-c search_path={SCHEMA},public")
    sent = [f"stock-{number}" for number in range(JOBS)]
    for order in sent:
        app.configure_task("ship", queue="guide", lock=f"lock-{order[-1]}").defer(order=order)
    app.configure_task("ship", queue="guide", schedule_in={"seconds": 2}).defer(order="scheduled")
    over = threading.Event()
    thread = threading.Thread(target=work, args=[dsn_of_guide, over])
    thread.start()
    try:
        while len(done) < JOBS / 4:
            thread.join(0.01)
        owner.execute(QUEUE.replace("'default'", "'guide'"))
        owner.execute(TRIGGER)
        while owner.execute(STOCK).rowcount:
            pass
        for number in [*range(JOBS), *range(JOBS)]:  # a queueing lock sends nothing the second time
            app.configure_task("ship", queue="guide", queueing_lock=f"q-{number}").defer(order=f"new-{number}")
        sent += [f"new-{number}" for number in range(JOBS)]
        while owner.execute("select from procrastinate_jobs where status in ('todo', 'doing')").fetchone():
            thread.join(0.01)
    finally:
        over.set()
        thread.join()
    by_old = len(done)
    _drain(dsn_of_guide, _handler(app), len(sent) + 1)
    assert done == Counter([*sent, "scheduled"])
    assert JOBS / 4 <= by_old < JOBS


def _drain(dsn: str, handle: Callable[[Any], None], jobs: int) -> None:
    with Client(dsn) as client:
        while done.total() < jobs:
            for message in client.receive("guide", 100):
                try:
                    handle(message)
                except ValueError:
                    client.nack(message, delay_seconds=0)
                else:
                    client.ack(message)


def _handler(app: procrastinate.App) -> Callable[[Any], None]:
    """The handler of the guide, for which the module `shop` has the application."""
    shop = types.ModuleType("shop")
    shop.app = app  # type: ignore[attr-defined]
    names: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(sys.modules, "shop", shop)
        exec(HANDLER, names)  # the guide's own words
    handle: Callable[[Any], None] = names["handle"]
    return handle
