"""The state of one message in words: where it is, why it is not delivered, and each event of its life.

Each cause comes from an index or a setting. Messages ahead of the message are counted up to a hundred.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from django.urls import reverse
from django.utils.http import urlencode

from console.web import wording
from queues.codes import Outcome
from queues.counters.groups import Holder
from queues.messages.story import MAX_AHEAD, Ahead, Settlement, Standing, Story
from queues.models import DeadLetter, Failure, Lease, ReadyTicket, Redriven, ScheduledTicket, WaitingTicket

NAMELESS = "a consumer without a name"


@dataclass(frozen=True)
class Event:
    """One event in the life of a message; `icon` and `tone` draw it, `detail` says more."""

    at: datetime
    icon: str
    words: str
    detail: str = ""
    tone: str = ""
    url_name: str = ""
    url_argument: Any = None
    after_seconds: float | None = None


@dataclass(frozen=True)
class Wait:
    """One cause why a message is not delivered: a code for programs, a sentence, and the page that proves it."""

    code: str
    sentence: str
    url: str
    proof: str


@dataclass(frozen=True)
class Report:
    """The present state of a message in one sentence; `waits` are the causes why it is not delivered now."""

    icon: str
    sentence: str
    waits: Sequence[Wait] = ()


# ---- the present state, and why the message is not delivered


def report(story: Story, now: datetime) -> Report:
    """Word the present state of the message; a message that ended has no causes."""
    if story.standing is Standing.SETTLED:
        return Report(*_left(story.settlements[-1], story))
    if story.standing in _UNKNOWN:
        return Report("info", _UNKNOWN[story.standing])
    return _REPORTS[story.standing](story, now)


def _elsewhere(story: Story, _: datetime) -> Report:
    queue = story.elsewhere
    url = reverse("message", args=[queue, story.message_id])
    wait = Wait(
        "elsewhere", f"The message was redriven to {queue} and is delivered there.", url, f"the message in {queue}"
    )
    return Report("redriven", f"Redriven to {queue}. The page of the message there shows its state.", [wait])


def _dead(story: Story, _: datetime) -> Report:
    letter: DeadLetter = story.place
    cause = letter.error_class or letter.reason.replace("_", " ")
    count = wording.plural(letter.receive_count, "delivery attempt")
    url = f"{reverse('dead_letters')}?{urlencode({'q': f'id:{story.message_id}'})}"
    waits = [Wait("dead", "The message is a dead letter: only a redrive delivers it again.", url, "its dead letter")]
    if story.queue.closed:
        sentence = f"{story.queue.name} is closed: it accepts no redrive until it is reopened."
        waits.append(_of_queue(story, "closed", sentence, "settings"))
    return Report("dead", f"Dead letter after {count}: {cause}. Dead-letter queue: {letter.queue.name}.", waits)


def _leased(story: Story, now: datetime) -> Report:
    lease: Lease = story.place
    holder, left = lease.consumer or NAMELESS, (lease.deadline - now).total_seconds()
    until = _moment(lease.deadline, now)
    if left > 0:
        rest = f"Delivered again unless acknowledged within {wording.span(left)}."
        wait = _among(story, "leased", f"The lease of {holder} ends at {until}.")
    else:
        rest = f"The lease expired {wording.span(-left)} ago; the next receive returns the message to the queue."
        wait = _among(story, "expired", f"The lease of {holder} expired at {until}, without an answer.")
    return Report("leased", f"In flight at {holder}. {rest}", [wait])


def _scheduled(story: Story, now: datetime) -> Report:
    ticket: ScheduledTicket = story.place
    left, why = (ticket.due_at - now).total_seconds(), _why_scheduled(story, ticket)
    if left > 0:
        sentence = f"Scheduled ({why}), due in {wording.span(left)}."
        wait = _among(story, "scheduled", f"The message is scheduled for {_moment(ticket.due_at, now)}: {why}.")
    else:
        sentence = f"Due now ({why})."
        wait = _among(story, "due", "The message is due: the next receive, or background maintenance, makes it ready.")
    return Report("scheduled", sentence, [*_paused(story, now), wait])


def _why_scheduled(story: Story, ticket: ScheduledTicket) -> str:
    if ticket.receive_count and story.is_deferred:
        return f"deferred by its consumer at delivery {ticket.receive_count}"
    failed = ticket.receive_count
    return f"backoff after failed delivery {failed}" if failed else "delayed by its sender or by hand"


def _waiting(story: Story, now: datetime) -> Report:
    ticket: WaitingTicket = story.place
    waited = wording.span((now - ticket.waiting_since).total_seconds())
    group = f"group {ticket.lane}" if ticket.lane else "messages without a group"
    if story.queue.queue.mode == "fifo":
        sentence = f"Waiting for {waited} behind earlier messages of {group}: a FIFO queue delivers them one at a time."
    else:
        sentence = f"Waiting for {waited} in {group}, which has reached its limit of messages in flight."
    behind = [_behind_holder(story, holder, group, now) for holder in story.holders]
    return Report("scheduled", sentence, [*_paused(story, now), *(behind or [_open_group(story, ticket.lane, group)])])


def _ready(story: Story, now: datetime) -> Report:
    ticket: ReadyTicket = story.place
    waited = wording.span((now - ticket.ready_at).total_seconds())
    return Report("sent", f"Ready for {waited}.", list(_before_the_next_receive(story, now)))


def _trashed(story: Story, _: datetime) -> Report:
    removed = "deleted" if story.trashed and story.trashed.state == "dead" else "purged"
    return Report("purged", f"In the trash: {removed}. The message can be restored until the trash is emptied.")


_REPORTS: dict[Standing, Callable[[Story, datetime], Report]] = {
    Standing.ELSEWHERE: _elsewhere,
    Standing.DEAD: _dead,
    Standing.LEASED: _leased,
    Standing.SCHEDULED: _scheduled,
    Standing.WAITING: _waiting,
    Standing.READY: _ready,
    Standing.TRASHED: _trashed,
}
_UNKNOWN = {
    Standing.UNSEARCHED: "Not in flight, not scheduled and no dead letter. The queue is too long to search in time.",
    Standing.GONE: "The message has left the queue, and its history is no longer kept.",
}


# ---- causes


def _open_group(story: Story, group_id: str, group: str) -> Wait:
    interval = story.queue.queue.group_release_interval_seconds
    pace = f", at most one every {wording.span(interval)}" if interval else ""
    sentence = f"No message of {group} is in flight: the first of the group becomes ready next{pace}."
    url = f"{reverse('queue_groups', args=[story.queue.name])}?{urlencode({'group': group_id})}"
    return Wait("lane_open", sentence, url, "the group")


def _behind_holder(story: Story, holder: Holder, group: str, now: datetime) -> Wait:
    code, then = "lane", f" of {group}, which is ready."
    if holder.state == "dead":
        code, then = "lane_dead", f", a dead letter that blocks {group} until it is redriven, deleted or purged."
    elif holder.state == "leased" and holder.until:
        then = f" of {group}, in flight at {holder.consumer or NAMELESS} until {_moment(holder.until, now)}."
    elif holder.state == "scheduled" and holder.until:
        then = f" of {group}, in backoff until {_moment(holder.until, now)}."
    url, message = reverse("message", args=[story.queue.name, holder.message_id]), f"message {holder.message_id}"
    return Wait(code, f"Waiting behind {message}{then}", url, message)


def _before_the_next_receive(story: Story, now: datetime) -> Iterator[Wait]:
    hindrances = list(_paused(story, now))
    if not story.queue.consumers:
        sentence = "No consumer has called receive in the last minute."
        hindrances.append(_of_queue(story, "no_consumer", sentence, "consumers"))
    hindrances += _in_flight(story)
    yield from hindrances
    if story.ahead is None:
        yield _among(story, "unknown", "The messages ahead could not be counted within 0.3 s.")
    elif story.ahead.higher or story.ahead.earlier:
        yield _behind(story, story.ahead)
    elif not hindrances:
        yield _among(
            story, "next", f"No message is ahead: the next receive from {story.queue.name} delivers this message."
        )


def _paused(story: Story, now: datetime) -> Iterator[Wait]:
    queue = story.queue.queue
    if queue.is_held:
        yield _of_queue(story, "paused", "Maintenance mode pauses the delivery of all queues.", "audit")
    if queue.paused:
        by = f" by {queue.paused_by}" if queue.paused_by else ""
        since = f", since {_moment(queue.paused_at, now)}" if queue.paused_at else ""
        why = f": “{queue.paused_reason}”" if queue.paused_reason else ""
        sentence = f"The queue is paused{by}{since}{why}."
        yield _of_queue(story, "paused", sentence, "audit")


def _in_flight(story: Story) -> Iterator[Wait]:
    """Report a limit of messages in flight that is reached: the queue's own, or that of its tenant."""
    queue, ahead = story.queue.queue, story.ahead
    if ahead is None or ahead.room is None or ahead.room > 0:
        return
    if ahead.in_flight is not None and ahead.in_flight >= queue.max_in_flight:
        sentence = f"The queue has {ahead.in_flight:,} messages in flight (limit {queue.max_in_flight:,})."
        yield _of_queue(story, "in_flight_queue", sentence, "settings")
    else:
        tenant = queue.tenant
        sentence = f"The tenant {tenant.name} has reached its limit of messages in flight ({tenant.max_in_flight:,})."
        url = reverse("tenant", args=[tenant.tenant_id])
        yield Wait("in_flight_tenant", sentence, url, f"the tenant {tenant.name}")


