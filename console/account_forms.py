"""The forms of one's own account."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth.models import AbstractBaseUser
from django.contrib.auth.password_validation import validate_password


class PasswordForm(forms.Form):
    """The password as it is, and as it is to be."""

    old = forms.CharField(
        label="Password now",
        max_length=4096,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )
    new = forms.CharField(
        label="New password",
        max_length=4096,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text="At least 8 characters, and not a common word.",
    )

    def __init__(self, data: Any = None, *, person: AbstractBaseUser) -> None:
        super().__init__(data)
        self._person = person

    def clean_new(self) -> str:
        new: str = self.cleaned_data["new"]
        validate_password(new, self._person)
        return new


class CodeForm(forms.Form):
    """Six digits from the person's app."""

    code = forms.CharField(
        max_length=20,
        widget=forms.TextInput(attrs={"autocomplete": "one-time-code", "inputmode": "numeric"}),
        help_text="Six digits.",
    )
