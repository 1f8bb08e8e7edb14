"""Every form of the console. What a queue's settings may be is said once, by `queues.settings.SETTINGS`."""

from __future__ import annotations

import json
from typing import Any

from django import forms
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password

from console.roles import ROLES
from dlq.models import MAX_RATE_PER_SECOND
from queues.models import Queue, Tenant
from queues.quotas import QUOTAS
from queues.settings import SETTINGS, Setting

REASON_CHARACTERS = 500
# It has verbs of its own.
NOT_IN_FORM = {"paused"}

GROUPS: dict[str, list[str]] = {
    "Delivery": ["mode", "visibility_timeout_seconds", "delay_seconds", "aging_seconds", "closed"],
    "Failures": [
        "max_receives",
        "backoff_base_seconds",
        "backoff_cap_seconds",
        "jitter",
        "dead_letter_queue",
    ],
    "Groups": ["lane_max_in_flight", "lane_release_interval_seconds", "lane_max_waiting", "block_lane_on_dead"],
    "Limits": [
        "max_backlog_messages",
        "max_backlog_bytes",
        "max_oldest_age_seconds",
        "max_in_flight",
        "publish_rate_per_second",
    ],
    "Keeping": ["retention_seconds", "dedup_scope", "dedup_window_seconds", "max_payload_bytes"],
    "Alerts": [
        "alert_oldest_age_seconds",
        "alert_dead_letters",
        "alert_dead_letters_per_minute",
        "alert_no_consumers_seconds",
        "alert_drain_seconds",
        "alert_lease_age_seconds",
        "alert_redelivery_ratio",
        "warn_every_seconds",
    ],
    "Service level": ["wait_target_seconds", "wait_target_ratio"],
}


class ReasonForm(forms.Form):
    """Why somebody does something; the audit keeps it."""

    reason = forms.CharField(max_length=REASON_CHARACTERS, strip=True)


class NumberChoiceField(forms.TypedChoiceField):
    """One of a few numbers, as people write them."""

    def prepare_value(self, value: Any) -> Any:
        return f"{value:g}" if isinstance(value, float) else value


class PlainFloatField(forms.FloatField):
    """A number that is shown as people write it: 30, not 30.0."""

    def prepare_value(self, value: Any) -> Any:
        return int(value) if isinstance(value, float) and value.is_integer() else value


def _field(setting: Setting) -> forms.Field:
    """The form field of one setting, with its unit and bounds."""
    # The value as it was shown travels along, so that only what this person changed is written.
    options: dict[str, Any] = {
        "label": setting.label,
        "help_text": setting.help,
        "required": False,
        "show_hidden_initial": True,
    }
    if setting.kind == "boolean":
        return forms.BooleanField(**options)
    if setting.kind == "choice":
        return forms.ChoiceField(choices=[(choice, choice) for choice in setting.choices], **options)
    if setting.kind == "text":
        return forms.CharField(max_length=100, **options)
    if setting.choices:
        return _number_choice(setting, **options | {"required": True})
    options |= {"required": True, "min_value": setting.minimum, "max_value": setting.maximum}
    field = forms.IntegerField(**options) if setting.kind == "integer" else PlainFloatField(**options)
    field.widget.attrs |= {"step": "any" if setting.kind == "number" else "1"}
    field.unit = setting.unit  # type: ignore[attr-defined]
    return field


def _number_choice(setting: Setting, **options: Any) -> forms.Field:
    field = NumberChoiceField(choices=[(choice, choice) for choice in setting.choices], coerce=float, **options)
    field.unit = setting.unit  # type: ignore[attr-defined]
    return field


