"""Forms of streams and consumer groups."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC
from typing import Any

from django import forms

from console.filters.moments import MomentField
from console.web.forms.fields import JsonTextField, PlainFloatField, ReasonForm, measured, seconds_field
from console.web.forms.reviews import ReviewedForm
from queues.settings import MAX_SECONDS, Setting
from queues.stream_models import ConsumerGroup, Stream

MAX_PAYLOAD_BYTES = 262_144
NAME = {"autocomplete": "off", "autocapitalize": "off", "spellcheck": "false"}


def _name(label: str, help_text: str) -> forms.CharField:
    return forms.CharField(label=label, max_length=90, help_text=help_text, widget=forms.TextInput(attrs=NAME))


def _seconds(label: str, initial: float, low: float, high: float, help_text: str) -> forms.FloatField:
    field = PlainFloatField(label=label, initial=initial, min_value=low, max_value=high, help_text=help_text)
    return measured(field, "seconds")


class RetentionForm(forms.Form):
    """The retention of a stream, and the allowed lag of its groups."""

    retention_seconds = _seconds(
        "Retention", 604_800, 3_600, 315_360_000, "The time for which messages are kept, read or unread."
    )
    alert_group_lag_seconds = _seconds(
        "Alert: group lag",
        300,
        1,
        31_536_000,
        "A group with a larger lag and no progress counts as stalled.",
    )


class StreamForm(RetentionForm):
    """A new stream and its number of partitions."""

    field_order = ("name", "tenant", "partitions")
    name = _name("Name", "Letters, digits, dots, dashes and underscores.")
    tenant = forms.CharField(
        max_length=100, required=False, empty_value=None, help_text="Created if it does not exist."
    )
    partitions = forms.IntegerField(
        initial=4,
        min_value=1,
        max_value=64,
        help_text=(
            "The maximum number of members of a group that read at once. It can grow later; then keys move to other "
            "partitions."
        ),
    )


def _count(label: str, unit: str) -> forms.IntegerField:
    text = "The newest up to this amount are kept; older messages are deleted before their time. 0: no limit."
    field = forms.IntegerField(label=label, initial=0, min_value=0, max_value=10**15, help_text=text)
    return measured(field, unit)


_RETENTION = "Applies to stored messages too: older ones are deleted within minutes."
STREAM_SETTINGS = {
    one.name: one
    for one in (
        Setting(
            "partitions",
            "integer",
            4,
            "",
            effect="Groups read the new partitions too. New messages of a key may go to another partition than its old "
            "ones. It cannot be taken back.",
        ),
        Setting("retention_seconds", "number", 604_800.0, "", unit="seconds", effect=_RETENTION),
        Setting("retention_bytes", "integer", 0, "", unit="bytes", effect=_RETENTION),
        Setting("retention_messages", "integer", 0, "", unit="messages", effect=_RETENTION),
        Setting("compaction", "boolean", False, "", effect="Messages that newer ones replace are deleted for good."),
        Setting("dedup_window_seconds", "number", 300.0, "", unit="seconds", effect="Applies to new messages."),
        Setting("alert_group_lag_seconds", "number", 300.0, "", unit="seconds", effect="Applies at the next check."),
        Setting("max_payload_bytes", "integer", MAX_PAYLOAD_BYTES, "", unit="bytes", effect="Applies to new messages."),
        Setting("closed", "boolean", False, "", effect="Appends are refused; consumers go on reading."),
    )
}


class StreamSettingsForm(RetentionForm, ReasonForm, ReviewedForm):
    """The changeable settings of a stream, with a reason for the audit."""

    settings = STREAM_SETTINGS

    field_order = (
        "partitions",
        "retention_seconds",
        "retention_bytes",
        "retention_messages",
        "compaction",
        "dedup_window_seconds",
        "alert_group_lag_seconds",
        "max_payload_bytes",
        "closed",
        "reason",
    )
    partitions = forms.IntegerField(
        min_value=1,
        max_value=64,
        help_text="The maximum number of members of a group that read at once. It can only grow.",
    )
    retention_bytes = _count("Retention: size", "bytes")
    retention_messages = _count("Retention: number", "messages")
    dedup_window_seconds = _seconds(
        "Deduplication window",
        300,
        1,
        86_400,
        "A second message with the deduplication id of another is not appended for this time.",
    )
    max_payload_bytes = measured(
        forms.IntegerField(
            label="Largest payload",
            min_value=1,
            max_value=MAX_PAYLOAD_BYTES,
            help_text="As JSON text. A larger payload is refused.",
        ),
        "bytes",
    )
    compaction = forms.BooleanField(
        required=False,
        help_text="Of each key only the newest message is kept, however old. A payload of null ends its key.",
    )
    closed = forms.BooleanField(required=False, help_text="A closed stream refuses appends; consumers go on reading.")

    def __init__(self, *args: Any, stream: Stream, **kwargs: Any) -> None:
        self.before = {name: getattr(stream, name) for name in STREAM_SETTINGS}
        super().__init__(*args, initial=self.before, **kwargs)
        for name in STREAM_SETTINGS:
            self.fields[name].show_hidden_initial = True

    def clean_partitions(self) -> int:
        partitions, present = self.cleaned_data["partitions"], self.before["partitions"]
        if partitions < present:
            raise forms.ValidationError(f"The stream has {present} partitions. The number can only grow.")
        return int(partitions)

    def values(self) -> list[forms.BoundField]:
        """Return the fields of the settings, without the reason."""
        return [self[name] for name in STREAM_SETTINGS]


class AppendForm(forms.Form):
    """A message to append by hand."""

    payload = JsonTextField(initial="{}", max_length=MAX_PAYLOAD_BYTES, help_text="Any JSON value.")
    attributes = JsonTextField(required=False, max_length=16_384, help_text="A JSON object. Default: none.")
    key = forms.CharField(
        required=False,
        empty_value=None,
        max_length=200,
        help_text="Messages of one key are in one partition, in order. Default: none.",
    )

    deduplication_id = forms.CharField(
        label="Deduplication id",
        required=False,
        empty_value=None,
        max_length=200,
        help_text="A second message with this id is not appended.",
    )

    def clean_attributes(self) -> dict[str, Any] | None:
        attributes = self.cleaned_data["attributes"]
        if attributes is not None and not isinstance(attributes, dict):
            raise forms.ValidationError('Attributes are a JSON object. Enter one such as {"region": "eu"}.')
        return attributes


def _point(label: str, *more: tuple[str, str]) -> forms.ChoiceField:
    choices = [("beginning", "the beginning"), ("end", "the end"), ("time", "a time"), *more]
    return forms.ChoiceField(label=label, choices=choices)


class PointForm(forms.Form):
    """A position, or a time in UTC, in a stream."""

    at = MomentField(label="Time")

    def clean(self) -> dict[str, Any]:
        given = super().clean() or {}
        if given.get("point") == "time" and not given.get("at") and "at" not in self.errors:
            self.add_error("at", "Enter a time, or choose another position.")
        if given.get("point") != "time":
            given["at"] = None
        elif given.get("at"):
            given["at"] = given["at"].replace(tzinfo=UTC)
        return given


def _filter() -> forms.CharField:
    text = "Reads only matching messages, such as payload.total:>100 attr.region:eu. Empty: all."
    return forms.CharField(required=False, max_length=2000, help_text=text)


class GroupForm(PointForm):
    """A new consumer group, or a subscription that sends to a queue."""

    field_order = ("name", "point", "at", "queue")
    name = _name("Name", "Letters, digits, dots, dashes and underscores.")
    point = _point("Begin at")
    filter = _filter()
    queue = forms.ChoiceField(
        required=False,
        help_text="Send the group's messages to this queue, where each has a lease, retries and dead letters.",
    )

    def __init__(self, *args: Any, queues: Sequence[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choices = [("", "none: members read the stream"), *((name, name) for name in queues)]
        self.fields["queue"].choices = choices  # type: ignore[attr-defined]


class GroupSettingsForm(ReasonForm):
    """The settings of a group with the reason; only a subscription has those of its queue."""

    field_order = ("filter", "queue_window", "delay_seconds", "reason")
    filter = _filter()
    queue_window = measured(
        forms.IntegerField(
            label="Window",
            min_value=1,
            max_value=100_000,
            help_text="Sends only while the queue holds fewer messages than this, delayed ones included.",
        ),
        "messages",
    )
    delay_seconds = seconds_field("Delay", "Empty: the delay of the queue.", MAX_SECONDS)

    def __init__(self, *args: Any, group: ConsumerGroup, **kwargs: Any) -> None:
        before = {name: getattr(group, name) for name in ("filter", "queue_window", "delay_seconds")}
        super().__init__(*args, initial=before, **kwargs)
        if group.queue_id is None:
            del self.fields["queue_window"], self.fields["delay_seconds"]

    def settings(self) -> dict[str, Any]:
        """Return the settings without the reason."""
        return {name: value for name, value in self.cleaned_data.items() if name != "reason"}


class SeekForm(PointForm, ReasonForm):
    """The new position of a group, and the reason. An offset is of one partition."""

    field_order = ("point", "at", "partition", "position", "reason")
    point = _point("New position", ("offset", "an offset"))
    partition = forms.IntegerField(required=False, min_value=0, max_value=63, help_text="With an offset only.")
    position = forms.IntegerField(
        required=False,
        min_value=0,
        max_value=2**63 - 1,
        help_text="With an offset only: the last position that counts as read.",
    )

    def clean(self) -> dict[str, Any]:
        given = super().clean()
        for name in ("partition", "position"):
            if given.get("point") != "offset":
                given[name] = None
            elif given.get(name) is None and name not in self.errors:
                self.add_error(name, f"Enter the {name} of the offset.")
        return given

    def place(self) -> dict[str, Any]:
        """Return the new position as the options of a seek."""
        return {name: self.cleaned_data[name] for name in ("at", "partition", "position")}


class RenameForm(ReasonForm):
    """The new name of a stream, and the reason."""

    field_order = ("new_name", "reason")
    new_name = _name("New name", "Letters, digits, dots, dashes and underscores.")


class TypedNameForm(ReasonForm):
    """The typed name of the stream or group to delete, and the reason."""

    typed_name = forms.CharField(max_length=90)

    def __init__(self, *args: Any, name: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.name = name

    def clean_typed_name(self) -> str:
        if self.cleaned_data["typed_name"] != self.name:
            raise forms.ValidationError(f"Type {self.name} to delete it.")
        return self.name
