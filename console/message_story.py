"""Everything that is known of one message, gathered from the places where it leaves its marks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models import QuerySet
from django.db.models.fields.json import KT

from console.message_ahead import Ahead, look_ahead
from dlq.time_limits import OutOfTime, time_limit
from queues.counters import QueueNumbers
from queues.lanes import Holder, holders_of
from queues.models import (
    DeadLetter,
    Failure,
    Lease,
    Queue,
    ReadyTicket,
    Redriven,
    Rewritten,
    ScheduledTicket,
    Trashed,
    WaitingTicket,
)
from queues.reach import EVERYTHING, Reach
from signalbox.messages import Body as LargeBody
from signalbox.unreadable import Unreadable, decode

MOST_FAILURES = 100
SEARCH_MILLISECONDS = 300


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
    large: LargeBody | None = None
    """Where the payload is when it is not here."""
    state: Any = None
    """What the last failed delivery left for the next one."""


@dataclass(frozen=True)
class Settlement:
    """How the message left the queue `queue_id`: 'a' acked, 'p' purged, 'e' expired."""

    outcome: str
    at: datetime
    consumer: str | None
    attempts: int | None
    work_ms: int | None
    queue_id: int
    result: Any = None


@dataclass
class Story:
    """What is known of one message. `body` is None when it is kept nowhere any longer."""

    queue: QueueNumbers
    message_id: int
    body: Body | None
    dead_letter: DeadLetter | None
    lease: Lease | None
    scheduled: ScheduledTicket | None
    waiting: WaitingTicket | None
    ready: ReadyTicket | None
    failures: Sequence[Failure]
    redriven: Sequence[Redriven]
    settlements: Sequence[Settlement]
    trashed: Trashed | None = field(default=None)
    """Where it stood when it was purged or deleted, while it can be put back."""
    rewritten: Sequence[Rewritten] = ()
    """What its payload was before redrives patched it."""
    holders: Sequence[Holder] = ()
    """The messages that have the slots of the lane it waits in."""
    ahead: Ahead | None = None
    """What stands between it and the next receive, when it is ready."""
    unsearched: bool = field(default=False)
    """Some places could not be searched within the time a page has."""

    @property
    def known(self) -> bool:
        return bool(self.body or self.failures or self.redriven or self.settlements or self.trashed)

    @property
    def elsewhere(self) -> str | None:
        """The other queue that it was redriven to last, as long as it has not left that."""
        last = self.redriven[-1] if self.redriven else None
        if last is None or last.queue_id == self.queue.queue_id:
            return None
        settled = self.settlements and self.settlements[-1].at > last.redriven_at
        return None if settled else last.queue.name

    def name_of(self, queue_id: int) -> str:
        """The name of a queue that it has been in."""
        names = {one.queue_id: one.queue.name for one in self.redriven}
        return names.get(queue_id, self.queue.name)

    @property
    def state(self) -> Any:
        """What a failed delivery left, for the next one or for whoever looks at the dead letter."""
        if self.dead_letter:
            return self.dead_letter.state
        return self.body.state if self.body else None

    @property
    def result(self) -> Any:
        """What its ack left."""
        return self.settlements[-1].result if self.settlements else None

    @property
    def attempts(self) -> int:
        """Deliveries since it was sent or last redriven."""
        place = self.lease or self.scheduled or self.waiting or self.ready or self.dead_letter
        if place:
            return place.receive_count
        return self.settlements[-1].attempts or 0 if self.settlements else 0


def tell(queue: QueueNumbers, message_id: int, held: Reach = EVERYTHING) -> Story:
    """Gather the story; fifteen indexed queries at most, whatever the size of the queue.

    A message that was never in this queue has none here, and what it was in others is told as far as these are `held`.
    """
    story = Story(
        queue=queue,
        message_id=message_id,
        body=None,
        dead_letter=DeadLetter.objects.select_related("queue").filter(message_id=message_id).first(),
        lease=Lease.objects.filter(message_id=message_id).first(),
        scheduled=ScheduledTicket.objects.filter(message_id=message_id).first(),
        waiting=WaitingTicket.objects.filter(message_id=message_id).first(),
        ready=None,
        failures=list(Failure.objects.filter(message_id=message_id).order_by("-failed_at")[:MOST_FAILURES])[::-1],
        redriven=list(_redriven(message_id)),
        settlements=[],
        rewritten=list(Rewritten.objects.filter(message_id=message_id).order_by("rewritten_at")[:MOST_FAILURES]),
    )
    if not (story.dead_letter or story.lease or story.scheduled or story.waiting):
        story.trashed = Trashed.objects.filter(message_id=message_id).first()
    told = _cut(story, held)
    story.body = body_of(queue.queue_id, message_id, told)
    if story.waiting:
        story.holders = holders_of(story.waiting.queue_id, story.waiting.lane)
    try:
        with time_limit(SEARCH_MILLISECONDS):
            queue_ids = [queue.queue_id, *(one.queue_id for one in story.redriven)]
            story.settlements = _settlements(queue_ids, message_id, story.body.sent_at if story.body else None)
            if not (story.dead_letter or story.lease or story.scheduled or story.waiting or story.elsewhere):
                story.ready = ReadyTicket.objects.filter(queue_id=queue.queue_id, message_id=message_id).first()
            if story.ready:
                story.ahead = look_ahead(queue.queue, story.ready)
    except OutOfTime:
        story.unsearched = story.ready is None
    return story


def _cut(story: Story, held: Reach) -> list[int] | None:
    """Leave out what the message was in queues that are not held, or in all where it was not in this one.

    Returns the queues of which may be told, None for all.
    """
    places = [story.dead_letter, story.lease, story.scheduled, story.waiting, story.trashed]
    marks: list[Any] = [*(one for one in places if one), *story.failures, *story.redriven]
    known = {_queue_id(one) for one in marks}
    here = story.queue.queue_id in known | {one.queue_id for one in marks}
    if here and held.is_everything:
        return None
    told = set(Queue.objects.filter(held.among(), pk__in=known).values_list("pk", flat=True)) if here else set()
    for name in ("dead_letter", "lease", "scheduled", "waiting", "trashed"):
        if (mark := getattr(story, name)) and _queue_id(mark) not in told:
            setattr(story, name, None)
    story.failures = [one for one in story.failures if one.queue_id in told]
    story.redriven = [one for one in story.redriven if one.queue_id in told]
    if not known <= told:
        story.rewritten = []
    return sorted(told)


def _queue_id(mark: Any) -> int:
    """The queue that the message was in; of what is dead, the one that it died in."""
    letter = getattr(mark, "letter", None)
    if isinstance(letter, Unreadable):
        source = KT("letter__source_queue_id")
        return int(Trashed.objects.values_list(source, flat=True).get(pk=mark.pk))
    return int(letter["source_queue_id"] if letter else getattr(mark, "source_id", mark.queue_id))


_BODY = """
select m.payload::text, m.attributes::text, m.group_id, m.deduplication_id, m.trace_id, m.priority, m.sent_at,
  encode(m.body_sha256, 'hex'), m.body_bytes,
  (select s.state::text from signalbox.message_state s where s.message_id = %(message_id)s)