class SettingsForm(forms.Form):
    """The settings of a queue; `changes()` gives what the verbs should set."""

    def __init__(self, data: Any = None, *, queue: Queue | None = None) -> None:
        initial = {name: getattr(queue, name) if queue else setting.default for name, setting in SETTINGS.items()}
        super().__init__(data, initial=initial)
        for name, setting in SETTINGS.items():
            if name not in NOT_IN_FORM:
                self.fields[name] = _field(setting)

    def changes(self) -> dict[str, Any]:
        """The settings that differ from what was shown; an empty text is null."""
        values = {name: self.cleaned_data[name] for name in self.changed_data if name in SETTINGS}
        return {name: None if value == "" else value for name, value in values.items()}

    def groups(self) -> list[tuple[str, list[forms.BoundField]]]:
        """The settings under headings; one that no heading names comes last."""
        named = {name for names in GROUPS.values() for name in names}
        others = [name for name in SETTINGS if name not in named | NOT_IN_FORM]
        groups = GROUPS | ({"Others": others} if others else {})
        return [(heading, [self[name] for name in names]) for heading, names in groups.items()]


class NewQueueForm(SettingsForm):
    """A queue to be: its name, its tenant and its settings."""

    def __init__(self, data: Any = None) -> None:
        super().__init__(data)
        self.fields["name"] = forms.RegexField(
            r"^[A-Za-z0-9][A-Za-z0-9._-]{0,89}$",
            max_length=90,
            help_text="1 to 90 letters, digits, dots, dashes and underscores. Rename the queue later from its page.",
            error_messages={"invalid": "Letters, digits, dots, dashes and underscores; a letter or digit first."},
        )
        self.fields["tenant"] = forms.CharField(
            max_length=100, initial="default", help_text="Who the queue belongs to. A new name makes a new tenant."
        )


class ConfigureForm(SettingsForm):
    """A queue's settings, and why they change."""

    def __init__(self, data: Any = None, *, queue: Queue) -> None:
        super().__init__(data, queue=queue)
        self.fields["reason"] = forms.CharField(
            max_length=REASON_CHARACTERS, required=False, help_text="Kept in the audit beside what changed."
        )


class QuotaForm(forms.Form):
    """A tenant's quotas, and why they change; `changes()` gives those that differ from what was shown."""

    def __init__(self, data: Any = None, *, tenant: Tenant) -> None:
        super().__init__(data, initial={name: getattr(tenant, name) for name in QUOTAS})
        for name, quota in QUOTAS.items():
            self.fields[name] = _field(quota)
        self.fields["reason"] = forms.CharField(
            max_length=REASON_CHARACTERS, required=False, help_text="Kept in the audit beside what changed."
        )

    def changes(self) -> dict[str, Any]:
        return {name: self.cleaned_data[name] for name in self.changed_data if name in QUOTAS}

    def quotas(self) -> list[forms.BoundField]:
        return [self[name] for name in QUOTAS]


class LaneLimitForm(forms.Form):
    """A limit of its own for one group; empty takes it back."""

    group_id = forms.CharField(max_length=200, strip=False, label="Group")
    max_in_flight = forms.IntegerField(required=False, min_value=1, max_value=1000, label="Limit")
    reason = forms.CharField(max_length=REASON_CHARACTERS, required=False)


