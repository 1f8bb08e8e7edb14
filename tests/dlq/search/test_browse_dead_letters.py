"""Lists of dead letters: every page one query, the deep ones like the first, payloads cut short."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from dlq.search.checked_filter import CheckedFilter, check_filter
from dlq.search.dead_letter_list import DeadLetterRow, Sort, dead_letters, sorts
from dlq.search.finding import find
from dlq.search.pages import Page, PagePosition
from queues.database.query import database_now
from queues.database.time_limits import OutOfTime
from queues.dead_letters.ids import Order, Span
from tests.dlq.dead_letter_scenes import DeadLetterScene

FILTERS = ["", "class:TimeoutError", "payload.kind:a", "error:timed attempts:>1"]


def ids(page: Page[DeadLetterRow]) -> list[int]:
    return [row.dead_letter_id for row in page.rows]


def chosen(scene: DeadLetterScene, more: str = "") -> CheckedFilter:
    return check_filter(f"{scene.filter} {more}")


@pytest.mark.parametrize("more", FILTERS)
def test_pages_show_each_letter_once_the_newest_first(scene: DeadLetterScene, more: str) -> None:
    buried = scene.add_dead(11, payload={"kind": "a"})
    seen, place = [], PagePosition()
    while True:
        page = dead_letters(chosen(scene, more), place, size=4)
        seen += ids(page)
        if not page.after:
            break
        place = PagePosition(after=page.after)

    assert seen == buried[::-1]


@pytest.mark.parametrize("more", FILTERS)
def test_the_way_back_shows_the_same_pages(scene: DeadLetterScene, more: str) -> None:
    scene.add_dead(11, payload={"kind": "a"})
    first = dead_letters(chosen(scene, more), size=4)
    second = dead_letters(chosen(scene, more), PagePosition(after=first.after), size=4)
    third = dead_letters(chosen(scene, more), PagePosition(after=second.after), size=4)

    back = dead_letters(chosen(scene, more), PagePosition(before=third.before), size=4)
    start = dead_letters(chosen(scene, more), PagePosition(before=back.before), size=4)

    assert (ids(back), ids(start)) == (ids(second), ids(first))
    assert (start.before, first.before, third.after) == ("", "", "")


@pytest.mark.parametrize("sort", Sort)
def test_each_order_pages_on_and_back(scene: DeadLetterScene, sort: Sort) -> None:
    buried = scene.add_dead(9)
    filter, expected = check_filter("attempts:5"), buried if sort.ascending else buried[::-1]
    place, seen = PagePosition(), []
    while not set(buried) <= set(seen):
        page = dead_letters(filter, place, size=4, sort=sort)
        seen += ids(page)
        assert ids(dead_letters(filter, PagePosition(before=page.after), size=4, sort=sort)) or not page.after
        place = PagePosition(after=page.after)

    assert [one for one in seen if one in buried] == expected
    assert sort in sorts(filter)


def test_the_message_id_sorts_only_where_its_index_serves(scene: DeadLetterScene) -> None:
    for text in (scene.filter, "class:X", "fp:x", "name:x", "payload.a:1"):
        assert sorts(check_filter(text)) == (Sort.NEWEST, Sort.OLDEST)
    for text in ("", "-class:X", "word", "age:>1h", "class:/X/"):
        assert sorts(check_filter(text)) == tuple(Sort)


def test_later_failures_do_not_shift_the_pages(scene: DeadLetterScene) -> None:
    buried = scene.add_dead(6)
    first = dead_letters(chosen(scene), size=3)
    scene.add_dead(2)

    assert ids(dead_letters(chosen(scene), PagePosition(after=first.after), size=3)) == buried[2::-1]


def test_a_letter_shows_what_a_list_needs(scene: DeadLetterScene) -> None:
    [dead_letter_id] = scene.add_dead(1, payload={"order": 7}, error="no route")

    [row] = dead_letters(chosen(scene)).rows

    assert row.dead_letter_id == dead_letter_id
    assert (row.source_queue, row.queue) == (scene.queue, f"{scene.queue}-dlq")
    assert (row.error_class, row.error, row.receive_count) == ("TimeoutError", "no route", 5)
    assert row.payload_text == '{"n": 1, "order": 7}'


def test_a_list_carries_two_kilobytes_of_a_payload(scene: DeadLetterScene) -> None:
    scene.add_dead(1, payload={"blob": "x" * 100_000})

    [row] = dead_letters(chosen(scene)).rows

    assert row.payload_text is not None
    assert len(row.payload_text) == 2048


def test_a_payload_may_stay_in_the_database(scene: DeadLetterScene) -> None:
    scene.add_dead(1)

    assert dead_letters(chosen(scene), with_payloads=False).rows[0].payload_text is None


def test_a_queue_shows_what_died_in_it_and_what_it_holds(scene: DeadLetterScene) -> None:
    buried = scene.add_dead(3)

    holder, both = f"{scene.queue}-dlq", f"{scene.queue},{scene.queue}-dlq"

    assert ids(dead_letters(check_filter(f"queue:{holder}"))) == buried[::-1]
    assert ids(dead_letters(check_filter(f"queue:{both}"))) == buried[::-1]
    assert ids(dead_letters(check_filter(f"queue:{scene.queue} -queue:{holder}"))) == []


def test_more_matches_than_are_worth_gathering_are_walked(
    scene: DeadLetterScene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("queues.dead_letters.ids.FEW", 5)
    buried = scene.add_dead(9, payload={"kind": scene.queue})

    assert ids(dead_letters(check_filter(f"payload.kind:{scene.queue}"), size=3)) == buried[:5:-1]


@pytest.mark.parametrize("more", FILTERS)
def test_a_page_is_one_query(scene: DeadLetterScene, more: str) -> None:
    scene.add_dead(11, payload={"kind": "a"})
    place = PagePosition(after=dead_letters(chosen(scene, more), size=4).after)

    with CaptureQueriesContext(connection) as captured:
        dead_letters(chosen(scene, more), place, size=4)

    assert sum("dead_letter" in query["sql"] for query in captured) == 1


@pytest.mark.parametrize(
    ("filter_text", "index"),
    [
        ("", "dead_letter_pkey"),
        ("class:Rare", "dead_letter_class"),
        ("fp:fp-Rare", "dead_letter_fingerprint"),
        ("queue:{queue}", "dead_letter_source"),
        ("queue:{queue}", "dead_letter_queue"),
        ("payload.n:1717", "dead_letter_payload"),
        ("payload.n:1717 queue:{queue}", "dead_letter_payload"),
    ],
)
def test_a_deep_page_reads_an_index_in_its_order(
    make_dead_letter_scene: Callable[..., DeadLetterScene], filter_text: str, index: str
) -> None:
    """The selected dead letters only: not everything below, nor everything that the filter selects."""
    large, small = make_dead_letter_scene(), make_dead_letter_scene()
    small.add_dead(40, error_class="Rare")
    buried = large.add_dead(3_000)
    large.engine.connection.execute("analyze signalbox.dead_letter")
    search = find(check_filter(filter_text.format(queue=small.queue)), database_now(), Span(through=buried[-100]))
    query = search.ids(51, Order.NEWEST_FIRST)

    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("set local enable_seqscan = off")
        cursor.execute(f"explain {query.sql}", query.params)
        plan = "\n".join(line for (line,) in cursor.fetchall())

    assert index in plan
    assert "Seq Scan on dead_letter" not in plan


def test_a_deep_page_by_message_id_begins_in_the_middle_of_its_index(scene: DeadLetterScene) -> None:
    [*_, middle, _, _] = scene.add_dead(3_000)
    scene.engine.connection.execute("analyze signalbox.dead_letter")
    span = Span(through=middle, column="message_id")
    query = find(check_filter("attempts:5"), database_now(), span).ids(51, Order.NEWEST_FIRST)

    with connection.cursor() as cursor:
        cursor.execute(f"explain {query.sql}", query.params)
        plan = "\n".join(line for (line,) in cursor.fetchall())

    assert "Index Scan Backward using dead_letter_message_id_key" in plan, plan
    assert f"message_id <= {middle}" in plan, plan
    assert "Sort" not in plan, plan


@contextmanager
def no_time(milliseconds: float, **_: Any) -> Iterator[None]:
    raise OutOfTime
    yield


@pytest.fixture
def out_of_time(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Each search without a time limit stops at its limit of rows."""

    def limit(rows: int) -> None:
        monkeypatch.setattr("dlq.search.pages.LIST_MILLISECONDS", 0)
        monkeypatch.setattr("dlq.search.pages.time_limit", no_time)
        monkeypatch.setattr("dlq.search.dead_letter_list.SLICE_ROWS", rows)

    return limit


