"""Counts that say what they know when their time is up."""

from __future__ import annotations

import pytest
from django.db import connection, transaction

from dlq import counting
from dlq.counting import BoundedCount, count_rows, survey
from dlq.filters import parse
from dlq.finding import Query, Search, Span, database_now, find
from tests.dlq.graveyards import Graveyard


def search(graveyard: Graveyard, more: str = "") -> Search:
    return find(parse(f"{graveyard.filter} {more}"), database_now())


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (BoundedCount(0, exact=True), "0"),
        (BoundedCount(9_999, exact=True), "9,999"),
        (BoundedCount(10_001, exact=False), "10,000+"),
        (BoundedCount(100, exact=False), "more than 99"),
        (BoundedCount(0, exact=False), "unknown"),
    ],
)
def test_it_reads_as_people_say_it(count: BoundedCount, text: str) -> None:
    assert str(count) == text


@pytest.mark.parametrize("filter_text", ["", "class:TimeoutError", "payload.kind:a", "-class:KeyError error:timed"])
def test_a_short_list_is_counted_exactly(graveyard: Graveyard, filter_text: str) -> None:
    graveyard.bury(12, payload={"kind": "a"})

    assert survey(search(graveyard, filter_text)).count == BoundedCount(12, exact=True)


def test_counting_stops_at_the_limit(graveyard: Graveyard) -> None:
    graveyard.bury(10_050)

    assert str(survey(search(graveyard)).count) == "10,000+"


def test_exactly_the_limit_is_still_exact(graveyard: Graveyard) -> None:
    buried = graveyard.bury(10_001)

    bounded = search(graveyard).within(Span(through=buried[-2]))

    assert str(survey(bounded).count) == "10,000"


def test_a_letter_is_counted_once_though_both_its_queues_are_named(graveyard: Graveyard) -> None:
    graveyard.bury(3)

    both = find(parse(f"queue:{graveyard.queue},{graveyard.queue}-dlq"), database_now())

    assert survey(both).count == BoundedCount(3, exact=True)


@pytest.mark.usefixtures("commits")
def test_what_was_found_until_the_time_was_up_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "COUNT_MILLISECONDS", 5_000)
    slow = "select case when n > 150 then pg_sleep(600) end from generate_series(1, 1000) n"

    assert str(count_rows(Query(slow, []))) == "more than 99"


@pytest.mark.usefixtures("commits")
def test_a_transaction_around_a_count_that_ran_out_of_time_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "COUNT_MILLISECONDS", 300)

    with transaction.atomic(), connection.cursor() as cursor:
        assert str(count_rows(Query("select pg_sleep(600)", []))) == "unknown"
        cursor.execute("select current_setting('statement_timeout'), current_setting('cursor_tuple_fraction')")
        assert cursor.fetchone() == ("0", "0.1")


@pytest.mark.usefixtures("commits")
def test_a_count_leaves_the_settings_of_its_transaction_alone() -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("set local statement_timeout = '7s'")
        count_rows(Query("select 1", []))
        cursor.execute("select current_setting('statement_timeout'), current_setting('cursor_tuple_fraction')")
        assert cursor.fetchone() == ("7s", "0.1")
