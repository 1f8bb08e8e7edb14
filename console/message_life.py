"""One message's whole life in words: where it stands, why it is not delivered, and everything that happened to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from console import wording
from console.message_story import Body, Settlement, Story
from queues.models import DeadLetter, Failure, Lease, ReadyTicket, Redriven, ScheduledTicket, WaitingTicket


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


# ---- where it stands


def place(story: Story, now: datetime) -> tuple[str, str]:
    """(icon, sentence): where the message is now and, when it waits, what for."""
    if story.elsewhere:
        return "redriven", f"Redriven to {story.elsewhere}: the message's page there says where it stands."
    if story.dead_letter:
        return "dead", _dead(story.dead_letter)
    if story.lease:
        return "leased", _leased(story.lease, now)
    if story.scheduled:
        return "scheduled", _scheduled(story.scheduled, now)
    if story.waiting:
        return "scheduled", _waiting(story.waiting, story, now)
    if story.ready:
        return "sent", _ready(story.ready, now)
    return _gone(story)


def _gone(story: Story) -> tuple[str, str]:
    if story.trashed:
        removed = "deleted" if story.trashed.state == "dead" else "purged"
        return "purged", f"In the trash: it was {removed}, and can be put back as it was until the trash is emptied."
    if story.settlements:
        return _left(story.settlements[-1], story)
    if story.unsearched:
        return "info", "Not in flight, not scheduled and not dead. Its queue is too long to look for it in time."
    return "info", "It has left the queue, and the history that would say how is gone."


def _dead(letter: DeadLetter) -> str:
    cause = letter.error_class or letter.reason.replace("_", " ")
    count = wording.plural(letter.receive_count, "delivery").replace("deliverys", "deliveries")
    return f"Dead after {count}: {cause}. It is kept in {letter.queue.name}."


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


def _waiting(ticket: WaitingTicket, story: Story, now: datetime) -> str:
    waited = wording.span((now - ticket.waiting_since).total_seconds())
    lane = f"the group {ticket.lane}" if ticket.lane else "messages without a group"
    if story.queue.queue.mode == "fifo":
        return f"Waiting for {waited} behind others of {lane}: a FIFO queue delivers them one at a time."
    return f"Waiting for {waited} in the lane of {lane}, which has as many messages under way as it may."


def _ready(ticket: ReadyTicket, now: datetime) -> str:
    return f"Ready for {wording.span((now - ticket.ready_at).total_seconds())}."


def _left(settlement: Settlement, story: Story) -> tuple[str, str]:
    by = f" by {settlement.consumer}" if settlement.consumer else ""
    worked = f" after {wording.span(settlement.work_ms / 1000)} of work" if settlement.work_ms is not None else ""
    dead = _was_dead(settlement, story)
    where = "" if settlement.queue_id == story.queue.queue_id else f" in {story.name_of(settlement.queue_id)}"
    return {
        "a": ("done", f"Completed: acknowledged{where}{by}{worked}."),
        "p": ("purged", "Deleted while it was dead." if dead else "Purged before it was completed."),
        "e": (
            "cancelled",
            f"Expired: it {'was dead for' if dead else 'waited'} longer than its queue's retention.",
        ),
    }[settlement.outcome]


def _was_dead(settlement: Settlement, story: Story) -> bool:
    """Whether it died, and was not redriven, before it left."""
    deaths = [one.failed_at for one in story.failures if one.retry_at is None and one.failed_at <= settlement.at]
    return bool(deaths) and not any(deaths[-1] <= one.redriven_at <= settlement.at for one in story.redriven)


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
        yield from _failure_events(failure, story.dead_letter)
    if story.lease:
        who = f"to {story.lease.consumer}" if story.lease.consumer else ""
        yield Event(story.lease.leased_at, "leased", f"Delivery {story.lease.receive_count}", who)
    letter = story.dead_letter
    if letter and not any(_is_death_of(failure, letter) for failure in story.failures):  # its failures are forgotten
        yield _died(letter.died_at, letter.receive_count, letter)
    yield from _interventions(story)
    for settlement in story.settlements:
        yield from _settlement_events(settlement, story)


def _interventions(story: Story) -> Iterator[Event]:
    """What people and their jobs did to it."""
    for rewritten in story.rewritten:
        yield Event(rewritten.rewritten_at, "info", "Patched", "what the payload was before is kept below")
    for redriven in story.redriven:
        yield _redriven_event(redriven)
    if story.trashed:
        yield Event(story.trashed.trashed_at, "purged", "To the trash", f"it was {story.trashed.state}")


def _redriven_event(redriven: Redriven) -> Event:
    job = redriven.redrive_id
    number = f"redrive #{job} " if job else ""
    by = f"by {redriven.actor}, " if redriven.actor else ""
    archived = -redriven.dead_letter_id if redriven.dead_letter_id < 0 else None
    return Event(
        redriven.redriven_at,
        "redriven",
        "Replayed" if archived else "Redriven",
        f"{number}{by}to {redriven.queue.name}"
        + (f": message {archived} of the archive, sent again" if archived else ""),
        url_name="redrive" if job else "",
        url_argument=job,
    )


def _is_death_of(failure: Failure, letter: DeadLetter) -> bool:
    return failure.retry_at is None and failure.failed_at == letter.died_at


def _died(at: datetime, deliveries: int, letter: DeadLetter | None) -> Event:
    kept = f", kept in {letter.queue.name}" if letter else ""
    return Event(at, "dead", "Died", f"after delivery {deliveries}{kept}")


def _sent_detail(body: Body, queue: str) -> str:
    return f"to {queue}, priority {body.priority}" if body.priority else f"to {queue}"


def _failure_events(failure: Failure, letter: DeadLetter | None) -> Iterator[Event]:
    if failure.leased_at:
        to = f"to {failure.consumer}" if failure.consumer else ""
        yield Event(failure.leased_at, "leased", f"Delivery {failure.receive_count}", to)
    words = {"lock_expired": "Timed out", "rejected": "Rejected"}.get(failure.reason, "Failed")
    tone = "warn" if failure.retry_at else "bad"
    if failure.error_class:
        words += f": {failure.error_class.rpartition('.')[2] or failure.error_class}"  # its module is told below
    detail = (failure.error or "")[:300]
    yield Event(failure.failed_at, "failed", words, detail, tone=tone, quotes_payload=True)
    if failure.retry_at is None:
        here = letter if letter and _is_death_of(failure, letter) else None
        yield _died(failure.failed_at, failure.receive_count, here)


def _settlement_events(settlement: Settlement, story: Story) -> Iterator[Event]:
    icon, sentence = _left(settlement, story)
    if settlement.outcome == "a" and settlement.work_ms is not None:
        to = f"to {settlement.consumer}" if settlement.consumer else ""
        began = settlement.at - timedelta(milliseconds=settlement.work_ms)
        yield Event(began, "leased", f"Delivery {settlement.attempts}", to)
    words, _, detail = sentence.partition(": ")
    yield Event(settlement.at, icon, words.rstrip("."), detail)
