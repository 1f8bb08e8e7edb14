"""Fields and forms that several rooms share."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from django import forms
from django.contrib import messages
from django.http import HttpRequest

from queues.errors import SignalboxError
from queues.settings import Setting

REASON_CHARACTERS = 500


class ReasonForm(forms.Form):
    """The reason of an action, which the audit keeps."""

    reason = forms.CharField(max_length=REASON_CHARACTERS, strip=True)


def password_field(autocomplete: str, **options: Any) -> forms.CharField:
    """A field whose text is hidden, and taken with its blanks."""
    return forms.CharField(strip=False, widget=forms.PasswordInput({"autocomplete": autocomplete}), **options)


class NumberChoiceField(forms.TypedChoiceField):
    """A choice of a few numbers, as people write them."""

    def prepare_value(self, value: Any) -> Any:
        return f"{value:g}" if isinstance(value, float) else value


class PlainFloatField(forms.FloatField):
    """A number that is shown as people write it: 30, not 30.0."""

    def prepare_value(self, value: Any) -> Any:
        return int(value) if isinstance(value, float) and value.is_integer() else value


def refuse(form: forms.Form, error: Exception, **renamed: str) -> None:
    """Show a refusal at the field that it names, else at the head; `renamed` maps names to those in the form."""
    field = getattr(error, "field", None) or ""
    field = renamed.get(field, field)
    form.add_error(field if field in form.fields else None, str(error))


Measured = TypeVar("Measured", bound=forms.Field)


def measured(field: Measured, unit: str) -> Measured:
    """Give the field the unit that stands beside it."""
    field.unit = unit  # type: ignore[attr-defined]
    return field


@contextmanager
def refusals(form: forms.Form, **renamed: str) -> Iterator[None]:
    """Show what the engine refuses in the form: the rest of the block is skipped."""
    try:
        yield
    except SignalboxError as error:
        refuse(form, error, **renamed)


def first_mistake(form: forms.Form) -> str:
    """Word the first mistake of a form that is not on the page."""
    field, errors = next(iter(form.errors.items()))
    if field == "__all__":
        return str(errors[0])
    return f"{form.fields[field].label or field.replace('_', ' ').capitalize()}: {errors[0]}"


def tell(request: HttpRequest, changed: bool, done: str, refused: str) -> None:
    """Say what was done, or why nothing was changed."""
    if changed:
        messages.success(request, done)
    else:
        messages.warning(request, f"Nothing was changed: {refused}.")


def setting_field(setting: Setting) -> forms.Field:
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
        choices = [(choice, choice) for choice in setting.choices]
        return measured(NumberChoiceField(choices=choices, coerce=float, **options | {"required": True}), setting.unit)
    options |= {"required": True, "min_value": setting.minimum, "max_value": setting.maximum}
    field = forms.IntegerField(**options) if setting.kind == "integer" else PlainFloatField(**options)
    field.widget.attrs |= {"step": "any" if setting.kind == "number" else "1"}
    return measured(field, setting.unit)


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
