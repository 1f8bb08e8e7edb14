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

    target_queue: QueueName | None = Field(None, description="Without one, each goes to the queue that it died in.")
    max_messages_per_second: Rate | None = Field(None, description="Without one, as fast as it goes.")
    filter: Annotated[str, Field(max_length=2_000)] = Field(
        "",
        description="In the language of docs/operate/filters.md; without one, all of them.",
        examples=["class:TimeoutError"],
    )
    canary: whole(0, 10_000) | None = Field(
        None,
        description="The number of messages that go first; the others wait for their outcomes. Without it: 10, or one"
        " of each failure group. 0: no canary.",
    )
    reason: Reason = Field("", description="Kept in the audit.")


class NewRate(Shape):
    """The rate of a redrive from its next batch on."""

    max_messages_per_second: Rate | None = Field(description="null is as fast as it goes.")


class Outcomes(Document):
    """The outcomes of the redriven messages."""

    succeeded: int
    failed_same: int = Field(description="Dead again, of the same cause.")
    failed_new: int = Field(description="Dead again, of another cause.")
    gone: int = Field(description="Purged or expired before anybody finished them.")
    open: int = Field(description="Still waiting, resting, or in flight.")


class RedriveJob(Document):
    """A redrive as a job."""

    redrive_id: str = Field(examples=["redrive_12"])
    state: str = Field(
        description="pending, running, paused, done, failed or cancelled. A job that needs an approval is"
        " awaiting until then, and refused or expired if it gets none."
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
    canary: int | None = Field(description="The number of messages that go first. null: no canary.")
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
