"""Redriving: a filter, a plan to look at, a start, and a hand on the lever while it runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dlq.jobs.models import Redrive
from dlq.masking.rules import MaskingRule
from dlq.redrives import redrives
from dlq.redrives.plan_models import Plan
from queues.models import AuditEvent
from tests.console.browsers import Browser, Page
from tests.console.masking.masks import no_rules_left as no_rules_left
from tests.dlq.dead_letter_scenes import DeadLetterScene


def make_plan(browser: Browser, scene: DeadLetterScene, more: str = "", **chosen: str) -> tuple[Plan, Page]:
    """Fill in the form as it stands, with what is chosen; the plan and its page."""
    form = browser.see("/redrives/new", q=f"{scene.filter} {more}".strip()).fields()
    page = browser.submit("/redrives/new", **{**form, "reason": "fixed", **chosen})
    return Plan.objects.latest("plan_id"), page


def start(browser: Browser, scene: DeadLetterScene, **changed: str) -> Redrive:
    plan, page = make_plan(browser, scene, **changed)
    browser.submit(f"/redrives/plans/{plan.pk}/run", **page.fields())
    return Redrive.objects.latest("redrive_id")


def test_the_plan_shows_what_would_move_and_where_to(operator: Browser, scene: DeadLetterScene) -> None:
    scene.add_dead(3, payload={"order": 1}, redrive_count=1)

    _, page = make_plan(operator, scene)

    assert "Messages 3" in page.text
    assert f"Destination {scene.queue} 3, 0 consumers" in page.text
    assert f"{scene.queue} has no consumer" in page.text
    assert "3 have already failed one redrive." in page.text
    assert "TimeoutError" in page.text
    assert '{"n": 3, "order": 1}' in page.text
    assert "3 messages take 0.3 s at 10/s, 0.1 s at 50/s, under 0.1 s at 500/s" in page.text
    assert "Tenants default 3" in page.text
    assert "Age under 1 h 3" in page.text


def test_planning_changes_nothing_and_is_recorded(operator: Browser, scene: DeadLetterScene) -> None:
    buried = scene.add_dead(2)

    plan, _ = make_plan(operator, scene)

    assert scene.dead() == buried
    assert not Redrive.objects.filter(plan=plan).exists()
    event = AuditEvent.objects.get(action="plan.create", details__plan_id=plan.pk)
    assert (event.actor, event.reason, event.queue_name) == (operator.name, "fixed", scene.queue)


def test_what_the_plan_showed_is_what_moves(operator: Browser, scene: DeadLetterScene) -> None:
    shown = scene.add_dead(3)
    plan, page = make_plan(operator, scene)
    later = scene.add_dead(2)

    page = operator.submit(f"/redrives/plans/{plan.pk}/run", rate_per_second="")
    job = redrives.run_in_foreground(Redrive.objects.latest("redrive_id").pk)

    assert f"Redrive #{job.pk} started." in page.text
    assert scene.redriven(job.pk) == shown
    assert scene.dead() == later
    event = AuditEvent.objects.get(action="redrive.create", details__redrive_id=job.pk)
    assert (event.actor, event.reason) == (operator.name, "fixed")


def test_ticked_rows_become_a_filter_of_their_ids(operator: Browser, scene: DeadLetterScene) -> None:
    scene.add_dead(3)
    page = operator.see("/dead-letters", q=scene.filter)
    ids = [one.attributes["value"] for one in page.all("input", name="id")][:2]

    form = operator.see("/redrives/new", id=ids, q=scene.filter).fields()
    page = operator.submit("/redrives/new", **{**form, "reason": "these two"})

    assert form["filter_text"] == f"id:{ids[0]},{ids[1]}"
    assert "Redrive 2 messages" in page.text


def test_another_destination_is_looked_at_first(
    operator: Browser, make_dead_letter_scene: Callable[..., DeadLetterScene]
) -> None:
    scene, other = make_dead_letter_scene(), make_dead_letter_scene()
    scene.add_dead(1)

    plan, page = make_plan(operator, scene, target_queue=other.queue)
    operator.submit(f"/redrives/plans/{plan.pk}/run", **page.fields())

    assert f"Destination {other.queue} 1" in page.text
    assert Redrive.objects.latest("redrive_id").target_queue == other.queue


def test_a_destination_that_does_not_exist_is_refused(operator: Browser, scene: DeadLetterScene) -> None:
    scene.add_dead(1)
    form = operator.see("/redrives/new", q=scene.filter).fields()

    page = operator.submit("/redrives/new", 422, **{**form, "reason": "r", "target_queue": "no-such-queue"})

    assert "queue 'no-such-queue' does not exist" in page.text
    assert page.one("input", id="id_target_queue").attributes["aria-invalid"] == "true"


def test_no_plan_without_a_reason_or_at_an_impossible_pace(operator: Browser, scene: DeadLetterScene) -> None:
    scene.add_dead(1)
    form = operator.see("/redrives/new", q=scene.filter).fields()

    page = operator.submit("/redrives/new", 422, **{**form, "reason": "", "rate_per_second": "0"})

    assert page.one("input", id="id_reason").attributes["aria-invalid"] == "true"
    assert page.one("input", id="id_rate_per_second").attributes["aria-invalid"] == "true"
    assert not Plan.objects.filter(filter_text=scene.filter).exists()


def test_a_mistake_in_the_filter_is_said_where_it_can_be_mended(operator: Browser) -> None:
    page = operator.see("/redrives/new", status=422, q="age:old")
    again = operator.submit("/redrives/new", 422, **{**page.fields(), "reason": "r", "filter_text": "a:b"})

    assert "old :" in page.text
    assert page.one("input", id="id_filter_text").attributes["value"] == "age:old"
    assert again.one("input", id="id_filter_text").attributes["aria-invalid"] == "true"


def test_who_may_not_see_payloads_may_not_ask_for_them_either(sign_in: Callable[[str], Browser]) -> None:
    assert sign_in("viewer").post("/redrives/new", {"filter_text": "payload.a:1"}).status_code == 403


def test_the_careful_options_travel_into_the_plan(operator: Browser, scene: DeadLetterScene) -> None:
    scene.add_dead(2, redrive_count=5)

    plan, page = make_plan(
        operator,
        scene,
        canary_messages="1",
        stop_failed_percent="0",
        slow_depth="1000",
        max_redrives="4",
        canary_per_group="on",
    )

    options = plan.choices
    assert (options.canary_messages, options.canary_per_group, options.stop_failed_percent) == (1, True, 0)
    assert (options.slow_depth, options.max_redrives, options.stop_failed_in_row) == (1000, 4, 5)
    assert "2 will be skipped: redriven more than 4 times." in page.text
    assert "Canary 1 message, with one of each failure group" in page.text
    assert "Stops if failure rate exceeds 0 % or after 5 consecutive failures" in page.text


def test_a_patch_is_shown_as_a_difference_on_the_samples(operator: Browser, scene: DeadLetterScene) -> None:
    scene.add_dead(1, payload={"region": "us", "html": "<script>"})
    scene.add_dead(1, payload={"other": 1})

    _, page = make_plan(
        operator, scene, patch_kind="json", patch='[{"op": "replace", "path": "/region", "value": "<b>"}]'
    )

    assert "does not apply to 1 of 2 checked" in page.text
    assert [one.text for one in page.all("del")] == ['- "region": "us"']
    assert [one.text for one in page.all("ins")] == ['+ "region": "<b>"']
    assert "The patch does not apply: operation 1, replace /region: there is nothing at that path" in page.text


def test_a_patch_that_is_none_is_refused(operator: Browser, scene: DeadLetterScene) -> None:
    form = operator.see("/redrives/new", q=scene.filter).fields()

    for kind, patch, said in (
        ("merge", "[1]", "patch must be a JSON object"),
        ("json", '[{"op": "fly", "path": "/a"}]', "patch is no JSON Patch"),
        ("json", "{", "This is not JSON"),
        ("", '{"a": 1}', "patch needs a kind"),
    ):
        page = operator.submit("/redrives/new", 422, **{**form, "reason": "r", "patch_kind": kind, "patch": patch})
        assert said in page.text


def test_a_viewer_sees_a_plan_without_payloads_and_without_a_button(
    operator: Browser, viewer: Browser, scene: DeadLetterScene
) -> None:
    scene.add_dead(1, payload={"card": "411122223333"})
    plan, _ = make_plan(operator, scene, patch_kind="merge", patch='{"card": null}')

    page = viewer.see(f"/redrives/plans/{plan.pk}")

    assert "411122223333" not in page.text
    assert "card" not in page.text
    assert page.all("span", aria_disabled="true")[0].text.startswith("Redrive")
    assert viewer.post(f"/redrives/plans/{plan.pk}/run").status_code == 403


def test_a_plan_runs_once_at_a_time(operator: Browser, scene: DeadLetterScene) -> None:
    scene.add_dead(1)
    job = start(operator, scene)

    page = operator.submit(f"/redrives/plans/{job.plan_id}/run", 422, rate_per_second="1")

    assert f"Already running as redrive #{job.pk}" in page.text
    assert page.link(f"Redrive #{job.pk}") == f"/redrives/{job.pk}"


def test_plans_are_listed_with_their_runs(operator: Browser, viewer: Browser, scene: DeadLetterScene) -> None:
    scene.add_dead(1)
    job = start(operator, scene)

    for path in ("/redrives", "/redrives/plans"):
        row = next(text for text in viewer.see(path).rows() if text.startswith(f"Plan {job.plan_id} "))
        assert f"{scene.filter} fixed 1 {job.pk} pending" in row


def test_a_plan_that_does_not_exist_is_not_found(operator: Browser) -> None:
    assert "There is no plan 999999." in operator.see("/redrives/plans/999999", status=404).text
    assert operator.post("/redrives/plans/999999/run").status_code == 404


def test_the_page_of_a_job_says_how_far_it_is(operator: Browser, viewer: Browser, scene: DeadLetterScene) -> None:
    scene.add_dead(4)
    job = start(operator, scene, rate_per_second="")

    waiting = viewer.see(f"/redrives/{job.pk}")
    redrives.run_in_foreground(job.pk)
    done = viewer.see(f"/redrives/{job.pk}")

    assert "pending" in waiting.text
    assert "job worker" in waiting.text
    assert "Sent 4 of 4 Completed 0 0 %" in done.text
    assert "sent, waiting for outcomes" in done.text
    assert "Outcomes waiting for 4" in done.text
    assert done.one("div", role="progressbar").attributes["aria-label"] == "Sent"
    assert len([link for link in done.all("a") if f"/queues/{scene.queue}/messages/" in link.attributes["href"]]) == 4


def test_outcomes_are_shown(operator: Browser, scene: DeadLetterScene) -> None:
    for _ in range(4):
        scene.engine.die({}, error_class="TimeoutError", error="late")
    job = start(operator, scene, rate_per_second="")
    redrives.run_in_foreground(job.pk)
    same, other, acked, _ = (row[1] for row in scene.engine.receive(4))
    scene.engine.nack(same, reason="rejected", error_class="TimeoutError", error="late")
    scene.engine.nack(other, reason="rejected", error_class="KeyError", error="id")
    scene.engine.ack(acked)

    page = operator.see(f"/redrives/{job.pk}")

    assert "1 succeeded 1 waiting or in flight 1 failed again, same error 1 failed again, new error" in page.text
    for words in ("succeeded", "waiting or in", "failed again, same", "failed again, new"):
        listed = operator.see(page.link(words))
        assert len(listed.rows()) == 1
        for column in ("Message", "Sent to", "Sent", "Outcome known"):
            assert len(operator.see(listed.link(column)).rows()) == 1
    assert len(operator.see(page.link("Previously redriven dead letters of this filter")).rows()) == 2
    assert "There is no outcome" in operator.see(f"/redrives/{job.pk}/messages", 404, outcome="x").text


def test_reasons_for_skipped_messages_are_shown(operator: Browser, scene: DeadLetterScene) -> None:
    scene.add_dead(2, redrive_count=9)
    scene.add_dead(1)
    job = start(operator, scene, rate_per_second="")

    redrives.run_in_foreground(job.pk)

    assert "Skipped: 2 redriven too often" in operator.see(f"/redrives/{job.pk}").text


def test_the_lever_pauses_resumes_slows_and_cancels(operator: Browser, scene: DeadLetterScene) -> None:
    scene.add_dead(4)
    job = start(operator, scene)

    assert "is paused." in operator.submit(f"/redrives/{job.pk}/pause").text
    assert "was not running" in operator.submit(f"/redrives/{job.pk}/pause").text
    assert "is resumed." in operator.submit(f"/redrives/{job.pk}/resume").text
    assert (
        f"Rate of redrive #{job.pk}: 7 messages per second."
        in operator.submit(f"/redrives/{job.pk}/rate", rate_per_second="7").text
    )
    refused = operator.submit(f"/redrives/{job.pk}/rate", status=422, rate_per_second="0")
    assert f"Rate of redrive #{job.pk}" in refused.text
    assert "is cancelled." in operator.submit(f"/redrives/{job.pk}/cancel").text
    assert "has already ended" in operator.submit(f"/redrives/{job.pk}/cancel").text
    assert "has already ended" in operator.submit(f"/redrives/{job.pk}/rate", rate_per_second="9").text

    job.refresh_from_db()
    assert (job.state, job.rate_per_second) == ("cancelled", 7)
    assert len(scene.dead()) == 4


def test_a_viewer_watches_but_has_no_lever(viewer: Browser, operator: Browser, scene: DeadLetterScene) -> None:
    scene.add_dead(1)
    job = start(operator, scene)

    page = viewer.see(f"/redrives/{job.pk}")

    assert page.all("span", aria_disabled="true")[0].text.startswith("Pause")
    assert viewer.post(f"/redrives/{job.pk}/cancel").status_code == 403


def test_all_redrives_are_listed(operator: Browser, viewer: Browser, scene: DeadLetterScene) -> None:
    scene.add_dead(1)
    job = start(operator, scene, reason="because <b>")

    row = next(text for text in viewer.see("/redrives").rows() if text.startswith(f"#{job.pk} "))

    assert scene.filter in row
    assert "because <b>" in row
    assert f"{scene.queue}" in row


def test_the_sidebar_counts_running_jobs(operator: Browser, scene: DeadLetterScene) -> None:
    scene.add_dead(1)
    start(operator, scene)

    assert "active redrive" in operator.see("/").text


def test_a_job_that_does_not_exist_is_not_found(operator: Browser) -> None:
    assert "There is no redrive 999999." in operator.see("/redrives/999999", status=404).text
    assert operator.post("/redrives/999999/pause").status_code == 404


def test_pages_ask_as_much_for_many_messages_as_for_few(
    operator: Browser, make_dead_letter_scene: Callable[..., DeadLetterScene]
) -> None:
    asked = []
    for number in (3, 120):
        scene = make_dead_letter_scene()
        scene.add_dead(number)
        job = start(operator, scene, rate_per_second="", canary_messages="")
        redrives.run_in_foreground(job.pk)
        for path in (f"/redrives/{job.pk}", f"/redrives/plans/{job.plan_id}"):
            operator.see(path)
            with CaptureQueriesContext(connection) as queries:
                operator.see(path)
            asked.append(len(queries))

    assert asked[:2] == asked[2:]


def test_the_form_has_a_canary_unless_a_person_empties_it(operator: Browser, scene: DeadLetterScene) -> None:
    scene.add_dead(12)
    scene.add_dead(3, error_class="KeyError")

    form = operator.see("/redrives/new", q=scene.filter)
    plan, page = make_plan(operator, scene, canary_per_group="on")
    whole, page_of_all = make_plan(operator, scene, canary_messages="", canary_per_group="on")

    assert form.one("input", id="id_canary_messages").attributes["value"] == "10"
    assert "checked" in form.one("input", id="id_canary_per_group").attributes
    assert (plan.choices.canary_messages, plan.choices.canary_per_group, plan.canary_size) == (10, True, 10)
    assert page.one("button", id="run").text == "Start canary: 10 of 15"
    assert not whole.choices.has_canary
    assert page_of_all.one("button", id="run").text == "Redrive 15 messages"


def test_editing_a_plan_keeps_all_of_it(operator: Browser, scene: DeadLetterScene) -> None:
    scene.add_dead(12)
    chosen = {
        "canary_messages": "4",
        "rate_per_second": "7",
        "stop_failed_percent": "33",
        "stop_failed_in_row": "",
        "max_redrives": "9",
        "slow_depth": "1000",
        "patch_kind": "merge",
        "patch": '{"region": "eu"}',
        "reason": "partner is back",
    }
    plan, page = make_plan(operator, scene, **chosen)

    form = operator.see(page.link("Edit plan"))
    operator.submit("/redrives/new", **form.fields(), patch=form.one("textarea", name="patch").text)
    copy = Plan.objects.latest("plan_id")

    assert copy.pk != plan.pk
    assert (copy.options, copy.filter_text, copy.reason) == (plan.options, plan.filter_text, "partner is back")
    assert operator.get("/redrives/new?plan=999999999").status_code == 404


@pytest.mark.usefixtures("no_rules_left")
def test_a_masked_patch_is_not_repeated(operator: Browser, admin: Browser, scene: DeadLetterScene) -> None:
    scene.add_dead(1)
    _, page = make_plan(operator, scene, patch_kind="merge", patch='{"card": "4111"}')
    MaskingRule.objects.create(part="payload", path="card", queue_name=scene.queue, created_by="test")

    form = operator.see(page.link("Edit plan"))

    assert "4111" not in form.text
    assert form.fields()["patch_kind"] == ""
    assert "The patch is not repeated" in form.text


def test_a_large_redrive_asks_for_a_typed_word(operator: Browser, scene: DeadLetterScene, settings: Any) -> None:
    settings.TYPED_CONFIRMATION_REDRIVE_ABOVE = 2
    scene.add_dead(3)
    plan, page = make_plan(operator, scene)

    refused = operator.submit(f"/redrives/plans/{plan.pk}/run", 422, rate_per_second="1", confirmation="yes")
    operator.submit(f"/redrives/plans/{plan.pk}/run", rate_per_second="1", confirmation=" Redrive ")

    assert "Type redrive" in page.text
    assert "Type the word redrive." in refused.text
    assert refused.one("input", id="id_confirmation").attributes["aria-invalid"] == "true"
    assert plan.redrives.count() == 1
    scene.add_dead(1)
    settings.TYPED_CONFIRMATION_REDRIVE_ABOVE = 100
    assert not make_plan(operator, scene)[1].all("input", id="id_confirmation")


def test_the_canary_is_a_phase_with_a_verdict(operator: Browser, scene: DeadLetterScene) -> None:
    for _ in range(4):
        scene.engine.die({}, error_class="TimeoutError", error="late")
    job = start(operator, scene, canary_messages="2", rate_per_second="")
    redrives.run_slice(job.pk, seconds=0)

    waiting = operator.see(f"/redrives/{job.pk}")
    scene.engine.ack(*(row[1] for row in scene.engine.receive(2)))
    redrives.run_in_foreground(job.pk)
    passed = operator.see(f"/redrives/{job.pk}")

    assert "Canary waiting for 2 of 2 outcomes" in waiting.text
    assert "Sending 2 of 4 sent" in waiting.text
    assert "Canary passed ✓ 2 of 2 succeeded" in passed.text
    assert "Sending ✓ 4 messages sent Outcomes waiting for 2" in passed.text


def test_a_failed_canary_says_so_and_the_rule_shows_its_value(operator: Browser, scene: DeadLetterScene) -> None:
    for _ in range(4):
        scene.engine.die({}, error_class="TimeoutError", error="late")
    job = start(operator, scene, canary_messages="2", rate_per_second="")
    redrives.run_slice(job.pk, seconds=0)
    for row in scene.engine.receive(2):
        scene.engine.nack(row[1], reason="rejected", error_class="TimeoutError", error="late")
    Redrive.objects.filter(pk=job.pk).update(looked_at=None)
    redrives.run_slice(job.pk, seconds=0)

    page = operator.see(f"/redrives/{job.pk}")

    assert "Canary failed 2 of 2 failed again" in page.text
    assert "Stopped by itself: 2 of 2 failed again, more than 20 %." in page.text
    assert "more than 20 % fail again 100 %" in page.text


def test_the_notice_of_a_start_vanishes_when_the_redrive_is_done(operator: Browser, scene: DeadLetterScene) -> None:
    scene.add_dead(1)
    job = start(operator, scene, rate_per_second="")

    during = operator.get(f"/redrives/{job.pk}", headers={"HX-Request": "true"}).content.decode()
    redrives.run_in_foreground(job.pk)
    after = operator.get(f"/redrives/{job.pk}", headers={"HX-Request": "true"}).content.decode()

    assert 'id="notices"' not in during
    assert 'id="notices" role="status" hx-swap-oob="true"' in after
