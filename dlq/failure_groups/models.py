"""Notes of people about failure groups, their comments, and merges. `dlq.failure_groups.notes` writes all three.

A fingerprint that is a member of another group is counted and found there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from django.db import models
from django.db.models.functions import Now

from dlq.filters import Filter, Literal, Term


class GroupNote(models.Model):
    """Owner, note, runbook and state of a failure group. A group without a row is open."""

    class State(models.TextChoices):
        OPEN = "open"
        ACKNOWLEDGED = "acknowledged"
        RESOLVED = "resolved"

    fingerprint = models.TextField(primary_key=True)
    note = models.TextField(db_default="")
    owner = models.CharField(max_length=150, db_default="")
    runbook_url = models.CharField(max_length=500, db_default="")
    state = models.CharField(max_length=12, choices=State.choices, db_default=State.OPEN)
    state_changed_at = models.DateTimeField(null=True)
    state_changed_by = models.CharField(max_length=150, db_default="")
    # A snooze ends at a time, or when the group has had a number of failures in total; null is no such end.
    snoozed_until = models.DateTimeField(null=True)
    snoozed_failures = models.BigIntegerField(null=True)

    class Meta:
        db_table = "failure_group_note"

    def __str__(self) -> str:
        return self.fingerprint


class GroupComment(models.Model):
    """One comment in the thread of a failure group. A comment is never changed; its author may delete it."""

    comment_id = models.BigAutoField(primary_key=True)
    fingerprint = models.TextField()
    author = models.CharField(max_length=150)
    text = models.TextField()
    written_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "failure_group_comment"
        indexes = [models.Index(fields=["fingerprint", "comment_id"], name="failure_group_comment_thread")]

    def __str__(self) -> str:
        return f"comment #{self.comment_id} on {self.fingerprint}"


class GroupMember(models.Model):
    """Fingerprint that was merged into another and is counted there, present and future failures alike."""

    fingerprint = models.TextField(primary_key=True)
    head = models.TextField(db_index=True)
    merged_at = models.DateTimeField(db_default=Now())
    merged_by = models.CharField(max_length=150)

    class Meta:
        db_table = "failure_group_member"

    def __str__(self) -> str:
        return f"{self.fingerprint} of {self.head}"


def head_of(fingerprint: str) -> str:
    """Return the failure group in which this fingerprint is counted."""
    return GroupMember.objects.filter(fingerprint=fingerprint).values_list("head", flat=True).first() or fingerprint


def widened(filter: Filter) -> Filter:
    """Replace each fingerprint of `fp:` by all fingerprints of its failure group. At most one query.

    Raises `FilterError` when the new filter is longer than a filter may be.
    """
    named = sorted({value for term in filter.terms if term.key == "fp" for value in term.literals})
    families = _families(named) if named else {}
    if not families:
        return filter
    return Filter(tuple(_widened(term, families) for term in filter.terms)).bounded()


def _families(named: Sequence[str]) -> dict[str, list[str]]:
    """Map each fingerprint of the merged failure groups to all fingerprints of its group, the head first."""
    heads = GroupMember.objects.filter(fingerprint__in=named).values("head")
    rows = GroupMember.objects.filter(head__in=named) | GroupMember.objects.filter(head__in=heads)
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
