"""A message's page: where it stands and why, what happened, what it holds."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dlq.redrives import plans, redrives
from dlq.redrives.plan_options import Options
from dlq.search.checked_filter import check_filter
from queues.control import queues
from queues.counters.queue_numbers import read_numbers
from queues.messages import story
from tests.console.browsers import Browser, Page
from tests.dlq.dead_letter_scenes import DeadLetterScene, create_redrive
from tests.engine import Engine


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine is slow, and here that is no failure."""
    monkeypatch.setattr(story, "SEARCH_MILLISECONDS", 60_000)


def page_of(browser: Browser, engine: Engine, message_id: int) -> Page:
    return browser.see(f"/queues/{engine.queue}/messages/{message_id}")


def events(page: Page) -> list[str]:
    """The lifecycle, each event by its first words."""
    timeline = page.html.split('class="timeline"')[1].split("</ol>")[0]
    return [one.text for one in Page(timeline).all("b")]


def test_a_message_of_a_fifo_queue_has_its_sequence_number(
    operator: Browser, make_engine: Callable[..., Engine], engine: Engine
) -> None:
    fifo = make_engine(mode="fifo")
    message_id = fifo.send({"n": 1}, group_id="g")
    assert f"Sequence number {message_id} rises within its group" in page_of(operator, fifo, message_id).text
    assert "Sequence number" not in page_of(operator, engine, engine.send(1)).text


def test_a_ready_message_says_what_it_waits_for(operator: Browser, engine: Engine) -> None:
    message_id = engine.send({"n": 1})

    assert "No consumer has called receive in the last minute" in page_of(operator, engine, message_id).text

    queues.pause_queue(engine.queue, actor="ana", reason="x")
    assert "The queue is paused" in page_of(operator, engine, message_id).text


def test_a_delayed_message_says_until_when(operator: Browser, engine: Engine) -> None:
    message_id = engine.send(delay_seconds=3600)

    assert "Scheduled (delayed by its sender or by hand), due in" in page_of(operator, engine, message_id).text


def test_a_deferred_message_says_so_and_has_no_failed_delivery(operator: Browser, engine: Engine) -> None:
    message_id = engine.send({"n": 1})
    engine.value("select signalbox.defer(%s, 3600)", engine.receive_one(consumer="w")[1])

    page = page_of(operator, engine, message_id)

    assert "Scheduled (deferred by its consumer at delivery 1), due in" in page.text
    assert events(page) == ["Sent", "Delivery 1", "Deferred"]
    assert "0 of 5, and 1 deferred" in page.text


def test_a_message_in_flight_says_who_holds_it(operator: Browser, engine: Engine) -> None:
    message_id = engine.send()
    engine.receive(consumer="worker-3")

    page = page_of(operator, engine, message_id)

    assert "In flight at worker-3. Delivered again unless acknowledged within" in page.text
    assert events(page) == ["Sent", "Delivery 1"]


def test_the_whole_life_is_one_timeline(operator: Browser, engine: Engine) -> None:
    message_id = engine.send({"n": 1})
    handle = engine.receive_one(consumer="w")[1]
    engine.nack(handle, delay_seconds=0, error_class="TimeoutError", error="late")
    handle = engine.receive_one(consumer="w")[1]
    engine.nack(handle, reason="rejected", error_class="BadOrder")
    engine.rows(
        "select * from signalbox.redrive((select array_agg(dead_letter_id) from signalbox.dead_letter"
        " where message_id = %s), actor => 'omar')",
        message_id,
    )
    engine.ack(engine.receive_one(consumer="w")[1])

    page = page_of(operator, engine, message_id)

    assert events(page) == [
        "Sent",
        "Delivery 1",
        "Failed: TimeoutError",
        "Delivery 2",
        "Rejected: BadOrder",
        "Dead-lettered",
        "Redriven",
        "Delivery 1",
        "Completed",
    ]
    assert "by omar, to" in page.text
    assert "Completed: acknowledged by w" in page.text


