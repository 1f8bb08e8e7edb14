"""The story of one message: its present state, and every row about it. No other module reads these rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from django.db.models.fields.json import KT

from queues.codes import AdmissionFlag
from queues.counters.groups import Holder, holders_of
from queues.counters.queue_numbers import QueueNumbers
from queues.database.query import fetch, query_text
from queues.database.time_limits import OutOfTime, time_limit
from queues.models import (
    DeadLetter,
    Deferral,
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
from signalbox.payloads.unreadable import Unreadable, decode

MAX_FAILURES = 100
MAX_AHEAD = 100
"""Limit up to which messages ahead are counted, so that a long queue costs no more than a short one."""
SEARCH_MILLISECONDS = 300


class Standing(StrEnum):
    """State of a message; the first of several that apply."""

    ELSEWHERE = "elsewhere"
    DEAD = "dead"
    LEASED = "leased"
    SCHEDULED = "scheduled"
    WAITING = "waiting"
    READY = "ready"
    TRASHED = "trashed"
    SETTLED = "settled"
    UNSEARCHED = "unsearched"
    GONE = "gone"


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
    """The large body that replaces the payload."""
    state: Any = None
    """The state that the last failed or deferred delivery stored for the next one."""
    deferrals: int = 0
    """The deliveries that do not count towards max_receives, while the message is in a queue."""
    expires_at: datetime | None = None
    """The time after which the message is not delivered, set by its sender."""
    max_receives: int | None = None
    """The deliveries after which it is a dead letter, set by its sender; None once the message has ended."""


@dataclass(frozen=True)
class Settlement:
    """The end of the message in the queue `queue_id`; `outcome` is a code of `queues.codes.Outcome`."""

    outcome: str
    at: datetime
    consumer: str | None
    attempts: int | None
    work_ms: int | None
    queue_id: int
    result: Any = None


@dataclass(frozen=True)
class Ahead:
    """Ready messages of a `higher` priority and `earlier` ones of its own, counted up to MAX_AHEAD + 1.

    `in_flight` messages of the queue are in flight, and `room` more may be, by the limits of the queue and its tenant.
    Both are None if there is no such limit.
    """

    higher: int
    earlier: int
    room: int | None
    in_flight: int | None


@dataclass
class Story:
    """Facts about one message. `body` is None when no table keeps it any longer."""

    queue: QueueNumbers
    message_id: int
    body: Body | None = None
    dead_letter: DeadLetter | None = None
    lease: Lease | None = None
    scheduled: ScheduledTicket | None = None
    waiting: WaitingTicket | None = None
    ready: ReadyTicket | None = None
    trashed: Trashed | None = None
    """The message in the trash, while it can be restored."""
    failures: Sequence[Failure] = ()
    deferrals: Sequence[Deferral] = ()
    """Deliveries that their consumers deferred, at most MAX_FAILURES."""
    redriven: Sequence[Redriven] = ()
    rewritten: Sequence[Rewritten] = ()
    """Its payloads before redrives changed them."""
    settlements: Sequence[Settlement] = ()
    holders: Sequence[Holder] = ()
    """The messages in flight that it waits for, in its message group."""
    ahead: Ahead | None = None
    """What a ready message waits for before the next receive."""
    unsearched: bool = field(default=False)
    """True when some tables could not be searched within the time limit."""

    @property
    def known(self) -> bool:
        return bool(self.body or self.failures or self.redriven or self.settlements or self.trashed)

    @property
    def standing(self) -> Standing:
        """Return the present state of the message."""
        ladder = {
            Standing.ELSEWHERE: self.elsewhere,
            Standing.DEAD: self.dead_letter,
            Standing.LEASED: self.lease,
            Standing.SCHEDULED: self.scheduled,
            Standing.WAITING: self.waiting,
            Standing.READY: self.ready,
            Standing.TRASHED: self.trashed,
            Standing.SETTLED: self.settlements,
            Standing.UNSEARCHED: self.unsearched,
        }
        return next((standing for standing, mark in ladder.items() if mark), Standing.GONE)

    @property
    def place(self) -> DeadLetter | Lease | ScheduledTicket | WaitingTicket | ReadyTicket | None:
        """Return the one row that holds the message while it is in a queue."""
        return self.dead_letter or self.lease or self.scheduled or self.waiting or self.ready

    @property
    def elsewhere(self) -> str | None:
        """Return the other queue of the last redrive, as long as the message has not left that queue."""
        last = self.redriven[-1] if self.redriven else None
        if last is None or last.queue_id == self.queue.queue_id:
            return None
        settled = self.settlements and self.settlements[-1].at > last.redriven_at
        return None if settled else last.queue.name

    def name_of(self, queue_id: int) -> str:
        """Return the name of a queue that the message has been in."""
        names = {redriven.queue_id: redriven.queue.name for redriven in self.redriven}
        return names.get(queue_id, self.queue.name)

    @property
    def state(self) -> Any:
        """Return the state that a failed delivery saved, for the next delivery or the page of the dead letter."""
        if self.dead_letter:
            return self.dead_letter.state
        return self.body.state if self.body else None

    @property
    def result(self) -> Any:
        """Return the result that the ack saved."""
        return self.settlements[-1].result if self.settlements else None

    @property
    def counted_attempts(self) -> int:
        """Return the deliveries that count towards max_receives: deferred ones do not."""
        return self.attempts - (self.body.deferrals if self.body else 0)

    @property
    def is_deferred(self) -> bool:
        """Return whether the last delivery that ended was deferred."""
        if not self.deferrals:
            return False
        return not self.failures or self.deferrals[-1].deferred_at > self.failures[-1].failed_at

    @property
    def attempts(self) -> int:
        """Return the number of deliveries since the message was sent or last redriven."""
        if self.place:
            return self.place.receive_count
        return self.settlements[-1].attempts or 0 if self.settlements else 0


def read_story(queue: QueueNumbers, message_id: int, held: Reach = EVERYTHING) -> Story:
    """Read the story with at most sixteen indexed queries, whatever the size of the queue.

    A message that was never in this queue has no story here. Rows of other queues are included where these are within
    the reach `held`.
    """
    of_message: dict[str, Any] = {"message_id": message_id}
    redriven = Redriven.objects.select_related("queue").filter(**of_message).order_by("redriven_at")
    story = Story(
        queue,
        message_id,
        dead_letter=DeadLetter.objects.select_related("queue").filter(**of_message).first(),
        lease=Lease.objects.filter(**of_message).first(),
        scheduled=ScheduledTicket.objects.filter(**of_message).first(),
        waiting=WaitingTicket.objects.filter(**of_message).first(),
        failures=list(Failure.objects.filter(**of_message).order_by("-failed_at")[:MAX_FAILURES])[::-1],
        deferrals=list(Deferral.objects.filter(**of_message).order_by("-deferred_at")[:MAX_FAILURES])[::-1],
        redriven=list(redriven[:MAX_FAILURES]),
        rewritten=list(Rewritten.objects.filter(**of_message).order_by("rewritten_at")[:MAX_FAILURES]),
    )
    if not story.place:
        story.trashed = Trashed.objects.filter(**of_message).first()
    story.body = body_of(queue.queue_id, message_id, _hide_out_of_reach(story, held))
    if story.waiting:
        story.holders = holders_of(story.waiting.queue_id, story.waiting.lane)
    try:
        with time_limit(SEARCH_MILLISECONDS):
            _search(story)
    except OutOfTime:
        story.unsearched = story.ready is None
    return story


def _search(story: Story) -> None:
    """Search the tables that may take long: history and ready messages."""
    queue_ids = [story.queue.queue_id, *(redriven.queue_id for redriven in story.redriven)]
    sent_at = story.body.sent_at if story.body else None
    rows = fetch(_SETTLEMENTS, {"queue_ids": queue_ids, "message_id": story.message_id, "sent_at": sent_at})
    story.settlements = [Settlement(*[*values, decode(result or "null", "result")]) for *values, result in rows]
    if story.place or story.elsewhere:
        return
    ready = ReadyTicket.objects.filter(queue_id=story.queue.queue_id, message_id=story.message_id)
    story.ready = ready.first()
    if story.ready:
        story.ahead = _read_ahead(story.queue.queue, story.ready)


_PLACES = ("dead_letter", "lease", "scheduled", "waiting", "trashed")


def _hide_out_of_reach(story: Story, held: Reach) -> list[int] | None:
    """Remove rows of queues out of reach; all rows when the message was never in this queue.

    Returns the ids of the queues that may be named; None for all.
    """
    places = {name: mark for name in _PLACES if (mark := getattr(story, name))}
    marks: list[Any] = [*places.values(), *story.failures, *story.deferrals, *story.redriven]
    known = {_queue_id(mark) for mark in marks}
    here = story.queue.queue_id in known | {mark.queue_id for mark in marks}
    if here and held.is_everything:
        return None
    seen = set(Queue.objects.filter(held.among(), pk__in=known).values_list("pk", flat=True)) if here else set()
    for name, mark in places.items():
        if _queue_id(mark) not in seen:
            setattr(story, name, None)
    story.failures = [failure for failure in story.failures if failure.queue_id in seen]
    story.deferrals = [deferral for deferral in story.deferrals if deferral.queue_id in seen]
    story.redriven = [redriven for redriven in story.redriven if redriven.queue_id in seen]
    if not known <= seen:
        story.rewritten = []
    return sorted(seen)


def _queue_id(mark: Any) -> int:
    """Return the queue of a row; for a dead letter its source queue."""
    letter = getattr(mark, "letter", None)
    if isinstance(letter, Unreadable):
        source = KT("letter__source_queue_id")
        return int(Trashed.objects.values_list(source, flat=True).get(pk=mark.pk))
    return int(letter["source_queue_id"] if letter else getattr(mark, "source_id", mark.queue_id))


_BODY = query_text("messages/body")


def body_of(queue_id: int, message_id: int, seen: Sequence[int] | None = None) -> Body | None:
    """Read the message from the log, the kept bodies, its dead letter or the trash, whichever has it first.

    A dead letter counts only if it died in one of the queues `seen` (None: any).
    """
    rows = fetch(_BODY, {"queue_id": queue_id, "message_id": message_id, "seen": seen})
    if not rows:
        return None
    payload, attributes, *plain, sha256, size, state, deferrals, expires_at, max_receives = rows[0]
    body = Body(decode(payload), decode(attributes or "null", "attributes"), *plain)
    large = LargeBody(sha256, size) if sha256 else None
    body = replace(body, large=large, state=decode(state or "null", "state"), deferrals=deferrals or 0)
    return replace(body, expires_at=expires_at, max_receives=max_receives)


_SETTLEMENTS = query_text("messages/settlements")


_AHEAD = query_text("messages/ahead")


def _read_ahead(queue: Queue, ticket: ReadyTicket) -> Ahead:
    parameters = {
        "queue_id": queue.queue_id,
        "message_id": ticket.message_id,
        "priority": ticket.priority,
        "ready_at": ticket.ready_at,
        "most": MAX_AHEAD + 1,
        "limited": bool(queue.admission_flags & AdmissionFlag.LIMITS_IN_FLIGHT),
        "limit": queue.max_in_flight,
    }
    return Ahead(*fetch(_AHEAD, parameters)[0])


_QUEUES = query_text("messages/queues")
_LOGS = query_text("messages/logs")


def queues_of(message_id: int) -> Iterator[str]:
    """Find the names of queues with rows of the message, the likeliest first; the logs are searched last."""
    for statement in (_QUEUES, _LOGS):
        yield from (name for (name,) in fetch(statement, {"id": message_id}))
