"""Lists of a queue's messages by where they stand: one query each, in the order of the engine's own indexes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dlq.filters import FilterError, Target
from dlq.search.checked_filter import CheckedFilter, check_filter, everything
from dlq.search.message_list import MessageRow, messages
from dlq.search.pages import Page, PagePosition
from queues.database.time_limits import OutOfTime
from queues.messages.lists import State, is_ascending
from tests.engine import Engine

pytestmark = pytest.mark.usefixtures("commits")

EVERYTHING = everything()


def checked(text: str) -> CheckedFilter:
    return check_filter(text, targets=(Target.READY,))


def ids(page: Page[MessageRow]) -> list[int]:
    return [row.message_id for row in page.rows]


def fill(engine: Engine, state: State, count: int) -> list[int]:
    """Messages in a state; their ids in the order in which a list shows them."""
    match state:
        case State.READY:
            return [engine.send({"n": n, "kind": "a"}, priority=n % 3) for n in range(count)][::-1]
        case State.SCHEDULED:
            return [engine.send({"n": n, "kind": "a"}, delay_seconds=60 + n) for n in range(count)]
        case State.WAITING:
            limited = "select signalbox.configure_queue(%s, '{\"group_max_in_flight\": 1}')"
            engine.value(limited, engine.queue)
            return [engine.send({"n": n, "kind": "a"}, group_id="one lane") for n in range(count)]
        case State.LEASED:
            return lease(engine, count)[::-1]
        case State.COMPLETED:
            finished = []
            for _ in range(count // 2):
                engine.send({"n": 0, "kind": "a"})
                engine.send({"n": 1, "kind": "a"})
                received = engine.receive(2, consumer="worker-1")
                assert all(engine.ack(*[row[1] for row in received]))
                finished += sorted(row[0] for row in received)
            return finished[::-1]


def lease(engine: Engine, count: int) -> list[int]:
    for n in range(count):
        engine.send({"n": n, "kind": "a"})
    return [engine.receive_one(consumer="worker-1")[0] for _ in range(count)]


@pytest.mark.parametrize("filter_text", ["", "payload.kind:a", "age:<1h sent:>=2020-01-01"])
@pytest.mark.parametrize("state", State)
def test_pages_show_each_message_once(engine: Engine, state: State, filter_text: str) -> None:
    expected = fill(engine, state, 10)
    seen, place, chosen = [], PagePosition(), checked(filter_text)
    while True:
        page = messages(engine.queue_id, state, chosen, place, size=4)
        seen += ids(page)
        if not page.after:
            break
        place = PagePosition(after=page.after)

    assert seen == expected


@pytest.mark.parametrize("state", State)
def test_the_way_back_shows_the_same_pages(engine: Engine, state: State) -> None:
    fill(engine, state, 10)
    first = messages(engine.queue_id, state, EVERYTHING, size=4)
    second = messages(engine.queue_id, state, EVERYTHING, PagePosition(after=first.after), size=4)
    third = messages(engine.queue_id, state, EVERYTHING, PagePosition(after=second.after), size=4)

    back = messages(engine.queue_id, state, EVERYTHING, PagePosition(before=third.before), size=4)
    start = messages(engine.queue_id, state, EVERYTHING, PagePosition(before=back.before), size=4)

    assert (ids(back), ids(start)) == (ids(second), ids(first))
    assert (first.before, third.after, start.before) == ("", "", "")


@pytest.mark.parametrize("state", State)
def test_the_time_of_a_state_sorts_both_ways(engine: Engine, state: State) -> None:
    expected, upwards = fill(engine, state, 10), is_ascending(state)
    whole = {way: ids(messages(engine.queue_id, state, EVERYTHING, ascending=way)) for way in (True, False)}
    first = messages(engine.queue_id, state, EVERYTHING, size=4, ascending=not upwards)
    second = messages(
        engine.queue_id, state, EVERYTHING, PagePosition(after=first.after), size=4, ascending=not upwards
    )

    assert (whole[upwards], whole[not upwards]) == (expected, expected[::-1])
    assert ids(first) + ids(second) == expected[:1:-1]


@pytest.mark.parametrize("state", State)
def test_a_page_is_one_query(engine: Engine, state: State) -> None:
    fill(engine, state, 10)
    place = PagePosition(after=messages(engine.queue_id, state, EVERYTHING, size=4).after)

    with CaptureQueriesContext(connection) as captured:
        messages(engine.queue_id, state, EVERYTHING, place, size=4)

    assert sum("message" in query["sql"] for query in captured) == 1


def test_other_queues_do_not_show(make_engine: Callable[..., Engine]) -> None:
    one, other = make_engine(), make_engine()
    expected = fill(one, State.READY, 3)
    fill(other, State.READY, 3)

    assert ids(messages(one.queue_id, State.READY, EVERYTHING)) == expected


def test_each_state_shows_its_own_facts(engine: Engine) -> None:
    engine.send({"a": 1}, group_id="g", trace_id="t", priority=2)

    [ready] = messages(engine.queue_id, State.READY, EVERYTHING).rows
    assert (ready.receive_count, ready.priority, ready.group_id, ready.trace_id) == (0, 2, "g", "t")
    assert (ready.payload_text, ready.consumer, ready.deadline) == ('{"a": 1}', None, None)

    handle = engine.receive_one(consumer="worker-1")[1]
    [leased] = messages(engine.queue_id, State.LEASED, EVERYTHING).rows
    assert (leased.receive_count, leased.consumer, leased.state) == (1, "worker-1", State.LEASED)
    assert leased.deadline is not None
    assert leased.at < leased.deadline

    engine.ack(handle)
    [completed] = messages(engine.queue_id, State.COMPLETED, EVERYTHING).rows
    assert (completed.receive_count, completed.priority, completed.payload_text) == (1, 2, '{"a": 1}')


def test_what_was_purged_is_not_completed(engine: Engine) -> None:
    engine.send("x")
    engine.value("select signalbox.purge(%s)", engine.queue)

    assert messages(engine.queue_id, State.COMPLETED, EVERYTHING).rows == []


def test_a_filter_narrows_the_list(engine: Engine) -> None:
    engine.send({"kind": "a"})
    wanted = engine.send({"kind": "b"})

    assert ids(messages(engine.queue_id, State.READY, checked("payload.kind:b"))) == [wanted]
    assert ids(messages(engine.queue_id, State.READY, checked("state:scheduled"))) == []
    with pytest.raises(FilterError):
        messages(engine.queue_id, State.READY, checked("class:TimeoutError"))


def test_backing_off_messages_are_the_failed_ones(engine: Engine) -> None:
    engine.send("delayed", delay_seconds=60)
    failed = engine.send("failed")
    engine.nack(engine.receive_one()[1], delay_seconds=60)

    assert ids(messages(engine.queue_id, State.SCHEDULED, checked("state:failed"))) == [failed]


def test_a_redriven_body_is_found_too(engine: Engine) -> None:
    dead_letter_id = engine.die({"a": 1})
    engine.rows("select * from signalbox.redrive(%s)", [dead_letter_id])

    [row] = messages(engine.queue_id, State.READY, EVERYTHING).rows

    assert row.payload_text == '{"a": 1}'


def test_a_list_carries_two_kilobytes_of_a_payload(engine: Engine) -> None:
    engine.send({"blob": "x" * 50_000})

    [row] = messages(engine.queue_id, State.READY, EVERYTHING).rows
    [without] = messages(engine.queue_id, State.READY, EVERYTHING, with_payloads=False).rows

    assert row.payload_text is not None
    assert len(row.payload_text) == 2048
    assert without.payload_text is None


@contextmanager
def no_time(milliseconds: float, **_: Any) -> Iterator[None]:
    raise OutOfTime
    yield


@pytest.mark.parametrize("state", State)
def test_a_search_that_takes_too_long_goes_on_page_by_page(
    engine: Engine, state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = fill(engine, state, 10)
    monkeypatch.setattr("dlq.search.pages.time_limit", no_time)
    monkeypatch.setattr("dlq.search.pages.LIST_MILLISECONDS", 0)
    monkeypatch.setattr("dlq.search.message_list.SLICE_ROWS", 4)
    chosen = checked(f"id:{expected[-1]}")

    pages = [messages(engine.queue_id, state, chosen, size=2)]
    while pages[-1].after:
        pages.append(messages(engine.queue_id, state, chosen, PagePosition(after=pages[-1].after), size=2))

    assert [ids(page) for page in pages] == [[], [], [expected[-1]]]
    assert [page.searched_to is None for page in pages] == [False, False, True]


def test_a_search_looks_at_more_while_there_is_time(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = fill(engine, State.READY, 10)
    monkeypatch.setattr("dlq.search.pages.time_limit", no_time)
    monkeypatch.setattr("dlq.search.pages.LIST_MILLISECONDS", 60_000)
    monkeypatch.setattr("dlq.search.message_list.SLICE_ROWS", 2)

    page = messages(engine.queue_id, State.READY, checked(f"id:{expected[1]},{expected[-1]}"), size=2)

    assert (ids(page), page.after, page.searched_to) == ([expected[1], expected[-1]], "", None)


@pytest.mark.parametrize("cursor", ["x", "1", "1.2.3", "9" * 30 + ".1", "-1.1", "99999999999999999.1"])
def test_an_edited_address_leads_to_some_page(engine: Engine, cursor: str) -> None:
    expected = fill(engine, State.READY, 2)

    assert ids(messages(engine.queue_id, State.READY, EVERYTHING, PagePosition(after=cursor))) == expected


@pytest.mark.parametrize(
    ("state", "index"),
    [
        (State.READY, "ready_claim"),
        (State.SCHEDULED, "scheduled_due"),
        (State.LEASED, "lease_deadline"),
        (State.COMPLETED, "settled"),
    ],
)
def test_a_deep_page_begins_in_the_middle_of_an_index(engine: Engine, state: State, index: str) -> None:
    fill(engine, state, 10)
    place = PagePosition(after=messages(engine.queue_id, state, EVERYTHING, size=4).after)

    with CaptureQueriesContext(connection) as captured:
        messages(engine.queue_id, state, EVERYTHING, place, size=4)
    [query] = [query["sql"] for query in captured if "message" in query["sql"]]
    with connection.cursor() as cursor:
        cursor.execute("begin; set local enable_seqscan = off; set local enable_bitmapscan = off")
        cursor.execute(f"explain (costs off) {query}")
        plan = "\n".join(line for (line,) in cursor.fetchall())
        cursor.execute("rollback")

    condition = plan[plan.index(index) :].split("Index Cond:")[1].split("\n")[0]
    assert condition.count("<=") + condition.count(">=") >= 1