class JsonTextField(forms.CharField):
    """JSON text, given on as a document; unlike JSONField it tells null from nothing."""

    widget = forms.Textarea

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        if not text:
            return None
        try:
            return json.loads(text, parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            raise forms.ValidationError(f"This is not JSON: {error}.") from error


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON value")


class SendForm(forms.Form):
    """A message to send by hand."""

    payload = JsonTextField(initial="{}", max_length=262_144, help_text="Any JSON value.")
    attributes = JsonTextField(required=False, max_length=16_384, help_text="A JSON object, or nothing.")
    priority = forms.IntegerField(initial=0, min_value=0, max_value=9, help_text="0 to 9; 9 goes first.")
    delay_seconds = forms.FloatField(
        label="Delay", required=False, min_value=0, max_value=31_536_000, help_text="Empty: the queue's own delay."
    )
    group_id = forms.CharField(label="Group id", required=False, max_length=200)
    deduplication_id = forms.CharField(
        label="Deduplication id",
        required=False,
        max_length=200,
        help_text="A second message with the same id is not sent.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["delay_seconds"].unit = "seconds"  # type: ignore[attr-defined]

    def clean_attributes(self) -> dict[str, Any] | None:
        attributes = self.cleaned_data["attributes"]
        if attributes is not None and not isinstance(attributes, dict):
            raise forms.ValidationError('Attributes are a JSON object, such as {"region": "eu"}.')
        return attributes


class FrozenForm(forms.Form):
    """A selection as its review showed it: these travel through the form, so that the job takes just that."""

    filter_text = forms.CharField(required=False, max_length=2_000, widget=forms.HiddenInput)
    upper_bound = forms.IntegerField(min_value=0, max_value=2**63 - 1, widget=forms.HiddenInput)
    as_of = forms.DateTimeField(widget=forms.HiddenInput)
    reason = forms.CharField(max_length=REASON_CHARACTERS, help_text="Kept in the audit.")


class RateForm(forms.Form):
    """How fast a redrive goes."""

    rate_per_second = forms.IntegerField(
        label="Rate",
        required=False,
        min_value=1,
        max_value=MAX_RATE_PER_SECOND,
        help_text="Empty: as fast as it goes. It can be changed while it runs.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["rate_per_second"].unit = "messages per second"  # type: ignore[attr-defined]


class RedriveForm(RateForm, FrozenForm):
    """A redrive about to start."""

    target_queue = forms.CharField(
        label="Destination",
        required=False,
        max_length=100,
        help_text="Empty: each to the queue it died in.",
    )


class DeletionForm(FrozenForm):
    """A deletion about to start; when it is large a word is typed."""

    WORD = "delete"
    confirmation = forms.CharField(max_length=20, required=False)


class PurgeForm(forms.Form):
    """A purge about to start; when it is large the name of the queue is typed."""

    states = forms.MultipleChoiceField(error_messages={"required": "Choose at least one state."})
    through_message_id = forms.IntegerField(min_value=0, max_value=2**63 - 1, widget=forms.HiddenInput)
    through_dead_letter_id = forms.IntegerField(min_value=0, max_value=2**63 - 1, widget=forms.HiddenInput)
    typed_name = forms.CharField(label="Name of the queue", max_length=100, required=False)
    reason = forms.CharField(max_length=REASON_CHARACTERS, help_text="Kept in the audit.")

    def __init__(self, data: Any = None, *, states: list[str]) -> None:
        super().__init__(data)
        choices = self.fields["states"]
        choices.choices = [(state, state) for state in states]  # type: ignore[attr-defined]


class RetireForm(forms.Form):
    """A queue about to be deleted, whose name is typed."""

    typed_name = forms.CharField(label="Name of the queue", max_length=100)
    reason = forms.CharField(max_length=REASON_CHARACTERS, help_text="Kept in the audit.")

    def __init__(self, data: Any = None, *, name: str) -> None:
        super().__init__(data)
        self._name = name

    def clean_typed_name(self) -> str:
        typed: str = self.cleaned_data["typed_name"]
        if typed != self._name:
            raise forms.ValidationError("This is not the name of the queue.")
        return typed


NO_ROLE = "none: what is granted"


class PersonForm(forms.Form):
    """What a person may do everywhere, and whether they may log in."""

    role = forms.ChoiceField(choices=[("", NO_ROLE), *((role, role) for role in ROLES)], required=False)
    active = forms.BooleanField(required=False)

    def clean(self) -> dict[str, Any] | None:
        """Nobody is shut out by a request that says nothing: a browser sends the field, if only empty."""
        if "role" not in self.data:
            self.add_error("role", "Choose a role, or none.")
        return super().clean()


class NewPersonForm(forms.Form):
    """Somebody who is to log in."""

    username = forms.RegexField(
        r"^[\w.@+-]+$",
        label="Name",
        max_length=150,
        error_messages={"invalid": "Letters, digits and @ . + - _ only."},
    )
    role = forms.ChoiceField(
        label="Role for all queues", choices=[*((role, role) for role in ROLES), ("", NO_ROLE)], required=False
    )
    password = forms.CharField(
        max_length=128,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text="At least 8 characters, and not a common word.",
    )

    def clean_username(self) -> str:
        username: str = self.cleaned_data["username"]
        if get_user_model().objects.filter(username__iexact=username).exists():
            raise forms.ValidationError("There is a person of this name.")
        return username

    def clean_password(self) -> str:
        password: str = self.cleaned_data["password"]
        validate_password(password, User(username=self.cleaned_data.get("username", "")))
        return password
