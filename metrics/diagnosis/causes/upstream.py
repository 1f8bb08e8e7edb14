"""The cause upstream of the queue: a subscription has messages that it has not sent to the queue yet."""

from __future__ import annotations

from metrics.diagnosis.evidence import Evidence
from metrics.diagnosis.suspects import Cause, Figure, Found, Page, Proof, suspect
from metrics.wording import number, plural, span
from queues.control.subscriptions import Feed


@suspect(Cause.UPSTREAM)
def upstream_lag(evidence: Evidence) -> Found | str:
    """Suspect a subscription: it is paused or behind, or this queue is closed or full."""
    if not evidence.feeds:
        return "no subscription feeds it"
    feed = evidence.slowest_feed
    if feed is None:
        return f"no message is late from {plural(len(evidence.feeds), 'subscription')}"
    held, (why, advice) = plural(feed.lag, "message"), _obstacle(evidence, feed)
    return Found(
        sentence=f"Not yet sent from {feed.source}: {held}, the oldest for {span(feed.lag_seconds)}; {why}.",
        short=f"{held} not yet sent from {feed.source}: {why}.",
        figures=(
            Figure("upstream_messages", feed.lag, "to come", held),
            Figure("upstream_seconds", feed.lag_seconds, "oldest to come", span(feed.lag_seconds)),
            Figure("upstream", feed.source, "from", feed.source),
        ),
        proof=Proof(Page.SUBSCRIPTIONS, "the subscriptions that feed it, and their lag"),
        advice=advice,
    )


def _obstacle(evidence: Evidence, feed: Feed) -> tuple[str, str]:
    """Say what keeps the subscription from sending, and what to do about it."""
    numbers = evidence.numbers
    held = numbers.ready + numbers.scheduled + numbers.waiting + numbers.leased
    if feed.paused:
        return "the subscription is paused", "Resume the subscription when the reason for the pause is gone."
    if numbers.closed:
        return "this queue is closed", "Open this queue, or end the subscription. Messages that are not sent expire."
    if numbers.refusing:
        return f"this queue is full ({', '.join(numbers.refusing)})", "Add consumers, or raise the limit."
    if feed.window is not None and held >= feed.window:
        return (
            f"this queue holds {number(held)} messages, and the subscription sends up to {number(feed.window)} ahead",
            "Add consumers to this queue. The other messages are safe in the stream until its retention ends.",
        )
    return (
        "the subscription is behind",
        "Check that manage.py upkeep runs, and that no long transaction appends to the stream.",
    )
