"""Tenants: who looks sees quotas beside what is used of them; an admin changes them."""

from __future__ import annotations

import uuid

import psycopg
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from queues.control.queues import create_queue, get_queue
from queues.control.quotas import set_quota
from queues.models import AuditEvent, Tenant
from queues.settings import QUOTAS
from tests.console.browsers import Browser
from tests.engine import Engine


@pytest.fixture
def engine(engine: Engine, commits: None) -> Engine:
    """A queue of a tenant of its own."""
    name = f"tenant-{uuid.uuid4().hex[:8]}"
    queue = create_queue(f"{name}-queue", tenant=name)
    return Engine(engine.connection, queue.name, queue.queue_id)


@pytest.fixture
def tenant(engine: Engine) -> Tenant:
    return get_queue(engine.queue).tenant


def row(browser: Browser, tenant: Tenant) -> str:
    return next(text for text in browser.see("/tenants").rows() if text.startswith(tenant.name))


def test_the_list_shows_quotas_and_what_is_used(viewer: Browser, engine: Engine, tenant: Tenant) -> None:
    engine.send("first")
    engine.send("second")
    engine.receive(1)
    assert row(viewer, tenant).startswith(f"{tenant.name} 1 2 — no quota 1 ")

    set_quota(tenant.name, {"max_backlog_messages": 2, "max_in_flight": 7, "max_long_polls": 3}, actor="test")
    with pytest.raises(psycopg.Error):
        engine.send("third")
    engine.value("select signalbox.estimate_sizes()")

    shown = row(viewer, tenant)
    assert shown.startswith(f"{tenant.name} 1 queue refuses sends 1 2 of 2 — no quota 1 of 7 ")
    assert shown.endswith("0 of 3")
    bars = [one for one in viewer.see("/tenants").all("rect") if one.attributes.get("class") == "fill"]
    assert ("bad", "100.00") in [(bar.attributes["data-tone"], bar.attributes["width"]) for bar in bars]


def test_a_quota_below_the_present_use_is_said_with_numbers(admin: Browser, engine: Engine, tenant: Tenant) -> None:
    for number in range(3):
        engine.send(number)
    path = f"/tenants/{tenant.pk}"
    page = admin.see(path)
    assert "In use: 3." in page.text

    below = admin.submit(path, status=200, **{**page.fields(), "max_backlog_messages": "2", "reason": "r"})
    above = admin.submit(path, status=200, **{**page.fields(), "max_backlog_messages": "4", "reason": "r"})

    assert "Messages: 3 in use, above the new quota of 2: existing messages are kept" in below.text
    assert "above the new quota" not in above.text


def test_a_quota_below_the_present_use_is_warned_of_before_it_is_saved(
    admin: Browser, engine: Engine, tenant: Tenant
) -> None:
    for text in ("first", "second"):
        engine.send(text)
    create_queue(f"{tenant.name}-other", tenant=tenant.name)
    path = f"/tenants/{tenant.pk}"

    values = {"max_queues": "1", "max_backlog_messages": "2"}
    page = admin.submit(path, status=200, **{**admin.see(path).fields(), **values})

    warning = "Queues: 2 in use, above the new quota of 1: existing queues are kept, new ones are refused."
    assert warning in page.text
    assert "Messages: 2 in use" not in page.text
    assert "Changed 2 quotas" in admin.confirm(path, page).text


def test_a_quota_that_another_person_changed_is_decided_and_not_overwritten(admin: Browser, tenant: Tenant) -> None:
    path = f"/tenants/{tenant.pk}"
    opened = admin.see(path).fields()
    set_quota(tenant.name, {"max_queues": 4}, actor="ana")

    page = admin.submit(path, status=200, **{**opened, "max_queues": "9", "max_in_flight": "5"})

    assert "ana changed it from 0 queues to 4 queues, " in page.text
    assert "Keep 4 queues" in page.text
    admin.confirm(path, page, status=422)
    admin.confirm(path, page, **{"choose-max_queues": "theirs"})
    tenant.refresh_from_db()
    assert (tenant.max_queues, tenant.max_in_flight) == (4, 5)


def test_an_admin_changes_quotas_and_it_is_recorded(admin: Browser, engine: Engine, tenant: Tenant) -> None:
    path = f"/tenants/{tenant.pk}"
    form = admin.see(path).fields()
    assert set(QUOTAS) <= set(form)

    page = admin.change(path, max_backlog_messages="5", max_queues="9", reason="agreed")

    assert f"Changed 2 quotas of {tenant.name}." in page.text
    tenant.refresh_from_db()
    assert (tenant.max_backlog_messages, tenant.max_queues, tenant.max_in_flight) == (5, 9, 0)
    event = AuditEvent.objects.get(action="tenant.quota", details__tenant=tenant.name)
    assert (event.actor, event.reason) == (admin.name, "agreed")
    assert event.details["changes"] == {
        "max_backlog_messages": {"before": 0, "after": 5},
        "max_queues": {"before": 0, "after": 9},
    }
    assert get_queue(engine.queue).admission_flags == 1


def test_out_of_range_is_refused_at_its_field(admin: Browser, tenant: Tenant) -> None:
    path = f"/tenants/{tenant.pk}"
    form = admin.see(path).fields()

    page = admin.submit(path, status=422, **{**form, "max_queues": "-1"})

    assert page.one("input", id="id_max_queues").attributes["aria-invalid"] == "true"
    assert "Nothing was changed." in admin.submit(path, **form).text


def test_a_viewer_sees_quotas_and_who_may_change_them(viewer: Browser, tenant: Tenant) -> None:
    page = viewer.see(f"/tenants/{tenant.pk}")

    assert "Changing queues, streams and quotas requires the admin role." in page.text
    assert viewer.post(f"/tenants/{tenant.pk}", {"max_queues": "1"}).status_code == 403
    assert viewer.see("/tenants/999999999", status=404)


def test_the_list_takes_the_same_queries_for_many_tenants(viewer: Browser, tenant: Tenant) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            viewer.see("/tenants")
        return len(captured)

    before = queries()
    for number in range(3):
        create_queue(f"{tenant.name}-more-{number}", tenant=f"{tenant.name}-{number}")

    assert queries() == before


def test_the_page_of_a_queue_says_that_it_refuses(viewer: Browser, engine: Engine, tenant: Tenant) -> None:
    set_quota(tenant.name, {"publish_rate_per_second": 0.001}, actor="test")
    engine.send("first")
    with pytest.raises(psycopg.Error):
        engine.send("second")
    engine.value("select signalbox.estimate_sizes()")

    assert (
        "Sends were refused in the last minute: sends exceed the rate limit"
        in viewer.see(f"/queues/{engine.queue}").text
    )


def test_sending_by_hand_is_refused_in_words(admin: Browser, engine: Engine, tenant: Tenant) -> None:
    set_quota(tenant.name, {"max_backlog_messages": 1}, actor="test")
    engine.send("first")

    page = admin.submit(f"/queues/{engine.queue}/send", status=422, payload="{}", priority="0")

    assert f"max_backlog_messages of tenant '{tenant.name}' is 1, and this would make it 2" in page.text


def test_a_queue_too_many_is_refused_in_words(admin: Browser, engine: Engine, tenant: Tenant) -> None:
    set_quota(tenant.name, {"max_queues": 1}, actor="test")
    form = admin.see("/new-queue").fields()

    page = admin.submit("/new-queue", status=422, **{**form, "name": f"{tenant.name}-2", "tenant": tenant.name})

    assert f"max_queues of tenant '{tenant.name}' is 1, and this would make it 2" in page.text
