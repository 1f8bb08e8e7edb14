"""Shapes of purges in requests and answers."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from console.api.core.shape import Document, Shape, whole
from console.api.redrives.shapes import Reason
from dlq.trash.purges import STATES

StateWord = Annotated[str, Field(max_length=20, json_schema_extra={"enum": list(STATES)})]
States = Annotated[list[StateWord], Field(min_length=1, max_length=len(STATES))]
MessageName = Annotated[str, Field(pattern=r"^msg_[0-9]{1,18}$")]


class Look(Shape):
    """The states of messages to count for a purge."""

    states: States | None = Field(None, description="Null: every state of the queue.", examples=[["ready"]])


class NewPurge(Shape):
    """The messages to remove, as a plan counted them."""

    states: States
    through_message_id: MessageName = Field(description="The last message to remove. Later messages stay.")
    through_dead_letter_id: whole(0, 2**63 - 1) = Field(
        0, description="The last dead letter to remove. Required if `states` has `dead`."
    )
    count: whole(0, 2**63 - 1) = Field(
        description="The count of the plan. If more messages match now, nothing is removed."
    )
    reason: Reason = Field("", description="Kept in the audit.")


class PurgePlan(Document):
    """The messages that a purge would remove now."""

    queue: str
    states: list[str]
    count: int
    counts: dict[str, int] = Field(description="By state.")
    through_message_id: str
    through_dead_letter_id: int
    trash_hours: int = Field(description="Hours for which the messages can be restored. 0: they cannot be restored.")
    needs_approval: bool = Field(description="Whether a second person must approve: the count is above the threshold.")


class PurgeJob(Document):
    """A purge as a job."""

    purge_id: str = Field(examples=["purge_7"])
    queue: str
    states: list[str]
    state: str = Field(description="One of the states of a redrive except paused.")
    count: int
    purged: int
    through_message_id: str
    through_dead_letter_id: int
    trash_hours: int
    error: str
    needs_approval: bool
    approved_by: str | None
    approval_expires_at: str | None
    reason: str
    created_by: str
    created_at: str
    started_at: str | None
    finished_at: str | None