def _behind(story: Story, ahead: Ahead) -> Wait:
    kinds = [(ahead.higher, "of a higher priority"), (ahead.earlier, "that became ready earlier")]
    counts = [
        f"more than {MAX_AHEAD:,} {kind}" if number > MAX_AHEAD else f"{number:,} {kind}"
        for number, kind in kinds
        if number
    ]
    ages = ahead.higher and story.queue.queue.aging_seconds > 0
    aging = " A message that has waited long enough goes ahead of a higher priority." if ages else ""
    return _among(story, "behind", f"Behind {wording.listing(counts)}.{aging}")


_PROOFS = {
    Standing.LEASED: "the messages in flight",
    Standing.SCHEDULED: "the scheduled messages",
    Standing.READY: "the ready messages",
}


# ---- words and addresses


def _moment(when: datetime, now: datetime) -> str:
    return f"{wording.clock(when)}, {wording.ago(when, now)}"


def _of_queue(story: Story, code: str, sentence: str, page: str) -> Wait:
    """Return a cause that a page of the queue proves."""
    return Wait(code, sentence, reverse(f"queue_{page}", args=[story.queue.name]), f"the queue's {page}")


def _among(story: Story, code: str, sentence: str) -> Wait:
    """Return a cause that the list of messages in the same state proves."""
    url = f"{reverse('queue_messages', args=[story.queue.name])}?state={story.standing.value}"
    return Wait(code, sentence, url, _PROOFS[story.standing])


