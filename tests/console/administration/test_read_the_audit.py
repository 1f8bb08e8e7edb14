"""The audit: who did what, to which queue, and why."""

from __future__ import annotations

from console.access.api_keys import keys
from queues import audit
from queues.control import queues
from tests.console.browsers import Browser
from tests.engine import Engine


def test_what_was_done_to_a_queue_is_on_its_page(viewer: Browser, engine: Engine) -> None:
    queues.configure_queue(engine.queue, {"max_receives": 7}, actor="ana", reason="flaky partner")

    row, made = viewer.see(f"/queues/{engine.queue}/audit").rows()

    assert "ana queue.configure flaky partner max_receives: 5 → 7" in row
    assert f"sql:{engine.connection.info.user} queue.create" in made


def test_the_filter_asks_by_actor_action_queue_and_reason(viewer: Browser, engine: Engine) -> None:
    queues.pause_queue(engine.queue, actor="omar", reason="lunch break")
    queues.resume_queue(engine.queue, actor="ana")

    def found(question: str) -> list[str]:
        return viewer.see("/audit", q=f"queue:{engine.queue} -action:queue.create {question}").rows()

    assert len(found("")) == 2
    assert len(found("actor:omar")) == len(found("-actor:ana")) == len(found("LUNCH")) == 1
    assert len(found("action:queue.")) == 2
    assert found("actor:omar,ana action:queue.resume")[0].split()[-3:-1] != []


def test_hostile_reasons_and_details_are_text(viewer: Browser, engine: Engine) -> None:
    queue = queues.get_queue(engine.queue)
    audit.record("<i>eve</i>", "queue.test", queue, "<script>alert(1)</script>", {"<b>": "<u>"})

    page = viewer.see(f"/queues/{engine.queue}/audit")

    assert "<script>alert(1)</script>" in page.text
    assert not [bad for bad in ("<script>alert", "<i>eve", "<b>:", "<u>") if bad in page.html]


def test_a_mistake_is_underlined(viewer: Browser) -> None:
    assert viewer.see("/audit", q="actr:ana").one("mark").text == "actr"
    assert "There is no queue no-such-queue." in viewer.see("/audit", q="queue:no-such-queue").text


def test_long_histories_come_in_pages(viewer: Browser, engine: Engine) -> None:
    queue = queues.get_queue(engine.queue)
    for number in range(70):
        audit.record("ana", f"queue.step-{number}", queue)

    first = viewer.see(f"/queues/{engine.queue}/audit")
    second = viewer.see(first.link("Next page"))

    assert (len(first.rows()), len(second.rows())) == (50, 21)  # and the row of its making
    back = viewer.see(second.link("Previous page"))
    assert [row.split("ana")[1] for row in back.rows()] == [row.split("ana")[1] for row in first.rows()]


def test_the_filter_asks_by_time_and_by_what_it_was_about(viewer: Browser, engine: Engine) -> None:
    queue = queues.get_queue(engine.queue)
    event = audit.record("ana", "redrive.create", queue, details={"redrive_id": 712_345_678})
    audit.record("ana", "message.send", queue, details={"message_id": 812_345_678})
    event.refresh_from_db()
    today = event.at.date().isoformat()

    def found(question: str) -> int:
        return len(viewer.see("/audit", q=f"queue:{engine.queue} -action:queue.create {question}").rows())

    assert found("redrive:712345678") == found("message:812345678") == found("-redrive:712345678") == 1
    assert found("redrive:712345678,5") == found(f"row:{event.position}") == 1
    assert found("age:<1h") == found("-age:>1h") == found(f"at:{today}..") == 2
    assert found("age:>1h") == found("at:2001-01-01") == found("at:..2001-01-01") == found("purge:712345678") == 0


def test_a_time_that_does_not_read_is_underlined(viewer: Browser) -> None:
    for question, token in [("at:yesterday", "yesterday"), ("age:1d", "1d"), ("redrive:x", "x"), ("at:..", "..")]:
        assert viewer.see("/audit", q=question).one("mark").text == token


def test_an_action_leads_back_to_what_it_was_about(viewer: Browser, engine: Engine) -> None:
    queue = queues.get_queue(engine.queue)
    message_id = engine.send()
    audit.record("ana", "message.send", queue, details={"message_id": message_id})

    page = viewer.see("/audit", q=f"queue:{engine.queue}")

    assert page.link(f"message {message_id}") == f"/messages/{message_id}"


def test_an_action_leads_to_its_plan_and_cluster(viewer: Browser, engine: Engine) -> None:
    queue = queues.get_queue(engine.queue)
    audit.record("ana", "plan.create", queue, details={"plan_id": 712_345_678, "count": 3, "options": {"patch": None}})
    audit.record("ana", "failure_group.describe", queue, details={"fingerprint": "v2:a/b", "changes": {}})

    page = viewer.see("/audit", q=f"queue:{engine.queue}")

    assert page.link("plan 712345678") == "/redrives/plans/712345678"
    assert page.link("failure group v2:a/b") == "/dead-letters/failure-groups/v2:a%252Fb"
    assert "plan_id" not in page.text  # the links say it
    assert "fingerprint" not in page.text
    assert 'options: {"patch": null}' in page.text


def test_what_was_done_about_a_key_and_by_it(viewer: Browser, engine: Engine) -> None:
    name = f"shop-{engine.queue}"
    made = keys.create(name, "configure", actor="ana").row
    queues.pause_queue(engine.queue, actor=f"key:{name}", reason="by a program")
    keys.revoke(made.pk, actor="ben")

    about = viewer.see("/audit", q=f"key:{name}").rows()
    assert [row.split("apikey.")[1].split()[0] for row in about] == ["revoke", "create"]
    (by,) = viewer.see("/audit", q=f"actor:key:{name}").rows()
    assert "queue.pause" in by
