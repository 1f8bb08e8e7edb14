"""One message's whole life: where it stands, why it is not delivered, and everything that happened to it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db import connection
from django.db.models import QuerySet

from console import wording
from dlq.time_limits import OutOfTime, time_limit
from queues.counters import QueueNumbers
from queues.models import DeadLetter, Failure, Lease, ReadyTicket, Redriven, ScheduledTicket

MOST_FAILURES = 100
SEARCH_MILLISECONDS = 300


@dataclass(frozen=True)
class Event:
    """Something that happened to the message; `icon` and `tone` draw it, `detail` says more.

    `quotes_payload`: the detail may, and is masked with it.
    """

    at: datetime
    icon: str
    words: str
    detail: str = ""
    tone: str = ""
    quotes_payload: bool = False
    url_name: str = ""
    url_argument: Any = None
    after_seconds: float | None = None


@dataclass(frozen=True)
class Body:
    """The message as it was sent."""

    payload: Any
    attributes: dict[str, Any] | None
    group_id: str | None
    deduplication_id: str | None
    trace_id: str | None
    priority: int
    sent_at: datetime


@dataclass(frozen=True)
class Settlement:
    """How the message left its queue: 'a' acked, 'p' purged, 'e' expired."""

    outcome: str
    at: datetime
    consumer: str | None
    attempts: int | None
    work_ms: int | None


@dataclass
class Story:
    """What is known of one message. `body` is None when it is kept nowhere any longer."""

    queue: QueueNumbers
    message_id: int
    body: Body | None
    dead_letter: DeadLetter | None
    lease: Lease | None
    scheduled: ScheduledTicket | None
    ready: ReadyTicket | None
    failures: Sequence[Failure]
    redriven: Sequence[Redriven]
    settlements: Sequence[Settlement]
    unsearched: bool = field(default=False)
    """Some places could not be searched within the time a page has."""

    @property
    def known(self) -> bool:
        return bool(self.body or self.failures or self.redriven or self.settlements)

    @property
    def attempts(self) -> int:
        """Deliveries since it was sent or last redriven."""
        place = self.lease or self.scheduled or self.ready or self.dead_letter
        if place:
            return place.receive_count
        return self.settlements[-1].attempts or 0 if self.settlements else 0


def tell(queue: QueueNumbers, message_id: int) -> Story:
    """Gather the story; ten indexed queries, whatever the size of the queue."""
    dead_letter = DeadLetter.objects.select_related("queue").filter(message_id=message_id).first()
    body = _body(queue.queue_id, message_id)
    story = Story(
        queue=queue,
        message_id=message_id,
        body=body,
        dead_letter=dead_letter,
        lease=Lease.objects.filter(message_id=message_id).first(),
        scheduled=ScheduledTicket.objects.filter(message_id=message_id).first(),
        ready=None,
        failures=list(Failure.objects.filter(message_id=message_id).order_by("-failed_at")[:MOST_FAILURES])[::-1],
        redriven=list(_redriven(message_id)),
        settlements=[],
    )
    try:
        with time_limit(SEARCH_MILLISECONDS):
            story.settlements = _settlements(queue.queue_id, message_id, body.sent_at if body else None)
            if not (story.dead_letter or story.lease or story.scheduled):
                story.ready = ReadyTicket.objects.filter(queue_id=queue.queue_id, message_id=message_id).first()
    except OutOfTime:
        story.unsearched = True
    return story


_BODY = """
select m.payload::text, m.attributes::text, m.group_id, m.deduplication_id, m.trace_id, m.priority, m.sent_at
from signalbox.message m where m.queue_id = %(queue_id)s and m.message_id = %(message_id)s
union all
select k.payload::text, k.attributes::text, k.group_id, k.deduplication_id, k.trace_id, k.priority, k.sent_at
from signalbox.message_kept k where k.queue_id = %(queue_id)s and k.message_id = %(message_id)s
union all
select d.payload::text, d.attributes::text, d.group_id, d.deduplication_id, d.trace_id, d.priority, d.sent_at
from signalbox.dead_letter d where d.message_id = %(message_id)s
limit 1
"""


def _body(queue_id: int, message_id: int) -> Body | None:
    """The message in the log, the copy that outlived its segment, or the one in its dead letter."""
    with connection.cursor() as cursor:
        cursor.execute(_BODY, {"queue_id": queue_id, "message_id": message_id})
        row = cursor.fetchone()
    return Body(json.loads(row[0]), json.loads(row[1] or "null"), *row[2:]) if row else None


def _redriven(message_id: int) -> QuerySet[Redriven]:
    return (
        Redriven.objects.select_related("queue").filter(message_id=message_id).order_by("redriven_at")[:MOST_FAILURES]
    )


_SETTLEMENTS = """
select s.outcome::text, s.settled_at, s.consumer,
  s.receive_counts[array_position(s.message_ids, %(message_id)s)],
  s.work_ms[array_position(s.message_ids, %(message_id)s)]
from signalbox.settled s
where s.queue_id = %(queue_id)s
  and s.settled_at >= coalesce(%(sent_at)s::timestamptz, '-infinity')
  and s.message_ids[1] <= %(message_id)s
  and s.message_ids[cardinality(s.message_ids)] >= %(message_id)s
  and %(message_id)s = any(s.message_ids)
