"""Codes of the engine: each is named in one place, and an event is added by one line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connection

from queues import codes
from queues.codes import EVENTS, STATES, Event
from queues.counters import queue_numbers as counters
from queues.database import sql_scripts
from queues.database.sql_names import rendered
from tests.engine import Engine

ROOT = Path(__file__).parents[3]
ROOMS = ("queues", "dlq", "metrics", "pipeline", "console", "signalbox")
NAMED_IN = ("queues/codes.py", "queues/database/sql_names.py")
BARE = {
    "an event": r"(?<!\$)\b[1-9]\d*::smallint|\bevents? (?:=|<>|in|between) \(?'?\{?\d",
    "a claim floor or a priority": r"\bkind (?:=|<>|<|<=|>|>=|between|in) \(?\d",
    "an admission flag": r"flags? &=? ?\d|flags \| \d",
    "an outcome": r"\b(?:outcomes?|letter)\b(?:::\w+)? (?:=|==|!=|<>|in) \(?['\"][a-z]{1,2}['\"]|'[a-z]'::\"char\""
    r"|_(?:remove|delete_dead)\w*\([^)]*'[a-z]'|outcomes\.count\(\"",
    "a place in an array": r"\b(?:v_)?(?:totals|durations|depths)\[\d|\bt\[\d|array_fill\(0(?:::bigint)?, array\[\d"
    r"|\* 48\b|generate_series\(1, (?:48|33|15)\)",
}
SNOOZED = Event(max(event.number for event in EVENTS) + 1, "snoozed", None, "ready")


def sources() -> Iterator[Path]:
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*")):
            if path.suffix in {".sql", ".py"} and "migrations" not in path.parts:
                yield path


def without_comments(path: Path) -> str:
    return re.sub(r"--[^\n]*" if path.suffix == ".sql" else r"(?m)^\s*#[^\n]*", "", path.read_text())


@pytest.mark.parametrize("code", BARE)
def test_no_code_stands_outside_its_naming_place(code: str) -> None:
    bare = [
        f"{path.relative_to(ROOT)}: {found[0]}"
        for path in sources()
        if path.relative_to(ROOT).as_posix() not in NAMED_IN
        for found in re.finditer(BARE[code], without_comments(path))
    ]

    assert bare == []


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("an event", "values (v_queue_id, 6::smallint, 1)"),
        ("an event", "where d.event in (1, 6)"),
        ("a claim floor or a priority", "where h.kind = 12"),
        ("an admission flag", "if v_flags & 4 > 0 then"),
        ("an outcome", "where s.outcome = 'a'"),
        ("an outcome", 'if settlement.outcome == "a":'),
        ("an outcome", "perform signalbox._remove(v_queue_id, 'ready', v_event, 'p', v_tids)"),
        ("a place in an array", "v_totals[33]"),
    ],
)
def test_a_bare_code_would_be_found(code: str, text: str) -> None:
    assert re.search(BARE[code], text)


def test_numbers_and_names_of_events_are_used_once() -> None:
    assert len({event.number for event in EVENTS}) == len({event.name for event in EVENTS}) == len(EVENTS)
    assert {event.to_state for event in EVENTS if event.is_correction} == set(STATES)
    assert {state for event in EVENTS for state in (event.from_state, event.to_state)} <= {None, *STATES}


def test_a_value_keeps_its_name() -> None:
    assert rendered("select {event.acked}") == "select 5::smallint /* event.acked */"
    assert rendered("{depth.held:s.totals}").startswith("(coalesce(s.totals[22], 0) + ")


@pytest.mark.parametrize("text", ["{event.unknown}", "{nothing.acked}", "{event.acked:totals}", "{depth.ready}"])
def test_a_name_that_is_not_declared_is_refused(text: str) -> None:
    with pytest.raises(LookupError):
        rendered(text)


def test_text_in_braces_that_is_no_name_stays() -> None:
    text = "'{}'::text[] || '{1,2}' || '{ready}' ~ '[a-f]{8}'"

    assert rendered(text) == text


@pytest.fixture
def one_event_more(monkeypatch: pytest.MonkeyPatch, commits: None) -> Iterator[None]:
    """Install the engine with an event that no release has, and afterwards without it."""
    monkeypatch.setattr(codes, "EVENTS", (*EVENTS, SNOOZED))
    counters._sums.cache_clear()
    try:
        sql_scripts.install(connection)
        yield
    finally:
        monkeypatch.undo()
        counters._sums.cache_clear()
        sql_scripts.install(connection)


@pytest.mark.usefixtures("one_event_more")
def test_an_event_that_is_added_to_the_list_is_counted(engine: Engine) -> None:
    def counted() -> list[object]:
        [numbers] = counters.read_numbers([engine.queue_id])
        totals = engine.value("select totals from signalbox.queue_totals(array[%s])", engine.queue_id)
        return [
            numbers.ready,
            numbers.added_total,
            engine.value("select signalbox.depth(%s, 'ready')", totals),
            engine.value("select signalbox.event_total(%s, 'snoozed') + 1", totals),
            engine.value("select ready from signalbox._depths_of(%s)", totals),
            engine.value("select added from signalbox._totals_of(%s)", totals),
        ]

    engine.send(1)
    engine.value("select signalbox.aggregate_counters()")
    engine.connection.execute(
        "update signalbox.queue_stat set totals = totals[1:44] where queue_id = %s", [engine.queue_id]
    )
    assert counted() == [1] * 6

    engine.connection.execute(
        "insert into signalbox.counter_delta (queue_id, event, amount) values (%s, %s, 3)",
        [engine.queue_id, SNOOZED.number],
    )
    assert counted() == [4] * 6
    engine.value("select signalbox.record_history()")
    assert counted() == [4] * 6
    assert engine.rows(
        "select ready, added from signalbox.queue_history where queue_id = %s order by bucket_at desc limit 1",
        engine.queue_id,
    ) == [(4, 4)]
