"""Why a message is not being delivered: every cause that holds at this moment, one sentence each, with where to see it.

What is said here was looked up by an index or is a setting. How many are ahead is counted to a hundred and no further.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.urls import reverse
from django.utils.http import urlencode

from console import wording
from console.message_ahead import MOST_AHEAD, Ahead
from console.message_story import Story
from queues.lanes import Holder
from queues.models import Lease, ScheduledTicket, WaitingTicket


@dataclass(frozen=True)
class Wait:
    """One cause: a code for programs, a sentence for people, and the page that proves it."""

    code: str
    sentence: str
    url: str
    proof: str


def waits(story: Story, now: datetime) -> list[Wait]:
    """The causes; none for a message that is not to be delivered any more."""
    if story.elsewhere:
        return [_elsewhere(story)]
    if story.dead_letter:
        return list(_dead(story))
    if story.lease:
        return [_leased(story, story.lease, now)]
    if story.scheduled:
        return [*_paused(story, now), _scheduled(story, story.scheduled, now)]
    if story.waiting:
        return [*_paused(story, now), *_in_lane(story, story.waiting, now)]
    if story.ready:
        return list(_ready(story, now))
    return []


def _elsewhere(story: Story) -> Wait:
    queue = story.elsewhere
    url = reverse("message", args=[queue, story.message_id])
    return Wait("elsewhere", f"It was redriven to {queue}, and is delivered there.", url, f"the message in {queue}")


def _dead(story: Story) -> Iterator[Wait]:
    url = f"{reverse('dead_letters')}?{urlencode({'q': f'id:{story.message_id}'})}"
    yield Wait("dead", "It is dead: only a redrive delivers it again.", url, "its dead letter")
    if story.queue.closed:
        sentence = f"{story.queue.name} is closed: it takes no redrive until it is opened."
        yield Wait("closed", sentence, _of(story, "queue_settings"), "the queue's settings")


def _leased(story: Story, lease: Lease, now: datetime) -> Wait:
    holder = lease.consumer or "A consumer without a name"
    url = _list(story, "leased")
    if lease.deadline <= now:
        late = wording.span((now - lease.deadline).total_seconds())
        sentence = f"{holder} held it until {late} ago and did not settle it: the next receive takes it back."
        return Wait("expired", sentence, url, "what is in flight")
    return Wait("leased", f"{holder} holds it until {_moment(lease.deadline, now)}.", url, "what is in flight")


def _scheduled(story: Story, ticket: ScheduledTicket, now: datetime) -> Wait:
    why = f"after failure {ticket.receive_count}" if ticket.receive_count else "as its sender asked"
    if ticket.due_at <= now:
        sentence = f"Its rest {why} is over: the next receive, or upkeep, lets it go."
        return Wait("due", sentence, _list(story, "scheduled"), "what is scheduled")
    sentence = f"It rests {why} until {_moment(ticket.due_at, now)}."
    return Wait("scheduled", sentence, _list(story, "scheduled"), "what is scheduled")


# ---- lanes


def _in_lane(story: Story, ticket: WaitingTicket, now: datetime) -> Iterator[Wait]:
    lane = f"the group {ticket.lane}" if ticket.lane else "messages without a group"
    for holder in story.holders:
        url = reverse("message", args=[story.queue.name, holder.message_id])
        code = "lane_dead" if holder.state == "dead" else "lane"
        yield Wait(code, _holding(holder, lane, now), url, f"message {holder.message_id}")
    if not story.holders:
        interval = story.queue.queue.lane_release_interval_seconds
        pace = f", one every {wording.span(interval)}" if interval else ""
        sentence = f"Nothing of {lane} is under way: claims and upkeep let the next go{pace}, the first in line first."
        yield Wait("lane_open", sentence, _lane_page(story, ticket.lane), "the lane")


def _holding(holder: Holder, lane: str, now: datetime) -> str:
    message = f"message {holder.message_id}"
    if holder.state == "dead":
        return f"It waits behind {message}, which is dead and holds {lane} until it is redriven, deleted or purged."
    if holder.state == "leased" and holder.until:
        who = holder.consumer or "a consumer without a name"
        return f"It waits behind {message} of {lane}, which {who} holds until {_moment(holder.until, now)}."
    if holder.state == "scheduled" and holder.until:
        return f"It waits behind {message} of {lane}, which backs off until {_moment(holder.until, now)}."
    return f"It waits behind {message} of {lane}, which is ready."


# ---- ready


def _ready(story: Story, now: datetime) -> Iterator[Wait]:
    numbers = story.queue
    hindrances = [*_paused(story, now), *_no_consumer(story), *_in_flight(story)]
    yield from hindrances
    if story.ahead is None:
        sentence = "How many are ahead of it could not be looked up within 0.3 s."
        yield Wait("unknown", sentence, _list(story, "ready"), "what is ready")
    elif story.ahead.higher or story.ahead.earlier:
        yield _behind(story, story.ahead)
    elif not hindrances:
        sentence = f"Nothing is ahead of it: the next receive from {numbers.name} takes it."
        yield Wait("next", sentence, _list(story, "ready"), "what is ready")


def _paused(story: Story, now: datetime) -> Iterator[Wait]:
    queue = story.queue.queue
    if queue.is_held:
        sentence = "It is not delivered because maintenance holds every queue."
        yield Wait("paused", sentence, _of(story, "queue_audit"), "the queue's audit")
    if not queue.paused:
        return
    by = f" by {queue.paused_by}" if queue.paused_by else ""
    since = f", since {_moment(queue.paused_at, now)}" if queue.paused_at else ""
    why = f": “{queue.paused_reason}”" if queue.paused_reason else ""
    sentence = f"It is not delivered because the queue is paused{by}{since}{why}."
    yield Wait("paused", sentence, _of(story, "queue_audit"), "the queue's audit")


def _no_consumer(story: Story) -> Iterator[Wait]:
    if not story.queue.consumers:
        sentence = "It is not delivered because no consumer has asked in the last minute."
        yield Wait("no_consumer", sentence, _of(story, "queue_consumers"), "the queue's consumers")


def _in_flight(story: Story) -> Iterator[Wait]:
    """Where what may be in flight is limited, and the limit is reached: the queue's own, or that of its tenant."""
    queue, ahead = story.queue.queue, story.ahead
    if ahead is None or ahead.room is None or ahead.room > 0:
        return
    if ahead.in_flight is not None and ahead.in_flight >= queue.max_in_flight:
        sentence = f"{ahead.in_flight:,} of {queue.max_in_flight:,} messages that the queue may have in flight are."
        yield Wait("in_flight_queue", sentence, _of(story, "queue_settings"), "the queue's settings")
    else:
        tenant = queue.tenant
        sentence = f"The tenant {tenant.name} has as many messages in flight as its {tenant.max_in_flight:,}."
        yield Wait(
            "in_flight_tenant", sentence, reverse("tenant", args=[tenant.tenant_id]), f"the tenant {tenant.name}"
        )


def _behind(story: Story, ahead: Ahead) -> Wait:
    kinds = [(ahead.higher, "of a higher priority"), (ahead.earlier, "that became ready before it")]
    words = wording.listing([f"{_count(number)} {kind}" for number, kind in kinds if number])
    aging = " One that has waited long enough goes ahead of a higher priority." if ahead.higher and _ages(story) else ""
    return Wait("behind", f"It is behind {words}.{aging}", _list(story, "ready"), "what is ready")


def _ages(story: Story) -> bool:
    return story.queue.queue.aging_seconds > 0


def _count(number: int) -> str:
    return f"more than {MOST_AHEAD:,}" if number > MOST_AHEAD else f"{number:,}"


# ---- words and addresses


def _moment(when: datetime, now: datetime) -> str:
    return f"{wording.clock(when)}, {wording.ago(when, now)}"


def _of(story: Story, name: str) -> str:
    return reverse(name, args=[story.queue.name])


def _list(story: Story, state: str) -> str:
    return f"{_of(story, 'queue_messages')}?{urlencode({'state': state})}"


def _lane_page(story: Story, lane: Any) -> str:
    return f"{_of(story, 'queue_lanes')}?{urlencode({'group': lane})}"
