"""Dead letters to ask filters of: a fixed, varied lot, put into the real tables and rolled back."""

import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

ROWS = 240
FIRST_MESSAGE_ID = 2**62  # far above what the engine hands out in other tests
QUEUES = ["filter-orders", "filter-invoices", "filter-orders-dlq", "filter-shared-dlq", "filter-unknown"]
TENANTS = ["filter-acme", "filter-globex", "filter-nobody"]
ERRORS = [
    "timed out",
    "Timed Out after 30%",
    "no such_row",
    "no suchxrow",
    r"back\slash",
    "caf\u00e9 \u2603",
    'quo"te',
    "5",
]
CLASSES = ["TimeoutError", "KeyError", "App\\Error", "Foo::Bar", "timeouterror", "app.TimeoutError", "a.b%", ""]
WORDS = ["a", "b", "A", "a,b", "x y", "5", ""]
REASONS = ["rejected", "runtime_error", "lock_expired"]
# Times fall on a coarse grid, or a microsecond beside it, so that bounds drawn from the grid are really met.
STEPS = [timedelta(hours=6 * step) for step in range(1, 13)]
NUDGES = [timedelta(0), timedelta(0), timedelta(microseconds=1), timedelta(microseconds=-1)]
SEGMENTS = ["a", "b", "0", "a.b", "", 'q"q']
NOW = datetime(2026, 1, 10, 12, tzinfo=UTC)
LEAVES: Sequence[Any] = [
    "x",
    "5",
    5,
    5.0,
    -2,
    10,
    0.5,
    True,
    False,
    None,
    "true",
    "null",
    "a b",
    "",
    [5],
    ["x"],
    {"a": 5},
    "007",
    [{"a": 5}, {"b": "x"}, 5],
    [{"a": "x y"}, {"a": [5, "a b"]}],
]
SOURCES = {"filter-orders": "filter-acme", "filter-invoices": "filter-globex"}
HOLDERS = ["filter-orders-dlq", "filter-shared-dlq"]


def insert_dead_letters(connection: psycopg.Connection) -> list[dict[str, Any]]:
    """Add the queues, their tenants and the dead letters; returns these with the names of their queues and
    tenant."""
    queue_ids = _insert_queues(connection)
    draw = random.Random(20260110)
    rows = [_dead_letter(draw, number) for number in range(1, ROWS + 1)]
    for row in rows:
        columns = {key: value for key, value in row.items() if key not in {"queue", "tenant"}}
        columns |= {"queue_id": queue_ids[row["queue"]], "source_queue_id": queue_ids[row["source_queue"]]}
        columns |= {"payload": Jsonb(row["payload"]), "attributes": row["attributes"] and Jsonb(row["attributes"])}
        names = ", ".join(columns)
        marks = ", ".join(["%s"] * len(columns))
        connection.execute(f"insert into signalbox.dead_letter ({names}) values ({marks})", list(columns.values()))
    return rows


def _insert_queues(connection: psycopg.Connection) -> dict[str, int]:
    for tenant in TENANTS[:2]:
        connection.execute("insert into signalbox.tenant (name) values (%s)", [tenant])
    owners = SOURCES | dict.fromkeys(HOLDERS, "filter-acme")
    insert = (
        "insert into signalbox.queue (name, tenant_id)"
        " select %s, tenant_id from signalbox.tenant where name = %s returning queue_id"
    )
    return {queue: connection.execute(insert, [queue, owner]).fetchone()[0] for queue, owner in owners.items()}


def _dead_letter(draw: random.Random, number: int) -> dict[str, Any]:
    source = draw.choice(list(SOURCES))
    died_at = NOW - draw.choice(STEPS) + draw.choice(NUDGES)
    failed_at = died_at - draw.choice(STEPS)
    return {
        "dead_letter_id": -number,
        "message_id": FIRST_MESSAGE_ID + number,
        "queue": draw.choice(HOLDERS),
        "source_queue": source,
        "tenant": SOURCES[source],
        "payload": _document(draw, 3) if draw.random() < 0.7 else {"a": draw.choice(LEAVES), "b": draw.choice(LEAVES)},
        "attributes": draw.choice([None, {"a": draw.choice(LEAVES), "b": draw.choice(LEAVES)}]),
        "group_id": draw.choice([None, *WORDS]),
        "deduplication_id": draw.choice([None, *WORDS]),
        "trace_id": draw.choice([None, *WORDS]),
        "priority": draw.randrange(10),
        "sent_at": failed_at - draw.choice(STEPS),
        "receive_count": draw.randrange(1, 8),
        "first_failed_at": failed_at,
        "last_failed_at": failed_at,
        "reason": draw.choice(REASONS),
        "error_class": draw.choice([None, *CLASSES]),
        "error": draw.choice([None, *ERRORS]),
        "fingerprint": draw.choice(WORDS),
        "consumer": draw.choice([None, *WORDS]),
        "died_at": died_at,
        "redrive_count": draw.randrange(3),
    }


def _document(draw: random.Random, depth: int) -> Any:
    if depth == 0 or draw.random() < 0.4:
        return draw.choice(LEAVES)
    return {segment: _document(draw, depth - 1) for segment in draw.sample(SEGMENTS, draw.randrange(1, 5))}
