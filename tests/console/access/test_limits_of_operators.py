"""Operators pause, purge, delete and undo: up to their limit at once, above it with an approval by an admin."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User

from console.access.grants.models import Grant
from dlq.jobs.models import Deletion, Job, Purge, Undo
from dlq.trash import purges
from tests.console.browsers import Browser
from tests.dlq.dead_letter_scenes import DeadLetterScene
from tests.engine import Engine

LIMIT = 2


@pytest.fixture(autouse=True)
def limit(settings: LazySettings) -> None:
    settings.APPROVAL_OPERATOR_MESSAGES = LIMIT


def purge(browser: Browser, engine: Engine, messages: int) -> Job:
    for _ in range(messages):
        engine.send()
    path = f"/queues/{engine.queue}/purge"
    page = browser.see(path)
    browser.submit(path, **{**page.fields(), "states": ["ready"], "typed_name": engine.queue, "reason": "r"})
    return Purge.objects.latest("purge_id")


def delete(browser: Browser, engine: Engine, messages: int) -> Job:
    for _ in range(messages):
        engine.die({})
    form = browser.see("/deletions/new", q=f"queue:{engine.queue}").fields()
    browser.submit("/deletions/new", **{**form, "reason": "r", "confirmation": "delete"})
    return Deletion.objects.latest("deletion_id")


def undo(browser: Browser, engine: Engine, messages: int) -> Job:
    for _ in range(messages):
        engine.send()
    bounds = purges.preview(engine.queue, ["ready"]).bounds
    job = purges.create(engine.queue, ["ready"], bounds, engine.queue, actor="ann", reason="r")
    purges.run_in_foreground(job.pk)
    review = browser.see("/undos/new", noun="purge", id=str(job.pk))
    browser.submit("/undos/new", **{**review.fields(), "reason": "r"})
    return Undo.objects.latest("undo_id")


@pytest.mark.parametrize("act", [purge, delete, undo])
def test_a_job_above_the_limit_waits_and_an_admins_does_not(
    operator: Browser, admin: Browser, engine: Engine, act: Callable[[Browser, Engine, int], Job]
) -> None:
    within = act(operator, engine, LIMIT)
    above = act(operator, engine, LIMIT + 1)
    of_admin = act(admin, engine, LIMIT + 1)

    assert [job.state for job in (within, above, of_admin)] == ["pending", "awaiting", "pending"]
    assert above.needs_approval
    assert operator.post(f"/approvals/{above.NOUN}/{above.pk}/approve").status_code == 403
    admin.submit(f"/approvals/{above.NOUN}/{above.pk}/approve", reason="fine")
    above.refresh_from_db()
    assert (above.state, above.approved_by) == ("pending", admin.name)


def test_the_form_names_the_limit(operator: Browser, admin: Browser, engine: Engine) -> None:
    sentence = "Above 2 messages, an admin who is not the author must approve the job."

    assert sentence in operator.see(f"/queues/{engine.queue}/purge").text
    assert sentence not in admin.see(f"/queues/{engine.queue}/purge").text


def test_the_smaller_of_limit_and_threshold_applies(operator: Browser, engine: Engine, settings: LazySettings) -> None:
    settings.APPROVAL_DELETE_MESSAGES = 1

    assert purge(operator, engine, LIMIT).state == "awaiting"


def test_an_operator_pauses_and_resumes(operator: Browser, engine: Engine) -> None:
    assert f"Paused {engine.queue}." in operator.submit(f"/queues/{engine.queue}/pause", reason="late").text
    assert f"Resumed {engine.queue}." in operator.submit(f"/queues/{engine.queue}/resume").text


def test_an_admin_of_some_queues_is_limited_in_the_others(operator: Browser, scene: DeadLetterScene) -> None:
    """The selection reaches beyond the queues of the grant, so the limit applies to the whole deletion."""
    scene.add_dead(LIMIT + 1)
    person = User.objects.get(pk=int(operator.session["_auth_user_id"]))
    grant = Grant.objects.create(person=person, role="admin", queue_prefix="elsewhere-", created_by="x")
    try:
        form = operator.see("/deletions/new", q=scene.filter).fields()
        operator.submit("/deletions/new", **{**form, "reason": "r", "confirmation": "delete"})
    finally:
        grant.delete()  # other tests use the same person

    assert Deletion.objects.latest("deletion_id").state == "awaiting"
