"""Lists of dead letters: every page one query, the deep ones like the first, payloads cut short."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from dlq.browse import Page, Place, dead_letters, top_error_classes
from dlq.browse.dead_letter_list import DeadLetterRow
from dlq.filters import Filter, parse
from dlq.finding import Order, Span, database_now, find
from dlq.time_limits import OutOfTime
from tests.dlq.graveyards import Graveyard

FILTERS = ["", "class:TimeoutError", "payload.kind:a", "error:timed attempts:>1"]


def ids(page: Page[DeadLetterRow]) -> list[int]:
    return [row.dead_letter_id for row in page.rows]


def chosen(graveyard: Graveyard, more: str = "") -> Filter:
    return parse(f"{graveyard.filter} {more}")


@pytest.mark.parametrize("more", FILTERS)
def test_pages_show_each_letter_once_the_newest_first(graveyard: Graveyard, more: str) -> None:
    buried = graveyard.bury(11, payload={"kind": "a"})
    seen, place = [], Place()
    while True:
        page = dead_letters(chosen(graveyard, more), place, size=4)
        seen += ids(page)
        if not page.after:
            break
        place = Place(after=page.after)

    assert seen == buried[::-1]


@pytest.mark.parametrize("more", FILTERS)
def test_the_way_back_shows_the_same_pages(graveyard: Graveyard, more: str) -> None:
    graveyard.bury(11, payload={"kind": "a"})
    first = dead_letters(chosen(graveyard, more), size=4)
    second = dead_letters(chosen(graveyard, more), Place(after=first.after), size=4)
    third = dead_letters(chosen(graveyard, more), Place(after=second.after), size=4)

    back = dead_letters(chosen(graveyard, more), Place(before=third.before), size=4)
    start = dead_letters(chosen(graveyard, more), Place(before=back.before), size=4)

    assert (ids(back), ids(start)) == (ids(second), ids(first))
    assert (start.before, first.before, third.after) == ("", "", "")


def test_what_died_meanwhile_does_not_shift_the_pages(graveyard: Graveyard) -> None:
    buried = graveyard.bury(6)
    first = dead_letters(chosen(graveyard), size=3)
    graveyard.bury(2)

    assert ids(dead_letters(chosen(graveyard), Place(after=first.after), size=3)) == buried[2::-1]


def test_a_letter_shows_what_a_list_needs(graveyard: Graveyard) -> None:
    [dead_letter_id] = graveyard.bury(1, payload={"order": 7}, error="no route")

    [row] = dead_letters(chosen(graveyard)).rows

    assert row.dead_letter_id == dead_letter_id
    assert (row.source_queue, row.queue) == (graveyard.queue, f"{graveyard.queue}-dlq")
    assert (row.error_class, row.error, row.receive_count) == ("TimeoutError", "no route", 5)
    assert row.payload_text == '{"n": 1, "order": 7}'


def test_a_list_carries_two_kilobytes_of_a_payload(graveyard: Graveyard) -> None:
    graveyard.bury(1, payload={"blob": "x" * 100_000})

    [row] = dead_letters(chosen(graveyard)).rows

    assert row.payload_text is not None
    assert len(row.payload_text) == 2048


def test_a_payload_may_stay_in_the_database(graveyard: Graveyard) -> None:
    graveyard.bury(1)

    assert dead_letters(chosen(graveyard), with_payloads=False).rows[0].payload_text is None


def test_a_queue_shows_what_died_in_it_and_what_it_holds(graveyard: Graveyard) -> None:
    buried = graveyard.bury(3)

    holder, both = f"{graveyard.queue}-dlq", f"{graveyard.queue},{graveyard.queue}-dlq"

    assert ids(dead_letters(parse(f"queue:{holder}"))) == buried[::-1]
    assert ids(dead_letters(parse(f"queue:{both}"))) == buried[::-1]
    assert ids(dead_letters(parse(f"queue:{graveyard.queue} -queue:{holder}"))) == []


def test_more_matches_than_are_worth_gathering_are_walked(
    graveyard: Graveyard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dlq.finding.FEW", 5)
    buried = graveyard.bury(9, payload={"kind": graveyard.queue})

    assert ids(dead_letters(parse(f"payload.kind:{graveyard.queue}"), size=3)) == buried[:5:-1]


@pytest.mark.parametrize("more", FILTERS)
def test_a_page_is_one_query(graveyard: Graveyard, more: str) -> None:
    graveyard.bury(11, payload={"kind": "a"})
    place = Place(after=dead_letters(chosen(graveyard, more), size=4).after)

    with CaptureQueriesContext(connection) as captured:
        dead_letters(chosen(graveyard, more), place, size=4)

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
    make_graveyard: Callable[..., Graveyard], filter_text: str, index: str
) -> None:
    """Not everything below it, nor everything that the filter selects."""
    large, small = make_graveyard(), make_graveyard()
    small.bury(40, error_class="Rare")
    buried = large.bury(3_000)
    large.engine.connection.execute("analyze signalbox.dead_letter")
    search = find(parse(filter_text.format(queue=small.queue)), database_now(), Span(through=buried[-100]))
    query = search.ids(51, Order.NEWEST_FIRST)

    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("set local enable_seqscan = off")
        cursor.execute(f"explain {query.sql}", query.params)
        plan = "\n".join(line for (line,) in cursor.fetchall())

    assert index in plan
    assert "Seq Scan on dead_letter" not in plan


@contextmanager
def no_time(milliseconds: float, **_: Any) -> Iterator[None]:
    raise OutOfTime
    yield


@pytest.fixture
def out_of_time(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """No search ends in time, and so each looks at so many rows only."""

    def limit(rows: int) -> None:
        monkeypatch.setattr("dlq.browse.dead_letter_list.LIST_MILLISECONDS", 0)
        monkeypatch.setattr("dlq.browse.dead_letter_list.time_limit", no_time)
        monkeypatch.setattr("dlq.browse.dead_letter_list.SLICE_ROWS", rows)

    return limit


def test_a_search_that_takes_too_long_goes_on_page_by_page(
    graveyard: Graveyard, out_of_time: Callable[[int], None]
) -> None:
    rare = graveyard.bury(1, error_class="Rare")
    graveyard.bury(20)
    out_of_time(5)
    pages, place = [], Place()
    while True:
        pages.append(dead_letters(chosen(graveyard, "class:Rare"), place, size=2))
        if ids(pages[-1]) == rare:
            break
        place = Place(after=pages[-1].after)

    assert len(pages) == 5
    assert [row for page in pages[:-1] for row in page.rows] == []
    assert all(page.searched_to is not None for page in pages[:-1])


def test_a_full_page_does_not_say_that_time_ran_out(graveyard: Graveyard, out_of_time: Callable[[int], None]) -> None:
    buried = graveyard.bury(9)
    out_of_time(5)

    page = dead_letters(chosen(graveyard), size=2)

    assert (ids(page), page.searched_to) == (buried[:6:-1], None)


def test_a_search_looks_at_more_while_there_is_time(
    graveyard: Graveyard, out_of_time: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    rare = graveyard.bury(2, error_class="Rare")
    graveyard.bury(20)
    out_of_time(5)
    monkeypatch.setattr("dlq.browse.dead_letter_list.LIST_MILLISECONDS", 60_000)

    page = dead_letters(chosen(graveyard, "class:Rare"), size=1)

    assert (ids(page), page.searched_to) == (rare[1:], None)
    assert page.after == str(rare[1])


def test_going_back_may_run_out_of_time_too(graveyard: Graveyard, out_of_time: Callable[[int], None]) -> None:
    buried = graveyard.bury(9)
    out_of_time(3)

    page = dead_letters(chosen(graveyard), Place(before=str(buried[0])), size=5)

    assert ids(page) == buried[3:0:-1]
    assert (page.before, page.searched_to is not None) == (str(buried[3]), True)


@pytest.mark.parametrize("cursor", ["x", "1.5", "9" * 40, "²", "-"])
def test_an_edited_address_leads_to_the_first_page(graveyard: Graveyard, cursor: str) -> None:
    buried = graveyard.bury(2)

    assert ids(dead_letters(chosen(graveyard), Place(after=cursor))) == buried[::-1]


def test_the_commonest_errors_come_first(graveyard: Graveyard) -> None:
    graveyard.bury(2, error_class="KeyError")
    graveyard.bury(3, error_class="TimeoutError")

    classes = top_error_classes(chosen(graveyard))

    assert [(one.error_class, one.count) for one in classes] == [("TimeoutError", 3), ("KeyError", 2)]


def test_only_the_newest_errors_count(graveyard: Graveyard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dlq.browse.dead_letter_list.NEWEST_LETTERS", 4)
    graveyard.bury(9, error_class="Old")
    graveyard.bury(3, error_class="New")

    classes = top_error_classes(chosen(graveyard))

    assert [(one.error_class, one.count) for one in classes] == [("New", 3), ("Old", 1)]