order by s.settled_at
limit 10
"""


def _settlements(queue_id: int, message_id: int, sent_at: datetime | None) -> list[Settlement]:
    with connection.cursor() as cursor:
        cursor.execute(_SETTLEMENTS, {"queue_id": queue_id, "message_id": message_id, "sent_at": sent_at})
        return [Settlement(*row) for row in cursor.fetchall()]


# ---- where it stands


def place(story: Story, now: datetime) -> tuple[str, str]:
    """(icon, sentence): where the message is now and, when it waits, what for."""
    if story.dead_letter:
        return "dead", _dead(story.dead_letter)
    if story.lease:
        return "leased", _leased(story.lease, now)
    if story.scheduled:
        return "scheduled", _scheduled(story.scheduled, now)
    if story.ready:
        return "sent", _ready(story.ready, story.queue, now)
    if story.settlements:
        return _left(story.settlements[-1])
    if story.unsearched:
        return "info", "Not in flight, not scheduled and not dead. Its queue is too long to look for it in time."
    return "info", "It has left the queue, and the history that would say how is gone."


def _dead(letter: DeadLetter) -> str:
    cause = letter.error_class or letter.reason.replace("_", " ")
    count = wording.plural(letter.receive_count, "delivery").replace("deliverys", "deliveries")
    return f"Dead after {count}: {cause}. It is kept in {letter.queue.name} and is not delivered until it is redriven."


def _leased(lease: Lease, now: datetime) -> str:
    holder = lease.consumer or "a consumer without a name"
    left = (lease.deadline - now).total_seconds()
    if left < 0:
        return (
            f"In the hands of {holder}, whose time ran out {wording.span(-left)} ago: the next receive takes it back."
        )
    return f"In the hands of {holder}; delivered again unless it is settled within {wording.span(left)}."


def _scheduled(ticket: ScheduledTicket, now: datetime) -> str:
    why = "backing off after a failure" if ticket.receive_count else "delayed by its sender"
    left = (ticket.due_at - now).total_seconds()
    return f"Resting, {why}; due in {wording.span(left)}." if left > 0 else f"Due now, after {why}."


def _ready(ticket: ReadyTicket, queue: QueueNumbers, now: datetime) -> str:
    waited = wording.span((now - ticket.ready_at).total_seconds())
    if queue.paused:
        return f"Ready for {waited}; not delivered because the queue is paused."
    if not queue.consumers:
        return f"Ready for {waited}; not delivered because no consumer has asked in the last minute."
    return f"Ready for {waited}; consumers take higher priorities and older messages first."


def _left(settlement: Settlement) -> tuple[str, str]:
    by = f" by {settlement.consumer}" if settlement.consumer else ""
    worked = f" after {wording.span(settlement.work_ms / 1000)} of work" if settlement.work_ms is not None else ""
    return {
        "a": ("done", f"Completed: acknowledged{by}{worked}."),
        "p": ("purged", "Purged before it was completed."),
        "e": ("cancelled", "Expired: it waited longer than its queue's retention."),
    }[settlement.outcome]


# ---- what happened


def timeline(story: Story) -> list[Event]:
    """Every event in order, each with the time since the one before."""
    events = sorted(_events(story), key=lambda event: event.at)
    timed = []
    for index, event in enumerate(events):
        gap = (event.at - events[index - 1].at).total_seconds() if index else None
        timed.append(Event(**{**vars(event), "after_seconds": gap}))
    return timed


def _events(story: Story) -> Iterator[Event]:
    if story.body:
        yield Event(story.body.sent_at, "sent", "Sent", _sent_detail(story.body, story.queue.name))
    for failure in story.failures:
        yield from _failure_events(failure)
    if story.lease:
        who = f"to {story.lease.consumer}" if story.lease.consumer else ""
        yield Event(story.lease.leased_at, "leased", f"Delivery {story.lease.receive_count}", who)
    if story.dead_letter:
        yield Event(story.dead_letter.died_at, "dead", "Died", f"kept in {story.dead_letter.queue.name}")
    for redriven in story.redriven:
        by = f"by {redriven.actor}, " if redriven.actor else ""
        job = redriven.redrive_id
        yield Event(
            redriven.redriven_at,
            "redriven",
            "Redriven",
            f"{by}to {redriven.queue.name}",
            url_name="redrive" if job else "",
            url_argument=job,
        )
    for settlement in story.settlements:
        yield from _settlement_events(settlement)


def _sent_detail(body: Body, queue: str) -> str:
    return f"to {queue}, priority {body.priority}" if body.priority else f"to {queue}"


def _failure_events(failure: Failure) -> Iterator[Event]:
    if failure.leased_at:
        to = f"to {failure.consumer}" if failure.consumer else ""
        yield Event(failure.leased_at, "leased", f"Delivery {failure.receive_count}", to)
    words = {"lock_expired": "Timed out", "rejected": "Rejected"}.get(failure.reason, "Failed")
    tone = "warn" if failure.retry_at else "bad"
    if failure.error_class:
        words += f": {failure.error_class}"
    detail = (failure.error or "")[:300]
    yield Event(failure.failed_at, "failed", words, detail, tone=tone, quotes_payload=True)


def _settlement_events(settlement: Settlement) -> Iterator[Event]:
    icon, sentence = _left(settlement)
    if settlement.outcome == "a" and settlement.work_ms is not None:
        to = f"to {settlement.consumer}" if settlement.consumer else ""
        began = settlement.at - timedelta(milliseconds=settlement.work_ms)
        yield Event(began, "leased", f"Delivery {settlement.attempts}", to)
    words, _, detail = sentence.partition(": ")
    yield Event(settlement.at, icon, words.rstrip("."), detail)


def queue_of(message_id: int) -> str | None:
    """The queue whose log holds the message: one index probe for each queue."""
    with connection.cursor() as cursor:
        cursor.execute(
            "select q.name from signalbox.queue q join lateral ("
            "   select from signalbox.message m where m.queue_id = q.queue_id and m.message_id = %(id)s"
            "   union all"
            "   select from signalbox.message_kept k where k.queue_id = q.queue_id and k.message_id = %(id)s"
            " ) found on true limit 1",
            {"id": message_id},
        )
        row = cursor.fetchone()
    return row[0] if row else None
