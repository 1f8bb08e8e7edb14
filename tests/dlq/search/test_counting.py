"""Counts that say what they know when their time is up."""

from __future__ import annotations

import pytest
from django.db import connection, transaction

from dlq.search import counting
from dlq.search.checked_filter import check_filter
from dlq.search.counting import BoundedCount, count_rows, survey
from dlq.search.finding import Search, find
from queues.database.query import Query, database_now
from queues.dead_letters.ids import Span
from tests.dlq.dead_letter_scenes import DeadLetterScene


def search(scene: DeadLetterScene, more: str = "") -> Search:
    return find(check_filter(f"{scene.filter} {more}"), database_now())


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
def test_a_short_list_is_counted_exactly(scene: DeadLetterScene, filter_text: str) -> None:
    scene.add_dead(12, payload={"kind": "a"})

    assert survey(search(scene, filter_text)).count == BoundedCount(12, exact=True)


def test_counting_stops_at_the_limit(scene: DeadLetterScene) -> None:
    scene.add_dead(10_050)

    assert str(survey(search(scene)).count) == "10,000+"


def test_exactly_the_limit_is_still_exact(scene: DeadLetterScene) -> None:
    buried = scene.add_dead(10_001)

    bounded = search(scene).within(Span(through=buried[-2]))

    assert str(survey(bounded).count) == "10,000"


def test_a_letter_is_counted_once_though_both_its_queues_are_named(scene: DeadLetterScene) -> None:
    scene.add_dead(3)

    both = find(check_filter(f"queue:{scene.queue},{scene.queue}-dlq"), database_now())

    assert survey(both).count == BoundedCount(3, exact=True)


@pytest.mark.usefixtures("commits")
@pytest.mark.proof
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
