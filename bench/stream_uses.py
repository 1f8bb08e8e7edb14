"""Benchmark of the uses of a stream: partitions, subscriptions, captured tables, and a group under an old snapshot."""

import time
from collections.abc import Callable

from bench import pgbench
from bench.comparison import Arena, Sample
from bench.scenarios import PAYLOAD
from bench.server import ScratchServer

BATCH = 100
CLIENTS = 4
APPENDED = 100_000
PARTITIONS = (1, 4, 16)
FED = 5_000
SUBSCRIPTIONS = (1, 5, 20)
ROWS_ONE_BY_ONE = 10_000
ROWS_BATCHED = 100_000
SNAPSHOT_SECONDS = 180
POLL_SECONDS = 0.05
FEED_LIMIT_SECONDS = 600

APPEND = "select partition, position from signalbox.append('{stream}', '{payload}');"
APPEND_BATCH = "select count(*) from signalbox.append_batch('{stream}', array_fill(jsonb '{payload}', array[{batch}]));"
# One statement: the messages read, and the offset of each partition; no other member has these partitions.
READ = """
select count(signalbox.commit_offset('{stream}', 'g', 'm' || :client_id, r.partition, r.position, r.epoch))
from (
  select r.partition, max(r.position) as position, max(r.epoch) as epoch, count(r.payload)
  from signalbox.read_stream('{stream}', 'g', 'm' || :client_id, {batch}) r
  group by r.partition
) r;
"""
LAG = """
select coalesce(sum(p.committed), 0)::bigint, coalesce(sum(p.lag), 0)::bigint
from signalbox.consumer_group g
join signalbox.stream s on s.stream_id = g.stream_id
cross join lateral signalbox.group_partitions(array[g.group_id]) p
where s.name = %s
"""
INSERT = """
insert into {table} (body)
select jsonb '{payload}'
from generate_series(1, {batch});
"""

Samples = dict[tuple[str, int], list[Sample]]


def measure_uses(
    server: ScratchServer, arena: Arena, scale: float, rounds: int, progress: Callable[[str], None]
) -> dict[tuple[str, int], Sample]:
    """Measure each use in turn, round after round; return the median of each by its name and number of messages."""
    samples: Samples = {}
    for number in range(rounds):
        progress(f"round {number + 1} of {rounds}: uses of streams")
        for partitions in PARTITIONS:
            _partitions(arena, partitions, _scaled(APPENDED, scale), samples, number)
        for subscriptions in SUBSCRIPTIONS:
            _subscriptions(arena, subscriptions, _scaled(FED, scale), samples, number)
        _captures(arena, scale, samples, number)
    _old_snapshot(server, arena, max(1, int(SNAPSHOT_SECONDS * scale / 3)), samples, progress)
    return {work: Sample.median(measured) for work, measured in samples.items()}