# ---- events


def timeline(story: Story) -> list[Event]:
    """List all events in order, each with the time since the event before."""
    events = sorted(_events(story), key=lambda event: event.at)
    gaps = [(event.at - before.at).total_seconds() for before, event in pairwise(events)]
    return [replace(event, after_seconds=gap) for event, gap in zip(events, [None, *gaps], strict=False)]


def _events(story: Story) -> Iterator[Event]:
    if story.body:
        priority = f", priority {story.body.priority}" if story.body.priority else ""
        yield Event(story.body.sent_at, "sent", "Sent", f"to {story.queue.name}{priority}")
    for failure in story.failures:
        yield from _failure_events(failure, story.dead_letter)
    for deferral in story.deferrals:
        yield _delivery(deferral.leased_at, deferral.receive_count, deferral.consumer)
        yield Event(deferral.deferred_at, "scheduled", "Deferred", f"until {wording.clock(deferral.due_at)}")
    if story.lease:
        yield _delivery(story.lease.leased_at, story.lease.receive_count, story.lease.consumer)
    letter = story.dead_letter
    if letter and not any(
        _is_death_of(failure, letter) for failure in story.failures
    ):  # the failures are no longer kept
        yield _died(letter.died_at, letter.receive_count, letter)
    yield from _interventions(story)
    for settlement in story.settlements:
        yield from _settlement_events(settlement, story)