from signalbox.message m where m.queue_id = %(queue_id)s and m.message_id = %(message_id)s
union all
select k.payload::text, k.attributes::text, k.group_id, k.deduplication_id, k.trace_id, k.priority, k.sent_at,
  encode(k.body_sha256, 'hex'), k.body_bytes,
  (select s.state::text from signalbox.message_state s where s.message_id = %(message_id)s)
from signalbox.message_kept k where k.queue_id = %(queue_id)s and k.message_id = %(message_id)s
union all
select d.payload::text, d.attributes::text, d.group_id, d.deduplication_id, d.trace_id, d.priority, d.sent_at,
  encode(d.body_sha256, 'hex'), d.body_bytes, null
from signalbox.dead_letter d where d.message_id = %(message_id)s
  and (%(told)s::integer[] is null or d.source_queue_id = any(%(told)s))
union all
select d.payload::text, d.attributes::text, d.group_id, d.deduplication_id, d.trace_id, d.priority, d.sent_at,
  encode(d.body_sha256, 'hex'), d.body_bytes, d.state::text
from signalbox.trash t, jsonb_populate_record(null::signalbox.dead_letter, t.letter) d
where t.message_id = %(message_id)s and t.letter is not null
  and (%(told)s::integer[] is null or d.source_queue_id = any(%(told)s))
limit 1
"""


def body_of(queue_id: int, message_id: int, told: Sequence[int] | None = None) -> Body | None:
    """The message in the log, the copy that outlived its segment, or the one in its dead letter.

    A dead letter is looked at if it died in one of the queues that are `told`; None is any.
    """
    with connection.cursor() as cursor:
        cursor.execute(_BODY, {"queue_id": queue_id, "message_id": message_id, "told": told})
        row = cursor.fetchone()
    if row is None:
        return None
    payload, attributes, *facts, sha256, size, state = row
    large = LargeBody(sha256, size) if sha256 else None
    return Body(
        decode(payload),
        decode(attributes or "null", "attributes"),
        *facts,
        large,
        decode(state or "null", "state"),
    )


def _redriven(message_id: int) -> QuerySet[Redriven]:
    return (
        Redriven.objects.select_related("queue").filter(message_id=message_id).order_by("redriven_at")[:MOST_FAILURES]
    )


_SETTLEMENTS = """
select s.outcome::text, s.settled_at, s.consumer,
  s.receive_counts[array_position(s.message_ids, %(message_id)s)],
  s.work_ms[array_position(s.message_ids, %(message_id)s)],
  s.queue_id,
  s.results[array_position(s.message_ids, %(message_id)s)]::text
from signalbox.settled s
where s.queue_id = any(%(queue_ids)s)
  and s.settled_at >= coalesce(%(sent_at)s::timestamptz, '-infinity')
  and s.message_ids[1] <= %(message_id)s
  and s.message_ids[cardinality(s.message_ids)] >= %(message_id)s
  and %(message_id)s = any(s.message_ids)
order by s.settled_at
limit 10
"""


def _settlements(queue_ids: list[int], message_id: int, sent_at: datetime | None) -> list[Settlement]:
    with connection.cursor() as cursor:
        cursor.execute(_SETTLEMENTS, {"queue_ids": queue_ids, "message_id": message_id, "sent_at": sent_at})
        return [Settlement(*facts, decode(result or "null", "result")) for *facts, result in cursor.fetchall()]


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
