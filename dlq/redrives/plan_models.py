"""Plan of a bulk action: a row with its selection, its impact and its options. It is written once and never changes.

The impact counts the messages that were read, at most the first ten thousand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from django.db import models
from django.db.models.functions import Now

from dlq.redrives.plan_options import Options
from dlq.redrives.staged.models import Staging


@dataclass(frozen=True)
class GroupImpact:
    """Message groups of FIFO queues: their number, their messages, and the largest as (queue, group, messages)."""

    count: int = 0
    messages: int = 0
    largest: list[tuple[str, str, int]] = field(default_factory=list)


@dataclass(frozen=True)
class PatchTrial:
    """Result of a patch that was tried on some messages: how many it does not apply to, and the reasons with counts."""

    looked_at: int = 0
    not_applied: int = 0
    why: list[tuple[str, int]] = field(default_factory=list)


@dataclass(frozen=True)
class Impact:
    """Counts of the selected messages, the most frequent first; pairs are (value, messages)."""

    looked_at: int = 0
    sources: list[tuple[str, int]] = field(default_factory=list)
    source_count: int = 0
    tenants: list[tuple[str, int]] = field(default_factory=list)
    fingerprints: list[tuple[str, str, int]] = field(default_factory=list)
    """(fingerprint, cause in words, messages)."""
    fingerprint_count: int = 0
    ages: list[tuple[str, int]] = field(default_factory=list)
    attempts: list[tuple[int, int]] = field(default_factory=list)
    groups: GroupImpact = field(default_factory=GroupImpact)
    redriven: list[tuple[int, int]] = field(default_factory=list)
    """(earlier redrives, messages)."""
    left_out: int = 0
    """Messages that were redriven too often."""
    large_bodies: int = 0
    conflicts: int | None = 0
    """Messages whose deduplication id another message holds; None: there was no time to count them."""
    patch: PatchTrial | None = None
    canaries: list[int] = field(default_factory=list)
    bytes: int = 0
    """The bytes of staged messages. The next two fields also concern staged messages only."""
    large_bodies_gone: int = 0
    dealt_with: int = 0

    def as_json(self) -> dict[str, Any]:
        """Return the document for the row."""
        return asdict(self)

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Impact:
        """Read the document of a row."""
        values = {name: _tuples(value) for name, value in document.items()}
        groups, patch = values.pop("groups", {}), values.pop("patch", None)
        return cls(
            **values,
            groups=GroupImpact(**{name: _tuples(value) for name, value in groups.items()}),
            patch=PatchTrial(**{name: _tuples(value) for name, value in patch.items()}) if patch else None,
        )


def _tuples(value: Any) -> Any:
    """Turn the lists of a JSON document into tuples."""
    return [tuple(one) if isinstance(one, list) else one for one in value] if isinstance(value, list) else value


class PlanIsWritten(TypeError):  # noqa: N818 - the name states the fact
    """A plan never changes: make another one instead."""


class Plan(models.Model):
    """Plan: the selection of a filter at one moment, and the impact of running it.

    Both bounds are ids of dead letters, or of staged messages.
    """

    class Kind(models.TextChoices):
        REDRIVE = "redrive"
        DELETION = "deletion"

    plan_id = models.BigAutoField(primary_key=True)
    kind = models.CharField(max_length=10, choices=Kind.choices, db_default=Kind.REDRIVE)
    filter_text = models.TextField(db_default="")
    as_of = models.DateTimeField()  # ages in the filter count up to here
    lower_bound = models.BigIntegerField()
    upper_bound = models.BigIntegerField()  # later dead letters have higher ids and are not selected
    count = models.BigIntegerField(db_default=0)
    count_is_exact = models.BooleanField(db_default=False)  # false: the plan has more messages
    # The document of an `Impact`.
    impact_document = models.JSONField(db_default={}, db_column="impact")
    sample_ids = models.JSONField(db_default=[])  # ids of the newest dead letters
    options = models.JSONField(db_default={})  # see dlq.redrives.plan_options
    # The staged messages of a replay; empty: dead letters.
    staging = models.ForeignKey(Staging, on_delete=models.PROTECT, null=True, related_name="plans")
    created_by = models.CharField(max_length=150)
    reason = models.CharField(max_length=500, db_default="")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "plan"

    def __str__(self) -> str:
        return f"plan #{self.plan_id}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        if not self._state.adding:
            raise PlanIsWritten(PlanIsWritten.__doc__)
        super().save(*args, **kwargs)

    @property
    def choices(self) -> Options:
        return Options.from_json(self.options)

    @cached_property
    def impact(self) -> Impact:
        return Impact.from_json(self.impact_document)

    @property
    def canary_size(self) -> int:
        """Return the number of messages that go first; 0 without a canary."""
        return self.choices.canary_size(len(self.impact.canaries))

    @property
    def waits_for_canary(self) -> bool:
        """Tell whether some messages wait for a canary; none does when the canary is the whole selection."""
        return self.canary_size > 0 and (self.canary_size < self.count or not self.count_is_exact)

    @property
    def source_queues(self) -> list[str]:
        """List the source queues of the messages that were read, the most frequent first."""
        return [name for name, _ in self.impact.sources]

    @property
    def fingerprints(self) -> list[str]:
        """List the fingerprints of the messages that were read, the most frequent first."""
        return [one for one, _, _ in self.impact.fingerprints]

    def summary(self) -> dict[str, Any]:
        """Return the details for the audit."""
        return {
            "plan_id": self.plan_id,
            "kind": self.kind,
            "filter": self.filter_text,
            "upper_bound": self.upper_bound,
            "count": self.count,
            **({"staging_id": self.staging_id} if self.staging_id else {}),
            "options": {name: value for name, value in self.options.items() if value},
        }
