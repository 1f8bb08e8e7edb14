"""One message in words: where it stands, why it is not delivered, and everything that happened to it.

Each cause was looked up by an index or is a setting. Messages ahead of it are counted to a hundred and no further.
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
    """An event in the life of the message; `icon` and `tone` draw it, `detail` says more."""

    at: datetime
    icon: str
    words: str
    detail: str = ""
    tone: str = ""
    quotes_payload: bool = False
    """The detail may quote the payload, and is masked with it."""
    url_name: str = ""
    url_argument: Any = None
    after_seconds: float | None = None


@dataclass(frozen=True)
class Wait:
    """One cause: a code for programs, a sentence for people, and the page that proves it."""

    code: str
    sentence: str
    url: str
    proof: str


@dataclass(frozen=True)
class Report:
    """The place of the message now and, when it waits, what for; `waits` are the causes that hold at this moment."""

    icon: str
    sentence: str
    waits: Sequence[Wait] = ()


# ---- where it stands, and why it is not delivered


def report(story: Story, now: datetime) -> Report:
    """Say where the message stands; there are no causes for one that is not to be delivered any more."""
    if story.standing is Standing.SETTLED:
        return Report(*_left(story.settlements[-1], story))
    if story.standing in _UNKNOWN:
        return Report("info", _UNKNOWN[story.standing])
    return _REPORTS[story.standing](story, now)


def _elsewhere(story: Story, _: datetime) -> Report:
    queue = story.elsewhere
    url = reverse("message", args=[queue, story.message_id])
    wait = Wait("elsewhere", f"It was redriven to {queue}, and is delivered there.", url, f"the message in {queue}")
    return Report("redriven", f"Redriven to {queue}: the message's page there says where it stands.", [wait])


def _dead(story: Story, _: datetime) -> Report:
    letter: DeadLetter = story.place
    cause = letter.error_class or letter.reason.replace("_", " ")
    count = wording.plural(letter.receive_count, "delivery").replace("deliverys", "deliveries")
    url = f"{reverse('dead_letters')}?{urlencode({'q': f'id:{story.message_id}'})}"
    waits = [Wait("dead", "It is dead: only a redrive delivers it again.", url, "its dead letter")]
    if story.queue.closed:
        sentence = f"{story.queue.name} is closed: it takes no redrive until it is opened."
        waits.append(_of_queue(story, "closed", sentence, "settings"))
    return Report("dead", f"Dead after {count}: {cause}. It is kept in {letter.queue.name}.", waits)


def _leased(story: Story, now: datetime) -> Report:
    lease: Lease = story.place
    holder, left = lease.consumer or NAMELESS, (lease.deadline - now).total_seconds()
    subject = lease.consumer or NAMELESS.capitalize()
    if left > 0:
        rest = f"; delivered again unless it is settled within {wording.span(left)}."
        wait = _among(story, "leased", f"{subject} holds it until {_moment(lease.deadline, now)}.")
    else:
        late, then = f"{wording.span(-left)} ago", "the next receive takes it back."
        rest = f", whose time ran out {late}: {then}"
        wait = _among(story, "expired", f"{subject} held it until {late} and did not settle it: {then}")
    return Report("leased", f"In the hands of {holder}{rest}", [wait])


def _scheduled(story: Story, now: datetime) -> Report:
    ticket: ScheduledTicket = story.place
    failed, left = ticket.receive_count, (ticket.due_at - now).total_seconds()
    resting = "backing off after a failure" if failed else "delayed by its sender"
    why = f"after failure {failed}" if failed else "as its sender asked"
    if left > 0:
        sentence = f"Resting, {resting}; due in {wording.span(left)}."
        wait = _among(story, "scheduled", f"It rests {why} until {_moment(ticket.due_at, now)}.")
    else:
        sentence = f"Due now, after {resting}."
        wait = _among(story, "due", f"Its rest {why} is over: the next receive, or upkeep, lets it go.")
    return Report("scheduled", sentence, [*_paused(story, now), wait])


def _waiting(story: Story, now: datetime) -> Report:
    ticket: WaitingTicket = story.place
    waited = wording.span((now - ticket.waiting_since).total_seconds())
    group = f"the group {ticket.lane}" if ticket.lane else "messages without a group"
    if story.queue.queue.mode == "fifo":
        sentence = f"Waiting for {waited} behind others of {group}: a FIFO queue delivers them one at a time."
    else:
        sentence = f"Waiting for {waited} in {group}, which has as many messages in flight as it may."
    behind = [_behind_holder(story, holder, group, now) for holder in story.holders]
    return Report("scheduled", sentence, [*_paused(story, now), *(behind or [_open_group(story, ticket.lane, group)])])


def _ready(story: Story, now: datetime) -> Report:
    ticket: ReadyTicket = story.place
    waited = wording.span((now - ticket.ready_at).total_seconds())
    return Report("sent", f"Ready for {waited}.", list(_before_the_next_receive(story, now)))


def _trashed(story: Story, _: datetime) -> Report:
    removed = "deleted" if story.trashed and story.trashed.state == "dead" else "purged"
    return Report(
        "purged", f"In the trash: it was {removed}, and can be put back as it was until the trash is emptied."
    )


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
    Standing.UNSEARCHED: "Not in flight, not scheduled and not dead. Its queue is too long to look for it in time.",
    Standing.GONE: "It has left the queue, and the history that would say how is gone.",
}


# ---- causes


def _open_group(story: Story, group_id: str, group: str) -> Wait:
    interval = story.queue.queue.group_release_interval_seconds
    pace = f", one every {wording.span(interval)}" if interval else ""
    sentence = f"Nothing of {group} is under way: claims and upkeep let the next go{pace}, the first in line first."
    url = f"{reverse('queue_lanes', args=[story.queue.name])}?{urlencode({'group': group_id})}"
    return Wait("lane_open", sentence, url, "the group")


def _behind_holder(story: Story, holder: Holder, group: str, now: datetime) -> Wait:
    code, then = "lane", f" of {group}, which is ready."
    if holder.state == "dead":
        code, then = "lane_dead", f", which is dead and holds {group} until it is redriven, deleted or purged."
    elif holder.state == "leased" and holder.until:
        then = f" of {group}, which {holder.consumer or NAMELESS} holds until {_moment(holder.until, now)}."
    elif holder.state == "scheduled" and holder.until:
        then = f" of {group}, which backs off until {_moment(holder.until, now)}."
    url, message = reverse("message", args=[story.queue.name, holder.message_id]), f"message {holder.message_id}"
    return Wait(code, f"It waits behind {message}{then}", url, message)


def _before_the_next_receive(story: Story, now: datetime) -> Iterator[Wait]:
    hindrances = list(_paused(story, now))
    if not story.queue.consumers:
        sentence = "It is not delivered because no consumer has asked in the last minute."
        hindrances.append(_of_queue(story, "no_consumer", sentence, "consumers"))
    hindrances += _in_flight(story)
    yield from hindrances
    if story.ahead is None:
        yield _among(story, "unknown", "How many are ahead of it could not be looked up within 0.3 s.")
    elif story.ahead.higher or story.ahead.earlier:
        yield _behind(story, story.ahead)
    elif not hindrances:
        yield _among(story, "next", f"Nothing is ahead of it: the next receive from {story.queue.name} takes it.")


def _paused(story: Story, now: datetime) -> Iterator[Wait]:
    queue = story.queue.queue
    if queue.is_held:
        yield _of_queue(story, "paused", "It is not delivered because maintenance holds every queue.", "audit")
    if queue.paused:
        by = f" by {queue.paused_by}" if queue.paused_by else ""
        since = f", since {_moment(queue.paused_at, now)}" if queue.paused_at else ""
        why = f": “{queue.paused_reason}”" if queue.paused_reason else ""
        sentence = f"It is not delivered because the queue is paused{by}{since}{why}."
        yield _of_queue(story, "paused", sentence, "audit")


def _in_flight(story: Story) -> Iterator[Wait]:
    """Report a limit on what may be in flight that is reached: the queue's own, or that of its tenant."""
    queue, ahead = story.queue.queue, story.ahead
    if ahead is None or ahead.room is None or ahead.room > 0:
        return
    if ahead.in_flight is not None and ahead.in_flight >= queue.max_in_flight:
        sentence = f"{ahead.in_flight:,} of {queue.max_in_flight:,} messages that the queue may have in flight are."
        yield _of_queue(story, "in_flight_queue", sentence, "settings")
    else:
        tenant = queue.tenant
        sentence = f"The tenant {tenant.name} has as many messages in flight as its {tenant.max_in_flight:,}."
        url = reverse("tenant", args=[tenant.tenant_id])
        yield Wait("in_flight_tenant", sentence, url, f"the tenant {tenant.name}")


