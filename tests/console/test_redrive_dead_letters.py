"""Redriving: a filter, a look, a start, and a hand on the lever while it runs."""

from __future__ import annotations

from collections.abc import Callable

from dlq import redrives
from dlq.models import Redrive
from queues.models import AuditEvent
from tests.console.browsers import Browser, Page
from tests.dlq.graveyards import Graveyard


def review(browser: Browser, graveyard: Graveyard, more: str = "") -> Page:
    return browser.see("/redrives/new", q=f"{graveyard.filter} {more}".strip())


def start(browser: Browser, graveyard: Graveyard, **changed: str) -> Redrive:
    browser.submit("/redrives/new", **{**review(browser, graveyard).fields(), "reason": "fixed", **changed})
    return Redrive.objects.latest("redrive_id")


def test_the_review_shows_what_would_move_and_where_to(operator: Browser, graveyard: Graveyard) -> None:
    graveyard.bury(3, payload={"order": 1}, redrive_count=1)

    text = review(operator, graveyard).text

    assert "Messages 3" in text
    assert f"{graveyard.queue} 3, 0 consumers" in text
    assert f"{graveyard.queue} has no consumer" in text
    assert "3 of them were redriven before, once, and died again." in text
    assert "TimeoutError" in text
    assert '{"n": 3, "order": 1}' in text
    assert "3 messages take 0.3 s at 10/s" in text


def test_looking_changes_nothing(operator: Browser, graveyard: Graveyard) -> None:
    buried = graveyard.bury(2)

    review(operator, graveyard)

    assert graveyard.dead() == buried
    assert not Redrive.objects.filter(filter_text=graveyard.filter).exists()


def test_what_the_review_showed_is_what_moves(operator: Browser, graveyard: Graveyard) -> None:
    shown = graveyard.bury(3)
    form = review(operator, graveyard).fields()
    later = graveyard.bury(2)

    page = operator.submit("/redrives/new", **{**form, "reason": "partner is back", "rate_per_second": ""})
    job = redrives.run_in_foreground(Redrive.objects.latest("redrive_id").pk)

    assert f"Redrive {job.pk} is on its way." in page.text
    assert graveyard.redriven(job.pk) == shown
    assert graveyard.dead() == later
    event = AuditEvent.objects.get(action="redrive.create", details__redrive_id=job.pk)
    assert (event.actor, event.reason) == (operator.name, "partner is back")


def test_ticked_rows_become_a_filter_of_their_ids(operator: Browser, graveyard: Graveyard) -> None:
    graveyard.bury(3)
    page = operator.see("/dead-letters", q=graveyard.filter)
    ids = [one.attributes["value"] for one in page.all("input", name="id")][:2]

    chosen = operator.see("/redrives/new", id=ids, q=graveyard.filter)

    assert f"id:{ids[0]},{ids[1]}" in chosen.text
    assert "Redrive 2 messages" in chosen.text


def test_another_destination_is_looked_at_first(operator: Browser, make_graveyard: Callable[..., Graveyard]) -> None:
    graveyard, other = make_graveyard(), make_graveyard()
    graveyard.bury(1)

    page = operator.see("/redrives/new", q=graveyard.filter, target_queue=other.queue)
    operator.submit("/redrives/new", **{**page.fields(), "reason": "to the side"})

    assert f"They go to {other.queue} 1" in page.text
    assert Redrive.objects.latest("redrive_id").target_queue == other.queue


def test_a_destination_that_does_not_exist_is_refused(operator: Browser, graveyard: Graveyard) -> None:
    graveyard.bury(1)

    page = operator.see("/redrives/new", q=graveyard.filter, target_queue="no-such-queue")

    assert "queue 'no-such-queue' does not exist" in page.text
    assert page.one("input", type="hidden", name="target_queue").attributes["value"] == ""


