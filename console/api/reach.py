"""What of dead letters and jobs a key reaches. Through Django, for calls that are rare: run it by `database.in_thread`.

A dead-letter queue may keep what died in several queues. A key with a prefix that reaches some of them takes, sends
again and sees only what died in those: each dead letter goes back to where it died.
"""

from __future__ import annotations

from collections.abc import Collection

from django.db.models import Q

from console.api.problems import Problem
from console.api_keys import Key
from dlq.filters import Filter, FilterError, parse
from dlq.filters.syntax import Literal, Term
from dlq.masking_rules import Masking
from dlq.models import Redrive
from queues.models import Queue

DEFAULT_SUFFIX = "-dlq"


def sources_of(holder: Queue) -> list[str]:
    """The queues whose dead letters this one keeps, by name."""
    named = Q(dead_letter_queue=holder.name)
    if holder.name.endswith(DEFAULT_SUFFIX):
        named |= Q(dead_letter_queue=None, name=holder.name.removesuffix(DEFAULT_SUFFIX))
    found = Queue.objects.filter(named, tenant_id=holder.tenant_id, is_dead_letter_queue=False)
    return list(found.order_by("name").values_list("name", flat=True))


def dead_letters_in(key: Key, holder: Queue, text: str) -> Filter:
    """What the filter selects of the dead letters in one queue, as far as the key reaches where they died.

    Raises `FilterError`, also when it asks for what is masked, and the problem `not-reached`.
    """
    chosen = parse(text)
    Masking().check(chosen, holder.name)
    chosen = chosen.with_term("queue", holder.name)
    if not key.prefix:
        return chosen
    reached = [name for name in sources_of(holder) if key.reaches(name, holder.tenant.name)]
    if not reached:
        raise Problem("not-reached", f"No queue that this key reaches has its dead letters in {holder.name!r}.")
    return chosen.with_term("queue", *reached)


def holds_others(key: Key, holder: Queue) -> bool:
    """Whether the queue keeps dead letters of queues that the key does not reach."""
    return any(not key.reaches(name, holder.tenant.name) for name in sources_of(holder))


def reached_names(key: Key, names: Collection[str]) -> set[str]:
    """Those of these queues that exist for the key; queues that are gone exist for a key that reaches everything."""
    if key.tenant is None and not key.prefix:
        return set(names)
    return {
        queue.name
        for queue in Queue.objects.select_related("tenant").filter(name__in=names)
        if key.reaches(queue.name, queue.tenant.name)
        or (queue.is_dead_letter_queue and any(key.reaches(one, queue.tenant.name) for one in sources_of(queue)))
    }


def sees_redrive(key: Key, job: Redrive) -> bool:
    """Whether everything that the redrive may touch is within the key's reach, by the filter that it is bound to."""
    if key.tenant is None and not key.prefix:
        return True
    named = {*job.source_queues, *([job.target_queue] if job.target_queue else [])}
    if reached_names(key, named) != named:
        return False
    return any(_binds(key, term) for term in _terms(job))


def queues_of(job: Redrive) -> set[str]:
    """The queues that a redrive names: of its filter, those that it found, and where it sends to."""
    named = {name for term in _terms(job) for name in term.literals}
    return named | set(job.source_queues) | ({job.target_queue} if job.target_queue else set())


def _terms(job: Redrive) -> list[Term]:
    """The terms that hold the redrive to some queues."""
    try:
        chosen = parse(job.filter_text)
    except FilterError:  # a filter of an earlier version
        return []
    return [term for term in chosen.terms if term.key == "queue" and not term.negated]


def _binds(key: Key, term: Term) -> bool:
    """Whether all that the term admits died in queues that the key reaches."""
    if not all(isinstance(value, Literal) for value in term.values):
        return False
    names = set(term.literals)
    if reached_names(key, names) != names:
        return False
    holders = Queue.objects.select_related("tenant").filter(name__in=names, is_dead_letter_queue=True)
    return not key.prefix or not any(holds_others(key, holder) for holder in holders)
