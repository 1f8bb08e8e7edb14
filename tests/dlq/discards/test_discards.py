"""Discards: what is taken from a stream above the limit waits for a second person, and then happens as it was asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import psycopg
import pytest
from django.conf import LazySettings

from dlq.discards import discards
from dlq.discards.models import Discard
from dlq.jobs import approvals
from dlq.jobs.runner import Ending
from queues.control import streams
from queues.errors import InvalidArgument
from queues.models import AuditEvent
from queues.stream_models import Stream
from tests.streams import Log, make_log


@pytest.fixture
def log(commits: None, settings: LazySettings, connect: Callable[..., psycopg.Connection[Any]]) -> Log:
    """A stream with a group that has read three of six messages; more than two are too many."""
    settings.APPROVAL_DELETE_MESSAGES = settings.APPROVAL_REDRIVE_MESSAGES = 2
    log = make_log(connect(), partitions=1)
    log.group()
    for n in range(3):
        log.append(n)
    log.consume()
    for n in range(3):
        log.append(n)
    log.value("select signalbox.leave_group(%s, 'g', 'm')", log.name)
    return log


def close(log: Log) -> None:
    log.value("select signalbox.configure_stream(%s, '{\"closed\": true}')", log.name)


def deletion(log: Log) -> Discard:
    close(log)
    return discards.of_deletion(streams.get_stream(log.name))


def shorter(log: Log) -> Discard:
    return discards.of_settings(streams.get_stream(log.name), {"retention_seconds": 3600})


def compaction(log: Log) -> Discard:
    return discards.of_settings(streams.get_stream(log.name), {"compaction": True})


def seek(log: Log, point: Any) -> Discard:
    group = streams.get_group(streams.get_stream(log.name), "g")
    return discards.of_seek(group, streams.preview_seek(log.name, "g", point))


def skipping(log: Log) -> Discard:
    return seek(log, "end")


def repeating(log: Log) -> Discard:
    return seek(log, "beginning")


KINDS: Mapping[Callable[[Log], Discard], int] = {deletion: 6, shorter: 6, compaction: 6, skipping: 3, repeating: 3}


@pytest.mark.parametrize(("make", "messages"), KINDS.items())
def test_a_discard_waits_and_then_does_what_was_asked(log: Log, make: Callable[[Log], Discard], messages: int) -> None:
    wanted = make(log)
    assert wanted.total_estimate == messages
    job = discards.ask(wanted, actor="ann", reason="too much")
    assert job is not None
    before = Stream.objects.filter(name=log.name).values().first()

    assert discards.run_slice(job.pk) is Ending.TAKEN
    assert job.pk in [one.pk for one in approvals.waiting() if one.NOUN == "discard"]
    assert approvals.effects(job)
    assert Stream.objects.filter(name=log.name).values().first() == before
    with pytest.raises(InvalidArgument, match="another person must decide"):
        approvals.approve(Discard, job.pk, actor="ann")
    log.value("select signalbox.rename_stream(%s, %s)", log.name, f"{log.name}-new")
    assert approvals.approve(Discard, job.pk, actor="ben")
    assert discards.run_slice(job.pk) is Ending.OVER

    job.refresh_from_db()
    assert (job.state, job.error, job.discarded) == ("done", "", messages)
    told = AuditEvent.objects.filter(details__stream__startswith=log.name, reason="too much")
    done = {"keep less": "stream.configure", "delete": "stream.delete"}.get(job.action, "group.seek")
    assert {"discard.ask", done} <= set(told.values_list("action", flat=True))


def test_what_is_skipped_is_what_the_preview_showed(log: Log) -> None:
    job = discards.ask(skipping(log), actor="ann", reason="stale")
    assert job is not None
    assert [one.words for one in approvals.effects(job)] == [
        f"at most 3 messages of {log.name}, not read by the group g",
        f"stream: {log.name}",
        "action: skip",
        "group name: g",
        "new positions: 6 in partition 0",
    ]
    log.append("later")
    approvals.approve(Discard, job.pk, actor="ben")
    assert discards.run_slice(job.pk) is Ending.OVER
    assert log.consume() == ["later"]


@pytest.mark.parametrize(
    "wanted",
    [
        {"retention_seconds": 30 * 86400},
        {"retention_bytes": 0},
        {"closed": True},
        {"compaction": False},
        {"partitions": 2},
    ],
)
def test_what_keeps_all_needs_no_approval(log: Log, wanted: dict[str, Any]) -> None:
    assert discards.ask(discards.of_settings(streams.get_stream(log.name), wanted), actor="a", reason="") is None


def test_few_messages_and_no_rule_need_no_approval(log: Log, settings: LazySettings) -> None:
    settings.APPROVAL_DELETE_MESSAGES = 6
    assert not discards.needs_approval(shorter(log))
    settings.APPROVAL_DELETE_MESSAGES = 0
    assert not discards.needs_approval(deletion(log))


def test_a_discard_of_a_stream_that_is_gone_fails(log: Log) -> None:
    job = discards.ask(shorter(log), actor="ann", reason="old")
    assert job is not None
    close(log)
    log.value("select signalbox.delete_stream(%s)", log.name)
    approvals.approve(Discard, job.pk, actor="ben")
    assert discards.run_slice(job.pk) is Ending.STOPPED
    job.refresh_from_db()
    assert (job.state, job.error) == ("failed", f"stream '{log.name}' does not exist")
