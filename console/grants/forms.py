"""The form of a grant."""

from __future__ import annotations

from django import forms

from console.roles import ROLES


class GrantForm(forms.Form):
    """A role for a tenant's queues, for those with a prefix, or for both together."""

    role = forms.ChoiceField(choices=[(role, role) for role in ROLES])
    tenant = forms.CharField(
        required=False,
        max_length=100,
        help_text="Empty: of any tenant.",
        widget=forms.TextInput({"autocomplete": "off"}),
    )
    prefix = forms.CharField(
        label="Queue names begin with",
        required=False,
        max_length=100,
        help_text="Empty: all queues of the tenant.",
        widget=forms.TextInput({"autocomplete": "off", "spellcheck": "false"}),
    )
    reason = forms.CharField(required=False, max_length=500, help_text="Kept in the audit.")
