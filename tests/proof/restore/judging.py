"""Check that a restored database has everything in its backup, once, and continues."""

from __future__ import annotations

from typing import Any

from tests.engine import Engine
from tests.proof.restore.contents import Connection, Contents, fold

STATES = "select q.name, q.queue_id from signalbox.queue q order by 1"


def engines(connection: Connection) -> dict[str, Engine]:
    return {name: Engine(connection, name, number) for name, number in connection.execute(STATES).fetchall()}


def check_counters(connection: Connection) -> None:
    """Check that counters equal a recount, of queues, lanes and failure groups."""
    for engine in engines(connection).values():
        assert engine.counted() == engine.recounted(), engine.queue
        engine.waiting()
    clusters = connection.execute(
        "select count(*) from (select fingerprint, sum(dead) as dead from ("
        "  select fingerprint, dead from signalbox.failure_cluster_queue"
        "  union all select fingerprint, dead from signalbox.pending_failure_groups()"
        ") c group by 1) c"
        " full join (select fingerprint, count(*) as dead from signalbox.dead_letter group by 1) d using (fingerprint)"
        " where coalesce(c.dead, 0) <> coalesce(d.dead, 0)"
    ).fetchone()
    assert clusters == (0,)


def check_counters_stay_right(connection: Connection) -> None:
    """Later aggregations do not count the contents of the dump a second time."""
    check_counters(connection)
    for _ in range(2):
        engines(connection)["fed"].send("counted", delay_seconds=86_400)
        fold(connection)
        check_counters(connection)


def check_messages(connection: Connection, made: Contents) -> None:
    """Each message is where it was, and comes once."""
    all_of_them = engines(connection)
    sales = all_of_them["sales"]
    assert sales.ack(*made.held[:2]) == [True, True]  # handed out before the backup, and still theirs
    received = drain(sales)
    assert sorted(received) == sorted(made.claimable)
    leased = sales.rows("select message_id from signalbox.lease where queue_id = %s", sales.queue_id)
    assert {row[0] for row in leased} <= made.held_ids
    assert len(leased) == 2
    resting = sales.rows("select message_id from signalbox.scheduled where queue_id = %s", sales.queue_id)
    assert {row[0] for row in resting} == made.resting
    assert sales.ack(*made.held[2:]) == [True, True]
    large = sales.value("select body_bytes from signalbox.message where message_id = %s", made.large)
    assert large == 300_000


def drain(engine: Engine) -> list[int]:
    """Ids in the order in which they came, each acknowledged."""
    received = []
    while rows := engine.receive(100, visibility_timeout=600):
        received += [row[0] for row in rows]
        assert all(engine.ack(*[row[1] for row in rows]))
    return received


def check_groups(connection: Connection, made: Contents) -> None:
    """A FIFO group comes in its order, one at a time."""
    line = engines(connection)["line"]
    seen = []
    while rows := line.receive(10, visibility_timeout=600):
        (row,) = rows
        seen.append(row[3])
        line.ack(row[1])
    assert seen == made.groups


def check_dead(connection: Connection, made: Contents) -> None:
    """Dead letters are dead and can be sent again; what is in the trash can be put back."""
    sales = engines(connection)["sales"]
    letters = sales.rows("select dead_letter_id, message_id from signalbox.dead_letter")
    assert {row[1] for row in letters} == made.dead
    sales.value("select signalbox.restore(%s)", made.trash_batch)
    letters = sales.rows("select dead_letter_id, message_id from signalbox.dead_letter")
    assert {row[1] for row in letters} == made.dead | made.trashed
    sales.value("select count(*) from signalbox.redrive(%s)", [row[0] for row in letters])
    assert set(drain(sales)) == made.dead | made.trashed


def check_stream(connection: Connection, made: Contents) -> None:
    """A group reads on from where it was; what is appended now lies behind all that was ever read."""
    read: list[Any] = connection.execute(_READ).fetchall()
    assert [row[1] for row in read] == made.unread
    connection.execute("select signalbox.commit_offset('log', 'reader', 'r', 0, %s, %s)", [read[-1][0], read[-1][2]])
    (after,) = connection.execute("select position from signalbox.append('log', '\"new\"')").fetchone() or (0,)
    assert after > read[-1][0] + 1_000_000
    assert [row[1] for row in connection.execute(_READ).fetchall()] == ["new"]
    while connection.execute("select signalbox.feed_queues()").fetchone() != (0,):
        pass
    fed = engines(connection)["fed"]
    assert [row[3] for row in fed.receive(100)] == [*[f"event {n}" for n in range(5)], "new"]


_READ = "select position, payload, epoch from signalbox.read_stream('log', 'reader', 'r')"


def check_archive(connection: Connection) -> None:
    """Archived and unarchived rows are distinguishable, and the next window begins where the last one ended."""
    low, high = connection.execute("select low, high from signalbox.hold_for_archive()").fetchone() or (0, 0)
    assert 0 < low < high
    told = connection.execute(
        "select sum(cardinality(s.message_ids)) filter (where s.txid < %(low)s),"
        " sum(cardinality(s.message_ids)) filter (where s.txid >= %(low)s)"
        " from signalbox.settled s where s.outcome = 'a'",
        {"low": low},
    ).fetchone()
    assert told == (4, 3)


def check_it_goes_on(connection: Connection, made: Contents) -> None:
    """New ids lie far behind old ones, every step of upkeep works, and the audit is whole."""
    sales = engines(connection)["sales"]
    assert sales.send("new") > made.last_id + 1_000_000
    (steps,) = connection.execute("select signalbox.upkeep_steps()").fetchone() or ([],)
    for step in steps:
        connection.execute("select signalbox.upkeep(%s)", [step])
    assert connection.execute("select complaint from signalbox.verify_audit()").fetchone() == (None,)
    said = "select count(*) from signalbox.audit_event where action = 'database.restored'"
    assert connection.execute(said).fetchone() == (1,)
    check_counters(connection)
