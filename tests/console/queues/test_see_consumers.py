"""Consumers: who receives, from where, and who has gone."""

from __future__ import annotations

from tests.console.browsers import Browser
from tests.engine import Engine


def test_a_consumer_appears_with_its_first_receive(viewer: Browser, engine: Engine) -> None:
    engine.send()
    engine.receive(consumer="worker-<1>")

    (row,) = viewer.see(f"/queues/{engine.queue}/consumers").rows()

    assert row.startswith("receiving worker-<1> 1")
    assert engine.queue in viewer.see("/consumers").text


def test_what_it_says_of_itself_is_shown_as_text(viewer: Browser, engine: Engine) -> None:
    engine.rows(
        'select signalbox.announce_consumer(%s, \'w\', \'{"host": "<b>box</b>", "tags": [1, {"a": null}]}\')::text',
        engine.queue,
    )

    page = viewer.see(f"/queues/{engine.queue}/consumers")

    assert "host <b>box</b>" in page.text
    assert "<b>box" not in page.html


def test_one_that_was_not_seen_for_a_minute_is_gone(viewer: Browser, engine: Engine) -> None:
    engine.receive(consumer="w")
    engine.rows(
        "update signalbox.consumer set last_seen_at = now() - interval '5 min' where queue_id = %s returning 1",
        engine.queue_id,
    )

    (row,) = viewer.see(f"/queues/{engine.queue}/consumers").rows()

    assert row.startswith("gone w")


def test_an_empty_list_explains_how_consumers_appear(viewer: Browser, engine: Engine) -> None:
    assert "A consumer appears with its first receive" in viewer.see(f"/queues/{engine.queue}/consumers").text
