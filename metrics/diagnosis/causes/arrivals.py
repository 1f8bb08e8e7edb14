"""Causes among the senders: more messages arrive than usual."""

from __future__ import annotations

from metrics.diagnosis.evidence import Evidence, Flow
from metrics.diagnosis.suspects import Cause, Figure, Found, Page, Proof, period, speed, suspect
from metrics.diagnosis.thresholds import BURST_MESSAGES, EXPLAINS_SHARE, HISTORY_SECONDS, STEADY_SHARE, UP_FACTOR
from metrics.wording import number, plural, span


@suspect(Cause.PRODUCER_BURST)
def producer_burst(evidence: Evidence) -> Found | str:
    """Suspect a burst: the messages above the usual number explain the backlog, and consumers are steady."""
    before = evidence.before
    if not evidence.waiting:
        return "nothing is ready"
    if before is None or before.seconds < HISTORY_SECONDS:
        return "there is too little history to know how many messages usually arrive"
    burst = _strongest(evidence, before)
    if burst is None:
        arriving = speed(evidence.recent.in_per_second) if evidence.recent is not None else "an unknown number"
        return f"{arriving} arrive, compared with {speed(before.in_per_second)} in the {period(before.seconds)} before"
    if burst.acked_per_second < STEADY_SHARE * before.acked_per_second:
        return (
            f"{speed(burst.in_per_second)} arrive, {speed(before.in_per_second)} did before; but consumers do less too:"
            f" {speed(burst.acked_per_second)}, {speed(before.acked_per_second)} before"
        )
    return _found(evidence, burst, before)


def _strongest(evidence: Evidence, before: Flow) -> Flow | None:
    """Find the period with the most messages above the usual number, if these explain the backlog."""
    flows = [flow for flow in (evidence.minute, evidence.ten_minutes) if flow is not None and _is_burst(flow, before)]
    strongest = max(flows, key=lambda flow: _extra(flow, before), default=None)
    if strongest is None or _extra(strongest, before) < EXPLAINS_SHARE * evidence.waiting:
        return None
    return strongest


def _is_burst(flow: Flow, before: Flow) -> bool:
    doubled = flow.in_per_second >= UP_FACTOR * before.in_per_second
    return doubled and _extra(flow, before) >= BURST_MESSAGES


def _extra(flow: Flow, before: Flow) -> float:
    return flow.added - before.in_per_second * flow.seconds


def _found(evidence: Evidence, burst: Flow, before: Flow) -> Found:
    extra, now = round(_extra(burst, before)), burst.in_per_second
    times = f"{now / before.in_per_second:,.0f} times as many as before" if before.added else "none did before"
    arriving = f"{speed(now)} arrived in the last {period(burst.seconds)}, {times}"
    steady = f"{speed(burst.acked_per_second)} are done as before"
    return Found(
        sentence=f"A burst of senders: {arriving}; {steady}, and {plural(evidence.waiting, 'message')} wait.",
        short=f"A burst of senders: {arriving}.",
        figures=(
            Figure("in_per_second", now, "arriving", speed(now)),
            Figure("in_per_second_before", before.in_per_second, "arriving before", speed(before.in_per_second)),
            Figure("extra_messages", extra, "above the usual", number(extra)),
            Figure("done_per_second", burst.acked_per_second, "done", speed(burst.acked_per_second)),
            Figure("done_per_second_before", before.acked_per_second, "done before", speed(before.acked_per_second)),
        ),
        proof=Proof(Page.HISTORY, "the chart of what was sent and acked"),
        advice="Check whether the burst is expected. Add workers to drain it sooner; a publish rate"
        " (publish_rate_per_second) limits later bursts.",
    )


@suspect(Cause.SCHEDULED)
def scheduled(evidence: Evidence) -> Found | str:
    """Suspect delays: every message is scheduled, by its sender or by a backoff after a failure."""
    resting = plural(evidence.numbers.scheduled, "message")
    if evidence.waiting or not evidence.numbers.scheduled:
        return f"{resting} scheduled, {number(evidence.waiting)} waiting now"
    due = evidence.due_seconds
    when = f"; the next is due in {span(due)}" if due is not None and due > 0 else ""
    return Found(
        sentence=f"{resting} rest until they are due{when}.",
        figures=(
            Figure("scheduled", evidence.numbers.scheduled, "scheduled", number(evidence.numbers.scheduled)),
            Figure("next_due_seconds", due, "next due in", span(due)),
        ),
        proof=Proof(Page.SCHEDULED, "scheduled messages and when they are due"),
        advice="Nothing needs to be done. Senders delay by delay_seconds, failures by the queue's backoff.",
    )