def test_it_does_not_start_without_a_reason_or_at_an_impossible_pace(operator: Browser, graveyard: Graveyard) -> None:
    graveyard.bury(1)
    form = review(operator, graveyard).fields()

    page = operator.submit("/redrives/new", status=422, **{**form, "reason": "", "rate_per_second": "0"})

    assert page.one("input", id="id_reason").attributes["aria-invalid"] == "true"
    assert page.one("input", id="id_rate_per_second").attributes["aria-invalid"] == "true"
    assert not Redrive.objects.filter(filter_text=graveyard.filter).exists()


def test_a_mistake_in_the_filter_stops_the_review(operator: Browser) -> None:
    page = operator.see("/redrives/new", status=422, q="age:old")

    assert "old :" in page.text
    assert page.link("Mend the filter") == "/dead-letters?q=age%3Aold"


def test_a_frozen_form_that_somebody_edited_is_refused(operator: Browser, graveyard: Graveyard) -> None:
    graveyard.bury(1)
    form = review(operator, graveyard).fields()

    for name, value in (("upper_bound", "-1"), ("upper_bound", "x"), ("as_of", "yesterday"), ("filter_text", "a:b")):
        operator.submit("/redrives/new", status=422, **{**form, "reason": "r", name: value})
    assert graveyard.ready() == 0


def test_the_page_of_a_job_says_how_far_it_is(operator: Browser, viewer: Browser, graveyard: Graveyard) -> None:
    graveyard.bury(4)
    job = start(operator, graveyard, rate_per_second="")

    waiting = viewer.see(f"/redrives/{job.pk}")
    redrives.run_in_foreground(job.pk)
    done = viewer.see(f"/redrives/{job.pk}")

    assert "pending" in waiting.text
    assert "Waiting for a worker." in waiting.text
    assert "sent again 4 of 4 done 100 %" in done.text
    assert done.one("div", role="progressbar").attributes["aria-valuenow"] == "100"
    assert (
        len([link for link in done.all("a") if f"/queues/{graveyard.queue}/messages/" in link.attributes["href"]]) == 4
    )


def test_what_became_of_them_is_told(operator: Browser, graveyard: Graveyard) -> None:
    graveyard.bury(3)
    job = start(operator, graveyard, rate_per_second="")
    redrives.run_in_foreground(job.pk)
    (_, first, *_), _ = graveyard.engine.receive(2)
    graveyard.engine.nack(first, reason="rejected")

    page = operator.see(f"/redrives/{job.pk}")

    assert "completed, or not received yet 1 in flight 1 backing off after a failure 0 dead again 1" in page.text
    assert len(operator.see(page.link("dead again")).rows()) == 1


def test_the_lever_pauses_resumes_slows_and_cancels(operator: Browser, graveyard: Graveyard) -> None:
    graveyard.bury(4)
    job = start(operator, graveyard)

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
    assert len(graveyard.dead()) == 4


def test_a_viewer_watches_but_has_no_lever(viewer: Browser, operator: Browser, graveyard: Graveyard) -> None:
    graveyard.bury(1)
    job = start(operator, graveyard)

    page = viewer.see(f"/redrives/{job.pk}")

    assert page.all("span", aria_disabled="true")[0].text.startswith("Pause")
    assert viewer.post(f"/redrives/{job.pk}/cancel").status_code == 403


def test_all_redrives_are_listed(operator: Browser, viewer: Browser, graveyard: Graveyard) -> None:
    graveyard.bury(1)
    job = start(operator, graveyard, reason="because <b>")

    row = next(text for text in viewer.see("/redrives").rows() if text.startswith(f"{job.pk} "))

    assert graveyard.filter in row
    assert "because <b>" in row
    assert f"{graveyard.queue}" in row


def test_the_rail_counts_what_is_under_way(operator: Browser, graveyard: Graveyard) -> None:
    graveyard.bury(1)
    start(operator, graveyard)

    assert "under way" in operator.see("/").text


def test_a_job_that_does_not_exist_is_not_found(operator: Browser) -> None:
    assert "There is no redrive 999999." in operator.see("/redrives/999999", status=404).text
    assert operator.post("/redrives/999999/pause").status_code == 404
