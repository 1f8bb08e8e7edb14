"""Clusters that people merged: a fingerprint that is a member of another counts there and is found there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dlq.cluster_models import ClusterMember
from dlq.filters import Filter, Literal, Term, parse


def head_of(fingerprint: str) -> str:
    """The cluster that this fingerprint counts in."""
    return ClusterMember.objects.filter(fingerprint=fingerprint).values_list("head", flat=True).first() or fingerprint


def widened(chosen: Filter) -> Filter:
    """The filter with every `fp:` asking for all fingerprints of the clusters it names. One query, if it names any.

    Raises `FilterError` where that makes the filter longer than one may be.
    """
    named = sorted({value for term in chosen.terms if term.key == "fp" for value in term.literals})
    families = _families(named) if named else {}
    if not families:
        return chosen
    return parse(" ".join(str(_widened(term, families)) for term in chosen.terms)).within(chosen.reach)


def _families(named: Sequence[str]) -> dict[str, list[str]]:
    """For each fingerprint of a merged cluster all of them, its head first."""
    heads = ClusterMember.objects.filter(fingerprint__in=named).values("head")
    rows = ClusterMember.objects.filter(head__in=named) | ClusterMember.objects.filter(head__in=heads)
    families: dict[str, list[str]] = {}
    for head, member in rows.order_by("head", "fingerprint").values_list("head", "fingerprint").distinct():
        families.setdefault(head, [head]).append(member)
    return {one: family for family in families.values() for one in family}


def _widened(term: Term, families: dict[str, list[str]]) -> Term:
    if term.key != "fp":
        return term
    others = [value for value in term.values if not isinstance(value, Literal)]
    texts = dict.fromkeys(text for one in term.literals for text in families.get(one, [one]))
    return replace(term, values=(*others, *(Literal(text) for text in texts)))
