"""Rules of approvals: an admin sets them in the console, the environment locks them, and jobs follow them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.conf import LazySettings

from dlq.jobs import approval_rules
from dlq.jobs.approval_rules import ApprovalRule
from dlq.jobs.models import Purge
from dlq.trash import purges
from queues.errors import InvalidArgument
from queues.models import AuditEvent
from tests.console.browsers import Browser
from tests.engine import Engine

PATH = "/approvals/rules"


@pytest.fixture(autouse=True)
def rules_are_removed(commits: None) -> Iterator[None]:
    yield
    ApprovalRule.objects.all().delete()


def purge_of_two(engine: Engine) -> Purge:
    for _ in range(2):
        engine.send()
    bounds = purges.preview(engine.queue, ["ready"]).bounds
    return purges.create(engine.queue, ["ready"], bounds, engine.queue, actor="ann", reason="r")


def test_an_admin_switches_approvals_on(admin: Browser, engine: Engine) -> None:
    assert purge_of_two(engine).state == "pending"

    page = admin.change(PATH, purge_or_deletion_above="1", expiry="2", reason="four eyes")

    assert "Changed 2 approval rules." in page.text
    assert [row for row in page.rows() if row.startswith(f"Purge or deletion above 1 message saved by {admin.name}")]
    job = purge_of_two(engine)
    assert job.state == "awaiting"
    assert job.approval_expires_at is not None
    assert (job.approval_expires_at - job.created_at).total_seconds() == pytest.approx(7200, abs=60)
    event = AuditEvent.objects.filter(action="approval_rules.change").latest("audit_event_id")
    assert (event.actor, event.reason) == (admin.name, "four eyes")
    assert event.details["changes"]["purge_or_deletion_above"] == {"before": 0, "after": 1}


def test_a_viewer_sees_the_rules_and_cannot_change_them(viewer: Browser) -> None:
    page = viewer.see(PATH)

    assert "Operator limit 1,000 messages default" in page.rows()
    assert "Managing people and access requires the admin role." in page.text
    assert viewer.post(PATH, {"undo_above": "5", "reason": "r"}).status_code == 403
    assert not ApprovalRule.objects.exists()


def test_the_environment_locks_a_rule(admin: Browser, settings: LazySettings) -> None:
    admin.change(PATH, undo_above="7", reason="r")
    settings.APPROVAL_UNDO_MESSAGES, settings.APPROVAL_RULES_LOCKED = 9, {"APPROVAL_UNDO_MESSAGES"}

    page = admin.see(PATH)
    assert "Undo above 9 messages environment variable APPROVAL_UNDO_MESSAGES" in page.rows()
    assert "disabled" in next(one for one in page.all("input") if one.attributes.get("name") == "undo_above").attributes
    admin.submit(PATH, **{**page.fields(), "undo_above": "0", "reason": "r"})
    assert approval_rules.values()["undo_above"] == 9
    with pytest.raises(InvalidArgument, match="APPROVAL_UNDO_MESSAGES sets this value"):
        approval_rules.save({"undo_above": 0}, {"undo_above": 9}, actor="ann", reason="r")


def test_a_change_by_another_admin_is_shown_and_not_overwritten(admin: Browser) -> None:
    opened = admin.see(PATH).fields()
    approval_rules.save({"redrive_above": 500}, {"redrive_above": 0}, actor="bea", reason="r")

    page = admin.submit(PATH, status=200, **{**opened, "redrive_above": "20", "undo_above": "3", "reason": "mine"})

    assert "Keep 500 messages as Redrive above Save 20 messages as Redrive above" in page.text
    assert (page.fields()["undo_above"], page.fields()["reason"]) == ("3", "mine")
    assert (approval_rules.values()["redrive_above"], approval_rules.values()["undo_above"]) == (500, 0)
    admin.confirm(PATH, page, **{"choose-redrive_above": "mine"})
    assert (approval_rules.values()["redrive_above"], approval_rules.values()["undo_above"]) == (20, 3)


def test_a_mistake_keeps_what_was_typed(admin: Browser) -> None:
    form = admin.see(PATH).fields()

    page = admin.submit(PATH, status=422, **{**form, "expiry": "0", "undo_above": "12", "reason": ""})

    assert page.fields()["undo_above"] == "12"
    assert not ApprovalRule.objects.exists()
