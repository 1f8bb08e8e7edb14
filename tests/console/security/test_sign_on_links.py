"""Existing accounts, linked to people at the provider by a command on the server."""

from __future__ import annotations

import io

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from tests.console.browsers import Browser
from tests.console.security.oidc_provider import Provider
from tests.console.security.sign_ons import came_in, new_subject, person, roles, sign_on


def test_an_existing_account_is_linked_by_a_command_on_the_server(provider: Provider) -> None:
    subject, told = new_subject(provider, "ops"), io.StringIO()
    User.objects.create_user(subject, password="correct horse battery")
    assert sign_on(Browser(), subject).status_code == 403
    browser = Browser()

    call_command("sign_on", "link", subject, subject, stdout=told)
    sign_on(browser, subject)

    assert "comes in as" in told.getvalue()
    assert came_in(browser)
    assert person(subject).has_usable_password()
    assert roles(subject) == {"operator"}
    with pytest.raises(CommandError, match="linked already"):
        call_command("sign_on", "link", subject, "another")
    call_command("sign_on", "unlink", subject, stdout=told)
    assert "is not linked to an account any more; 1 session ended" in told.getvalue()
    assert not came_in(browser)
    assert sign_on(Browser(), subject).status_code == 403


def test_what_cannot_be_linked_is_refused(provider: Provider, settings: LazySettings) -> None:
    taken = new_subject(provider, "ops")
    sign_on(Browser(), taken)
    name = f"on-{taken}"
    User.objects.create_user(name)

    for given, said in ((taken, "another person here"), ("", "printable ASCII"), ("a\0", "printable ASCII")):
        with pytest.raises(CommandError, match=said):
            call_command("sign_on", "link", name, given)
    with pytest.raises(CommandError, match="no person called"):
        call_command("sign_on", "link", "nobody-at-all", "x")
    settings.OIDC_ISSUER = ""
    with pytest.raises(CommandError, match="OIDC_ISSUER is not set"):
        call_command("sign_on", "link", name, "x")
