"""People who sign on: from the button to the provider, and back."""

from __future__ import annotations

import uuid
from typing import Any
from urllib.parse import urlsplit

import requests
from django.contrib.auth.models import User
from django.http import HttpResponse

from tests.console.browsers import Browser, Page
from tests.console.security.oidc_provider import Provider

GO_ON = "Continue to"


def new_subject(provider: Provider, *groups: str, **claims: Any) -> str:
    """Add user there, who is called by their subject."""
    subject = f"on-{uuid.uuid4().hex[:10]}"
    provider.people[subject] = {"preferred_username": subject, "groups": list(groups), **claims}
    return subject


def leave(browser: Browser, path: str = "/login/sign-on", **form: str) -> str:
    """Press the button; the address at the provider that the page leads to."""
    answer = browser.post(path, form)
    assert answer.status_code == 200, answer.content.decode()
    return Page(answer.content.decode()).link(GO_ON)


def there(address: str, subject: str) -> str:
    """Log in at the provider; the address of ours that it leads back to."""
    answer = requests.post(address, data={"sub": subject}, allow_redirects=False, timeout=60)
    assert answer.status_code == 302, answer.text
    parts = urlsplit(answer.headers["Location"])
    return f"{parts.path}?{parts.query}"


def sign_on(browser: Browser, subject: str, **form: str) -> HttpResponse:
    """Sign on from the first page to the last."""
    return browser.get(there(leave(browser, **form), subject))


def came_in(browser: Browser) -> bool:
    return browser.get("/account").status_code == 200


def person(subject: str) -> User:
    return User.objects.get(username=subject)


def roles(subject: str) -> set[str]:
    return set(person(subject).groups.values_list("name", flat=True))
