"""The progress of erasures in the archive, the messages they found there, and files to remove."""

from __future__ import annotations

from django.db import models
from django.db.models import Max, Q
from django.db.models.functions import Now

from pipeline.models import ArchiveFile


class ArchiveErasure(models.Model):
    """The progress of one erasure in the archive, through the manifest's files in the order of their ids.

    A second round erases failures, which have no payload, by the ids of the messages that the first round found.
    """

    erasure_id = models.BigIntegerField(primary_key=True)
    begun_at = models.DateTimeField(db_default=Now())
    through_file_id = models.BigIntegerField()  # later files contain no erased values
    round = models.IntegerField(db_default=1)
    after_file_id = models.BigIntegerField(db_default=0)
    files_looked = models.BigIntegerField(db_default=0)
    files_rewritten = models.BigIntegerField(db_default=0)
    rows_looked = models.BigIntegerField(db_default=0)
    rows_erased = models.BigIntegerField(db_default=0)
    unreadable = models.BigIntegerField(db_default=0)  # payloads that are not JSON
    findings_erased = models.BigIntegerField(db_default=0)  # findings of the failure analysis that quoted the value
    finished_at = models.DateTimeField(null=True)
    note = models.TextField(db_default="")  # the reason for which the erasure waits

    class Meta:
        db_table = "pipeline_erasure"

    def __str__(self) -> str:
        return f"the archive's part of erasure #{self.erasure_id}"


class ErasedMessage(models.Model):
    """A message that an erasure found in the archive."""

    pk = models.CompositePrimaryKey("erasure_id", "message_id")
    erasure_id = models.BigIntegerField()
    message_id = models.BigIntegerField()

    class Meta:
        db_table = "pipeline_erased_message"

    def __str__(self) -> str:
        return f"{self.message_id} of erasure #{self.erasure_id}"


class Discarded(models.Model):
    """A file that an erasure replaced or is about to write: recorded first, so that it is removed after a kill."""

    discarded_id = models.BigAutoField(primary_key=True)
    erasure_id = models.BigIntegerField()
    url = models.TextField()
    path = models.TextField()  # path below the url
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
    """Return the row of an erasure. Creating it sets the bound: the newest file of the archive."""
    bound = {"through_file_id": newest_file_id()}
    row, _ = ArchiveErasure.objects.get_or_create(erasure_id=erasure_id, defaults=bound)
    row.refresh_from_db()
    return row


def newest_file_id() -> int:
    return ArchiveFile.objects.aggregate(newest=Max("pk"))["newest"] or 0
