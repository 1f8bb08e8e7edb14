"""An operator chooses from the archive, looks at the plan, runs it, and finds where a message came from."""

from __future__ import annotations

from typing import Any

import pytest
from celery import current_app

from dlq.masking import rules
from dlq.masking.rules import MaskingRule
from dlq.redrives import redrives
from dlq.redrives.staged import sets
from dlq.redrives.staged.models import Staging
from pipeline.models import Run, RunRequest
from queues.database.query import database_now
from queues.models import AuditEvent, Redriven
from tests.console.browsers import Browser
from tests.dlq.redrives.stagings import planned
from tests.engine import Engine

pytestmark = pytest.mark.usefixtures("commits")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, list[Any]]]:
    """Requests that reach the workers."""
    found: list[tuple[str, list[Any]]] = []
    monkeypatch.setattr(current_app, "send_task", lambda name, **options: found.append((name, options["args"])))
    return found


def filled(engine: Engine, **given: Any) -> dict[str, Any]:
    usual = {
        "filter_text": "queue:orders",
        "kinds": "settled",
        "target_queue": engine.queue,
        "reason": "booked wrongly",
    }
    return usual | given


def test_a_worker_is_asked_for_what_the_form_says(
    operator: Browser, engine: Engine, asked: list[tuple[str, list[Any]]]
) -> None:
    assert operator.see("/pipeline").link("Replay…") == "/pipeline/replay"
    assert 'value="queue:orders"' in operator.see("/pipeline/replay?q=queue:orders").html

    page = operator.submit(
        "/pipeline/replay",
        **filled(
            engine, kinds="both", since="2026-01-01", until="2026-02-01T10:30", rate_per_second=20, canary_messages=3
        ),
    )

    assert "A worker stages the messages. Its run is listed here and leads to the plan." in page.text
    request = RunRequest.objects.latest("pk")
    assert asked == [("pipeline.run", [request.pk])]
    assert (request.kind, request.requested_by) == ("replay", operator.name)
    given = request.arguments["arguments"]
    assert given == {
        "target": engine.queue,
        "since": "2026-01-01T00:00:00.000000Z",
        "until": "2026-02-01T10:30:00.000000Z",
        "rate": 20,
        "canary": 3,
        "reason": "booked wrongly",
        "kind": ["settled", "dead_letters"],
        "filter": "queue:orders",
    }
    event = AuditEvent.objects.filter(actor=operator.name, action="pipeline.replay").latest("pk")
    assert (event.reason, event.details["arguments"]) == ("booked wrongly", given)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"filter_text": "class:KeyError"}, "class: does not apply to archived settled messages"),
        ({"filter_text": "quue:orders"}, "Did you mean queue:?"),
        ({"target_queue": "nowhere"}, "nowhere"),
        ({"target_queue": ""}, "This field is required"),
        ({"since": "yesterday"}, "is not a date or time"),
        ({"reason": ""}, "This field is required"),
    ],
)
def test_what_cannot_be_is_said_at_once(
    operator: Browser, engine: Engine, asked: list[Any], given: dict[str, str], words: str
) -> None:
    assert words in operator.submit("/pipeline/replay", status=422, **filled(engine, **given)).text
    assert asked == []


def test_what_is_masked_is_neither_asked_for_nor_carried_to_where_it_is_seen(
    operator: Browser, admin: Browser, engine: Engine, asked: list[Any]
) -> None:
    rule = rules.add(part=MaskingRule.Part.PAYLOAD, path="card", queue=engine.queue, actor="ann")
    try:
        engine.value("select signalbox.create_queue(%s)", f"{engine.queue}-open")
        carried = filled(engine, target_queue=f"{engine.queue}-open")

        assert (
            "ask a person with the permission reveal" in operator.submit("/pipeline/replay", status=422, **carried).text
        )
        probing = filled(engine, filter_text='queue:long-gone payload.card:"4"')
        assert "card" in operator.submit("/pipeline/replay", status=422, **probing).text
        assert asked == []
        assert "A worker stages the messages" in admin.submit("/pipeline/replay", **carried).text
        assert "A worker stages the messages" in operator.submit("/pipeline/replay", **filled(engine)).text
    finally:
        rules.remove(rule.pk, actor="ann")


def test_a_viewer_may_look_and_not_replay(viewer: Browser, engine: Engine) -> None:
    plan = planned(engine, 2)

    viewer.see("/pipeline/replay", status=403)

    assert "Replay…" in viewer.see("/pipeline").text
    assert "masked" in viewer.see(f"/redrives/plans/{plan.pk}").text


def test_the_plan_is_run_like_any_other_and_says_what_it_is(operator: Browser, engine: Engine) -> None:
    plan = planned(engine, 3, payload=['{"hostile": "<b>"}', '{"n": 2}', '{"n": 3}'], queue="orders-of-then")

    page = operator.see(f"/redrives/plans/{plan.pk}")
    assert "Matching messages from the archive" in page.text
    assert "orders-of-then" in page.text
    assert "Outcomes" in page.text
    assert '{"hostile": "<b>"}' in page.text
    assert any(element.text.startswith("Replay 3 messages") for element in page.elements if element.tag == "button")

    running = operator.submit(f"/redrives/plans/{plan.pk}/run", rate_per_second="")
    assert "started." in running.text
    job = plan.redrives.get()
    redrives.run_in_foreground(job.pk)

    done = operator.see(f"/redrives/{job.pk}")
    assert "as staged from the archive" in done.text
    assert engine.queue in done.text
    message = Redriven.objects.filter(redrive_id=job.pk).order_by("pk")[0].message_id
    assert f"redrive #{job.pk} by {operator.name}" in operator.see(f"/queues/{engine.queue}/messages/{message}").text
    assert "sent again as archived message 1" in operator.see(f"/queues/{engine.queue}/messages/{message}").text


def test_a_plan_whose_set_is_gone_cannot_be_run(operator: Browser, engine: Engine) -> None:
    plan = planned(engine, 2)
    Staging.objects.filter(pk=plan.staging_id).update(expires_at=database_now())
    sets.clear(60)

    page = operator.see(f"/redrives/plans/{plan.pk}")

    assert "The staged messages have been deleted" in page.text
    refused = operator.submit(f"/redrives/plans/{plan.pk}/run", status=422, rate_per_second="")
    assert "make another replay" in refused.text


def test_a_run_leads_to_its_plan(viewer: Browser, engine: Engine) -> None:
    plan = planned(engine, 2)
    run = Run.objects.create(
        kind=Run.Kind.REPLAY,
        token="",
        url="",
        parts=[],
        state=Run.State.COMMITTED,
        started_by="bob",
        rows=2,
        outcome={"plan": plan.pk, "filter": "queue:<i>", "staging": plan.staging_id, "bodiless": 7},
    )
    try:
        page = viewer.see(f"/pipeline/{run.pk}")
        assert page.link(f"Plan {plan.pk}") == f"/redrives/plans/{plan.pk}"
        assert "queue:<i>" in page.text
        assert "7 without an archived body" in page.text
        assert viewer.see("/pipeline").link(f"Plan {plan.pk}") == f"/redrives/plans/{plan.pk}"
    finally:
        run.delete()
