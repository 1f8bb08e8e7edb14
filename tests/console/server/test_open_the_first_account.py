"""The first account of a server: made once, with a password that cannot be guessed."""

from __future__ import annotations

import pytest
from django.contrib.auth import authenticate, get_user_model
from django.test import RequestFactory

from console.server.first_account import NAME, open_first_account
from queues.models import AuditEvent

pytestmark = pytest.mark.django_db


def test_the_first_start_opens_an_account_and_the_next_none() -> None:
    get_user_model().objects.all().delete()

    password, again = open_first_account(), open_first_account()

    assert password is not None
    assert again is None
    person = authenticate(RequestFactory().post("/login"), username=NAME, password=password)
    assert person is not None
    assert person.has_perm("console.administer")
    assert AuditEvent.objects.filter(action="person.create", actor="manage.py").exists()


def test_people_who_sign_on_elsewhere_need_none(settings: pytest.FixtureRequest) -> None:
    settings.OIDC_ISSUER = "https://id.example"  # type: ignore[attr-defined]

    assert open_first_account() is None
