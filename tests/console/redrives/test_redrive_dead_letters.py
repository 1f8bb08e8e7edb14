"""Redriving: a filter, a plan to look at, a start, and a hand on the lever while it runs."""

from __future__ import annotations

from collections.abc import Callable

from django.db import connection
from django.test.utils import CaptureQueriesContext

from dlq.jobs.models import Redrive
from dlq.redrives import redrives
from dlq.redrives.plan_models import Plan
from queues.models import AuditEvent
from tests.console.browsers import Browser, Page
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
    assert "3 of them were redriven before, once, and died again." in page.text
    assert "TimeoutError" in page.text
    assert '{"n": 3, "order": 1}' in page.text
    assert "3 messages take 0.3 s at 10/s" in page.text
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

    assert f"Redrive {job.pk} is pending." in page.text
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
    assert "2 are left out: they were redriven more than 4 times." in page.text
    assert (
        "Canary one of each failure group, at least 1; "
        "stops when more than 0 % of a step or 5 in a row fail again" in page.text
    )


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

    assert f"plan {job.plan_id} is being run by redrive {job.pk}" in page.text
    assert page.link(f"Redrive {job.pk}") == f"/redrives/{job.pk}"


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
    assert "Waiting for a worker." in waiting.text
    assert "sent 4 of 4 done 100 %" in done.text
    assert done.one("div", role="progressbar").attributes["aria-valuenow"] == "100"
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

    assert "succeeded 1 still waiting or in flight 1 failed again, same cause 1 failed again, new cause 1" in page.text
    for words in ("succeeded", "still waiting", "failed again, same", "failed again, new"):
        assert len(operator.see(page.link(words)).rows()) == 1
    assert len(operator.see(page.link("Previously redriven dead letters of this filter")).rows()) == 2
    assert "There is no outcome" in operator.see(f"/redrives/{job.pk}/messages", 404, outcome="x").text


def test_reasons_for_skipped_messages_are_shown(operator: Browser, scene: DeadLetterScene) -> None:
    scene.add_dead(2, redrive_count=9)
    scene.add_dead(1)
    job = start(operator, scene, rate_per_second="")

    redrives.run_in_foreground(job.pk)

    assert "Skipped 2 redriven too often" in operator.see(f"/redrives/{job.pk}").text


def test_the_lever_pauses_resumes_slows_and_cancels(operator: Browser, scene: DeadLetterScene) -> None:
    scene.add_dead(4)
    job = start(operator, scene)

    assert "is paused." in operator.submit(f"/redrives/{job.pk}/pause").text
    assert "was not running" in operator.submit(f"/redrives/{job.pk}/pause").text
    assert "is resumed." in operator.submit(f"/redrives/{job.pk}/resume").text
    assert "at most 7 messages per second" in operator.submit(f"/redrives/{job.pk}/rate", rate_per_second="7").text
    assert "Nothing was changed" in operator.submit(f"/redrives/{job.pk}/rate", rate_per_second="0").text
    assert "is cancelled." in operator.submit(f"/redrives/{job.pk}/cancel").text
    assert "was over already" in operator.submit(f"/redrives/{job.pk}/cancel").text
    assert "was over already" in operator.submit(f"/redrives/{job.pk}/rate", rate_per_second="9").text

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

    row = next(text for text in viewer.see("/redrives").rows() if text.startswith(f"{job.pk} "))

    assert scene.filter in row
    assert "because <b>" in row
    assert f"{scene.queue}" in row


def test_the_sidebar_counts_running_jobs(operator: Browser, scene: DeadLetterScene) -> None:
    scene.add_dead(1)
    start(operator, scene)

    assert "running)" in operator.see("/").text  # in words, beside the count


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
        job = start(operator, scene, rate_per_second="")
        redrives.run_in_foreground(job.pk)
        for path in (f"/redrives/{job.pk}", f"/redrives/plans/{job.plan_id}"):
            operator.see(path)
            with CaptureQueriesContext(connection) as queries:
                operator.see(path)
            asked.append(len(queries))

    assert asked[:2] == asked[2:]