def _scaled(messages: int, scale: float) -> int:
    step = BATCH * max(PARTITIONS)
    return max(step, int(messages * scale) // step * step)


def _partitions(arena: Arena, partitions: int, messages: int, samples: Samples, number: int) -> None:
    """Append by four clients, then read the messages by as many members as there are partitions."""
    stream = f"partitions_{partitions}_{number}"
    _make(arena, stream, partitions)
    _join(arena, stream, partitions)
    word = "partition" if partitions == 1 else "partitions"
    script = APPEND_BATCH.format(stream=stream, payload=PAYLOAD, batch=BATCH)
    _add(samples, f"append {BATCH}, {partitions} {word}", _run(arena, script, CLIENTS, messages, BATCH), messages)
    arena.connection.execute("vacuum analyze signalbox.stream_message")
    arena.connection.execute("checkpoint")
    script = READ.format(stream=stream, batch=BATCH)
    _add(samples, f"read {BATCH}, {partitions} {word}", _run(arena, script, partitions, messages, BATCH), messages)


def _subscriptions(arena: Arena, subscriptions: int, messages: int, samples: Samples, number: int) -> None:
    """Let upkeep send the messages of a stream to one queue, or to more; costs are for one message in one queue."""
    connection, stream = arena.connection, f"fed_{subscriptions}_{number}"
    _make(arena, stream, CLIENTS)
    connection.execute(
        f"select count(*) from signalbox.append_batch(%s, array_fill(jsonb '{PAYLOAD}', array[%s::integer]))",
        [stream, messages],
    )
    for each in range(subscriptions):
        connection.execute("select signalbox.create_queue(%s)", [f"{stream}_{each}"])
    connection.execute("checkpoint")
    started = time.monotonic()
    with arena.meter.measure() as cost:
        connection.execute(
            "select signalbox.create_group(%(s)s, 'g' || n, 'beginning', queue => %(s)s || '_' || n,"
            " queue_window => 100000) from generate_series(0, %(last)s) n",
            {"s": stream, "last": subscriptions - 1},
        )
        while _behind(arena, stream)[1]:
            if time.monotonic() - started > FEED_LIMIT_SECONDS:
                raise RuntimeError(f"{stream} was not sent within {FEED_LIMIT_SECONDS} s")
            time.sleep(POLL_SECONDS)
    sent = messages * subscriptions
    word = "queue" if subscriptions == 1 else "queues"
    _add(samples, f"feed {subscriptions} {word}", _sample(sent, cost.seconds, cost.cpu_seconds, cost.wal_bytes), sent)


def _captures(arena: Arena, scale: float, samples: Samples, number: int) -> None:
    """Insert into a table, and into its captured twin."""
    for table in ("bench_plain", "bench_captured"):
        arena.connection.execute(f"drop table if exists public.{table}")
        arena.connection.execute(
            f"create table public.{table} (id bigint generated always as identity primary key, body jsonb)"
        )
    stream = f"captured_{number}"
    _make(arena, stream, CLIENTS)
    arena.connection.execute("select signalbox.capture('public.bench_captured', %s, backfill => false)", [stream])
    arena.connection.execute("checkpoint")
    for batch, rows in ((1, ROWS_ONE_BY_ONE), (BATCH, ROWS_BATCHED)):
        inserted = _scaled(rows, scale)
        for table, word in (("bench_plain", "bare"), ("bench_captured", "captured")):
            script = INSERT.format(table=f"public.{table}", payload=PAYLOAD, batch=batch)
            _add(samples, f"insert {batch}, {word}", _run(arena, script, CLIENTS, inserted, batch), inserted)
    arena.connection.execute("select signalbox.uncapture('public.bench_captured', %s)", [stream])


def _old_snapshot(
    server: ScratchServer, arena: Arena, third: int, samples: Samples, progress: Callable[[str], None]
) -> None:
    """Append, read and commit without an old snapshot, then in three parts under one; messages are those committed."""
    script = APPEND.format(stream="held", payload=PAYLOAD) + READ.format(stream="held", batch=BATCH)
    _make(arena, "held", CLIENTS)
    _join(arena, "held", CLIENTS)
    parts = ("no old snapshot", "old snapshot, first third", "second third", "last third")
    holder = server.connect()
    for part in parts:
        progress(f"a group: {part}")
        if part == parts[1]:
            holder.execute("begin isolation level repeatable read")
            holder.execute("select txid_current()")
        before, _ = _behind(arena, "held")
        with arena.meter.measure() as cost:
            pgbench.run_seconds(arena.url, script, CLIENTS, third)
        after, lag = _behind(arena, "held")
        if lag > BATCH * CLIENTS:
            raise RuntimeError(f"the group is {lag} messages behind: {part}")
        sample = _sample(after - before, cost.seconds, cost.cpu_seconds, cost.wal_bytes)
        _add(samples, f"append, read, {part}", sample, after - before)
    holder.close()


def _make(arena: Arena, stream: str, partitions: int) -> None:
    arena.connection.execute(
        "select signalbox.create_stream(%s, jsonb_build_object('partitions', %s::integer))", [stream, partitions]
    )


def _join(arena: Arena, stream: str, members: int) -> None:
    """Make the group, and give each member its partitions."""
    arena.connection.execute("select signalbox.create_group(%s, 'g', 'beginning')", [stream])
    for member in [*range(members)] * 2:
        arena.connection.execute(
            "select count(*) from signalbox.join_group(%s, 'g', 'm' || %s, 3600)", [stream, member]
        )


def _behind(arena: Arena, stream: str) -> tuple[int, int]:
    """Committed positions of all groups of a stream, and how many they have not committed."""
    row = arena.connection.execute(LAG, [stream]).fetchone()
    return (int(row[0]), int(row[1])) if row else (0, 0)


def _run(arena: Arena, script: str, clients: int, messages: int, each: int) -> Sample:
    with arena.meter.measure() as cost:
        seconds = pgbench.run_transactions(arena.url, script, clients, messages // each // clients)
    return _sample(messages, seconds, cost.cpu_seconds, cost.wal_bytes)


def _sample(messages: int, seconds: float, cpu_seconds: float, wal_bytes: int) -> Sample:
    return Sample(messages / seconds, cpu_seconds / messages * 1e6, wal_bytes / messages)


def _add(samples: Samples, work: str, sample: Sample, messages: int) -> None:
    samples.setdefault((work, messages), []).append(sample)