def test_a_redrive_to_another_queue_shows_on_both_pages(operator: Browser, make_engine: Callable[..., Engine]) -> None:
    engine, other = make_engine(), make_engine()
    message_id = engine.send({"n": 1})
    engine.nack(engine.receive_one(consumer="w")[1], reason="rejected", error_class="BadOrder")
    engine.rows(
        "select * from signalbox.redrive((select array_agg(dead_letter_id) from signalbox.dead_letter"
        " where message_id = %s), %s, actor => 'omar')",
        message_id,
        other.queue,
    )
    page = page_of(operator, engine, message_id)
    assert f"Redriven to {other.queue}. The page of the message there shows its state." in page.text
    other.ack(other.receive_one(consumer="v")[1])

    life = ["Sent", "Delivery 1", "Rejected: BadOrder", "Dead-lettered", "Redriven", "Delivery 1", "Completed"]
    here, there = page_of(operator, engine, message_id), page_of(operator, other, message_id)
    assert events(here) == events(there) == life
    assert f"Completed: acknowledged in {other.queue} by v" in here.text
    assert "Completed: acknowledged by v" in there.text


def test_the_page_and_the_api_tell_one_state(commits: None, engine: Engine) -> None:
    """The page has more words, and both read other statements: they must not contradict each other."""

    def states() -> tuple[str, str]:
        standing = story.read_story(read_numbers([engine.queue_id])[0], message_id).standing
        status = engine.value("select status from signalbox.message_outcome(%s)", message_id)
        return standing.value, status

    message_id = engine.send(delay_seconds=3600)
    seen = [states()]
    engine.value("select signalbox.purge(%s)", engine.queue)
    seen.append(states())
    message_id = engine.send()
    seen.append(states())
    handle = engine.receive_one()[1]
    seen.append(states())
    engine.nack(handle, delay_seconds=3600)
    seen.append(states())
    message_id = engine.send()
    engine.nack(engine.receive_one()[1], reason="rejected")
    seen.append(states())
    message_id = engine.send()
    engine.ack(engine.receive_one()[1])
    seen.append(states())

    assert seen == [
        ("scheduled", "pending"),
        ("settled", "purged"),
        ("ready", "pending"),
        ("leased", "processing"),
        ("scheduled", "failed"),
        ("dead", "dead"),
        ("settled", "completed"),
    ]


def test_a_redrive_is_named_and_linked(operator: Browser, scene: DeadLetterScene) -> None:
    [letter] = scene.add_dead(1)
    job = create_redrive(scene.filter, letter, actor="omar", reason="fixed")
    message_id = scene.engine.value("select message_id from signalbox.dead_letter where dead_letter_id = %s", letter)
    redrives.run_slice(job.redrive_id)

    page = page_of(operator, scene.engine, message_id)

    assert page.link(f"redrive #{job.redrive_id} by omar, to {scene.queue}") == f"/redrives/{job.redrive_id}"


def test_a_dead_letter_that_was_deleted_says_so(operator: Browser, engine: Engine) -> None:
    message_id = engine.send()
    engine.nack(engine.receive_one()[1], reason="rejected")
    engine.value(
        "select signalbox.delete_dead_letters(array_agg(dead_letter_id)) from signalbox.dead_letter"
        " where message_id = %s",
        message_id,
    )

    page = page_of(operator, engine, message_id)

    assert "Deleted as a dead letter." in page.text
    assert events(page)[-2:] == ["Dead-lettered", "Deleted as a dead letter"]


def test_a_message_whose_log_is_gone_still_has_a_life(operator: Browser, engine: Engine) -> None:
    message_id = engine.send()
    engine.nack(engine.receive_one(consumer="w")[1], delay_seconds=0, error_class="Late", details="File 'x', line 3")
    engine.ack(engine.receive_one(consumer="w")[1])
    engine.connection.execute(
        "delete from signalbox.message where queue_id = %s and message_id = %s", [engine.queue_id, message_id]
    )

    page = page_of(operator, engine, message_id)

    assert events(page) == ["Delivery 1", "Failed: Late", "Delivery 2", "Completed"]
    assert "The body is no longer kept: its retention has ended." in page.text
    assert "File 'x', line 3" in page.text


