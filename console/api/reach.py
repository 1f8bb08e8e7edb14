"""What of dead letters and jobs a key reaches. Through Django, for calls that are rare: run it by `database.in_thread`.

A dead-letter queue may keep what died in several queues. A key with a prefix that reaches some of them takes, sends
again and sees only what died in those: each dead letter goes back to where it died.
"""

from __future__ import annotations

from console.api.problems import Problem
from console.api_keys import Key
from dlq.dead_letter_sources import sources_of
from dlq.filters import Filter, FilterError, parse
from dlq.filters.syntax import Term
from dlq.masking_rules import Masking
from dlq.models import Redrive
from queues.models import Queue


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


def _terms(job: Redrive) -> list[Term]:
    """The terms that hold the redrive to some queues."""
    try:
        chosen = parse(job.filter_text)
    except FilterError:  # a filter of an earlier version
        return []
    return [term for term in chosen.terms if term.key == "queue" and not term.negated]
