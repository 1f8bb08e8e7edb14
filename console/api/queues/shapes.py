"""Shapes of queues in requests and answers. Their settings come from `queues.settings`, renamed for the API."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, WithJsonSchema, create_model

from console.api.core.name_pages import NameListing
from console.api.core.names import wire_field
from console.api.core.shape import Document, Shape, whole
from queues.settings import SETTINGS, Setting


def _type(setting: Setting) -> Any:
    if setting.name == "mode":
        return Literal[tuple(choice.upper() for choice in setting.choices)]  # type: ignore[misc]
    if setting.kind == "choice":
        return Literal[setting.choices]  # type: ignore[valid-type]
    if setting.kind in ("number", "integer"):
        low, high = setting.minimum, setting.maximum
        number = whole(low, high) if setting.kind == "integer" else Annotated[float, Field(ge=low, le=high)]
        return Annotated[number, *_one_of(setting.choices)] if setting.choices else number
    return bool if setting.kind == "boolean" else str | None


def _one_of(choices: tuple[str, ...]) -> tuple[Any, ...]:
    numbers = [float(choice) for choice in choices]

    def check(number: float) -> float:
        if number not in numbers:
            raise ValueError(f"must be one of {', '.join(choices)}")
        return number

    return AfterValidator(check), WithJsonSchema({"enum": numbers})


def _fields(*, required: bool) -> dict[str, Any]:
    default = ... if required else None
    return {
        name: (_type(setting), Field(default=default, alias=wire_field(name), description=setting.help))
        for name, setting in SETTINGS.items()
    }


class _Given(Shape):
    """Settings of a queue in a request."""

    @property
    def settings(self) -> dict[str, Any]:
        """Return the given settings under the engine's names."""
        given = {name: getattr(self, name) for name in SETTINGS if name in self.model_fields_set}
        return {**given, "mode": given["mode"].lower()} if "mode" in given else given


class _Named(_Given):
    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,89}$", examples=["email-send"])
    tenant: Annotated[str, Field(min_length=1, max_length=100)] | None = Field(
        default=None, description="Null: the tenant of the API key, or `default` if the key has no tenant."
    )


NewQueue: Any = create_model("NewQueue", __base__=_Named, __doc__="A queue to make.", **_fields(required=False))
Changes: Any = create_model(
    "Changes", __base__=_Given, __doc__="Settings to change; the others stay.", **_fields(required=False)
)


class _Described(Document):
    model_config = ConfigDict(extra="forbid")

    queue_id: str = Field(alias="queueId", examples=["q_123"])
    name: str
    tenant: str
    state: Literal["active", "paused", "closed"]
    is_dead_letter_queue: bool = Field(alias="isDeadLetterQueue")
    created_at: str = Field(alias="createdAt")


QueueDocument: Any = create_model(
    "Queue", __base__=_Described, __doc__="A queue with its settings.", **_fields(required=True)
)


class Depths(Document):
    """Exact numbers of messages by state."""

    ready: int
    waiting: int
    scheduled: int
    leased: int
    dead: int


class QueueWithNumbers(QueueDocument):  # type: ignore[misc]
    """A queue with its numbers of messages."""

    messages: Depths
    oldest_visible_age_seconds: float | None = Field(alias="oldestVisibleAgeSeconds")


class QueuePage(Document):
    """A page of queues, by name; `nextCursor` leads to the next page."""

    queues: list[QueueDocument]
    next_cursor: str | None


class QueueListing(NameListing):
    """The parameters of a list of queues."""
