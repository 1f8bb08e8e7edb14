"""Titles by template, merging by picking, owners, snoozing and comments of failure groups."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from dlq.failure_groups.models import GroupNote
from dlq.failure_groups.notes import comments_of, describe
from dlq.failure_groups.reading import FailureGroup, read_group
from dlq.redrives import plans, redrives
from dlq.redrives.plan_options import Options
from dlq.search.checked_filter import check_filter
from dlq.trash import deletions
from queues.dead_letters.ids import newest_id
from queues.models import AuditEvent
from tests.console.access.reaches import sign_in_with
from tests.console.browsers import Browser, Page
from tests.dlq.dead_letter_scenes import DeadLetterScene
from tests.queues.dead_letters.clusters import fold


@pytest.fixture
def cause(scene: DeadLetterScene) -> str:
    """A class of error that only this test has."""
    return f"shop.Declined-{scene.queue}"


def address(cause: str) -> str:
    return f"/dead-letters/failure-groups/fp-{cause}"


def group_of(cause: str) -> FailureGroup:
    group = read_group(f"fp-{cause}")
    assert group is not None
    return group


def folded(page: Page) -> str:
    """The text of the snoozed groups in a list."""
    return next((one.text for one in page.all("details") if one.attributes.get("id") == "snoozed"), "")


def test_the_title_has_the_parts_that_all_errors_share(
    operator: Browser, viewer: Browser, scene: DeadLetterScene, cause: str
) -> None:
    scene.add_dead(2, error_class=cause, error="card ending 4742: code <b>54")

    for path, asked in ((address(cause), {}), ("/dead-letters", {"q": scene.filter})):
        page = operator.see(path, **asked)
        title = page.all("p", class_="template") + page.all("span", class_="template")
        assert title[0].text == "card ending <n> : code <b> <n>"
        assert "card ending 4742: code <b>54" in page.text
        assert "<b>54" not in page.html
        assert "card ending" not in viewer.see(path, **asked).html


def test_a_counted_title_is_the_one_that_the_fingerprint_reads(scene: DeadLetterScene, cause: str) -> None:
    scene.add_dead(1, error_class=cause, error='unknown key "a" of order 7f0c2d18')
    before = group_of(cause).template
    fold(scene.engine)

    assert before == group_of(cause).template == "unknown key * of order *"


def test_a_merge_is_picked_and_previewed(
    operator: Browser, scene: DeadLetterScene, make_dead_letter_scene: Callable[..., DeadLetterScene], cause: str
) -> None:
    scene.add_dead(2, error_class=cause)
    scene.add_dead(3, error_class=f"{cause}-here")
    make_dead_letter_scene().add_dead(4, error_class=f"{cause}-elsewhere")

    page = operator.see(operator.see(address(cause)).link("Merge…"))

    picks = {one.attributes["value"] for one in page.all("input", type="radio")}
    assert f"fp-{cause}-here" in picks
    assert not {f"fp-{cause}", f"fp-{cause}-elsewhere"} & picks
    page = operator.see(f"{address(cause)}/merge/preview", into=f"fp-{cause}-here", other="")
    assert "2 + 3 = 5" in page.text
    into = page.one("input", name="into", type="hidden").attributes["value"]
    assert "dead letters now 5" in operator.submit(f"{address(cause)}/merge", into=into).text


def test_a_group_can_be_picked_by_its_fingerprint(
    operator: Browser, scene: DeadLetterScene, make_dead_letter_scene: Callable[..., DeadLetterScene], cause: str
) -> None:
    scene.add_dead(2, error_class=cause)
    make_dead_letter_scene().add_dead(4, error_class=f"{cause}-elsewhere")
    preview = f"{address(cause)}/merge/preview"

    assert "2 + 4 = 6" in operator.see(preview, other=f"fp-{cause}-elsewhere").text
    assert "There is no failure group v2:none" in operator.see(preview, 422, other="v2:none").text
    assert "This is the same failure group" in operator.see(preview, 422, other=f"fp-{cause}").text


def test_one_click_assigns_the_group_to_me(operator: Browser, scene: DeadLetterScene, cause: str) -> None:
    scene.add_dead(1, error_class=cause)
    assert operator.name in {one.attributes["value"] for one in operator.see(address(cause)).all("option")}

    operator.submit(f"{address(cause)}/care", owner="", runbook_url="", note="n", assign_to_me="1")

    assert GroupNote.objects.get(fingerprint=f"fp-{cause}").owner == operator.name


def test_notes_that_two_people_edit_are_not_overwritten(operator: Browser, scene: DeadLetterScene, cause: str) -> None:
    scene.add_dead(1, error_class=cause)
    key = f"fp-{cause}"
    opened = {"initial-owner": "", "initial-runbook_url": "", "initial-note": "", "runbook_url": ""}
    describe(key, owner="ana", note="ask the bank", runbook_url="https://wiki.example", actor="ana")

    page = operator.submit(f"{address(cause)}/care", **opened, owner="bea", note="")
    assert "Another person changed this to “ana” after you opened the page." in page.text
    assert (page.fields()["owner"], page.fields()["initial-owner"]) == ("bea", "ana")
    assert GroupNote.objects.get(fingerprint=key).owner == "ana"

    operator.submit(f"{address(cause)}/care", **{**opened, "initial-owner": "ana"}, owner="bea", note="")
    saved = GroupNote.objects.get(fingerprint=key)
    assert (saved.owner, saved.note, saved.runbook_url) == ("bea", "ask the bank", "https://wiki.example")


def test_a_snooze_ends_after_more_failures(operator: Browser, scene: DeadLetterScene, cause: str) -> None:
    scene.add_dead(3, error_class=cause)

    page = operator.submit(f"{address(cause)}/snooze", until="", failures="2", reason="known")

    assert "snoozed until 2 more failures" in page.text
    assert cause.partition(".")[2] in folded(operator.see("/dead-letters", q=scene.filter))
    scene.add_dead(1, error_class=cause)
    fold(scene.engine)
    assert "snoozed until 1 more failure" in operator.see(address(cause)).text
    scene.add_dead(1, error_class=cause)
    assert folded(operator.see("/dead-letters", q=scene.filter)) == ""
    assert AuditEvent.objects.filter(action="failure_group.snooze", details__fingerprint=f"fp-{cause}").count() == 1


def test_a_snooze_ends_at_its_time_or_by_hand(operator: Browser, scene: DeadLetterScene, cause: str) -> None:
    scene.add_dead(1, error_class=cause)
    until = datetime.now(UTC) + timedelta(days=1)
    asked = {"until": f"{until:%Y-%m-%dT%H:%M}", "failures": "", "reason": ""}

    operator.submit(f"{address(cause)}/snooze", **asked)
    assert "snoozed until" in operator.see(address(cause)).text
    operator.submit(f"{address(cause)}/end-snooze")
    assert not group_of(cause).is_snoozed

    operator.submit(f"{address(cause)}/snooze", **asked)
    GroupNote.objects.filter(fingerprint=f"fp-{cause}").update(snoozed_until=datetime.now(UTC))
    assert not group_of(cause).is_snoozed


@pytest.mark.parametrize(
    ("until", "failures", "said"),
    [
        ("", "", "Enter a time, a number of failures, or both."),
        ("2001-01-01T00:00", "", "the time is in the past"),
        ("soon", "", "is not a date or time"),
        ("", "0", "Enter a whole number from 1 to"),
    ],
)
def test_a_snooze_without_an_end_is_refused(
    operator: Browser, scene: DeadLetterScene, cause: str, until: str, failures: str, said: str
) -> None:
    scene.add_dead(1, error_class=cause)

    page = operator.submit(f"{address(cause)}/snooze", until=until, failures=failures, reason="")

    errors = page.one("div", id="form-errors").text
    assert errors.startswith("Nothing was saved. Correct the following")
    assert said in errors
    assert not group_of(cause).is_snoozed


def test_comments_are_a_thread_of_text(operator: Browser, admin: Browser, scene: DeadLetterScene, cause: str) -> None:
    scene.add_dead(1, error_class=cause)

    operator.submit(f"{address(cause)}/comment", text="ask <b>the bank</b>\nfirst")
    page = admin.submit(f"{address(cause)}/comment", text="done")

    thread = page.html.split('class="thread"')[1].split("</ol>")[0]
    assert thread.index(operator.name) < thread.index(admin.name)
    assert "ask &lt;b&gt;the bank&lt;/b&gt;<br>first" in thread
    assert AuditEvent.objects.filter(action="failure_group.comment", details__fingerprint=f"fp-{cause}").count() == 2
    refused = operator.submit(f"{address(cause)}/comment", text=" ")
    assert "Comment : This field is required." in refused.one("div", id="form-errors").text


def test_a_comment_is_deleted_by_its_author_alone(
    operator: Browser, admin: Browser, scene: DeadLetterScene, cause: str
) -> None:
    scene.add_dead(1, error_class=cause)
    operator.submit(f"{address(cause)}/comment", text="a token that should not stand here")
    (written,) = comments_of([f"fp-{cause}"])

    refused = admin.submit(f"{address(cause)}/delete-comment", comment_id=str(written.pk))
    assert "only its author can delete a comment" in refused.text
    assert "Delete this comment" not in refused.text
    page = operator.submit(f"{address(cause)}/delete-comment", comment_id=str(written.pk))
    assert "Comment deleted." in page.text
    assert comments_of([f"fp-{cause}"]) == []
    event = AuditEvent.objects.get(action="failure_group.delete_comment", details__fingerprint=f"fp-{cause}")
    assert (event.actor, event.details["comment_id"]) == (operator.name, written.pk)
    assert "token" not in str(event.details)


def test_the_activity_of_a_group_has_its_states_and_its_redrives(
    operator: Browser, scene: DeadLetterScene, make_dead_letter_scene: Callable[..., DeadLetterScene], cause: str
) -> None:
    scene.add_dead(2, error_class=cause)
    operator.submit(f"{address(cause)}/state", state="acknowledged", reason="<i>the bank</i> is down")
    form = operator.see(operator.see(address(cause)).link("Redrive…")).fields()
    plan = operator.submit("/redrives/new", **form | {"reason": "it is up again"})
    [run] = [one for form in plan.all("form") if (one := form.attributes.get("action", "")).endswith("/run")]
    operator.submit(run, **plan.fields())

    page = operator.see(address(cause))
    activity = page.one("section", id="activity").text

    started, acknowledged = activity.index("started a redrive"), activity.index("set the state to acknowledged")
    assert started < acknowledged
    assert "it is up again" in activity
    assert "<i>the bank</i> is down" in activity
    assert "<i>the bank" not in page.html
    assert page.link("redrive ").startswith("/redrives/")


def test_the_activity_has_every_job_that_touched_the_group(
    operator: Browser, scene: DeadLetterScene, cause: str
) -> None:
    """List jobs whatever their filters are; a job without a message of the group is not listed."""
    scene.add_dead(3, error_class=cause)
    other = f"{cause}Other"
    scene.add_dead(1, error_class=other)
    patch = Options(patch_kind="json", patch=[{"op": "add", "path": "/again", "value": True}])
    for filter_text, options in ((f"queue:{scene.queue}", None), (f"class:{cause}", patch), (f"class:{other}", None)):
        plan = plans.make(check_filter(filter_text), actor="ann", reason=f"by {filter_text}", options=options)
        redrives.run(plan.pk, actor="ann", wake=False)
    removal = deletions.create(check_filter(f"queue:{scene.queue}"), newest_id(), actor="bob", reason="all old")
    deletions.cancel(removal.pk, actor="eve")

    activity = operator.see(address(cause)).one("section", id="activity").text

    assert f"by queue:{scene.queue}" in activity
    assert f"by class:{cause}" in activity
    assert f"by class:{other}" not in activity
    assert "bob started a deletion" in activity
    assert "eve cancelled a deletion" in activity


def test_the_activity_of_a_merged_group_has_the_jobs_of_its_parts(
    operator: Browser, scene: DeadLetterScene, cause: str
) -> None:
    scene.add_dead(1, error_class=cause)
    scene.add_dead(1, error_class=f"{cause}Again")
    plan = plans.make(check_filter(f"class:{cause}Again"), actor="ann", reason="before the merge")
    redrives.run(plan.pk, actor="ann", wake=False)

    operator.submit(f"{address(f'{cause}Again')}/merge", into=f"fp-{cause}")

    assert "before the merge" in operator.see(address(cause)).one("section", id="activity").text


def test_a_person_with_grants_sees_no_job_over_other_queues(
    scene: DeadLetterScene, make_dead_letter_scene: Callable[..., DeadLetterScene], cause: str
) -> None:
    elsewhere = make_dead_letter_scene()
    scene.add_dead(2, error_class=cause)
    elsewhere.add_dead(1, error_class=f"{cause}Other")
    for filter_text in (f"class:{cause},{cause}Other", f"queue:{scene.queue}"):
        plan = plans.make(check_filter(filter_text), actor="ann", reason=f"by {filter_text}")
        redrives.run(plan.pk, actor="ann", wake=False)

    page = sign_in_with({"operator": [(None, scene.queue)]}).see(address(cause))

    activity = page.one("section", id="activity").text
    assert f"by queue:{scene.queue}" in activity
    assert "Other" not in activity
