"""Fields and forms that several pages share."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from django import forms
from django.contrib import messages
from django.http import HttpRequest

from queues.errors import SignalboxError
from queues.settings import Setting

REASON_CHARACTERS = 500


def reason_field(help_text: str = "Recorded in the audit.", **options: Any) -> forms.CharField:
    """Return a field for the reason of an action; it may be empty."""
    options = {"max_length": REASON_CHARACTERS, "required": False, "help_text": help_text, **options}
    return forms.CharField(**options)


def required_reason(help_text: str = "Required. Recorded in the audit.", **options: Any) -> forms.CharField:
    """Return a field for the reason of an action that needs one."""
    return reason_field(help_text, required=True, **options)


class ReasonForm(forms.Form):
    """A form for the reason of an action. The audit records it."""

    reason = required_reason()


def password_field(autocomplete: str, **options: Any) -> forms.CharField:
    """Return a field whose text is hidden. Spaces at both ends are part of the password."""
    return forms.CharField(strip=False, widget=forms.PasswordInput({"autocomplete": autocomplete}), **options)


class NumberChoiceField(forms.TypedChoiceField):
    """A field for one of a few numbers, shown without trailing zeros."""

    def prepare_value(self, value: Any) -> Any:
        return f"{value:g}" if isinstance(value, float) else value


class PlainFloatField(forms.FloatField):
    """A field for a number. It shows whole numbers without decimals: 30, not 30.0."""

    def prepare_value(self, value: Any) -> Any:
        return int(value) if isinstance(value, float) and value.is_integer() else value


def refuse(form: forms.Form, error: Exception, **renamed: str) -> None:
    """Show a refusal at the field that it names, or above the form. `renamed` maps names to fields of the form."""
    field = getattr(error, "field", None) or ""
    text, field = str(error), renamed.get(field, field)
    if field in form.fields and "_" in field:  # a code name: the page has the label
        text = text.replace(field, form[field].label, 1)
    form.add_error(field if field in form.fields else None, text)


Measured = TypeVar("Measured", bound=forms.Field)


def measured(field: Measured, unit: str) -> Measured:
    """Set the unit that stands beside the field."""
    field.unit = unit  # type: ignore[attr-defined]
    return field


def number_field(label: str, help_text: str, least: int, most: int, unit: str = "") -> forms.IntegerField:
    """Return a field for a whole number that may be empty."""
    refusals = dict.fromkeys(("invalid", "min_value", "max_value"), f"Enter a whole number from {least:,} to {most:,}.")
    bounds = {"min_value": least, "max_value": most, "error_messages": refusals}
    return measured(forms.IntegerField(label=label, help_text=help_text, required=False, **bounds), unit)


def seconds_field(label: str, help_text: str, most: float) -> PlainFloatField:
    """Return a field for a time of at most this many seconds that may be empty."""
    field = PlainFloatField(label=label, help_text=help_text, required=False, min_value=0, max_value=most)
    return measured(field, "seconds")


def suggest(form: forms.Form, **suggestions: Sequence[str]) -> None:
    """Offer values for text fields. People can type other values."""
    for name, values in suggestions.items():
        field = form.fields[name]
        field.suggestions = values  # type: ignore[attr-defined]
        field.widget.attrs |= {"list": f"{form[name].id_for_label}_suggestions", "autocomplete": "off"}


@contextmanager
def refusals(form: forms.Form, **renamed: str) -> Iterator[None]:
    """Show a refusal of the engine in the form, and skip the rest of the block."""
    try:
        yield
    except SignalboxError as error:
        refuse(form, error, **renamed)


def tell(request: HttpRequest, changed: bool, done: str, refused: str) -> None:
    """Show a notice that says what was done, or why nothing was changed."""
    if changed:
        messages.success(request, done)
    else:
        messages.warning(request, f"Nothing was changed: {refused}.")


def setting_field(setting: Setting) -> forms.Field:
    """Return the form field of one setting, with its unit, bounds and default."""
    # A hidden field has the value as it was shown, so that only values that this person changed are saved.
    options: dict[str, Any] = {
        "label": setting.label,
        "help_text": setting.help,
        "required": False,
        "show_hidden_initial": True,
    }
    return described(_plain_setting_field(setting, options), setting)


def described(field: forms.Field, setting: Setting) -> forms.Field:
    """Give the field the default that stands below it."""
    field.default = setting.shown(setting.default)  # type: ignore[attr-defined]
    return field


def _plain_setting_field(setting: Setting, options: dict[str, Any]) -> forms.Field:
    if setting.kind == "boolean":
        return forms.BooleanField(**options)
    if setting.kind == "choice":
        return forms.ChoiceField(choices=[(choice, choice) for choice in setting.choices], **options)
    if setting.kind == "text":
        return forms.CharField(max_length=100, **options)
    if setting.choices:
        choices = [(choice, choice) for choice in setting.choices]
        return measured(NumberChoiceField(choices=choices, coerce=float, **options | {"required": True}), setting.unit)
    options |= {"required": True, "min_value": setting.minimum, "max_value": setting.maximum}
    options |= {"error_messages": _range_errors(setting)}
    field = forms.IntegerField(**options) if setting.kind == "integer" else PlainFloatField(**options)
    field.widget.attrs |= {"step": "any" if setting.kind == "number" else "1"}
    return measured(field, setting.unit)


def _range_errors(setting: Setting) -> dict[str, str]:
    allowed = f"{setting.shown(setting.minimum).split()[0]} to {setting.shown(setting.maximum)}"
    kind = "a whole number" if setting.kind == "integer" else "a number"
    out_of_range = f"%(show_value)s is out of range. Allowed: {allowed}."
    return {
        "min_value": out_of_range,
        "max_value": out_of_range,
        "invalid": f"Enter {kind}. Allowed: {allowed}.",
        "required": f"Enter {kind}. Allowed: {allowed}.",
    }


class JsonTextField(forms.CharField):
    """A field for JSON text. It returns a document and, unlike JSONField, distinguishes null from an empty field."""

    widget = forms.Textarea

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        if not text:
            return None
        try:
            return json.loads(text, parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            raise forms.ValidationError(f"This is not JSON: {error}. Check quotes, commas and brackets.") from error


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON value")
