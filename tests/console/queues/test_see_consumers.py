"""Consumers: who receives, from where, and who has gone."""

from __future__ import annotations

from console.queues.consumers import COLUMNS
from queues.counters.consumers import WINDOW_SECONDS, read_work
from tests.console.browsers import Browser
from tests.engine import Engine


def test_a_consumer_appears_with_its_first_receive(viewer: Browser, engine: Engine) -> None:
    engine.send()
    engine.receive(consumer="worker-<1>")

    (row,) = viewer.see(f"/queues/{engine.queue}/consumers").rows()

    assert row.startswith("receiving worker-<1> — — 1 oldest")
    assert engine.queue in viewer.see("/consumers").text


def test_what_it_says_of_itself_is_shown_as_text(viewer: Browser, engine: Engine) -> None:
    engine.rows(
        'select signalbox.announce_consumer(%s, \'w\', \'{"host": "<b>box</b>", "tags": [1, {"a": null}]}\')::text',
        engine.queue,
    )

    page = viewer.see(f"/queues/{engine.queue}/consumers")

    assert "<b>box</b>" in page.rows()[0]
    assert "tags [1," in page.text
    assert "<b>box" not in page.html


def test_one_that_was_not_seen_for_a_minute_is_gone(viewer: Browser, engine: Engine) -> None:
    engine.receive(consumer="w")
    engine.rows(
        "update signalbox.consumer set last_seen_at = now() - interval '5 min' where queue_id = %s returning 1",
        engine.queue_id,
    )

    (row,) = viewer.see(f"/queues/{engine.queue}/consumers").rows()

    assert row.startswith("gone w")


def announced(engine: Engine, consumer: str, details: str, ago: str = "0 s") -> None:
    """A consumer that announced itself this long ago."""
    engine.rows("select signalbox.announce_consumer(%s, %s, %s::jsonb)::text", engine.queue, consumer, details)
    engine.rows(
        "update signalbox.consumer set last_seen_at = now() - %s::interval where consumer = %s returning 1",
        ago,
        consumer,
    )


def test_a_consumer_that_is_gone_comes_last_and_never_runs(viewer: Browser, engine: Engine) -> None:
    announced(engine, "a-gone", '{"running": 2, "handler": "x"}', "5 min")
    announced(engine, "b-here", '{"running": 1, "version": "1.2", "started_at": "2026-01-31T09:00:00+00:00"}')

    page = viewer.see(f"/queues/{engine.queue}/consumers")

    assert [row.split()[:2] for row in page.rows()] == [["receiving", "b-here"], ["gone", "a-gone"]]
    assert "running 1" in page.rows()[0]
    assert "1.2" in page.rows()[0]
    assert "2026-01-31 09:00:00 UTC" in page.html
    assert "running" not in page.rows()[1]


def test_the_work_of_each_consumer_is_counted(viewer: Browser, engine: Engine) -> None:
    for _ in range(3):
        engine.send()
    ((_, handle, *_),) = engine.receive(consumer="busy")
    engine.receive(consumer="busy")
    engine.ack(handle)

    (work,) = read_work([engine.queue_id]).values()
    (row,) = viewer.see(f"/queues/{engine.queue}/consumers").rows()

    assert (work.in_flight, work.per_second) == (1, 1 / WINDOW_SECONDS)
    assert "1 oldest" in row


def test_the_table_sorts_by_each_column(viewer: Browser, engine: Engine) -> None:
    for number, name in enumerate(("x", "y", "z")):
        announced(engine, f"{engine.queue}-{name}", f'{{"host": "host-{9 - number}", "version": "{number}"}}')
    address = f"/queues/{engine.queue}/consumers"

    def names(sort: str) -> str:
        return "".join(row.split()[1][-1] for row in viewer.see(address, sort=sort).rows())

    assert [names(sort) for sort in ("consumer", "-consumer", "host", "-version")] == ["xyz", "zyx", "zyx", "zyx"]
    assert viewer.see(address, sort="host").link("Host") == f"{address}?sort=-host"
    for column in (*COLUMNS, "nonsense", "-"):
        assert len(names(column)) == 3


def test_metadata_of_any_shape_makes_a_table(viewer: Browser, engine: Engine) -> None:
    for number, details in enumerate(('{"started_at": "soon", "host": [1]}', '{"started_at": 7, "version": null}')):
        announced(engine, f"odd-{number}", details)

    assert len(viewer.see(f"/queues/{engine.queue}/consumers", sort="since").rows()) == 2


def test_an_empty_list_explains_how_consumers_appear(viewer: Browser, engine: Engine) -> None:
    assert "A consumer appears with its first receive" in viewer.see(f"/queues/{engine.queue}/consumers").text