def _delivery(at: datetime, number: int | None, consumer: str | None) -> Event:
    return Event(at, "leased", f"Delivery {number}", f"to {consumer}" if consumer else "")


def _interventions(story: Story) -> Iterator[Event]:
    """List the events that people and their jobs caused."""
    for rewritten in story.rewritten:
        yield Event(rewritten.rewritten_at, "info", "Patched", "the payload before the patch is kept below")
    for redriven in story.redriven:
        yield _redriven_event(redriven)
    if story.trashed:
        yield Event(story.trashed.trashed_at, "purged", "Moved to the trash", f"from the state {story.trashed.state}")


def _redriven_event(redriven: Redriven) -> Event:
    job = redriven.redrive_id
    number = f"redrive #{job} " if job else ""
    by = f"by {redriven.actor}, " if redriven.actor else ""
    archived = -redriven.dead_letter_id if redriven.dead_letter_id < 0 else None
    return Event(
        redriven.redriven_at,
        "redriven",
        "Replayed" if archived else "Redriven",
        f"{number}{by}to {redriven.queue.name}" + (f": sent again as archived message {archived}" if archived else ""),
        url_name="redrive" if job else "",
        url_argument=job,
    )


def _is_death_of(failure: Failure, letter: DeadLetter) -> bool:
    return failure.retry_at is None and failure.failed_at == letter.died_at


def _died(at: datetime, deliveries: int, letter: DeadLetter | None) -> Event:
    kept = f", to {letter.queue.name}" if letter else ""
    return Event(at, "dead", "Dead-lettered", f"after delivery {deliveries}{kept}")


def _failure_events(failure: Failure, letter: DeadLetter | None) -> Iterator[Event]:
    if failure.leased_at:
        yield _delivery(failure.leased_at, failure.receive_count, failure.consumer)
    words = {"lock_expired": "Timed out", "rejected": "Rejected"}.get(failure.reason, "Failed")
    tone = "warn" if failure.retry_at else "bad"
    if failure.error_class:
        name = failure.error_class.rpartition(".")[2]  # the whole class stands at the failed delivery
        words += f": {name or failure.error_class}"
    yield Event(failure.failed_at, "failed", words, tone=tone)
    if failure.retry_at is None:
        here = letter if letter and _is_death_of(failure, letter) else None
        yield _died(failure.failed_at, failure.receive_count, here)


def _settlement_events(settlement: Settlement, story: Story) -> Iterator[Event]:
    icon, sentence = _left(settlement, story)
    if settlement.outcome == Outcome.ACKED and settlement.work_ms is not None:
        began = settlement.at - timedelta(milliseconds=settlement.work_ms)
        yield _delivery(began, settlement.attempts, settlement.consumer)
    words, _, detail = sentence.partition(": ")
    yield Event(settlement.at, icon, words.rstrip("."), detail)


def _left(settlement: Settlement, story: Story) -> tuple[str, str]:
    by = f" by {settlement.consumer}" if settlement.consumer else ""
    worked = f" after {wording.span(settlement.work_ms / 1000)} of work" if settlement.work_ms is not None else ""
    deaths = [one.failed_at for one in story.failures if one.retry_at is None and one.failed_at <= settlement.at]
    # The message became a dead letter, and was not redriven before it left.
    dead = deaths and not any(deaths[-1] <= one.redriven_at <= settlement.at for one in story.redriven)
    kind = "dead letter" if dead else "message"
    where = "" if settlement.queue_id == story.queue.queue_id else f" in {story.name_of(settlement.queue_id)}"
    return {
        Outcome.ACKED.value: ("done", f"Completed: acknowledged{where}{by}{worked}."),
        Outcome.PURGED.value: ("purged", "Deleted as a dead letter." if dead else "Purged before completion."),
        Outcome.EXPIRED.value: ("cancelled", f"Expired: the {kind} stayed longer than the retention of its queue."),
    }[settlement.outcome]
