"""The progress of an erasure in the archive, what it found there, and files that are to be removed."""

from __future__ import annotations

from django.db import models
from django.db.models import Max, Q
from django.db.models.functions import Now

from pipeline.models import ArchiveFile


class ArchiveErasure(models.Model):
    """One erasure's way through the manifest: files by their ids, in two rounds, since failures have no payload and are
    known by the messages that the first round found.
    """

    erasure_id = models.BigIntegerField(primary_key=True)
    begun_at = models.DateTimeField(db_default=Now())
    through_file_id = models.BigIntegerField(help_text="What is archived later was read after the database was done.")
    round = models.IntegerField(db_default=1)
    after_file_id = models.BigIntegerField(db_default=0)
    files_looked = models.BigIntegerField(db_default=0)
    files_rewritten = models.BigIntegerField(db_default=0)
    rows_looked = models.BigIntegerField(db_default=0)
    rows_erased = models.BigIntegerField(db_default=0)
    unreadable = models.BigIntegerField(db_default=0, help_text="Payloads of the archive that are no JSON.")
    findings_erased = models.BigIntegerField(db_default=0, help_text="Of the failure analysis, that quoted it.")
    finished_at = models.DateTimeField(null=True)
    note = models.TextField(db_default="", help_text="What it waits for.")

    class Meta:
        db_table = "pipeline_erasure"

    def __str__(self) -> str:
        return f"the archive's part of erasure #{self.erasure_id}"


class ErasedMessage(models.Model):
    """A message that was found in the archive."""

    pk = models.CompositePrimaryKey("erasure_id", "message_id")
    erasure_id = models.BigIntegerField()
    message_id = models.BigIntegerField()

    class Meta:
        db_table = "pipeline_erased_message"

    def __str__(self) -> str:
        return f"{self.message_id} of erasure #{self.erasure_id}"


class Discarded(models.Model):
    """A file that is no part of the archive, or will not be: noted before it is, so that none is forgotten."""

    discarded_id = models.BigAutoField(primary_key=True)
    erasure_id = models.BigIntegerField()
    url = models.TextField()
    path = models.TextField(help_text="Below the url.")
    discarded_at = models.DateTimeField(db_default=Now())
    removed_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "pipeline_discarded"
        indexes = [
            models.Index(fields=["erasure_id"], name="pipeline_discarded_there", condition=Q(removed_at=None)),
        ]

    def __str__(self) -> str:
        return self.path


def begin(erasure_id: int) -> ArchiveErasure:
    """Begin the row, for the process that erases and for one that only waits; the bound is fixed with it."""
    bound = {"through_file_id": newest_file_id()}
    row, _ = ArchiveErasure.objects.get_or_create(erasure_id=erasure_id, defaults=bound)
    row.refresh_from_db()
    return row


def newest_file_id() -> int:
    return ArchiveFile.objects.aggregate(newest=Max("pk"))["newest"] or 0
