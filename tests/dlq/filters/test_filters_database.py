"""PostgreSQL and plain Python agree on what a filter matches; the indexes are there to be used."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.db import connection as django_connection
from hypothesis import given, settings
from hypothesis import strategies as st

from dlq.filters import KEYS, Filter, Target, parse
from tests.dlq.filters.filter_evaluator import matches
from tests.dlq.filters.filter_rows import FIRST_MESSAGE_ID, NOW, insert_dead_letters
from tests.dlq.filters.filter_strategies import filters, terms
from tests.tiers import examples

ROWS = {
    Target.DEAD_LETTER: "signalbox.dead_letter d",
    Target.READY: "signalbox.ready t join signalbox.message m using (queue_id, message_id)",
    Target.SCHEDULED: "signalbox.scheduled t join signalbox.message m using (queue_id, message_id)",
    Target.WAITING: "signalbox.waiting t join signalbox.message m using (queue_id, message_id)",
    Target.LEASE: "signalbox.lease t join signalbox.message m using (queue_id, message_id)",
    Target.SETTLED: (
        "(select queue_id, outcome, consumer, message_id, receive_count from signalbox.settled,"
        " unnest(message_ids, receive_counts) as one(message_id, receive_count)) t"
        " join signalbox.message m using (queue_id, message_id)"
    ),
    Target.MESSAGE: "signalbox.message m",
}


@dataclass(frozen=True)
class Lot:
    """The dead letters of this file and the connection, and transaction, in which alone they exist."""

    connection: psycopg.Connection
    rows: list[dict[str, Any]]

    def found(self, asked: Filter) -> set[int]:
        predicate = asked.compile(Target.DEAD_LETTER, NOW)
        query = f"select message_id from signalbox.dead_letter d where message_id >= %s and {predicate.sql}"
        return {row[0] for row in self.connection.execute(query, [FIRST_MESSAGE_ID, *predicate.params])}

    def expected(self, asked: Filter) -> set[int]:
        return {row["message_id"] for row in self.rows if matches(asked, row, NOW)}

    def plan(self, asked: Filter, order: str = "", without: Iterable[str] = ("seqscan",)) -> str:
        predicate = asked.compile(Target.DEAD_LETTER, NOW)
        query = f"explain select * from signalbox.dead_letter d where {predicate.sql} {order}"
        with self.connection.transaction(force_rollback=True):
            for kind in without:
                self.connection.execute(f"set local enable_{kind} = off")
            return "\n".join(row[0] for row in self.connection.execute(query, predicate.params))


@pytest.fixture(scope="module")
def lot(dsn) -> Iterator[Lot]:
    with psycopg.connect(dsn) as connection:
        yield Lot(connection, insert_dead_letters(connection))
        connection.rollback()


@pytest.mark.parametrize(
    "key", [key for key in KEYS.values() if Target.DEAD_LETTER in key.targets], ids=lambda key: key.name
)
@settings(max_examples=examples(60), deadline=None)
@given(data=st.data())
def test_postgresql_and_python_agree_on_a_key(lot, key, data):
    asked = Filter((data.draw(terms(key, nasty=False)),))
    assert lot.found(asked) == lot.expected(asked)


@settings(deadline=None)
@given(filters(Target.DEAD_LETTER, nasty=False))
def test_postgresql_and_python_agree_on_several_terms(lot, asked):
    """Compile the filter from its canonical text."""
    assert lot.found(parse(str(asked))) == lot.expected(asked)


@settings(deadline=None)
@given(filters(Target.DEAD_LETTER))
def test_nothing_that_parses_fails_in_postgresql(lot, asked):
    assert lot.found(asked) <= {row["message_id"] for row in lot.rows}


@pytest.mark.parametrize(
    "text",
    [
        "queue:filter-orders",
        "queue:filter-shared-dlq",
        "tenant:filter-acme",
        "error:%",
        "error:such_",
        r'error:"k\\s"',
        "TIMED",
        "class:TimeoutError",
        "-class:TimeoutError",
        "class:app.TimeoutError",
        "text:timeout",
        "-filter-invoices",
        f"{FIRST_MESSAGE_ID + 3}",
        "KeyError",
        "true,/^5$/",
        '"x y"',
        "name:timeout",
        "name:invoices",
        f"name:{FIRST_MESSAGE_ID + 3},filter-inv",
        "class:*",
        "-class:*",
        "reason:rejected",
        "fp:a",
        'group:""',
        "attempts:>=3",
        "redrives:1..2",
        "priority:0,9",
        "age:>2d",
        "dead:2026-01-07..2026-01-08",
        "sent:<2026-01-06",
        "failed:>=2026-01-08T06:00",
        "trace:b",
        'dedup:"a,b"',
        "consumer:A",
        f"id:{FIRST_MESSAGE_ID + 1}..{FIRST_MESSAGE_ID + 5}",
        "payload.a:5",
        'payload.a:"5"',
        "payload.a:>1",
        "payload.a.b:*",
        "payload.0:*",
        "-attr.a:*",
        "-payload.a:5",
        "payload.a[]:5",
        "payload.a[].a:*",
        "payload.a[].a:>4",
        "payload.a[].a[]:/b$/",
        "payload.b:/^x|5/",
        "-payload.b:/^x|5/,true",
        "error:/out( after)?/",
        "error:/^TIMED/i",
        "class:/Error$/",
        "-group:/^[ab]/",
        "attr.b:x,null",
    ],
)
def test_some_match_and_some_do_not(lot, text):
    found = lot.found(parse(text))
    assert found == lot.expected(parse(text))
    assert 0 < len(found) < len(lot.rows)


@pytest.mark.parametrize(
    "attack",
    [
        "' or 1=1 --",
        "'; drop table signalbox.dead_letter; --",
        "%s",
        "%(x)s",
        "%%",
        "\\",
        "\\'",
        "$1",
        "\u02bc or 1=1",
        "<script>alert(1)</script>",
        '"><img src=x onerror=alert(1)>',
        "{}",
        "$.a ? (@ > 1)",
        "x" * 900,
    ],
)
def test_attacks_are_only_text(lot, attack):
    for key in ("queue", "tenant", "class", "fp", "group", "error"):
        assert lot.found(parse("").with_term(key, attack)) == lot.expected(parse("").with_term(key, attack))
    for path in (("a",), (attack,), ("a", attack)):
        for value in (attack, 5, None):
            asked = parse("").with_term("payload", value, path=path)
            assert lot.found(asked) == lot.expected(asked)
        assert lot.found(parse(f"{parse('').with_term('payload', 1, path=path).terms[0].name}:>5")) <= {
            row["message_id"] for row in lot.rows
        }
    assert len(lot.found(parse(""))) == len(lot.rows)


@pytest.mark.parametrize("target", Target)
def test_every_key_can_be_asked_wherever_it_says(lot, target):
    for key in KEYS.values():
        if target in key.targets:
            predicate = parse(f"{key.example} -{key.example.removeprefix('-')}").compile(target, NOW)
            lot.connection.execute(f"select 1 from {ROWS[target]} where {predicate.sql} limit 1", predicate.params)


@pytest.mark.django_db
def test_django_cursors_take_predicates_too():
    text = 'queue:a,b error:"50%" attempts:1,2,>3 age:>1h payload.a:5 payload.b:>5 attr.c:* id:7 class:x,y'
    predicate = parse(text).compile(Target.DEAD_LETTER, NOW)
    with django_connection.cursor() as cursor:
        cursor.execute(f"select count(*) from signalbox.dead_letter d where {predicate.sql}", predicate.params)
        assert cursor.fetchone() == (0,)


@pytest.mark.parametrize(
    ("text", "indexes"),
    [
        ("queue:filter-orders", ["dead_letter_source", "dead_letter_queue"]),
        ("tenant:filter-acme", ["dead_letter_source"]),
        ("class:app.TimeoutError", ["dead_letter_class"]),
        ("fp:a", ["dead_letter_fingerprint"]),
        ('payload.a.b:"x"', ["dead_letter_payload"]),
        ("payload.a:5,6", ["dead_letter_payload"]),
        ("payload.a[].b:x", ["dead_letter_payload"]),
        ("id:7", ["dead_letter_message_id_key"]),
    ],
)
def test_an_index_serves(lot, text, indexes):
    plan = lot.plan(parse(text))
    assert all(index in plan for index in indexes), plan


@pytest.mark.parametrize(
    ("text", "index"), [("class:Un.heard", "dead_letter_class"), ("fp:unheard", "dead_letter_fingerprint")]
)
def test_one_value_is_read_in_the_order_of_the_page(lot, text, index):
    """Check the index for many rows by excluding other plans, since any plan is cheap for few rows.

    Rows that statistics know to be common would be met in a scan of all dead letters just as well.
    """
    with lot.connection.transaction(force_rollback=True):
        lot.connection.execute(
            "analyze signalbox.dead_letter"
        )  # with the statistics of an empty table any index is as good
        plan = lot.plan(parse(text), "order by dead_letter_id desc limit 50", without=["seqscan", "bitmapscan", "sort"])
    assert index in plan, plan
    assert "Sort" not in plan, plan


def test_a_date_is_a_whole_day(lot):
    midnight = NOW.replace(hour=0, minute=0, second=0)
    last_moment = midnight - timedelta(microseconds=1)
    update = "update signalbox.dead_letter set died_at = %s where message_id = %s"
    with lot.connection.transaction(force_rollback=True):
        lot.connection.execute(update, [midnight, FIRST_MESSAGE_ID + 1])
        lot.connection.execute(update, [last_moment, FIRST_MESSAGE_ID + 2])
        ids = f"id:{FIRST_MESSAGE_ID + 1},{FIRST_MESSAGE_ID + 2}"
        assert lot.found(parse(f"{ids} dead:2026-01-10")) == {FIRST_MESSAGE_ID + 1}
        assert lot.found(parse(f"{ids} dead:>2026-01-09")) == {FIRST_MESSAGE_ID + 1}
        assert lot.found(parse(f"{ids} dead:<=2026-01-09")) == {FIRST_MESSAGE_ID + 2}
        assert lot.found(parse(f"{ids} dead:2026-01-09..2026-01-10")) == {
            FIRST_MESSAGE_ID + 1,
            FIRST_MESSAGE_ID + 2,
        }