def test_a_search_that_takes_too_long_goes_on_page_by_page(
    scene: DeadLetterScene, out_of_time: Callable[[int], None]
) -> None:
    rare = scene.add_dead(1, error_class="Rare")
    scene.add_dead(20)
    out_of_time(5)
    pages, place = [], PagePosition()
    while True:
        pages.append(dead_letters(chosen(scene, "class:Rare"), place, size=2))
        if ids(pages[-1]) == rare:
            break
        place = PagePosition(after=pages[-1].after)

    assert len(pages) == 5
    assert [row for page in pages[:-1] for row in page.rows] == []
    assert all(page.searched_to is not None for page in pages[:-1])


def test_a_full_page_does_not_say_that_time_ran_out(scene: DeadLetterScene, out_of_time: Callable[[int], None]) -> None:
    buried = scene.add_dead(9)
    out_of_time(5)

    page = dead_letters(chosen(scene), size=2)

    assert (ids(page), page.searched_to) == (buried[:6:-1], None)


def test_a_search_looks_at_more_while_there_is_time(
    scene: DeadLetterScene, out_of_time: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    rare = scene.add_dead(2, error_class="Rare")
    scene.add_dead(20)
    out_of_time(5)
    monkeypatch.setattr("dlq.search.pages.LIST_MILLISECONDS", 60_000)

    page = dead_letters(chosen(scene, "class:Rare"), size=1)

    assert (ids(page), page.searched_to) == (rare[1:], None)
    assert page.after == str(rare[1])


def test_going_back_may_run_out_of_time_too(scene: DeadLetterScene, out_of_time: Callable[[int], None]) -> None:
    buried = scene.add_dead(9)
    out_of_time(3)

    page = dead_letters(chosen(scene), PagePosition(before=str(buried[0])), size=5)

    assert ids(page) == buried[3:0:-1]
    assert (page.before, page.searched_to is not None) == (str(buried[3]), True)


@pytest.mark.parametrize("cursor", ["x", "1.5", "9" * 40, "²", "-"])
def test_an_edited_address_leads_to_the_first_page(scene: DeadLetterScene, cursor: str) -> None:
    buried = scene.add_dead(2)

    assert ids(dead_letters(chosen(scene), PagePosition(after=cursor))) == buried[::-1]
