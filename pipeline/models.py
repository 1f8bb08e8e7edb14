"""The runs of the pipeline, requests for them, and their results: the manifest of the archive, and rollups."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone

from pipeline.analysis import analysis_models as analysis_models
from pipeline.spark.servers import Server as Server


class Run(models.Model):
    """One run of the pipeline.

    An archive run has a window of transactions, which later attempts of the run share. Runs of other kinds have their
    results in `outcome`.
    """

    class Kind(models.TextChoices):
        ARCHIVE = "archive"
        ROLLUP = "rollup"
        REPLAY = "replay"
        ANALYSE = "analyse", "Analysis"

    class State(models.TextChoices):
        RUNNING = "running"
        COMMITTED = "committed"
        FAILED = "failed"
        CANCELLED = "cancelled"

    run_id = models.BigAutoField(primary_key=True)
    kind = models.CharField(max_length=10, choices=Kind.choices, db_default=Kind.ARCHIVE)
    token = models.CharField(max_length=12)  # in the names of its files: a restored database writes other files
    state = models.CharField(max_length=10, choices=State.choices, db_default=State.RUNNING)
    url = models.TextField()  # address of the archive
    low = models.BigIntegerField(null=True)  # first transaction of the window
    high = models.BigIntegerField(null=True)  # first transaction after the window
    parts: models.JSONField[Any, Any] = models.JSONField()  # see pipeline.archive.parts
    parts_done = models.IntegerField(db_default=0)
    rows = models.BigIntegerField(db_default=0)  # rows written so far
    bytes = models.BigIntegerField(db_default=0)
    started_by = models.CharField(max_length=150)
    opened_at = models.DateTimeField(db_default=Now())
    started_at = models.DateTimeField(db_default=Now())  # start of the last attempt
    seen_at = models.DateTimeField(db_default=Now())  # time of the last progress report
    finished_at = models.DateTimeField(null=True)
    attempts = models.IntegerField(db_default=1)
    cancel_requested = models.BooleanField(db_default=False)
    error = models.TextField(db_default="")
    taken_in_by: models.ForeignKey[Run | None, Run | None] = models.ForeignKey(
        "self", null=True, on_delete=models.SET_NULL, related_name="took_in"
    )  # the rollup run that includes its files
    outcome: models.JSONField[Any, Any] = models.JSONField(db_default={})  # results, for people

    class Meta:
        db_table = "pipeline_run"
        constraints = [
            models.UniqueConstraint(fields=["kind"], condition=Q(state="running"), name="pipeline_run_one_of_a_kind"),
            models.CheckConstraint(condition=Q(low__lte=models.F("high")), name="pipeline_run_window"),
        ]
        indexes = [models.Index(fields=["url", "-run_id"], name="pipeline_run_url")]

    def __str__(self) -> str:
        return f"{self.kind} #{self.run_id}"

    @property
    def window(self) -> tuple[int, int]:
        """The window of an archive run: its first transaction, and the first after it."""
        if self.low is None or self.high is None:
            raise TypeError(f"{self} has no window")
        return self.low, self.high

    @property
    def last_transaction(self) -> int | None:
        """The last transaction in the window of an archive run; None where the run archived none, only streams."""
        return None if self.high is None or self.low == self.high else self.high - 1

    @property
    def rows_expected(self) -> int:
        return sum(part["rows"] for part in self.parts)

    @property
    def stream_ranges(self) -> int:
        """The number of ranges of positions of streams in its parts."""
        return sum(len(part.get("ranges", ())) for part in self.parts)

    @property
    def percent(self) -> int:
        return 100 if self.state == self.State.COMMITTED else 100 * self.parts_done // max(1, len(self.parts))

    @property
    def step(self) -> str:
        """The step that a running run works on; empty for a run without steps."""
        under_way = self.parts[self.parts_done : self.parts_done + 1]
        return str(under_way[0].get("step", "")) if under_way else ""

    @property
    def is_stalled(self) -> bool:
        """Tell whether a running run has reported no progress for PIPELINE_STALLED_SECONDS."""
        quiet = timezone.now() - max(self.seen_at, self.started_at)
        return self.state == self.State.RUNNING and quiet.total_seconds() > settings.PIPELINE_STALLED_SECONDS

    @property
    def rows_per_second(self) -> float | None:
        """The speed of the last attempt; None while it is unknown."""
        until = self.finished_at or self.seen_at
        took = (until - self.started_at).total_seconds()
        return self.rows / took if self.rows and took > 0 else None

    @property
    def seconds(self) -> float | None:
        """The duration of the last attempt; None while it is under way."""
        return (self.finished_at - self.started_at).total_seconds() if self.finished_at else None


class RunRequest(models.Model):
    """A request for a run: kind, arguments and person.

    Tasks carry only its id. A worker takes it once, and clears its arguments; the row of the run has the results.
    """

    class State(models.TextChoices):
        REQUESTED = "requested"
        TAKEN = "taken"
        REFUSED = "refused", "Refused: no worker could be asked"

    request_id = models.BigAutoField(primary_key=True)
    kind = models.CharField(max_length=10, choices=Run.Kind.choices)
    arguments: models.JSONField[Any, Any] = models.JSONField(db_default={})  # options of a replay
    requested_by = models.CharField(max_length=150)
    requested_at = models.DateTimeField(db_default=Now())
    state = models.CharField(max_length=10, choices=State.choices, db_default=State.REQUESTED)
    taken_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "pipeline_request"
        indexes = [models.Index(fields=["kind", "requested_by", "-requested_at"], name="pipeline_request_last")]

    def __str__(self) -> str:
        return f"request {self.request_id} for {self.kind}"


class ArchiveFile(models.Model):
    """One Parquet file of a committed run. Readers see only files with such a row."""

    file_id = models.BigAutoField(primary_key=True)
    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="files")
    kind = models.CharField(max_length=20)
    day = models.DateField()  # day (UTC) of its rows
    part = models.IntegerField()
    path = models.TextField()  # path below the run's url
    rows = models.BigIntegerField()
    bytes = models.BigIntegerField()
    first_at = models.DateTimeField()
    last_at = models.DateTimeField()

    class Meta:
        db_table = "pipeline_file"
        constraints = [models.UniqueConstraint(fields=["run", "path"], name="pipeline_file_path")]
        indexes = [models.Index(fields=["kind", "day"], name="pipeline_file_day")]

    def __str__(self) -> str:
        return self.path


class Rollup(models.Model):
    """Counts and quantiles of an hour or a day (UTC) of a scope: a queue's id, -n for tenant n, 0 for all queues.

    Messages count in the hour in which they ended. Quantiles come from sketches (`pipeline.rollups.aggregation`).
    """

    pk = models.CompositePrimaryKey("scope", "seconds", "bucket_at")
    scope = models.IntegerField()
    seconds = models.IntegerField()
    bucket_at = models.DateTimeField()
    acked = models.BigIntegerField()
    purged = models.BigIntegerField()
    expired = models.BigIntegerField()
    delivered = models.BigIntegerField()  # deliveries of messages that ended
    retried = models.BigIntegerField()  # failed deliveries with a later delivery
    dead_lettered = models.BigIntegerField()
    waits = models.BigIntegerField()  # number of waits in the quantiles
    wait_p50_ms = models.BigIntegerField(null=True)
    wait_p95_ms = models.BigIntegerField(null=True)
    wait_p99_ms = models.BigIntegerField(null=True)
    works = models.BigIntegerField()
    work_p50_ms = models.BigIntegerField(null=True)
    work_p95_ms = models.BigIntegerField(null=True)
    work_p99_ms = models.BigIntegerField(null=True)

    class Meta:
        db_table = "pipeline_rollup"

    def __str__(self) -> str:
        return f"{self.seconds} seconds of {self.scope} from {self.bucket_at}"


class Sent(models.Model):
    """The number of messages of one archive run that were sent in an hour; only ended messages are counted."""

    pk = models.CompositePrimaryKey("scope", "bucket_at", "run_id")
    scope = models.IntegerField()
    bucket_at = models.DateTimeField()
    run = models.ForeignKey(Run, on_delete=models.CASCADE)
    messages = models.BigIntegerField()

    class Meta:
        db_table = "pipeline_sent"

    def __str__(self) -> str:
        return f"{self.messages} of {self.scope} in {self.bucket_at}"
