"""What fails: is it the messages themselves?"""

from __future__ import annotations

from metrics.diagnosis.evidence import Evidence, Failures, Flow
from metrics.diagnosis.suspects import Cause, Figure, Page, Proof, Suspect, over, percent, ruled_out
from metrics.diagnosis.thresholds import DOMINANT_SHARE, DYING_SHARE, FAILING_SHARE, FAILURES, UP_FACTOR
from metrics.wording import number, plural


def poison_data(evidence: Evidence) -> Suspect:
    """Some messages fail at every delivery, for one cause, until they die: each costs workers time again and again."""
    flow = evidence.ten_minutes or evidence.minute
    calm = few_failures(flow, evidence.before)
    if flow is None or calm:
        return ruled_out(Cause.POISON_DATA, calm)
    failures = evidence.failures
    if failures.of_fingerprint < DOMINANT_SHARE * failures.count:
        return ruled_out(
            Cause.POISON_DATA,
            f"no cause dominates: the most frequent has {failures.of_fingerprint} of the latest {failures.count}",
        )
    if dying(evidence, flow) < DYING_SHARE:
        return ruled_out(
            Cause.POISON_DATA,
            f"{plural(flow.died, 'message')} died of {plural(flow.failed, 'failure')}: most are tried again",
        )
    return _found(evidence, flow, failures)


def few_failures(flow: Flow | None, before: Flow | None) -> str:
    """Why failures explain no backlog; empty when they may."""
    if flow is None:
        return "there is no history of failures yet"
    if flow.failed < FAILURES or flow.failing < FAILING_SHARE:
        return f"{number(flow.failed)} of {number(flow.failed + flow.acked)} deliveries failed"
    if before is not None and flow.failing < UP_FACTOR * before.failing:
        return f"{percent(flow.failing)} of deliveries fail, {percent(before.failing)} did before"
    return ""


def dying(evidence: Evidence, flow: Flow) -> float:
    """The share of failures that belong to messages which die: a death stands for all the deliveries it took."""
    per_death = min(evidence.numbers.queue.max_receives, flow.failed / flow.died) if flow.died else 0
    return flow.died * per_death / flow.failed


def _found(evidence: Evidence, flow: Flow, failures: Failures) -> Suspect:
    known_as = failures.error_class or "one cause"
    failed = f"{number(flow.failed)} of {number(flow.failed + flow.acked)} deliveries failed"
    blame = f"{percent(failures.of_fingerprint / failures.count)} of them of {known_as}"
    return Suspect(
        Cause.POISON_DATA,
        found=True,
        sentence=f"Poison messages: {failed} in {over(flow.seconds)}, {blame}, and {number(flow.died)} died.",
        short=f"Poison messages: {failed}, {blame}.",
        figures=(
            Figure("failed", flow.failed, "failed deliveries", number(flow.failed)),
            Figure("failing_share", flow.failing, "of all deliveries", percent(flow.failing)),
            Figure("failing_share_before", _before(evidence), "before", percent(_before(evidence))),
            Figure(
                "dominant_share",
                failures.of_fingerprint / failures.count,
                "of one cause",
                percent(failures.of_fingerprint / failures.count),
            ),
            Figure("fingerprint", failures.fingerprint, "cause", known_as),
            Figure("died", flow.died, "died", number(flow.died)),
        ),
        proof=Proof(Page.DEAD_LETTERS, "what died of this cause", search=failures.fingerprint),
        advice="Look at one of the dead letters: correct the sender or the handler, then redrive them. Until then a"
        " handler that raises Reject buries such a message at once, instead of after all its deliveries.",
    )


def _before(evidence: Evidence) -> float:
    return evidence.before.failing if evidence.before else 0.0
