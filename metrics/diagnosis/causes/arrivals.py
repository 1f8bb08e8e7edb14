"""What comes in: more than usual?"""

from __future__ import annotations

from metrics.diagnosis.evidence import Evidence, Flow
from metrics.diagnosis.suspects import Cause, Figure, Page, Proof, Suspect, over, ruled_out
from metrics.diagnosis.suspects import pace as per
from metrics.diagnosis.thresholds import BURST_MESSAGES, EXPLAINS_SHARE, HISTORY_SECONDS, STEADY_SHARE, UP_FACTOR
from metrics.wording import number, plural, span


def producer_burst(evidence: Evidence) -> Suspect:
    """Far more arrives than usual, which explains what waits, while consumers do what they always did."""
    before = evidence.before
    if not evidence.waiting:
        return ruled_out(Cause.PRODUCER_BURST, "nothing is ready")
    if before is None or before.seconds < HISTORY_SECONDS:
        return ruled_out(Cause.PRODUCER_BURST, "there is too little history to know what usually arrives")
    burst = _strongest(evidence, before)
    if burst is None:
        return ruled_out(Cause.PRODUCER_BURST, _usual(evidence, before))
    if burst.acked_per_second < STEADY_SHARE * before.acked_per_second:
        return ruled_out(
            Cause.PRODUCER_BURST,
            f"{per(burst.in_per_second)} arrive, {per(before.in_per_second)} did before; but consumers do less too:"
            f" {per(burst.acked_per_second)}, {per(before.acked_per_second)} before",
        )
    return _found(evidence, burst, before)


def _strongest(evidence: Evidence, before: Flow) -> Flow | None:
    """The stretch in which most came above the usual, if that explains the backlog."""
    flows = [flow for flow in (evidence.minute, evidence.ten_minutes) if flow is not None and _is_burst(flow, before)]
    strongest = max(flows, key=lambda flow: _extra(flow, before), default=None)
    if strongest is None or _extra(strongest, before) < EXPLAINS_SHARE * evidence.waiting:
        return None
    return strongest


def _is_burst(flow: Flow, before: Flow) -> bool:
    doubled = flow.in_per_second >= UP_FACTOR * before.in_per_second
    return doubled and _extra(flow, before) >= BURST_MESSAGES


def _extra(flow: Flow, before: Flow) -> float:
    """How many messages came above the usual."""
    return flow.added - before.in_per_second * flow.seconds


def _usual(evidence: Evidence, before: Flow) -> str:
    recent = evidence.recent
    arriving = per(recent.in_per_second) if recent is not None else "nobody knows how much"
    return f"{arriving} arrive, {per(before.in_per_second)} did in the {over(before.seconds)} before"


def _found(evidence: Evidence, burst: Flow, before: Flow) -> Suspect:
    extra = round(_extra(burst, before))
    times = (
        f", {burst.in_per_second / before.in_per_second:,.0f} times as many as before"
        if before.added
        else ", none did before"
    )
    arriving = f"{per(burst.in_per_second)} arrived in the last {over(burst.seconds)}{times}"
    steady = f"{per(burst.acked_per_second)} are done as ever"
    return Suspect(
        Cause.PRODUCER_BURST,
        found=True,
        sentence=f"A burst of senders: {arriving}; {steady}, and {plural(evidence.waiting, 'message')} wait.",
        short=f"A burst of senders: {arriving}.",
        figures=(
            Figure("in_per_second", burst.in_per_second, "arriving", per(burst.in_per_second)),
            Figure("in_per_second_before", before.in_per_second, "arriving before", per(before.in_per_second)),
            Figure("extra_messages", extra, "above the usual", number(extra)),
            Figure("done_per_second", burst.acked_per_second, "done", per(burst.acked_per_second)),
            Figure("done_per_second_before", before.acked_per_second, "done before", per(before.acked_per_second)),
        ),
        proof=Proof(Page.HISTORY, "the chart of what was sent and acked"),
        advice="Ask who sends, and whether it was meant. Add workers if it has to be done sooner than it drains; a"
        " publish rate (publish_rate_per_second) holds back what should not come again.",
    )


def scheduled(evidence: Evidence) -> Suspect:
    """All there is rests until it is due: delayed by its sender, or backing off after a failure."""
    resting = plural(evidence.numbers.scheduled, "message")
    if evidence.waiting or not evidence.numbers.scheduled:
        return ruled_out(Cause.SCHEDULED, f"{resting} scheduled, {number(evidence.waiting)} waiting now")
    due = evidence.due_seconds
    when = f"; the next is due in {span(due)}" if due is not None and due > 0 else ""
    return Suspect(
        Cause.SCHEDULED,
        found=True,
        sentence=f"{resting} rest until they are due{when}.",
        figures=(
            Figure("scheduled", evidence.numbers.scheduled, "scheduled", number(evidence.numbers.scheduled)),
            Figure("next_due_seconds", due, "next due in", span(due)),
        ),
        proof=Proof(Page.SCHEDULED, "what is scheduled and when it is due"),
        advice="Nothing needs to be done. Senders delay by delay_seconds, failures by the queue's backoff.",
    )