def test_a_patched_payload_is_shown_as_it_was(operator: Browser, viewer: Browser, engine: Engine) -> None:
    engine.die({"n": "before </script>"})
    [(message_id,)] = engine.rows(
        "select message_id from signalbox.dead_letter where source_queue_id = %s", engine.queue_id
    )
    patch = Options(patch_kind="merge", patch={"n": "after"})
    plan = plans.make(check_filter(f"queue:{engine.queue}"), actor="ann", reason="mended", options=patch)
    redrives.run_in_foreground(redrives.run(plan.pk, actor="ann", wake=False).pk)

    page = page_of(operator, engine, message_id)

    told = events(page)
    assert sorted(told[-2:]) == ["Patched", "Redriven"]
    assert "Payload before the patch" in page.text
    assert '"before </script>"' in page.text
    assert "before </script>" not in page_of(viewer, engine, message_id).text


def test_a_dead_message_shows_its_cause_stack_and_a_way_out(operator: Browser, engine: Engine) -> None:
    message_id = engine.send({"n": 1})
    handle = engine.receive_one()[1]
    engine.nack(handle, reason="rejected", error_class="BadOrder", error="no such customer", details="File 'x', line 3")

    page = page_of(operator, engine, message_id)

    assert "Dead letter after 1 delivery attempt: BadOrder." in page.text
    assert f"to {engine.queue}-dlq" in page.text
    assert "File 'x', line 3" in page.text
    assert page.link("Redrive…") == f"/redrives/new?q=id:{message_id}"


def test_payload_and_attributes_are_trees_of_text(operator: Browser, engine: Engine) -> None:
    message_id = engine.send(
        {"</script><script>alert(1)</script>": ["<b>", None, True, 1.5, {}, []]}, attributes={"<i>": "&lt;"}
    )

    page = page_of(operator, engine, message_id)

    assert "</script><script>alert(1)</script> : [ 6 ]" in page.text
    assert '"<b>"' in page.text
    assert "<script>alert" not in page.html
    assert "<i>" not in page.html
    assert "&amp;lt;" in page.html


def test_a_viewer_sees_the_story_but_not_what_it_holds(viewer: Browser, engine: Engine) -> None:
    message_id = engine.send({"secret": "hunter2"}, attributes={"token": "hunter3"})
    handle = engine.receive_one()[1]
    engine.nack(handle, reason="rejected", error_class="BadOrder", error="hunter4", details="hunter5")

    page = page_of(viewer, engine, message_id)

    assert "BadOrder" in page.text
    assert "The payload is masked. Viewing payloads, attributes and stacks requires the operator role." in page.text
    assert not [secret for secret in ("hunter2", "hunter3", "hunter4", "hunter5") if secret in page.html]


def test_a_purged_message_says_so(operator: Browser, engine: Engine) -> None:
    message_id = engine.send()
    engine.value("select signalbox.purge(%s)", engine.queue)

    page = page_of(operator, engine, message_id)

    assert "Purged before completion." in page.text
    assert events(page) == ["Sent", "Purged before completion"]


def test_a_log_line_with_only_the_id_finds_the_page(operator: Browser, engine: Engine) -> None:
    message_id = engine.send()

    answer = operator.get(f"/messages/{message_id}")

    assert answer["Location"] == f"/queues/{engine.queue}/messages/{message_id}"


def test_an_unknown_message_is_not_found(operator: Browser, engine: Engine) -> None:
    page = operator.see(f"/queues/{engine.queue}/messages/999999999999", status=404)

    assert "it never existed, or its retention ended" in page.text
    operator.see("/messages/999999999999", status=404)
    operator.see(f"/queues/{engine.queue}/messages/99999999999999999999", status=404)


def test_the_page_is_read_in_few_queries(operator: Browser, engine: Engine) -> None:
    message_id = engine.send()
    page_of(operator, engine, message_id)
    with CaptureQueriesContext(connection) as queries:
        page_of(operator, engine, message_id)

    assert len(queries) <= 34
