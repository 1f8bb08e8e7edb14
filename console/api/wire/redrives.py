"""Redrives on the wire."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from console.api.wire.shape import Document, Shape, whole
from dlq.models import MAX_RATE_PER_SECOND

Rate = whole(1, MAX_RATE_PER_SECOND)
Reason = Annotated[str, Field(max_length=500, pattern=r"^[^\x00]*$")]
QueueName = Annotated[str, Field(min_length=1, max_length=100)]


class NewRedrive(Shape):
    """Which dead letters to send again, where to, how fast, and how carefully."""

    target_queue: QueueName | None = Field(None, description="Without one, each goes to the queue that it died in.")
    max_messages_per_second: Rate | None = Field(None, description="Without one, as fast as it goes.")
    filter: Annotated[str, Field(max_length=2_000)] = Field(
        "", description="In the language of docs/filters.md; without one, all of them.", examples=["class:TimeoutError"]
    )
    canary: whole(1, 10_000) | None = Field(
        None, description="So many go first; the rest waits for what becomes of them."
    )
    reason: Reason = Field("", description="Kept in the audit.")


class NewRate(Shape):
    """How fast a redrive is to go from its next batch on."""

    max_messages_per_second: Rate | None = Field(description="null is as fast as it goes.")


class Outcomes(Document):
    """What became of what was sent again."""

    succeeded: int
    failed_same: int = Field(description="Dead again, of the same cause.")
    failed_new: int = Field(description="Dead again, of another cause.")
    gone: int = Field(description="Purged or expired before anybody finished them.")
    open: int = Field(description="Still waiting, resting, or in flight.")


class RedriveJob(Document):
    """A redrive."""

    redrive_id: str = Field(examples=["redrive_12"])
    state: str = Field(
        description="pending, running, paused, done, failed, cancelled; where a second person has to approve it,"
        " awaiting first, and refused or expired when nobody did."
    )
    filter: str
    queues: list[str] = Field(description="Where the first of them died.")
    target_queue: str | None
    count: int = Field(description="How many there are to send, as of its beginning.")
    count_is_exact: bool = Field(description="false: there are more than that.")
    moved: int
    skipped: int
    skipped_why: dict[str, int]
    outcomes: Outcomes
    max_messages_per_second: int | None
    canary: int | None
    note: str = Field(description="What it waits for, or why it goes slowly.")
    stopped_because: str
    error: str
    needs_approval: bool
    approved_by: str | None
    approval_expires_at: str | None
    reason: str
    created_by: str
    created_at: str
    started_at: str | None
    finished_at: str | None


class Redrives(Document):
    """A page of redrives, the newest first."""

    redrives: list[RedriveJob]
    next_cursor: str | None
