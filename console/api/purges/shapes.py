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

    states: States | None = Field(None, description="Without it every state of the queue.", examples=[["ready"]])


class NewPurge(Shape):
    """The messages to remove, as a plan counted them."""

    states: States
    through_message_id: MessageName = Field(description="Messages up to this one go; what is sent later stays.")
    through_dead_letter_id: whole(0, 2**63 - 1) = Field(
        0, description="The same of dead letters; needed where `states` has `dead`."
    )
    count: whole(0, 2**63 - 1) = Field(
        description="How many the plan showed: when there are more by now, nothing is removed."
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
    trash_hours: int = Field(description="How long it can be put back; 0 is not at all.")
    needs_approval: bool = Field(description="More than the threshold: a second person has to approve it.")


class PurgeJob(Document):
    """A purge as a job."""

    purge_id: str = Field(examples=["purge_7"])
    queue: str
    states: list[str]
    state: str = Field(description="As of a redrive; a purge is never paused.")
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
