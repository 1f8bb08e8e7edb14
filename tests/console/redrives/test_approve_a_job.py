"""The second person sees what was asked for, and decides."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import Group, User

from console.access import second_person
from console.access.api_keys import keys
from dlq.jobs import approvals
from dlq.jobs.models import Deletion, Job, Redrive
from dlq.redrives import plans, redrives
from dlq.redrives.plan_options import Options
from dlq.search.checked_filter import check_filter
from dlq.trash import deletions
from queues import audit
from queues.dead_letters.ids import newest_id
from tests.console.browsers import Browser
from tests.dlq.dead_letter_scenes import DeadLetterScene, create_redrive


@pytest.fixture(autouse=True)
def two_are_too_many(settings: LazySettings) -> None:
    settings.APPROVAL_REDRIVE_MESSAGES = settings.APPROVAL_DELETE_MESSAGES = 1


@pytest.fixture
def boss(commits: None) -> Browser:
    """Browser of another admin."""
    person, _ = User.objects.get_or_create(username="test-boss")
    person.groups.set(Group.objects.filter(name="admin"))
    browser = Browser("boss")
    browser.force_login(person)
    return browser


def asked(browser: Browser, scene: DeadLetterScene) -> Deletion:
    form = browser.see("/deletions/new", q=scene.filter).fields()
    page = browser.submit("/deletions/new", **{**form, "reason": "test data", "confirmation": "delete"})
    job = Deletion.objects.latest("deletion_id")
    assert f"Deletion #{job.pk} awaits approval." in page.text
    return job


def test_what_was_asked_is_approved_by_another_and_runs(admin: Browser, boss: Browser, scene: DeadLetterScene) -> None:
    scene.add_dead(3)
    job = asked(admin, scene)

    page = boss.see("/approvals")
    assert "removed: 3 dead letters" in page.text
    assert f"options: filter: {scene.filter}" in page.text
    done = boss.submit(f"/approvals/deletion/{job.pk}/approve", reason="fine")

    assert f"Deletion #{job.pk} is approved." in done.text
    assert deletions.run_in_foreground(job.pk).deleted == 3
    assert "Approved by test-boss" in boss.see(f"/deletions/{job.pk}").text


def test_the_author_of_a_job_may_not_approve_it(admin: Browser, scene: DeadLetterScene) -> None:
    scene.add_dead(2)
    job = asked(admin, scene)

    assert "Another person must decide: you requested this job." in admin.see("/approvals").text
    page = admin.submit(f"/approvals/deletion/{job.pk}/approve", status=422, reason="")
    assert "another person must decide" in page.text
    job.refresh_from_db()
    assert job.is_awaiting
    assert "Withdraw" in admin.see("/approvals").text
    assert "is cancelled" in admin.submit(f"/deletions/{job.pk}/cancel").text


def test_a_refusal_needs_a_reason_and_is_shown(admin: Browser, boss: Browser, scene: DeadLetterScene) -> None:
    scene.add_dead(2)
    job = asked(admin, scene)

    page = boss.submit(f"/approvals/deletion/{job.pk}/refuse", status=422, reason="")
    assert "reason is empty" in page.text
    boss.submit(f"/approvals/deletion/{job.pk}/refuse", reason="ask <b>sales</b>")

    assert "Refused" in admin.see(f"/deletions/{job.pk}").text
    assert "ask <b>sales</b>" in admin.see(f"/deletions/{job.pk}").text
    assert "no longer awaits approval" in boss.submit(f"/approvals/deletion/{job.pk}/approve", reason="").text


def test_an_operator_asks_and_may_not_decide(operator: Browser, boss: Browser, scene: DeadLetterScene) -> None:
    scene.add_dead(2)
    job = create_redrive(scene.filter, newest_id(), actor=operator.name, reason="again")

    assert "Deciding on approvals requires the admin role" in operator.see("/approvals").text
    assert operator.post(f"/approvals/redrive/{job.pk}/approve").status_code == 403
    boss.submit(f"/approvals/redrive/{job.pk}/approve", reason="")

    assert redrives.run_in_foreground(job.pk).moved == 2
    assert Redrive.objects.get(pk=job.pk).approved_by == "test-boss"


def test_a_plan_above_the_threshold_is_asked_for_shown_and_taken_back(
    admin: Browser, boss: Browser, scene: DeadLetterScene
) -> None:
    scene.add_dead(2)
    options = Options(patch_kind="merge", patch={"region": "eu"})
    plan = plans.make(check_filter(scene.filter), actor="ann", reason="again", options=options)

    page = admin.submit(f"/redrives/plans/{plan.pk}/run", rate_per_second="5")
    job = plan.redrives.get()

    assert f"Redrive #{job.pk} awaits approval." in page.text
    assert 'edited payloads, by a merge patch: {"region": "eu"}' in boss.see("/approvals").text
    slower = admin.submit(f"/redrives/{job.pk}/rate", rate_per_second="1")
    assert "awaits approval with its present rate" in slower.text
    assert "Cancel the redrive" in admin.see(f"/redrives/{job.pk}").text
    assert f"Redrive #{job.pk} is cancelled." in admin.submit(f"/redrives/{job.pk}/cancel").text


def test_what_waits_is_prominent(viewer: Browser, admin: Browser, scene: DeadLetterScene) -> None:
    scene.add_dead(2)
    asked(admin, scene)

    page = viewer.see("/")

    assert "approval. Approvals" in page.text
    assert "awaiting approval)" in page.text  # in the sidebar, in words
    assert "awaiting approval" in viewer.see("/redrives").text


def test_jobs_that_do_not_exist_are_not_found(boss: Browser) -> None:
    assert boss.post("/approvals/purge/999999999/approve").status_code == 404
    assert boss.post("/approvals/person/1/approve").status_code == 404


def test_nothing_waits(sign_in: Callable[[str], Browser]) -> None:
    for model in approvals.MODELS.values():
        model._default_manager.filter(state="awaiting").update(state="cancelled")

    assert "No pending approvals" in sign_in("viewer").see("/approvals").text


def test_the_creator_of_the_requesting_key_may_not_approve(
    admin: Browser, boss: Browser, scene: DeadLetterScene
) -> None:
    """Names of keys can be reused: what counts is the creator of the key that had the name at that time."""
    scene.add_dead(2)
    made = keys.create(f"key-of-{scene.engine.queue}", "redrive", actor=admin.name).row
    job = create_redrive(scene.filter, newest_id(), actor=f"key:{made.name}", reason="")
    keys.revoke(made.pk, actor=admin.name)
    keys.create(made.name, "redrive", actor=boss.name)

    assert "you created the API key that requested this job" in admin.see("/approvals").text
    refused = admin.submit(f"/approvals/redrive/{job.pk}/approve", status=422, reason="fine")
    assert "Another person must decide" in refused.text
    assert refused.one("input", name="reason").attributes["value"] == "fine"
    assert Redrive.objects.get(pk=job.pk).is_awaiting
    assert f"Redrive #{job.pk} is approved." in boss.submit(f"/approvals/redrive/{job.pk}/approve").text


@pytest.fixture
def named(commits: None) -> Callable[[str], Browser]:
    """Person with every right and without an account here."""

    def make(name: str) -> Browser:
        browser = Browser(f"{name}-{uuid.uuid4().hex[:8]}")
        person = User.objects.create_user(browser.name)
        person.groups.set(Group.objects.filter(name="admin"))
        browser.force_login(person)
        return browser

    return make


def opens(giver: Browser, taker: Browser, action: str) -> None:
    """One opens the other's account, in the way that the audit calls so."""
    details: dict[str, Any] = {"person": taker.name}
    if action == "person.change":
        details["changes"] = {"role": {"before": "viewer", "after": "admin"}}
    audit.record(giver.name, action, details=details | ({"role": "admin"} if action == "grant.give" else {}))


