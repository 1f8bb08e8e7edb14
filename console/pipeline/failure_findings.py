"""Results of the last failure analysis: failures of all queues by template, and the facts that stand out in a group.

The current masking rules apply to every page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from console.access import roles
from console.access.roles import requires
from console.dead_letters.causes import class_words
from console.web.htmx import render_page
from console.web.sorting import Columns, arrange
from dlq.masking.masks import MASK, Rules
from dlq.masking.rules import Masking
from pipeline.analysis import sentences
from pipeline.analysis.analysis_models import Comparison, Finding, Template
from pipeline.analysis.features import is_hidden
from pipeline.analysis.sentences import Fact, Said
from pipeline.models import Run
from queues.database.names import reached_ids
from queues.dead_letters.rows import live_fingerprints
from queues.models import Queue

MAX_COMPARISONS = 6
MAX_TEMPLATES = 100
LIVE_LINKS = 3


@dataclass(frozen=True)
class InQueue:
    """One cause in one queue: the facts that stand out, or the reason why none do."""

    queue: str
    said: Sequence[Said]
    nothing: str
    hidden: int
    """The number of findings that a masking rule hides from everybody."""
    unread: int
    """The number of failures that were too large to analyse."""


@dataclass(frozen=True)
class OfGroup:
    """The analysis of a failure group; `made` is None if there was none yet."""

    made: Run | None
    queues: Sequence[InQueue] = ()
    more: int = 0


@dataclass(frozen=True)
class TemplateRow:
    """A template with the facts that a page adds."""

    template: Template
    share: float
    error: str | None
    failure_groups: Sequence[str]
    """Fingerprints of the existing failure groups that have failures of this template."""

    @property
    def words(self) -> str:
        return class_words(self.template.error_class, self.template.reason)

    @property
    def course(self) -> list[float]:
        return [float(count) for count in self.template.days]


COLUMNS: Columns[Template] = {
    "failure": lambda one: class_words(one.error_class, one.reason),
    "trend": lambda one: one.trend,
    "failures": lambda one: one.failures,
    "deaths": lambda one: one.deaths,
    "queues": lambda one: one.queue_count,
    "first": lambda one: one.first_seen,
    "last": lambda one: one.last_seen,
}


@require_safe
@requires("see_metadata")
def browse(request: HttpRequest) -> HttpResponse:
    """GET /pipeline/failures: the templates with the most failures, or those with one trend."""
    made, address = last_made(), reverse("failure_analysis")
    trend = request.GET.get("trend", "")
    query = Template.objects.order_by("-failures", "template")
    if trend in Template.Trend.values:
        query = query.filter(trend=trend)
    found = list(query[: MAX_TEMPLATES + 1]) if made else []
    listed = arrange(request, found[:MAX_TEMPLATES], COLUMNS)
    context = {
        "title": "Failure analysis",
        "made": made,
        "rows": template_rows(listed.rows, made) if made else [],
        "sort": listed.links,
        "more": len(found) > MAX_TEMPLATES,
        "trend": trend,
        "choices": [
            (f"{address}?trend={one}" if one else address, label, one == trend)
            for one, label in [("", "All"), *Template.Trend.choices]
        ],
    }
    return render_page(
        request, "pipeline/failure_analysis/browse.html", "pipeline/failure_analysis/_list.html", context
    )


def last_made() -> Run | None:
    return Run.objects.filter(kind=Run.Kind.ANALYSE, state=Run.State.COMMITTED).order_by("-pk").first()


def of_group(fingerprints: Sequence[str], user: AbstractBaseUser | AnonymousUser) -> OfGroup:
    """Return the facts that stand out in a failure group and its merged ones, by queue, in about six queries.

    Only queues that the person sees are included; people who see some queues see no deleted queue.
    """
    made = last_made()
    if made is None:
        return OfGroup(None)
    among = Comparison.objects.filter(cause__in=fingerprints)
    if (reached := reached_ids(roles.reach(user, "see_metadata"))) is not None:
        among = among.filter(queue_id__in=reached)
    compared = list(among.order_by("-failures", "queue_id", "cause"))
    shown = compared[:MAX_COMPARISONS]
    names = dict(Queue.objects.filter(pk__in=[one.queue_id for one in shown]).values_list("pk", "name"))
    found: dict[tuple[str, int], list[Finding]] = {}
    for one in Finding.objects.filter(cause__in=fingerprints, queue_id__in=list(names)).order_by("place"):
        found.setdefault((one.cause, one.queue_id), []).append(one)
    masking, readable = Masking(), reached_ids(roles.reach(user, "see_payloads"))
    rows = []
    for one in shown:
        name = names.get(one.queue_id, "")
        rules = masking.of_dead_letters(name) if name else masking.everywhere()
        may_read = readable is None or one.queue_id in readable
        rows.append(_in_queue(name, one, found.get((one.cause, one.queue_id), []), rules, may_read))
    return OfGroup(made, rows, len(compared) - len(shown))


def template_rows(found: Sequence[Template], made: Run) -> list[TemplateRow]:
    """List templates with their share of all failures and their failure groups. Three queries."""
    live = live_fingerprints([one["fingerprint"] for row in found for one in row.fingerprints])
    masking, whole = Masking(), max(1, made.outcome["failures"])
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
    said = sentences.say(
        [
            Fact(row.path, row.kind, row.value, row.failures_with, one.failures, row.successes_with, one.successes)
            for row in visible
        ]
    )
    nothing = "" if found else sentences.nothing(one.failures, one.successes, one.failures_unread, one.tests)
    if not may_read:
        said, hidden = [], hidden + len(said)
    return InQueue(name, said, nothing, hidden, one.failures_unread)


def _error(row: Template, masking: Masking) -> str | None:
    """Mask a template like a failure group, because its words may quote a payload."""
    names: list[Any] = [one["queue"] for one in row.queues]
    known = row.queue_count == len(names) and all(names)
    rules = masking.of_dead_letters(*names) if known else masking.everywhere()
    return MASK if row.error and rules else row.error