def _behind(story: Story, ahead: Ahead) -> Wait:
    kinds = [(ahead.higher, "of a higher priority"), (ahead.earlier, "that became ready before it")]
    counts = [
        f"more than {MAX_AHEAD:,} {kind}" if number > MAX_AHEAD else f"{number:,} {kind}"
        for number, kind in kinds
        if number
    ]
    ages = ahead.higher and story.queue.queue.aging_seconds > 0
    aging = " One that has waited long enough goes ahead of a higher priority." if ages else ""
    return _among(story, "behind", f"It is behind {wording.listing(counts)}.{aging}")


_PROOFS = {
    Standing.LEASED: "what is in flight",
    Standing.SCHEDULED: "what is scheduled",
    Standing.READY: "what is ready",
}


# ---- words and addresses


def _moment(when: datetime, now: datetime) -> str:
    return f"{wording.clock(when)}, {wording.ago(when, now)}"


def _of_queue(story: Story, code: str, sentence: str, page: str) -> Wait:
    """A cause that a page of the queue proves."""
    return Wait(code, sentence, reverse(f"queue_{page}", args=[story.queue.name]), f"the queue's {page}")


def _among(story: Story, code: str, sentence: str) -> Wait:
    """A cause that the list of messages in the same state proves."""
    url = f"{reverse('queue_messages', args=[story.queue.name])}?state={story.standing.value}"
    return Wait(code, sentence, url, _PROOFS[story.standing])


