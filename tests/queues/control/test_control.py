"""The control plane from Django: each change with its audit row, in one transaction."""

from __future__ import annotations

import uuid

import pytest

from queues.control.queues import configure_queue, create_queue, get_queue, pause_queue, resume_queue
from queues.errors import InvalidArgument, QueueNotFound
from queues.models import AuditEvent, Queue
from queues.settings import SETTINGS

pytestmark = pytest.mark.usefixtures("commits")


@pytest.fixture
def name() -> str:
    return f"control-{uuid.uuid4().hex[:8]}"


def actions(queue: Queue) -> list[tuple[str, str, str]]:
    events = AuditEvent.objects.filter(queue=queue).order_by("audit_event_id")
    return [(event.actor, event.action, event.reason) for event in events]


def test_creating_a_queue_is_recorded_once(name: str) -> None:
    queue = create_queue(name, {"max_receives": 3}, tenant="acme", actor="ann")
    create_queue(name, {"max_receives": 3}, tenant="acme", actor="bob")

    assert (queue.tenant.name, queue.max_receives) == ("acme", 3)
    assert actions(queue) == [("ann", "queue.create", "")]


def test_a_queue_stays_with_its_tenant(name: str) -> None:
    create_queue(name, tenant="acme", actor="ann")

    with pytest.raises(InvalidArgument) as refused:
        create_queue(name, tenant="globex", actor="ann")
    assert refused.value.field == "tenant"


def test_a_change_is_recorded_with_both_values(name: str) -> None:
    queue = create_queue(name, actor="ann")
    configure_queue(name, {"max_receives": 9, "jitter": 0.2}, actor="bob", reason="flaky partner")

    event = AuditEvent.objects.get(queue=queue, action="queue.configure")
    assert (event.actor, event.reason) == ("bob", "flaky partner")
    assert event.details == {"changes": {"max_receives": {"before": 5, "after": 9}}}


def test_a_refused_change_is_not_recorded(name: str) -> None:
    queue = create_queue(name, actor="ann")

    with pytest.raises(InvalidArgument) as refused:
        configure_queue(name, {"max_receives": 9, "jitter": 7}, actor="bob")

    assert refused.value.field == "jitter"
    assert get_queue(name).max_receives == 5
    assert actions(queue) == [("ann", "queue.create", "")]


def test_pausing_twice_is_no_error_and_one_record(name: str) -> None:
    queue = create_queue(name, actor="ann")

    assert pause_queue(name, actor="bob", reason="vendor outage") is True
    assert pause_queue(name, actor="carl") is False
    paused = get_queue(name)
    assert (paused.paused, paused.paused_by, paused.paused_reason) == (True, "bob", "vendor outage")
    assert resume_queue(name, actor="dora") is True
    assert resume_queue(name, actor="dora") is False

    assert get_queue(name).paused_at is None
    assert actions(queue)[1:] == [("bob", "queue.pause", "vendor outage"), ("dora", "queue.resume", "")]


def test_an_unknown_queue_is_said_so() -> None:
    for verb in (pause_queue, resume_queue):
        with pytest.raises(QueueNotFound):
            verb("no-such-queue", actor="ann")
    with pytest.raises(QueueNotFound):
        configure_queue("no-such-queue", {}, actor="ann")


def test_every_setting_is_a_field_with_its_default(name: str) -> None:
    queue = create_queue(name, actor="ann")

    for setting in SETTINGS.values():
        assert getattr(queue, setting.name) == setting.default, setting.name
