"""A queue's page: how it stands now, how it got there, and what failed last."""

from __future__ import annotations

import re

from django.db import connection
from django.test.utils import CaptureQueriesContext

from console.overview import standings
from metrics.diagnosis.reading import QUERIES as EVIDENCE_QUERIES
from tests.console.browsers import Browser, Page
from tests.engine import Engine


def test_every_state_is_counted(viewer: Browser, engine: Engine) -> None:
    engine.die()
    engine.send()
    engine.receive()
    engine.send()
    engine.send()
    engine.send(delay_seconds=600)

    page = viewer.see(f"/queues/{engine.queue}")

    assert page.one("svg", role="img").attributes["aria-label"] == "2 ready, 1 in flight, 1 scheduled, 1 dead"
    assert page.link("in flight") == f"/queues/{engine.queue}/messages?state=leased"
    assert page.link("dead") == f"/dead-letters?q=queue:%22{engine.queue}%22"


def test_the_latest_failures_lead_to_their_messages(operator: Browser, engine: Engine) -> None:
    message_id = engine.send()
    _, handle, *_ = engine.receive_one(consumer="worker-9")
    engine.nack(handle, error_class="TimeoutError", error="<em>late</em>", delay_seconds=60)

    page = operator.see(f"/queues/{engine.queue}")

    assert page.link(str(message_id)) == f"/queues/{engine.queue}/messages/{message_id}"
    assert "TimeoutError" in page.text
    assert "worker-9" in page.text
    assert "<em>late" not in page.html


def test_error_texts_are_masked_with_the_payloads(viewer: Browser, engine: Engine) -> None:
    engine.die(error_class="CardDeclined", error="card 411122223333 declined")

    page = viewer.see(f"/queues/{engine.queue}")

    assert "CardDeclined" in page.text
    assert "411122223333" not in page.html


def test_charts_say_that_there_is_no_history_yet(viewer: Browser, engine: Engine) -> None:
    assert viewer.see(f"/queues/{engine.queue}").text.count("No history yet") == 3


def test_charts_come_with_words_and_a_table(viewer: Browser, engine: Engine) -> None:
    engine.rows(
        "insert into signalbox.queue_history (queue_id, bucket_at, seconds, ready, scheduled, leased, dead,"
        " oldest_ready_age_seconds, published, delivered, acked, nacked, dead_lettered, removed)"
        " select %s, date_bin('10 s', now(), '2000-01-01') - n * interval '10 s', 10, n, 0, 0, 0, 1.5,"
        " 20, 0, 10, 0, 0, 0 from generate_series(0, 9) n returning 1",
        engine.queue_id,
    )

    page = viewer.see(f"/queues/{engine.queue}")

    labels = [one.attributes["aria-label"] for one in page.all("svg", tabindex="0")]
    assert labels[0] == "Messages: ready 0 now, 0 to 9; in flight 0 now, 0 to 0; scheduled 0 now, 0 to 0"
    assert labels[1].startswith("Messages per second: sent 2.0 now")
    assert len(re.findall(r"<rect x=-?[0-9]", page.html)) == 30
    assert "style=" not in page.html


def test_an_hour_is_drawn_with_as_many_points(viewer: Browser, engine: Engine) -> None:
    page = viewer.see(f"/queues/{engine.queue}", span="1h")

    assert "The last hour" in page.text
    assert viewer.see(f"/queues/{engine.queue}", span="a week").text.count("The last ten minutes") == 1


def verdict(page: Page) -> tuple[str, str]:
    """The tone of the picture beside the verdict, and its words."""
    (paragraph,) = page.all("p", class_="verdict")
    tone = page.html.split('<p class="verdict">')[1].split('data-tone="')[1].split('"')[0]
    return tone, " ".join(paragraph.text.split())


def test_a_dead_letter_queue_above_its_limit_is_red(viewer: Browser, engine: Engine) -> None:
    engine.die()
    engine.die()
    holder = f"{engine.queue}-dlq"

    assert verdict(viewer.see(f"/queues/{holder}")) == (
        "bad",
        f"Dead-letter queue of {engine.queue}: 2 dead letters (limit 0).",
    )
    engine.rows("update signalbox.queue set alert_dead_letters = 5 where name = %s returning 1", holder)
    standings.forget()
    assert verdict(viewer.see(f"/queues/{holder}"))[0] == ""


def test_healthy_never_stands_over_a_red_bar(viewer: Browser, engine: Engine) -> None:
    engine.rows("update signalbox.queue set alert_dead_letters = 5 where queue_id = %s returning 1", engine.queue_id)
    assert verdict(viewer.see(f"/queues/{engine.queue}")) == ("ok", "Healthy. No backlog.")

    engine.die()
    assert verdict(viewer.see(f"/queues/{engine.queue}")) == ("", "No backlog. 1 dead letter (limit 5).")


def test_a_dead_letter_queue_shows_the_failure_groups(viewer: Browser, engine: Engine) -> None:
    engine.die(error_class="TimeoutError")

    page = viewer.see(f"/queues/{engine.queue}-dlq")

    assert "Failure groups dead letters grouped by error" in page.text
    assert page.link("TimeoutError").startswith("/dead-letters/failure-groups/")
    assert page.link("Messages").startswith(f"/dead-letters?q=queue%3A{engine.queue}-dlq%20fp%3A")
    assert page.link("All dead letters") == f"/dead-letters?q=queue:%22{engine.queue}-dlq%22"
    assert not page.all("figure")


def test_a_dead_letter_queue_shows_what_died_in_those_that_send_to_it(viewer: Browser, engine: Engine) -> None:
    holder = f"{engine.queue}-graves"
    engine.rows("select signalbox.create_queue(%s)", holder)
    engine.rows("update signalbox.queue set is_dead_letter_queue = true where name = %s returning 1", holder)
    engine.rows(
        "update signalbox.queue set dead_letter_queue = %s where queue_id = %s returning 1", holder, engine.queue_id
    )
    engine.die(error_class="TimeoutError")

    assert "TimeoutError" in viewer.see(f"/queues/{holder}").text


def test_a_queue_that_does_not_exist_is_not_found(viewer: Browser) -> None:
    page = viewer.see("/queues/no-such-queue", status=404)

    assert "There is no queue called no-such-queue." in page.text
    assert page.link("Open Queues") == "/"


def test_the_page_is_read_in_few_queries(viewer: Browser, engine: Engine) -> None:
    viewer.see(f"/queues/{engine.queue}")
    with CaptureQueriesContext(connection) as queries:
        viewer.see(f"/queues/{engine.queue}")

    assert len(queries) <= 18 + EVIDENCE_QUERIES
