"""A queue with something of everything in it, and people who reach it or do not, for tests of every address."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.contrib.auth.models import User
from django.db import connections
from django.utils import timezone
from psycopg.types.json import Jsonb
from pytest_django import DjangoDbBlocker

from console.access.grants.models import Grant
from dlq.discards.models import Discard
from dlq.jobs.models import Deletion
from dlq.redrives import plans, redrives
from dlq.redrives.plan_options import Options
from dlq.search import saved_filters
from dlq.search.checked_filter import check_filter
from dlq.trash import deletions, purges, restore
from metrics.alerts import silences
from metrics.alerts.models import Alert
from queues.control import queues, streams
from tests.console.browsers import Browser
from tests.engine import Engine

RUN = uuid.uuid4().hex[:6]
OURS, THEIRS = f"reach-ours-{RUN}", f"reach-theirs-{RUN}"
LETTERS = "".join(chr(ord("a") + int(digit, 16)) for digit in RUN)  # an error class that no other test uses
PREFIX, OTHER_PREFIX = f"r{RUN}-in-", f"r{RUN}-out-"

GRANTS: dict[str, tuple[str | None, str]] = {
    "own tenant": (OURS, ""),
    "own prefix": (None, PREFIX),
    "other tenant": (THEIRS, ""),
    "other prefix": (OURS, OTHER_PREFIX),
}
"""Grants of a person: tenant and prefix. The world is of the first two."""


@dataclass
class World:
    """World made once for all tests of a file: they read, or send refused or incomplete forms."""

    engine: Engine
    numbers: dict[str, int]
    names: dict[str, str]

    @property
    def queue(self) -> str:
        return self.engine.queue

    def known(self) -> dict[str, Any]:
        """Names in the world that addresses may contain."""
        undo_page = f'/undos/{self.numbers["undo_id"]}"'
        return {"name": self.queue, "undo_page": undo_page, **self.numbers, **self.names}


@pytest.fixture(scope="module")
def world(dsn: str, django_db_blocker: DjangoDbBlocker) -> Iterator[World]:
    with django_db_blocker.unblock(), psycopg.connect(dsn, autocommit=True) as connection:
        yield make_world(connection)
        connections.close_all()


def make_world(connection: psycopg.Connection[Any]) -> World:
    """World of one queue: messages in every state, a failure group, jobs, an alert, a silence, a stream."""
    engine = make_queue(connection, f"{PREFIX}orders", OURS)
    make_queue(connection, f"{OTHER_PREFIX}bills", OURS)
    make_queue(connection, f"{OTHER_PREFIX}mails", THEIRS)
    for _ in range(4):
        letter = engine.die({"n": 1}, error_class=f"Boom{LETTERS}", error="x", details="y")
    fingerprint = engine.value("select fingerprint from signalbox.dead_letter where dead_letter_id = %s", letter)
    engine.connection.execute("select signalbox.aggregate_counters()")
    queues.pause_queue(engine.queue, actor="ana", reason="of this queue alone")
    queues.resume_queue(engine.queue, actor="ana")
    numbers = _jobs(engine) | {"message_id": engine.send({"n": 2})}
    Alert.objects.create(
        source="console", fingerprint=RUN, state="firing", name="SignalboxDeadLetters", severity="critical",
        tenant_name=OURS, queue_name=engine.queue, starts_at=timezone.now(), summary=f"{engine.queue} hurts",
    )  # fmt: skip
    silence = silences.create(
        alert="", queue=engine.queue, ends_at=timezone.now() + timedelta(days=1), comment="x", actor="a"
    )
    kept = saved_filters.save("dead-letters", f"of {engine.queue}", f"queue:{engine.queue}", owner="ana", shared=True)
    stream = streams.create_stream(f"{PREFIX}stream", {}, tenant=OURS, actor="ana")
    streams.create_group(stream.name, "readers", actor="ana", point="beginning")
    ends = timezone.now() + timedelta(days=1)
    asked = {"state": "awaiting", "needs_approval": True, "approval_expires_at": ends, "created_by": "ana"}
    discard = Discard.objects.create(action="delete", stream_id=stream.pk, stream_name=stream.name, **asked)
    numbers["discard_id"] = discard.pk
    tenant_id = engine.value("select tenant_id from signalbox.tenant where name = %s", OURS)
    dead_id = engine.value("select message_id from signalbox.dead_letter where dead_letter_id = %s", letter)
    engine.connection.execute("select signalbox.announce_consumer(%s, 'worker-of-it')", [engine.queue])
    other = silences.create(alert="x", queue=engine.queue, ends_at=silence.ends_at, comment="x", actor="a")
    numbers |= {"dead_id": dead_id, "silence_id": other.pk, "saved_filter_id": kept.pk, "tenant_id": tenant_id}
    target = make_queue(connection, f"{PREFIX}copies", OURS).queue
    engine.value("select signalbox.subscribe(%s, %s)", engine.queue, target)
    names = {
        "target": target,
        "class": f"Boom{LETTERS}",
        "fingerprint": fingerprint,
        "stream": stream.name,
        "group": "readers",
    }
    return World(engine, numbers, names | {"tenant_page": f"/tenants/{tenant_id}"})


def make_queue(connection: psycopg.Connection[Any], name: str, tenant: str) -> Engine:
    row = connection.execute("select signalbox.create_queue(%s, %s, %s)", [name, Jsonb({}), tenant]).fetchone()
    assert row is not None
    return Engine(connection, name, row[0])


def _jobs(engine: Engine) -> dict[str, int]:
    """A job of each kind: what is deleted is another cause, and what is undone another purge."""
    of_queue, why = f"queue:{engine.queue}", {"actor": "ana", "reason": "why"}
    plan = plans.make(check_filter(of_queue), options=Options(rate_per_second=1), **why)
    redrive = redrives.run(plan.pk, actor="ana")
    deletion = deletions.create(check_filter(f"{of_queue} class:Other"), 2**62, **why)
    engine.send({"n": 3})
    bounds = purges.preview(engine.queue, ["ready"]).bounds
    emptied = purges.create(engine.queue, ["ready"], purges.Bounds(bounds.through_message_id, 0), engine.queue, **why)
    purges.run_in_foreground(emptied.pk)
    engine.send({"n": 4})
    bounds = purges.preview(engine.queue, ["ready"]).bounds
    purges.run_in_foreground(
        purges.create(engine.queue, ["ready"], purges.Bounds(bounds.through_message_id, 0), engine.queue, **why).pk
    )
    asked = deletions.create(check_filter(f"{of_queue} class:Third"), 2**62, **why)
    soon = timezone.now() + timedelta(days=1)
    Deletion.objects.filter(pk=asked.pk).update(state="awaiting", needs_approval=True, approval_expires_at=soon)
    undone = restore.create("purge", emptied.pk, **why)
    restore.run_in_foreground(undone.pk)
    return {
        "plan_id": plan.pk,
        "redrive_id": redrive.pk,
        "deletion_id": deletion.pk,
        "purge_id": emptied.pk,
        "undo_id": undone.pk,
    }


def sign_in(role: str, kind: str) -> Browser:
    """User whose only role is granted for some queues."""
    return sign_in_with({role: [GRANTS[kind]]})


def sign_in_with(grants: dict[str, list[tuple[str | None, str]]], superuser: bool = False) -> Browser:
    person = User.objects.create_user(f"reach-{uuid.uuid4().hex[:8]}", is_superuser=superuser)
    for role, places in grants.items():
        for tenant, prefix in places:
            Grant.objects.create(person=person, role=role, tenant_name=tenant, queue_prefix=prefix, created_by="x")
    browser = Browser("granted")
    browser.force_login(person)
    return browser
