"""Benchmark of streams beside queues: appending a message, and reading it in a group."""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

from bench import pgbench
from bench.comparison import Arena, Sample
from bench.scenarios import PAYLOAD, SIGNALBOX
from bench.server import ScratchServer
from bench.stream_uses import measure_uses
from bench.tables import table_line

CLIENTS = 4
ONE_BY_ONE = 20_000
BATCHED = 200_000
BATCH = 100
TITLE = "A stream of four partitions beside a queue, four clients"
HEADINGS = ("", "messages/s", "CPU us", "WAL bytes")
WIDTHS = (48, 12, 10, 11)

SETTINGS = '{"partitions": 4, "retention_seconds": 86400}'
APPEND = f"select partition, position from signalbox.append('bench', '{PAYLOAD}');"
APPEND_BATCH = f"select count(*) from signalbox.append_batch('bench', array_fill(jsonb '{PAYLOAD}', array[{BATCH}]));"
JOIN = "select count(*) from signalbox.join_group('bench', 'g', 'm' || %s, 3600)"
# One statement: the messages read, and the offset of each partition; no other member has these partitions.
READ = f"""
select count(signalbox.commit_offset('bench', 'g', 'm' || :client_id, r.partition, r.position, r.epoch))
from (
  select r.partition, max(r.position) as position, max(r.epoch) as epoch, count(r.payload)
  from signalbox.read_stream('bench', 'g', 'm' || :client_id, {BATCH}) r
  group by r.partition
) r;
"""


@dataclass(frozen=True)
class StreamSample:
    """One kind of work; costs are for one message."""

    work: str
    messages: int
    messages_per_second: float
    cpu_us: float
    wal_bytes: float


def measure_streams(
    server: ScratchServer, arena: Arena, scale: float, rounds: int, progress: Callable[[str], None]
) -> list[StreamSample]:
    """Measure each kind of work in turn, round after round; return medians."""
    few, many = (max(400, int(number * scale) // 400 * 400) for number in (ONE_BY_ONE, BATCHED))
    works: list[tuple[str, int, int, str, Callable[[Arena, int], None]]] = [
        ("send one", few, 1, SIGNALBOX.sql("send_one"), _queue),
        ("append one", few, 1, APPEND, _stream),
        (f"send {BATCH}", many, BATCH, SIGNALBOX.sql("send_batch", batch=BATCH), _queue),
        (f"append {BATCH}", many, BATCH, APPEND_BATCH, _stream),
        (f"receive {BATCH} and ack", many, BATCH, SIGNALBOX.sql("drain_batch", batch=BATCH), _full_queue),
        (f"read {BATCH} and commit", many, BATCH, READ, _full_stream),
    ]
    samples: dict[str, list[Sample]] = {}
    for number in range(rounds):
        progress(f"round {number + 1} of {rounds}: streams")
        for work, messages, each, script, prepare in works:
            prepare(arena, messages)
            samples.setdefault(work, []).append(_measure(arena, script, messages, each))
    arena.empty(SIGNALBOX)
    medians = {(work, messages): Sample.median(samples[work]) for work, messages, *_ in works}
    medians |= measure_uses(server, arena, scale, rounds, progress)
    return [
        StreamSample(work, messages, *(getattr(median, name) for name in _COSTS))
        for (work, messages), median in medians.items()
    ]


_COSTS = ("messages_per_second", "cpu_us", "wal_bytes")


def _measure(arena: Arena, script: str, messages: int, each: int) -> Sample:
    with arena.meter.measure() as cost:
        seconds = pgbench.run_transactions(arena.url, script, CLIENTS, messages // each // CLIENTS)
    return Sample(messages / seconds, cost.cpu_seconds / messages * 1e6, cost.wal_bytes / messages)


def _queue(arena: Arena, _: int) -> None:
    arena.prepare(SIGNALBOX, 0)


def _full_queue(arena: Arena, messages: int) -> None:
    arena.prepare(SIGNALBOX, messages + CLIENTS * BATCH)  # a claim may be short, and none is empty


def _stream(arena: Arena, _: int) -> None:
    arena.connection.execute("select signalbox.create_stream('bench', %s)", [SETTINGS])
    arena.connection.execute("checkpoint")


def _full_stream(arena: Arena, messages: int) -> None:
    """Append the measured number of messages behind the group, and give each member its partition."""
    connection = arena.connection
    _stream(arena, 0)
    connection.execute("select signalbox.drop_group('bench', 'g')")
    connection.execute("select signalbox.create_group('bench', 'g', 'end')")
    for _ in range(messages // 10_000 or 1):
        connection.execute(
            f"select count(*) from signalbox.append_batch('bench', array_fill(jsonb '{PAYLOAD}', array[%s::integer]))",
            [min(messages, 10_000)],
        )
    for _ in range(2):
        for member in range(CLIENTS):
            connection.execute(JOIN, [member])
    connection.execute("vacuum analyze signalbox.stream_message")
    connection.execute("checkpoint")


def stream_lines(samples: list[StreamSample]) -> Iterator[str]:
    """Table of results for people."""
    yield TITLE
    yield table_line(HEADINGS, WIDTHS)
    for one in samples:
        numbers = (f"{one.messages_per_second:,.0f}", f"{one.cpu_us:,.1f}", f"{one.wal_bytes:,.0f}")
        yield table_line((f"{one.work}, {one.messages:,}", *numbers), WIDTHS)


def stream_measurements(samples: list[StreamSample]) -> Iterator[dict[str, object]]:
    """Results as rows for programs."""
    return (asdict(one) for one in samples)
