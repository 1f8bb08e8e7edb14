"""manage.py quota: a tenant's quotas from a terminal."""

from __future__ import annotations

import io
import json
import uuid
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from queues.control.queues import create_queue
from queues.control.quotas import get_tenant
from queues.models import AuditEvent


@pytest.fixture
def tenant(commits: None) -> str:
    name = f"tenant-{uuid.uuid4().hex[:8]}"
    create_queue(f"{name}-queue", tenant=name)
    return name


def quota(*words: str, **options: Any) -> str:
    answer = io.StringIO()
    call_command("quota", *words, stdout=answer, **options)
    return answer.getvalue()


def test_set_and_show(tenant: str) -> None:
    said = quota("set", tenant, "max_queues=5", "publish_rate_per_second=2.5", reason="agreed")

    assert said == f"{tenant}: max_queues 5, publish_rate_per_second 2.5\n"
    shown = quota("show", tenant)
    assert "max_queues: 5\n" in shown
    assert "max_in_flight: no limit\n" in shown
    assert json.loads(quota("show", tenant, json=True))["publish_rate_per_second"] == 2.5
    event = AuditEvent.objects.get(action="tenant.quota", details__tenant=tenant)
    assert (event.actor, event.reason) == ("manage.py", "agreed")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("max_sheep=5", "max_sheep is not a quota"),
        ("max_queues", "is no quota: write NAME=VALUE"),
        ("max_queues=many", "max_queues is 'many': it must be a number"),
        ("max_queues=1.5", "max_queues is 1.5: it must be a whole number"),
        ("max_queues=-1", "max_queues is -1: it must be from 0 to"),
    ],
)
def test_a_mistake_is_named_and_changes_nothing(tenant: str, words: str, problem: str) -> None:
    with pytest.raises(CommandError, match=problem):
        quota("set", tenant, "max_in_flight=3", words)

    assert get_tenant(tenant).max_in_flight == 0
    assert not AuditEvent.objects.filter(action="tenant.quota", details__tenant=tenant).exists()


def test_an_unknown_tenant_is_named(commits: None) -> None:
    with pytest.raises(CommandError, match="tenant 'missing' does not exist"):
        quota("show", "missing")


def test_setting_what_is_set_already_records_nothing(tenant: str) -> None:
    quota("set", tenant, "max_queues=0")

    assert not AuditEvent.objects.filter(action="tenant.quota", details__tenant=tenant).exists()
