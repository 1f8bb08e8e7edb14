"""pgmq's own client over the verbs, and the move of a running system from pgmq's tables."""

from __future__ import annotations

import itertools
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import psycopg
import pytest
from django.core.management import call_command
from pgmq import PGMQueue
from pgmq.install import get_embedded_install_sql
from psycopg_pool import ConnectionPool

from queues.errors import InvalidArgument
from queues.pgmq import installing

AFTER_MOVE = 100


@pytest.fixture
def no_pgmq(dsn: str) -> Iterator[None]:
    """A database without the schema pgmq, before and after."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("drop schema if exists pgmq cascade")
        yield
        connection.execute("drop schema if exists pgmq cascade")


@pytest.fixture
def installed(no_pgmq: None, dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        assert installing.install(connection) == []


@pytest.fixture
def client(no_pgmq: None, dsn: str) -> Iterator[Callable[[], PGMQueue]]:
    pools: list[ConnectionPool] = []

    def make() -> PGMQueue:
        pools.append(ConnectionPool(dsn, min_size=1, max_size=2, open=True))
        return PGMQueue(pool=pools[-1], init_extension=False)

    yield make
    for pool in pools:
        pool.close()


@pytest.fixture
def name() -> str:
    return f"orders_{uuid.uuid4().hex[:8]}"


def test_a_message_lives_as_with_pgmq(installed: None, client: Callable[[], PGMQueue], name: str) -> None:
    pgmq = client()
    pgmq.create_queue(name)
    pgmq.create_queue(name)

    first = pgmq.send(name, {"order": 1}, headers={"trace": "a"})
    others = pgmq.send_batch(name, [{"order": 2}, {"order": 3}], headers=[{"n": 2}, {"n": 3}])
    late = pgmq.send(name, {"order": 4}, delay=60)
    assert [first, *others, late] == sorted({first, *others, late})

    found = pgmq.read_batch(name, vt=30, batch_size=10)
    assert [(m.msg_id, m.read_ct, m.message, m.headers) for m in found] == [
        (first, 1, {"order": 1}, {"trace": "a"}),
        (others[0], 1, {"order": 2}, {"n": 2}),
        (others[1], 1, {"order": 3}, {"n": 3}),
    ]
    assert pgmq.read(name) is None
    numbers = pgmq.metrics(name)
    assert (numbers.queue_length, numbers.queue_visible_length, numbers.total_messages) == (4, 0, 4)

    moved = pgmq.set_vt(name, first, 0)
    assert (moved.msg_id, moved.read_ct) == (first, 1)
    again = pgmq.read_with_poll(name, vt=30, qty=1, max_poll_seconds=5, poll_interval_ms=10)
    assert [(m.msg_id, m.read_ct) for m in again] == [(first, 2)]
    assert pgmq.delete(name, first)
    assert not pgmq.delete(name, first)
    assert pgmq.delete_batch(name, [others[0], first]) == [others[0]]
    assert pgmq.archive(name, others[1])
    assert not pgmq.archive(name, others[1])
    assert pgmq.metrics(name).queue_length == 1

    pgmq.set_vt(name, late, 0)
    assert [m.msg_id for m in pgmq.pop(name, qty=5)] == [late]
    assert pgmq.pop(name, qty=5) == []


def test_a_message_that_is_not_in_flight_is_deleted_by_its_id(
    installed: None, client: Callable[[], PGMQueue], name: str
) -> None:
    pgmq = client()
    pgmq.create_queue(name)
    ready, delayed, other = pgmq.send(name, {}), pgmq.send(name, {}, delay=60), pgmq.send(name, {})

    assert sorted(pgmq.delete_batch(name, [ready, delayed])) == [ready, delayed]
    assert pgmq.archive_batch(name, [other, ready]) == [other]
    assert pgmq.metrics(name).queue_length == 0


def test_queues_are_listed_purged_dropped_and_made_again(
    installed: None, client: Callable[[], PGMQueue], dsn: str, name: str
) -> None:
    pgmq = client()
    pgmq.create_queue(name, unlogged=True)
    pgmq.send_batch(name, [{}] * 3)
    pgmq.read(name, vt=60)

    assert pgmq.purge(name) == 3
    with psycopg.connect(dsn) as connection:
        trashed = "select count(*) from signalbox.trash t join signalbox.queue q using (queue_id) where q.name = %s"
        assert connection.execute(trashed, [name]).fetchone() == (3,)
    assert name in [queue.queue_name for queue in pgmq.list_queues()]
    assert name in [numbers.queue_name for numbers in pgmq.metrics_all()]
    pgmq.detach_archive(name)
    with pytest.raises(psycopg.Error, match="queue name is too long"):
        pgmq.validate_queue_name("a" * 48)
    assert pgmq.drop_queue(name)
    assert not pgmq.drop_queue(name)
    assert name not in [queue.queue_name for queue in pgmq.list_queues()]
    with pytest.raises(psycopg.Error) as refused:
        pgmq.send(name, {})
    assert refused.value.sqlstate == "SB423"
    pgmq.create_queue(name)
    assert pgmq.send(name, {})


@pytest.mark.parametrize(
    ("statement", "state", "field"),
    [
        ("select pgmq.create('_hidden')", "SB400", "queue_name"),
        ("select pgmq.send('unknown-queue', '{}')", "SB404", "queue"),
        ("select * from pgmq.read('unknown-queue', 1, 1)", "SB404", "queue"),
        ("""select * from pgmq.read('q', 1, 1, '{"a": 1}')""", "SB400", "conditional"),
        ("select pgmq.delete('unknown-queue', 1)", "SB404", "queue"),
        ("select pgmq.metrics('unknown-queue')", "SB404", "queue"),
    ],
)
def test_refusals_name_the_field(installed: None, dsn: str, statement: str, state: str, field: str) -> None:
    with psycopg.connect(dsn) as connection, pytest.raises(psycopg.Error) as refused:
        connection.execute(statement)
    assert (refused.value.sqlstate, refused.value.diag.column_name) == (state, field)


def test_beside_pgmq_the_functions_are_in_another_schema(no_pgmq: None, commits: None, dsn: str, name: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(get_embedded_install_sql())
        call_command("pgmq", "install", "--schema", "signalbox_pgmq")
        try:
            connection.execute("select signalbox_pgmq.create(%s)", [name])
            sent = connection.execute("select signalbox_pgmq.send(%s, '{\"n\": 1}')", [name]).fetchone()
            read = connection.execute("select msg_id, message from signalbox_pgmq.read(%s, 30, 1)", [name]).fetchone()
            assert read == (*sent, {"n": 1})
            assert connection.execute("select signalbox_pgmq.archive(%s, %s)", [name, *sent]).fetchone() == (True,)
            assert connection.execute("select count(*) from pgmq.list_queues()").fetchone() == (0,)
            call_command("pgmq", "remove", "--schema", "signalbox_pgmq")
            with pytest.raises(psycopg.errors.UndefinedFunction):
                connection.execute("select signalbox_pgmq.create(%s)", [name])
            assert connection.execute("select to_regproc('pgmq.list_queues') is not null").fetchone() == (True,)
        finally:
            connection.execute("drop schema signalbox_pgmq cascade")
        for schema in ("public", "pg_catalog", 'a"b'):
            with pytest.raises(InvalidArgument, match="schema is"):
                installing.install_beside(connection, schema)


class Shop:
    """Producers and consumers that know pgmq alone, and run through the move."""

    def __init__(self, client: Callable[[], PGMQueue], name: str) -> None:
        self.name = name
        self.done: Counter[str] = Counter()
        self.sent: list[str] = []
        self.moved = Event()
        self.over = Event()
        self._client = client

    @contextmanager
    def running(self, threads: Executor) -> Iterator[list[Future[None]]]:
        consumers = [threads.submit(self.consume) for _ in range(2)]
        try:
            yield [threads.submit(self.produce, producer) for producer in range(2)]
        finally:
            self.moved.set()
            self.over.set()
            for consumer in consumers:
                consumer.result()

    def produce(self, producer: int) -> None:
        pgmq = self._client()
        left = AFTER_MOVE
        for number in itertools.count():
            order = f"{producer}-{number}"
            pgmq.send(self.name, {"order": order}, headers={"producer": producer})
            self.sent.append(order)
            left -= self.moved.is_set()
            if not left:
                return

    def consume(self) -> None:
        pgmq = self._client()
        while not self.over.is_set():
            for message in pgmq.read_with_poll(self.name, vt=120, qty=3, max_poll_seconds=1, poll_interval_ms=10):
                assert message.headers == {"producer": int(message.message["order"].partition("-")[0])}
                self.done[message.message["order"]] += 1
                ended = pgmq.archive if message.msg_id % 2 else pgmq.delete
                assert ended(self.name, message.msg_id)


@pytest.mark.proof
def test_a_running_system_moves_without_loss(
    no_pgmq: None, commits: None, client: Callable[[], PGMQueue], connect: Callable[..., Any], name: str
) -> None:
    """pgmq's own functions, tables and client run; then ours take their place under them."""
    owner = connect()
    owner.execute(get_embedded_install_sql())
    before = client()
    before.create_queue(name)
    delayed = before.send(name, {"order": "8-delayed"}, headers={"producer": 8}, delay=3)
    archived = before.send(name, {"order": "9-archived"})
    assert before.archive(name, archived)
    shop = Shop(client, name)
    stock = [f"7-{number}" for number in range(200)]
    with ThreadPoolExecutor() as threads, shop.running(threads) as producers:
        _wait(lambda: len(shop.sent) > AFTER_MOVE)
        before.send_batch(name, [{"order": order} for order in stock], headers=[{"producer": 7}] * len(stock))
        call_command("pgmq", "install")
        shop.moved.set()
        call_command("pgmq", "forward")
        for producer in producers:
            producer.result()
        expected = {*shop.sent, *stock, "8-delayed"}
        _wait(lambda: set(shop.done) >= expected)

    assert sorted(expected - set(shop.done)) == [], "lost"
    assert [order for order, times in shop.done.items() if times > 1] == [], "twice"
    assert owner.execute("select pgmq.left_behind(%s)", [name]).fetchone()[0] == 0
    kept = owner.execute(f"select message ->> 'order' from pgmq.a_{name}").fetchall()
    assert len(kept) == len(set(kept)) > 100
    assert ("9-archived",) in kept
    first = (
        "select min(m.message_id) from signalbox.live_message m join signalbox.queue q using (queue_id)"
        " where q.name = %s"
    )
    first_id = owner.execute(first, [name]).fetchone()[0]
    assert first_id is None or first_id > delayed