def decided(second: Browser, job: Deletion) -> bool:
    second.post(f"/approvals/deletion/{job.pk}/approve")
    job.refresh_from_db()
    return job.state != Job.State.AWAITING


def test_a_user_created_by_the_author_is_no_second_person(
    admin: Browser, scene: DeadLetterScene, commits: None
) -> None:
    """An admin creates an account on the page and logs in with it."""
    scene.add_dead(2)
    puppet = f"puppet-{uuid.uuid4().hex[:8]}"
    admin.submit("/people", username=puppet, password="quite long and odd", role="admin")
    second = Browser(puppet)
    second.force_login(User.objects.get(username=puppet))
    job = asked(admin, scene)

    assert f"{admin.name} opened the account of {puppet}" in second.see("/approvals").text
    assert not decided(second, job)


@pytest.mark.parametrize("action", second_person.OPENING)
@pytest.mark.parametrize("way", ["made by the author", "made the author", "made by the same", "made by one who was"])
def test_two_accounts_of_one_hand_are_one_person(
    named: Callable[[str], Browser], scene: DeadLetterScene, action: str, way: str
) -> None:
    scene.add_dead(2)
    author, second, third = named("author"), named("second"), named("third")
    pairs = {
        "made by the author": [(author, second)],
        "made the author": [(second, author)],
        "made by the same": [(third, author), (third, second)],
        "made by one who was": [(author, third), (third, second)],
    }
    for giver, taker in pairs[way]:
        opens(giver, taker, action)

    assert not decided(second, asked(author, scene))


def test_after_some_days_and_by_the_machine_it_is_a_second_person(
    named: Callable[[str], Browser], scene: DeadLetterScene, settings: LazySettings
) -> None:
    scene.add_dead(2)
    author, second = named("author"), named("second")
    for taker in (author, second):
        audit.record("manage.py", "person.unlock", details={"person": taker.name})
    opened = {"role": {"before": "admin", "after": "viewer"}, "active": {"before": True, "after": False}}
    audit.record(author.name, "person.change", details={"person": second.name, "changes": opened})
    job = asked(author, scene)
    assert decided(second, job)

    opens(author, second, "person.create")
    settings.SECOND_PERSON_DAYS = 0
    assert decided(second, asked(author, scene))
