"""Shapes of redrives in requests and answers."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from console.api.core.shape import Document, Shape, whole
from dlq.redrives.plan_options import MAX_RATE_PER_SECOND

Rate = whole(1, MAX_RATE_PER_SECOND)
Reason = Annotated[str, Field(max_length=500, pattern=r"^[^\x00]*$")]
QueueName = Annotated[str, Field(min_length=1, max_length=100)]


class NewRedrive(Shape):
    """The dead letters to redrive, their destination, rate limit and stop conditions."""

    target_queue: QueueName | None = Field(None, description="Null: each message goes to its source queue.")
    max_messages_per_second: Rate | None = Field(None, description="Null: no limit.")
    filter: Annotated[str, Field(max_length=2_000)] = Field(
        "",
        description="A filter as in docs/operate/filters.md. Empty: all dead letters of the queue.",
        examples=["class:TimeoutError"],
    )
    canary: whole(0, 10_000) | None = Field(
        None,
        description="The number of messages that are sent first; the others wait for their outcomes. Null: 10, or one"
        " of each failure group. 0: no canary.",
    )
    reason: Reason = Field("", description="Kept in the audit.")


class NewRate(Shape):
    """The rate of a redrive from its next batch on."""

    max_messages_per_second: Rate | None = Field(description="Null: no limit.")


class Outcomes(Document):
    """The outcomes of the redriven messages."""

    succeeded: int
    failed_same: int = Field(description="Dead again with the same cause.")
    failed_new: int = Field(description="Dead again with another cause.")
    gone: int = Field(description="Purged or expired before they were completed.")
    open: int = Field(description="Not ended yet: ready, scheduled, waiting or in flight.")


class RedriveJob(Document):
    """A redrive as a job."""

    redrive_id: str = Field(examples=["redrive_12"])
    state: str = Field(
        description="pending, running, paused, done, failed or cancelled. A job that needs an approval is"
        " awaiting until then, and refused or expired if it gets none."
    )
    filter: str
    queues: list[str] = Field(description="Source queues of the first dead letters.")
    target_queue: str | None
    count: int = Field(description="The number of messages to send, counted at the beginning.")
    count_is_exact: bool = Field(description="false: there are more messages than `count`.")
    moved: int
    skipped: int
    skipped_why: dict[str, int]
    outcomes: Outcomes
    max_messages_per_second: int | None
    canary: int | None = Field(description="The number of messages that are sent first. Null: no canary.")
    note: str = Field(description="What the redrive waits for, or why it is slow.")
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
