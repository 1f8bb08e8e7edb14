"""What the last failure analysis says, for pages: never more than the masking rules of this moment let anybody see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser

from console import roles
from dlq.clusters import reached_ids
from dlq.finding import Query
from dlq.masking import MASK, Rules
from dlq.masking_rules import Masking
from pipeline.analysis import sentences
from pipeline.analysis.analysis_models import Comparison, Finding, Template
from pipeline.analysis.features import is_hidden
from pipeline.analysis.sentences import Fact, Said
from pipeline.models import Run
from queues.models import Queue

MOST_COMPARISONS = 6
LIVE_LINKS = 3


@dataclass(frozen=True)
class Made:
    """The last analysis: when, by whom, over what."""

    run: Run

    @property
    def first_day(self) -> str:
        return str(self.run.outcome["days"][0])

    @property
    def last_day(self) -> str:
        return str(self.run.outcome["days"][-1])

    @property
    def at(self) -> datetime | None:
        return self.run.finished_at


@dataclass(frozen=True)
class InQueue:
    """One cause in one queue: what stands out, or why nothing does. No queue: it is gone."""

    queue: str
    said: Sequence[Said]
    nothing: str
    hidden: int
    """Findings of which a masking rule lets nobody read."""
    unread: int
    """Failures that were too large to be looked at."""


@dataclass(frozen=True)
class OfCluster:
    """What the analysis has of a cluster; no `made`: there was none yet."""

    made: Made | None
    queues: Sequence[InQueue] = ()
    more: int = 0


@dataclass(frozen=True)
class TemplateRow:
    """A template with what a page makes of it."""

    template: Template
    share: float
    error: str | None
    clusters: Sequence[str]
    """Fingerprints of it that died: live clusters."""

    @property
    def words(self) -> str:
        unnamed = {"lock_expired": "Timed out", "rejected": "Rejected"}
        return self.template.error_class or unnamed.get(self.template.reason, "Failed without a class")

    @property
    def course(self) -> list[float]:
        return [float(count) for count in self.template.days]


def last_made() -> Made | None:
    run = Run.objects.filter(kind=Run.Kind.ANALYSE, state=Run.State.COMMITTED).order_by("-pk").first()
    return Made(run) if run else None


def of_cluster(fingerprints: Sequence[str], user: AbstractBaseUser | AnonymousUser) -> OfCluster:
    """What stands out among the failures of a cluster and what was merged into it, queue by queue. Some six queries.

    Of the queues that the person sees: whoever sees some is told of no other, and not of one that is gone.
    """
    made = last_made()
    if made is None:
        return OfCluster(None)
    among = Comparison.objects.filter(cause__in=fingerprints)
    if (reached := reached_ids(roles.reach(user, "see_metadata"))) is not None:
        among = among.filter(queue_id__in=reached)
    compared = list(among.order_by("-failures", "queue_id", "cause"))
    shown = compared[:MOST_COMPARISONS]
    names = dict(Queue.objects.filter(pk__in=[one.queue_id for one in shown]).values_list("pk", "name"))
    found: dict[tuple[str, int], list[Finding]] = {}
    for one in Finding.objects.filter(cause__in=fingerprints, queue_id__in=list(names)).order_by("place"):
        found.setdefault((one.cause, one.queue_id), []).append(one)
    masking, readable = Masking(), reached_ids(roles.reach(user, "see_payloads"))
    rows = []
    for one in shown:
        name = names.get(one.queue_id, "")
        rules = masking.of_letters(name) if name else masking.everywhere()
        may_read = readable is None or one.queue_id in readable
        rows.append(_in_queue(name, one, found.get((one.cause, one.queue_id), []), rules, may_read))
    return OfCluster(made, rows, len(compared) - len(shown))


def template_rows(found: Sequence[Template], made: Made) -> list[TemplateRow]:
    """Templates with their share of all failures and the live clusters they lead to. Three queries."""
    named = [one["fingerprint"] for row in found for one in row.fingerprints]
    known = "select c.fingerprint from signalbox.failure_cluster c where c.fingerprint = any(%s::text[])"
    live = {row[0] for row in Query(known, [named]).rows()}
    masking, whole = Masking(), max(1, made.run.outcome["failures"])
    return [
        TemplateRow(
            row,
            row.failures / whole,
            _error(row, masking),
            [one["fingerprint"] for one in row.fingerprints if one["fingerprint"] in live][:LIVE_LINKS],
        )
        for row in found
    ]


def _in_queue(name: str, one: Comparison, found: Sequence[Finding], rules: Rules, may_read: bool) -> InQueue:
    visible = [row for row in found if not is_hidden(row.path, (rules.payload, rules.attributes))]
    hidden = len(found) - len(visible)
    said = sentences.say([_fact(row, one) for row in visible])
    nothing = "" if found else sentences.nothing(one.failures, one.successes, one.failures_unread, one.tests)
    if not may_read:
        said, hidden = [], hidden + len(said)
    return InQueue(name, said, nothing, hidden, one.failures_unread)


def _fact(row: Finding, one: Comparison) -> Fact:
    return Fact(row.path, row.kind, row.value, row.failures_with, one.failures, row.successes_with, one.successes)


def _error(row: Template, masking: Masking) -> str | None:
    """A template still has words of the error, which may quote: masked where anything is, as in a cluster."""
    names: list[Any] = [one["queue"] for one in row.queues]
    known = row.queue_count == len(names) and all(names)
    rules = masking.of_letters(*names) if known else masking.everywhere()
    return MASK if row.error and rules else row.error
