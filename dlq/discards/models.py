"""The row of a discard: its stream and what will be done to it."""

from __future__ import annotations

from typing import Any

from django.db import models

from dlq.jobs.models import Job


class Discard(Job):
    """Job that deletes a stream, keeps less of it, or moves one of its groups, after a second person's approval.

    A renamed stream is found by its id. `settings` are the new settings of the stream, or the new position of each
    partition of the group.
    """

    NOUN, COUNTS = "discard", ("discarded",)
    AUDITED = ("action", "group_name", "settings")

    class Action(models.TextChoices):
        DELETE = "delete", "deletion of the stream"
        KEEP_LESS = "keep less", "settings that keep less"
        SKIP = "skip", "seek that skips messages"
        REPEAT = "repeat", "seek that repeats messages"

    discard_id = models.BigAutoField(primary_key=True)
    action = models.CharField(max_length=10, choices=Action.choices)
    stream_id = models.IntegerField()
    stream_name = models.CharField(max_length=100)
    group_name = models.CharField(max_length=100, db_default="")
    settings: models.JSONField[Any, Any] = models.JSONField(db_default={})
    discarded = models.BigIntegerField(db_default=0)

    class Meta(Job.Meta):
        db_table = "discard"

    @property
    def rule_noun(self) -> str:
        """A seek that repeats messages is limited as a redrive is, everything else as a purge."""
        return "redrive" if self.action == self.Action.REPEAT else "purge"

    @property
    def about_queue(self) -> str | None:
        return None

    def summary(self) -> dict[str, Any]:
        told = {"stream": self.stream_name} | super().summary()
        if self.group_name:
            told["new_positions"] = [f"{at} in partition {one}" for one, at in told.pop("settings").items()]
        return told
