"""A logical subscriber follows queues and streams all their life, by docs/run/logical-replication.md."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from queues.database.embedded.binaries import install_directory
from tests.chaos.server import PATIENCE_SECONDS, PROJECT
from tests.engine import Engine
from tests.proof.replication.servers import LogicalServer

pytestmark = pytest.mark.timeout(600)

DOCUMENT = PROJECT / "docs" / "run" / "logical-replication.md"
VERSIONS = {"15": Path("/usr/lib/postgresql/15"), "18": install_directory()}

PUBLISHED = "select distinct tablename from pg_publication_tables where schemaname = 'signalbox' order by tablename"
SLOT_OF_THE_MINUTE_BEFORE = "(date_part('epoch', clock_timestamp())::bigint / 60 + 3) % 4"
FOLLOWED = (
    "select bool_and(r.srsubstate = 'r') and max(s.latest_end_lsn) >= %s::pg_lsn"
    " from pg_subscription_rel r, pg_stat_subscription s where s.relid is null"
)


def commands(name: str) -> str:
    """The SQL that the document has for one of both."""
    found = re.search(rf"^```sql {name}\n(.*?)^```", DOCUMENT.read_text(), re.M | re.S)
    assert found is not None, name
    return found[1]


class Followed:
    """A publisher with our schema, and its subscriber."""

    def __init__(self, publisher: LogicalServer, subscriber: LogicalServer) -> None:
        self.here = publisher.connect()
        self.there = subscriber.connect()
        self.here.execute(commands("publisher").encode())
        subscriber.copy_schema(publisher)
        self.there.execute(commands("subscriber").encode())
        self.there.execute(
            f"create subscription signalbox connection 'host={publisher.socket} dbname=signalbox user=signalbox'"
            " publication signalbox_tables, signalbox_rings".encode()
        )

    def differences(self) -> dict[str, tuple[list[Any], list[Any]]]:
        """Tables whose rows differ once the subscriber has everything."""
        self._wait()
        tables = [name for (name,) in self.here.execute(PUBLISHED.encode())]
        assert len(tables) > 100
        rows = {name: (_rows(self.here, name), _rows(self.there, name)) for name in tables}
        return {name: both for name, both in rows.items() if both[0] != both[1]}

    def _wait(self) -> None:
        (written,) = self.here.execute("select pg_current_wal_lsn()::text").fetchone() or ("",)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self.there.execute(FOLLOWED, [written]).fetchone() != (True,):
            assert time.monotonic() < deadline, "the subscriber does not follow"
            time.sleep(0.05)


def _rows(connection: psycopg.Connection[Any], table: str) -> list[str]:
    connection.execute("set search_path = ''")  # names of sequences are then whole
    return [row[0] for row in connection.execute(f"select t::text from signalbox.{table} t order by 1".encode())]


@pytest.fixture(scope="module", params=VERSIONS)
def followed(request: pytest.FixtureRequest) -> Iterator[Followed]:
    install = VERSIONS[request.param]
    assert install.exists(), f"PostgreSQL {request.param} is not installed: run tests/system_packages.sh"
    with LogicalServer(install) as publisher, LogicalServer(install) as subscriber:
        publisher.migrate()
        yield Followed(publisher, subscriber)


def make_queue(connection: psycopg.Connection[Any], name: str, **settings: Any) -> Engine:
    row = connection.execute("select signalbox.create_queue(%s, %s)", [name, Jsonb(settings)]).fetchone()
    assert row is not None
    return Engine(connection, name, row[0])


def keep_up(engine: Engine) -> None:
    """Do every step of upkeep, the aggregation of counters first, so that the ring can be emptied."""
    engine.value("select signalbox.aggregate_counters()")
    engine.value("select signalbox.aggregate_failure_groups()")
    for table in ("aggregation", "failure_group_aggregation"):
        engine.connection.execute(
            f"update signalbox.{table} set aggregated_at = aggregated_at - interval '5 minutes'".encode()
        )
    for step in engine.value("select signalbox.upkeep_steps()"):
        engine.value("select signalbox.upkeep(%s)", step)


def live(connection: psycopg.Connection[Any]) -> None:
    """Send messages of a queue through all of their states."""
    orders = make_queue(connection, "orders", max_receives=3, dedup_scope="in_flight", group_max_in_flight=2)
    for n in range(20):
        orders.send({"n": n}, priority=n % 3, deduplication_id=f"d{n}")
    orders.ack(*[row[1] for row in orders.receive(10)])
    for row in orders.receive(4):
        orders.nack(row[1], error="once more", delay_seconds=0)
    orders.rows("select * from signalbox.change_visibility(%s, 300)", orders.receive_one()[1])
    orders.send("later", delay_seconds=3000)
    for n in range(6):
        orders.send({"grouped": n}, group_id="g")
    orders.value("select signalbox.limit_lane('orders', 'g', 1)")
    keep_up(orders)
    letters = [orders.die({"dead": n}, error_class="Declined", error="no " * 40) for n in range(6)]
    orders.value("select count(*) from signalbox.redrive(%s)", letters[:2])
    removal = orders.value("select signalbox.open_trash_batch(3600)")
    orders.value("select signalbox.delete_dead_letters(%s, %s)", letters[2:4], removal)
    orders.value("select count(*) from signalbox.restore(%s)", removal)
    orders.value("select signalbox.rename_queue('orders', 'sales')")
    keep_up(orders)
    sales = Engine(connection, "sales", orders.queue_id)
    assert sales.value("select signalbox.purge('sales')") > 0
    keep_up(sales)


def stream(connection: psycopg.Connection[Any]) -> None:
    """A stream that begins while it is followed, with a group that reads it."""
    log = Engine(connection, "events", 0)
    log.value("select signalbox.create_stream('events', '{\"partitions\": 2}')")
    log.value("select signalbox.create_group('events', 'readers', 'beginning')")
    for n in range(5):
        log.value("select count(*) from signalbox.append('events', %s, key => %s)", Jsonb({"n": n}), f"k{n}")
    log.rows("select * from signalbox.join_group('events', 'readers', 'm')")
    log.connection.execute("update signalbox.stream_message set payload = '\"erased\"' where key = 'k1'")
    keep_up(log)


def test_a_subscriber_follows_the_whole_life_of_a_queue(followed: Followed) -> None:
    live(followed.here)
    assert followed.differences() == {}

    stream(followed.here)
    assert followed.differences() == {}

    queue = make_queue(followed.here, "of-no-use")
    queue.value("select signalbox.configure_queue('of-no-use', '{\"closed\": true}')")
    queue.value("select signalbox.delete_queue('of-no-use')")
    assert followed.differences() == {}


def test_a_subscriber_follows_truncates_of_the_ring(followed: Followed) -> None:
    queue = make_queue(followed.here, "counted")
    queue.send()
    queue.connection.execute(f"update signalbox.counter_delta set slot = {SLOT_OF_THE_MINUTE_BEFORE}")
    assert followed.differences() == {}
    assert _length(followed.there, "counter_delta") > 0

    keep_up(queue)

    assert followed.differences() == {}
    assert _length(followed.there, "counter_delta") < 20  # what upkeep itself has added since


def _length(connection: psycopg.Connection[Any], table: str) -> int:
    return sum(len(_rows(connection, f"{table}_{slot}")) for slot in range(4))