# ---- what happened


def timeline(story: Story) -> list[Event]:
    """Every event in order, each with the time since the one before."""
    events = sorted(_events(story), key=lambda event: event.at)
    gaps = [(event.at - before.at).total_seconds() for before, event in pairwise(events)]
    return [replace(event, after_seconds=gap) for event, gap in zip(events, [None, *gaps], strict=False)]


def _events(story: Story) -> Iterator[Event]:
    if story.body:
        priority = f", priority {story.body.priority}" if story.body.priority else ""
        yield Event(story.body.sent_at, "sent", "Sent", f"to {story.queue.name}{priority}")
    for failure in story.failures:
        yield from _failure_events(failure, story.dead_letter)
    if story.lease:
        yield _delivery(story.lease.leased_at, story.lease.receive_count, story.lease.consumer)
    letter = story.dead_letter
    if letter and not any(_is_death_of(failure, letter) for failure in story.failures):  # its failures are forgotten
        yield _died(letter.died_at, letter.receive_count, letter)
    yield from _interventions(story)
    for settlement in story.settlements:
        yield from _settlement_events(settlement, story)


def _delivery(at: datetime, number: int | None, consumer: str | None) -> Event:
    return Event(at, "leased", f"Delivery {number}", f"to {consumer}" if consumer else "")


def _interventions(story: Story) -> Iterator[Event]:
    """List what people and their jobs did to it."""
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


def _failure_events(failure: Failure, letter: DeadLetter | None) -> Iterator[Event]:
    if failure.leased_at:
        yield _delivery(failure.leased_at, failure.receive_count, failure.consumer)
    words = {"lock_expired": "Timed out", "rejected": "Rejected"}.get(failure.reason, "Failed")
    tone = "warn" if failure.retry_at else "bad"
    if failure.error_class:
        words += f": {failure.error_class.rpartition('.')[2] or failure.error_class}"  # its module follows below
    detail = (failure.error or "")[:300]
    yield Event(failure.failed_at, "failed", words, detail, tone=tone, quotes_payload=True)
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
    # It died, and was not redriven, before it left.
    dead = deaths and not any(deaths[-1] <= one.redriven_at <= settlement.at for one in story.redriven)
    stayed = "was dead for" if dead else "waited"
    where = "" if settlement.queue_id == story.queue.queue_id else f" in {story.name_of(settlement.queue_id)}"
    return {
        Outcome.ACKED.value: ("done", f"Completed: acknowledged{where}{by}{worked}."),
        Outcome.PURGED.value: ("purged", "Deleted while it was dead." if dead else "Purged before it was completed."),
        Outcome.EXPIRED.value: ("cancelled", f"Expired: it {stayed} longer than its queue's retention."),
    }[settlement.outcome]
