"""Plans and previews of a redrive or a deletion: which messages it would touch, frozen at one moment.

A plan is a row that never changes. A job that is made from it takes exactly the messages that the plan shows, however
much later it starts. A preview is the same without a row. Both take less than a second.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from dlq.filters import parse
from dlq.jobs.models import Redrive
from dlq.masking.rules import Masking
from dlq.redrives import impact, patching
from dlq.redrives.plan_models import Plan
from dlq.redrives.plan_options import Options
from dlq.redrives.staged.models import StagedMessage
from dlq.search import selecting
from dlq.search.checked_filter import CheckedFilter, stored_filter
from dlq.search.counting import BoundedCount, survey
from dlq.search.dead_letter_list import DeadLetterRow, dead_letters
from dlq.search.finding import find
from queues import audit
from queues.control import queues as control
from queues.database.query import database_now
from queues.dead_letters.ids import Span, newest_id
from queues.errors import InvalidArgument, QueueClosed
from queues.models import Consumer, Queue
from queues.reach import SYSTEM_TENANT

SAMPLES = 5
CONSUMERS_SEEN_WITHIN = timedelta(seconds=60)


@dataclass(frozen=True)
class Destination:
    """A queue to which `messages` of the counted messages would go."""

    queue: str
    messages: int
    consumers: int = 0
    paused: bool = False
    closed: bool = False
    exists: bool = True

    @property
    def warnings(self) -> list[str]:
        """Return the warnings about this queue, as sentences."""
        if not self.exists:
            return [f"{self.queue} no longer exists: the redrive will fail."]
        found = []
        if self.closed:
            found.append(f"{self.queue} is closed: a redrive into it is refused. Reopen the queue first.")
        if self.paused:
            found.append(f"{self.queue} is paused: messages will wait there until it is resumed.")
        if not self.consumers:
            found.append(f"{self.queue} has no consumer: no process received from it in the last minute.")
        return found


@dataclass(frozen=True)
class Preview:
    """Preview of a job with this filter. `create` takes the same messages with its `upper_bound` and `as_of`."""

    filter_text: str
    as_of: datetime
    upper_bound: int
    count: BoundedCount
    samples: Sequence[DeadLetterRow]
    destinations: Sequence[Destination]
    redriven_before: int
    """The number of counted messages that have failed an earlier redrive."""
    max_redrives: int

    @property
    def warnings(self) -> list[str]:
        """Return the warnings, including those of the destinations."""
        found = [warning for destination in self.destinations for warning in destination.warnings]
        if self.redriven_before:
            found.append(failed_before(self.redriven_before, self.max_redrives))
        return found


def failed_before(messages: int, most_redrives: int) -> str:
    """Return the warning about messages that have failed earlier redrives, with the largest number of these."""
    has = "has" if messages == 1 else "have"
    redrives = "one redrive" if most_redrives == 1 else f"up to {most_redrives:,} redrives"
    return f"{messages:,} {has} already failed {redrives}."


def make(
    filter: CheckedFilter,
    *,
    actor: str,
    reason: str,
    options: Options | None = None,
    upper_bound: int | None = None,
    as_of: datetime | None = None,
    may_reveal: bool = False,
) -> Plan:
    """Save a plan of what the filter selects now, or of what it selected at `upper_bound` and `as_of` of a preview.

    A target that shows fields which are masked now is refused, unless the actor `may_reveal` them. Raises
    `InvalidArgument` with the field, and for the target `QueueNotFound` and `QueueClosed`.
    """
    filter, now, options = filter.frozen(as_of), database_now(), (options or Options()).checked()
    patch = patching.read(options.patch_kind, options.patch)
    if options.target_queue is not None:
        check_target(options.target_queue)
    if upper_bound is not None and upper_bound < 0:
        raise InvalidArgument("upper_bound must be the id of a dead letter", "upper_bound")
    newest = newest_id()  # messages that die later are not selected
    bound, as_of = newest if upper_bound is None else min(upper_bound, newest), min(as_of or now, now)
    seen = impact.survey(find(filter, as_of, Span(through=bound)), as_of)
    if not may_reveal:
        check_masks(options.target_queue, str(filter), list(seen.sources) if seen.count.exact else None)
    samples = dead_letters(filter, now=as_of, through=bound, size=SAMPLES, with_payloads=False)
    plan = Plan(
        filter_text=str(filter),
        as_of=as_of,
        lower_bound=selecting.bound_below(bound),
        upper_bound=bound,
        count=seen.count.number,
        count_is_exact=seen.count.exact,
        impact_document=impact.describe(seen, options, patch).as_json(),
        sample_ids=[row.dead_letter_id for row in samples.rows],
        options=options.as_json(),
        created_by=actor,
        reason=reason[:500],
    )
    return write(plan)


def count_now(plan: Plan) -> BoundedCount:
    """Count the messages that the plan selects at this moment: some are gone, and an undo may have restored others."""
    if plan.staging_id is not None:
        return BoundedCount(StagedMessage.objects.filter(staging_id=plan.staging_id).count(), exact=True)
    span = Span(plan.lower_bound, plan.upper_bound)
    return survey(find(stored_filter(plan.filter_text), plan.as_of, span)).count


def destinations(plan: Plan, target_queue: str | None = None) -> list[Destination]:
    """Return the queues to which the messages of a plan would go, with their present state."""
    target = target_queue or plan.choices.target_queue
    if target:
        return _destinations({target: plan.impact.looked_at})
    return _destinations(dict(plan.impact.sources))


def seconds_at(plan: Plan, rate_per_second: int | None) -> float | None:
    """Return the seconds that the plan takes at a rate; None when they are unknown."""
    return plan.count / rate_per_second if rate_per_second and plan.count_is_exact else None


def destinations_of(job: Redrive) -> list[Destination]:
    """Return the queues to which a redrive sends its messages, with their present state."""
    return _destinations(dict.fromkeys([job.target_queue] if job.target_queue else job.source_queues, 0))


def check_target(target_queue: str) -> None:
    """Refuse a queue that cannot take messages: unknown, closed, or one of dead letters."""
    queue = control.get_queue(target_queue)
    if queue.is_dead_letter_queue:
        raise InvalidArgument(f"'{target_queue}' is a dead-letter queue, which takes dead letters only", "target_queue")
    if queue.closed:
        raise QueueClosed(f"queue '{target_queue}' is closed: it accepts no messages")
    if queue.tenant.name == SYSTEM_TENANT:
        raise InvalidArgument(
            f"target_queue is '{target_queue}', which belongs to Signalbox itself: only its own workers send there",
            "target_queue",
        )


def check_masks(target_queue: str | None, filter_text: str, sources: Sequence[str] | None) -> None:
    """Refuse a target that shows fields which are masked in these dead letters. Raises `InvalidArgument`.

    `sources` are the queues in which they died; None where only the filter can tell.
    """
    masking = Masking()
    if target_queue is None or not masking:
        return
    of_filter = masking.selected(parse(filter_text))
    carried = of_filter if sources is None else masking.of_dead_letters(*sources)
    masking.check_destination(carried, target_queue)


def check_masks_of(plan: Plan, target_queue: str | None) -> None:
    """Check the target of a stored plan, by the queues that it found and by the current rules."""
    if plan.staging_id is not None:  # a queue of the archive may be deleted, and its tenant unknown
        check_masks(target_queue, "", None)
        return
    named = plan.source_queues
    all_named = plan.count_is_exact and len(named) == plan.impact.source_count
    check_masks(target_queue, plan.filter_text, named if all_named else None)


def write(plan: Plan) -> Plan:
    """Save a plan with its row in the audit."""
    with transaction.atomic():
        plan.save(force_insert=True)
        plan.refresh_from_db()
        sources = plan.source_queues
        queue = Queue.objects.filter(name=sources[0]).first() if len(sources) == 1 else None
        audit.record(plan.created_by, "plan.create", queue, plan.reason, _audited(plan))
    return plan


def _audited(plan: Plan) -> dict[str, Any]:
    """Return the details for the audit, masked, because its readers may not see masked fields; the plan keeps all."""
    details = plan.summary()
    if patch := details["options"].get("patch"):
        details["options"]["patch"] = Masking().shown_patch(patch)
    return details


def preview(filter: CheckedFilter, target_queue: str | None = None, *, with_payloads: bool = True) -> Preview:
    """Count what the filter selects now. Raises `FilterError`, and `QueueNotFound` for the target."""
    filter, as_of, upper_bound = filter.frozen(None), database_now(), newest_id()
    seen = survey(find(filter, as_of, Span(through=upper_bound)))
    samples = dead_letters(filter, now=as_of, through=upper_bound, size=SAMPLES, with_payloads=with_payloads)
    if target_queue is not None:
        control.get_queue(target_queue)
        places = {target_queue: sum(seen.sources.values())}
    else:
        places = dict(seen.sources.most_common())
        places = places or {sample.source_queue: 0 for sample in samples.rows}  # there was no time to count
    return Preview(
        filter_text=str(filter),
        as_of=as_of,
        upper_bound=upper_bound,
        count=seen.count,
        samples=samples.rows,
        destinations=_destinations(places),
        redriven_before=seen.redriven_before,
        max_redrives=seen.max_redrives,
    )


def _destinations(places: dict[str, int]) -> list[Destination]:
    queues = {queue.name: queue for queue in Queue.objects.filter(name__in=places)}
    seen_since = database_now() - CONSUMERS_SEEN_WITHIN
    consumers = Consumer.objects.filter(queue__in=queues.values(), last_seen_at__gte=seen_since)
    counted = Counter(consumers.values_list("queue_id", flat=True))
    return [
        Destination(name, messages, counted[queue.queue_id], paused=queue.paused, closed=queue.closed)
        if (queue := queues.get(name))
        else Destination(name, messages, exists=False)
        for name, messages in places.items()
    ]
