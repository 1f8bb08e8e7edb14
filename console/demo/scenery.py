"""Queues, users and the API key of the demo."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.core.management.base import CommandError

from console.access.api_keys import ALL, keys
from console.access.api_keys.keys import NewKey
from console.access.roles import ROLES
from console.demo import shipments, streams
from dlq.jobs import approval_rules
from dlq.trash import purges
from queues.control.queues import configure_queue, create_queue, pause_queue
from queues.control.quotas import set_quota
from queues.control.subscriptions import subscribe
from queues.messages import client
from queues.models import Queue

PASSWORD = "signalbox"  # noqa: S105 - for the demo only, which listens on the loopback interface
KEY = "demo"
USERS = {**{str(role): str(role) for role in ROLES}, "approver": "admin"}  # person: role; a second admin approves


@dataclass(frozen=True)
class DemoQueue:
    """One queue of the demo: its tenant, its rate of messages, and the handler of its worker."""

    name: str
    tenant: str
    sent_per_second: float
    handler: str | None = None
    concurrency: int = 4
    settings: dict[str, Any] = field(default_factory=dict)


QUEUES = (
    DemoQueue("orders-created", "acme", 6.0, "orders_created"),
    DemoQueue(
        "payments-capture",
        "acme",
        3.0,
        "payments_capture",
        settings={"max_receives": 4, "backoff_base_seconds": 2, "alert_dead_letters": 25},
    ),
    DemoQueue("email-send", "acme", 5.0, "email_send", concurrency=3, settings={"aging_seconds": 30}),
    DemoQueue(
        "thumbnails",
        "acme",
        2.0,
        "thumbnails",
        concurrency=2,
        settings={
            "max_receives": 3,
            "backoff_base_seconds": 2,
            "visibility_timeout_seconds": 10,
            "alert_dead_letters": 50,
        },
    ),
    DemoQueue(
        "webhooks-out",
        "globex",
        4.0,
        "webhooks_out",
        concurrency=8,
        settings={
            "max_receives": 4,
            "backoff_base_seconds": 9,
            "backoff_cap_seconds": 60,
            "alert_oldest_age_seconds": 60,
            "group_max_in_flight": 3,  # no more at once for one endpoint
        },
    ),
    DemoQueue("search-index", "globex", 10.0, "search_index", concurrency=4, settings={"alert_dead_letters": 20}),
    DemoQueue("reminders", "initech", 1.0, "reminders", concurrency=1),
    DemoQueue(  # no worker receives from it
        "ledger-export", "initech", 0.5, settings={"alert_oldest_age_seconds": 30, "max_backlog_bytes": 50_000_000}
    ),
    DemoQueue("invoices-pdf", "initech", 0.3, "invoices_pdf", concurrency=1),
)
FED = (
    DemoQueue("shipments", "acme", 0.0, "shipments", concurrency=2, settings={"mode": "fifo"}),
    DemoQueue("large-orders", "acme", 0.0, "large_orders", concurrency=1),
    DemoQueue("returns", "acme", 0.0, "returns", concurrency=1),
    DemoQueue("loyalty-points", "acme", 0.0, "loyalty_points", concurrency=1),
)
"""Queues to which no producer sends: they get copies from other queues, or messages of the stream."""
SUBSCRIPTIONS = (
    ("orders-created", "shipments", "payload.total.amount:<300"),
    ("orders-created", "large-orders", "payload.total.amount:>=700"),
)
QUOTAS = {"globex": {"publish_rate_per_second": 12}, "initech": {"max_queues": 3}}
"""Quotas that the demo exceeds on purpose: globex sends too fast, and initech asks for a fourth queue."""

PAUSED = "invoices-pdf"
OPERATOR_LIMIT = 20
HELD = 30
"""Messages in the paused queue at the start: more than OPERATOR_LIMIT, so the purge waits for a second person."""


def rates() -> dict[str, float]:
    """Return the messages per second of each queue that has a worker."""
    return {queue.name: queue.sent_per_second for queue in QUEUES if queue.handler and queue.name != PAUSED}


def build() -> None:
    """Create the queues, streams and users of the demo, or keep those of an earlier run."""
    _refuse_foreign_database()
    fresh = not Queue.objects.filter(name=QUEUES[0].name).exists()
    for queue in (*QUEUES, *FED):
        mode = {"mode": queue.settings["mode"]} if "mode" in queue.settings else {}
        create_queue(queue.name, mode, tenant=queue.tenant, actor="demo")
        configure_queue(queue.name, queue.settings, actor="demo")
    for source, target, text in SUBSCRIPTIONS:
        subscribe(source, target, filter_text=text, delay_seconds=None, actor="demo")
    if fresh:
        for tenant, quotas in QUOTAS.items():
            set_quota(tenant, quotas, actor="admin", reason="as agreed with the customer")
        pause_queue(PAUSED, actor="operator", reason="printer vendor outage")
        _limit_operators()
        _ask_for_approval()
    streams.build()
    shipments.build()
    open_accounts()


def _limit_operators() -> None:
    rule = approval_rules.in_force()["operator_limit"]
    if not rule.is_locked:
        seen, wanted = {"operator_limit": rule.value}, {"operator_limit": OPERATOR_LIMIT}
        approval_rules.save(wanted, seen, actor="admin", reason="large jobs need two people")


def _ask_for_approval() -> None:
    """Let the operator request a purge of the paused queue, so that the page *Approvals* has a job to decide."""
    client().send_batch(PAUSED, [{"invoice": f"INV-{1000 + number}", "pages": 2} for number in range(HELD)])
    seen = purges.preview(PAUSED, ["ready"])
    reason = "the vendor has printed these by hand"
    purges.create(PAUSED, ["ready"], seen.bounds, PAUSED, actor="operator", reason=reason, limited=True)


def open_accounts() -> None:
    """Set the password of the demo's users, so that they can log in. `close_accounts` removes it at the end."""
    for name, role in USERS.items():
        user, _ = get_user_model().objects.get_or_create(username=name)
        user.set_password(PASSWORD)
        user.is_active = True
        user.save()
        user.groups.set(Group.objects.filter(name=role))


def make_key() -> NewKey:
    """Create an API key with all scopes, also for the SQS endpoint. The key of an earlier run is revoked."""
    _revoke_key()
    return keys.create(KEY, ALL, actor="demo", sqs=True, reason="to try the HTTP API and the SQS endpoint")


def _revoke_key() -> None:
    if (found := keys.find(KEY)) is not None:
        keys.revoke(found.pk, actor="demo", reason="the demo has ended")


def close_accounts() -> None:
    """Remove the passwords, which are well known, and revoke the API key, which was on a screen."""
    _revoke_key()
    for user in get_user_model().objects.filter(username__in=USERS):
        user.set_unusable_password()
        user.save(update_fields=["password"])


def _refuse_foreign_database() -> None:
    """Refuse a database with other users: the demo's users have a well-known password."""
    if get_user_model().objects.exclude(username__in=USERS).exists():
        raise CommandError(
            "This database is already in use by others, and the demo would add accounts with a well-known password. "
            "Give the demo a database of its own: unset DATABASE_URL or set SIGNALBOX_HOME to a new folder."
        )
