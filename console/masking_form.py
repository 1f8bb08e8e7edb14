"""The form of a masking rule."""

from __future__ import annotations

from django import forms

from dlq.models import MaskingRule


class MaskingForm(forms.Form):
    """A path, in which part of a message, and where."""

    part = forms.ChoiceField(choices=[(part, part) for part in MaskingRule.Part.values])
    path = forms.CharField(
        max_length=200, help_text='As in card.number, *.email, **.iban; quotes hold dots: "a.b".c', strip=True
    )
    queue = forms.CharField(max_length=100, required=False, label="Queue or stream", help_text="Empty: in all of them.")
    tenant = forms.CharField(max_length=100, required=False, help_text="Or in every queue and stream of a tenant.")
    reason = forms.CharField(max_length=500, required=False, help_text="Kept in the audit.")
