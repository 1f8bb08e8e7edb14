"""Explanations of empty lists, except lists of messages: the values in the filter that name nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.http import HttpRequest

from console.access.roles import reach
from console.filters.list_filter_grammar import Key, Term, parse
from dlq.filters import FilterError
from dlq.filters.suggest import closest
from dlq.search.explanations import MAX_EXPLANATIONS, MAX_NAMES, Explanation
from dlq.search.samples import read_in_time
from queues.database import names

SEVERITIES = ("critical", "warning")


def explain(request: HttpRequest, text: str, keys: Mapping[str, Key], wordless: str) -> list[Explanation]:
    """Return which values of `queue:`, `tenant:` and `severity:` name nothing; one query for each key in the filter."""
    try:
        terms = [term for term in parse(text, keys, wordless) if not term.negated]
    except FilterError:
        return []
    said = [one for term in terms for one in _unknown(request, text, term)]
    return said[:MAX_EXPLANATIONS]


def _unknown(request: HttpRequest, text: str, term: Term) -> list[Explanation]:
    known = _known(request, term.key)
    if not 0 < len(known) < MAX_NAMES:
        return []
    return [_meaning(text, term.key, value, known) for value in term.values if value not in known]


def _known(request: HttpRequest, key: str) -> Sequence[str]:
    if key == "severity":
        return SEVERITIES
    query = {"queue": names.queues, "tenant": names.tenants}.get(key)
    return [row[0] for row in read_in_time(query("", reach(request.user, "see_metadata"), MAX_NAMES))] if query else []


def _meaning(text: str, key: str, value: str, known: Sequence[str]) -> Explanation:
    sentence, meant = f"There is no {key} {value[:80]}.", closest(value[:80], known)
    return Explanation(sentence, f"{key}:{meant}", text.replace(value, meant)) if meant else Explanation(sentence)
