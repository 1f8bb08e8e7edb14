"""The form of the login: a name and a password, looked at by `console.attempts`."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.forms import AuthenticationForm

from console import attempts


class LoginForm(AuthenticationForm):
    """Raises `TooManyAttempts` where another would say that the password is wrong."""

    def clean(self) -> dict[str, Any]:
        given = self.cleaned_data
        if "username" in given and "password" in given:
            self.user_cache = attempts.authenticate(self.request, given["username"], given["password"])
            if self.user_cache is None:
                raise self.get_invalid_login_error()
            self.confirm_login_allowed(self.user_cache)
        return given