@pytest.mark.proof
def test_an_earlier_pgmq_is_replaced_too(no_pgmq: None, connect: Callable[..., Any], name: str) -> None:
    """A release with fewer columns, other argument names, and an id that is used up to a large number."""
    owner = connect()
    owner.execute(get_embedded_install_sql())
    owner.execute("select pgmq.create(%s)", [name])
    owner.execute(f"alter table pgmq.q_{name} drop column headers, drop column last_read_at")
    owner.execute(f"alter table pgmq.a_{name} drop column headers, drop column last_read_at")
    owner.execute("alter type pgmq.message_record drop attribute headers, drop attribute last_read_at")
    owner.execute(
        f"insert into pgmq.q_{name} (msg_id, vt, message) overriding system value values (7345678901, now(), '1')"
    )

    assert installing.install(owner) == [name]
    assert installing.install(owner) == [name]
    assert owner.execute("select pgmq.archive(%s, 7345678901)", [name]).fetchone()[0]
    assert owner.execute("select pgmq.send(%s, '2')", [name]).fetchone()[0] > 7345678901
    installing.remove(owner)
    left = owner.execute("select count(*) from pg_proc where pronamespace = 'pgmq'::regnamespace and proname = 'send'")
    assert left.fetchone() == (0,)


@pytest.fixture
def extension_folder() -> Iterator[Path]:
    """A folder of extensions that has pgmq, and that the server's account may read."""
    with tempfile.TemporaryDirectory(prefix="signalbox-pgmq-") as name:
        folder = Path(name)
        (folder / "extension").mkdir()
        (folder / "extension" / "pgmq.control").write_text("default_version = '1'\nschema = 'pgmq'\n")
        (folder / "extension" / "pgmq--1.sql").write_text(get_embedded_install_sql())
        folder.chmod(0o755)
        yield folder


@pytest.mark.proof
def test_an_extension_becomes_plain_functions(
    no_pgmq: None, connect: Callable[..., Any], name: str, extension_folder: Path
) -> None:
    owner = connect()
    if owner.info.server_version < 180000:
        pytest.skip("PostgreSQL finds extensions in other folders from 18 on")
    owner.execute("select set_config('extension_control_path', %s, false)", [f"{extension_folder}:$system"])
    owner.execute("create extension pgmq")
    owner.execute("select pgmq.create(%s)", [name])
    owner.execute("select pgmq.send_batch(%s, array['1', '2', '3']::jsonb[])", [name])

    assert installing.install(owner) == [name]
    assert owner.execute("select count(*) from pg_extension where extname = 'pgmq'").fetchone() == (0,)
    assert owner.execute("select pgmq.forward(%s)", [name]).fetchone() == (3,)
    assert owner.execute("select message from pgmq.read(%s, 1, 9)", [name]).fetchall() == [(1,), (2,), (3,)]


def _wait(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            raise TimeoutError
        time.sleep(0.01)
