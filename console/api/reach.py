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


def queues_of(job: Redrive) -> set[str]:
    """The queues that a redrive names: of its filter, those that it found, and where it sends to."""
    named = {name for term in _terms(job) for name in term.literals}
    return named | set(job.source_queues) | ({job.target_queue} if job.target_queue else set())


class Reach:
    """What one key reaches, asked for each queue once: for a call that looks at many jobs."""

    def __init__(self, key: Key) -> None:
        self._key = key
        self._everything = key.tenant is None and not key.prefix
        self._reached: dict[str, bool] = {}
        self._shared: dict[str, bool] = {}

    def has(self, names: Collection[str]) -> bool:
        """Whether all of these exist for the key; those that are gone do for one that reaches everything."""
        if self._everything:
            return True
        self._learn([name for name in names if name not in self._reached])
        return all(self._reached[name] for name in names)

    def sees(self, job: Redrive) -> bool:
        """Whether everything that the redrive may touch is within reach, by the filter that it is bound to."""
        if self._everything:
            return True
        named = [*job.source_queues, *([job.target_queue] if job.target_queue else [])]
        return self.has(named) and any(self._binds(term) for term in _terms(job))

    def _binds(self, term: Term) -> bool:
        """Whether all that the term admits died in queues within reach."""
        if not all(isinstance(value, Literal) for value in term.values) or not self.has(term.literals):
            return False
        return not self._key.prefix or not any(self._shared[name] for name in term.literals)

    def _learn(self, names: Collection[str]) -> None:
        self._reached |= dict.fromkeys(names, False)
        self._shared |= dict.fromkeys(names, False)
        for queue in Queue.objects.select_related("tenant").filter(name__in=names) if names else ():
            tenant = queue.tenant.name
            sources = sources_of(queue) if queue.is_dead_letter_queue else []
            within = [self._key.reaches(name, tenant) for name in sources]
            self._reached[queue.name] = self._key.reaches(queue.name, tenant) or any(within)
            self._shared[queue.name] = not all(within)


def _terms(job: Redrive) -> list[Term]:
    """The terms that hold the redrive to some queues."""
    try:
        chosen = parse(job.filter_text)
    except FilterError:  # a filter of an earlier version
        return []
    return [term for term in chosen.terms if term.key == "queue" and not term.negated]
