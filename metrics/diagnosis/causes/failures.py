"""Causes in failures: poison messages, or a dependency of the consumers that fails."""

from __future__ import annotations

from metrics.diagnosis.causes.consumers import took, work_figures
from metrics.diagnosis.evidence import Evidence, Failures, Flow
from metrics.diagnosis.suspects import Cause, Figure, Found, Page, Proof, percent, period, suspect
from metrics.diagnosis.thresholds import DOMINANT_SHARE, DYING_SHARE, FAILING_SHARE, FAILURES, UP_FACTOR
from metrics.wording import number, plural


@suspect(Cause.POISON_DATA)
def poison_data(evidence: Evidence) -> Found | str:
    """Suspect poison messages: they fail at every delivery, with one cause, until they are dead letters."""
    flow = evidence.recent
    calm = few_failures(flow, evidence.before)
    if flow is None or calm:
        return calm
    failures = evidence.failures
    if not failures.count or failures.of_fingerprint < DOMINANT_SHARE * failures.count:
        return f"no cause dominates: the most frequent has {failures.of_fingerprint} of the latest {failures.count}"
    if dying(evidence, flow) < DYING_SHARE:
        return f"{_dead(flow)} of {plural(flow.failed, 'failure')}: most are tried again"
    return _found(evidence, flow, failures)


@suspect(Cause.DOWNSTREAM_THROTTLING)
def downstream_throttling(evidence: Evidence) -> Found | str:
    """Suspect a dependency: deliveries fail with one class of error and are retried; few become dead letters."""
    flow, failures = evidence.recent, evidence.failures
    calm = few_failures(flow, evidence.before)
    if flow is None or calm:
        return calm
    if not failures.count or failures.error_class is None or failures.of_class < DOMINANT_SHARE * failures.count:
        most = f"the most frequent has {failures.of_class} of the latest {failures.count}"
        return f"no class of error dominates: {most}"
    if dying(evidence, flow) >= DYING_SHARE:
        return f"failed messages are not retried: {_dead(flow)}"
    failed = f"{number(flow.failed)} of {number(flow.failed + flow.acked)} deliveries failed"
    share = failures.of_class / failures.count
    blame = f"{percent(share)} of them with {failures.error_class}"
    slower = f", and work takes {took(evidence.work.median)}, {took(evidence.work.median_before)} before"
    return Found(
        sentence=f"A dependency of the consumers fails: {failed} in {period(flow.seconds)}, {blame},"
        f" and are tried again{slower if evidence.work.slower else ''}; {_dead(flow)}.",
        short=f"A dependency of the consumers fails: {failed}, {blame}.",
        figures=(
            *_failing_figures(evidence, flow),
            Figure("dominant_share", share, "with one class", percent(share)),
            Figure("error_class", failures.error_class, "class", failures.error_class),
            Figure("died", flow.died, "dead-lettered", number(flow.died)),
            *work_figures(evidence.work),
        ),
        proof=Proof(Page.FAILURES, "the latest failures"),
        advice="Check the partner, database or quota that this error names. Until it works again, use fewer workers or"
        " a longer backoff (backoff_base_seconds), or pause the queue to save the deliveries of its messages.",
    )


def _dead(flow: Flow) -> str:
    return plural(flow.died, "new dead letter")


def few_failures(flow: Flow | None, before: Flow | None) -> str:
    """Say why failures do not explain the backlog; empty when they may."""
    if flow is None:
        return "there is no history of failures yet"
    if flow.failed < FAILURES or flow.failing < FAILING_SHARE:
        return f"{number(flow.failed)} of {number(flow.failed + flow.acked)} deliveries failed"
    if before is not None and flow.failing < UP_FACTOR * before.failing:
        return f"{percent(flow.failing)} of deliveries fail, {percent(before.failing)} did before"
    return ""


def dying(evidence: Evidence, flow: Flow) -> float:
    """Compute the share of failures of messages that became dead letters, all of their deliveries counted."""
    per_death = min(evidence.numbers.queue.max_receives, flow.failed / flow.died) if flow.died else 0
    return flow.died * per_death / flow.failed


def _found(evidence: Evidence, flow: Flow, failures: Failures) -> Found:
    known_as, share = failures.error_class or "one cause", failures.of_fingerprint / failures.count
    failed = f"{number(flow.failed)} of {number(flow.failed + flow.acked)} deliveries failed"
    blame = f"{percent(share)} of them of {known_as}"
    return Found(
        sentence=f"Poison messages: {failed} in {period(flow.seconds)}, {blame}; {_dead(flow)}.",
        short=f"Poison messages: {failed}, {blame}.",
        figures=(
            *_failing_figures(evidence, flow),
            Figure("dominant_share", share, "of one cause", percent(share)),
            Figure("fingerprint", failures.fingerprint, "cause", known_as),
            Figure("died", flow.died, "dead-lettered", number(flow.died)),
        ),
        proof=Proof(Page.DEAD_LETTERS, "dead letters with this error", search=failures.fingerprint),
        advice="Look at one of the dead letters: correct the sender or the handler, then redrive them. Until then a"
        " handler that raises Reject dead-letters such a message at once, instead of after all its deliveries.",
    )


def _failing_figures(evidence: Evidence, flow: Flow) -> tuple[Figure, ...]:
    before = evidence.before.failing if evidence.before else 0.0
    return (
        Figure("failed", flow.failed, "failed deliveries", number(flow.failed)),
        Figure("failing_share", flow.failing, "of all deliveries", percent(flow.failing)),
        Figure("failing_share_before", before, "before", percent(before)),
    )
