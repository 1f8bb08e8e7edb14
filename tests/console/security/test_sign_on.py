"""Sign-on by OpenID Connect, against a provider over HTTP: who comes in, as what, for how long, and who does not."""

from __future__ import annotations

from datetime import timedelta

import pytest
from allauth.socialaccount.models import SocialAccount, SocialToken
from django.conf import LazySettings
from django.contrib.auth.models import Group, User
from django.urls import get_resolver
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from console.access.grants import grants
from console.access.grants.models import Grant
from console.access.roles import ROLES
from console.access.sign_on import admission, configuration
from queues.models import AuditEvent
from tests.console.access.test_who_may_what import patterns
from tests.console.browsers import Browser, Page
from tests.console.security.oidc_provider import Provider
from tests.console.security.sign_ons import came_in, leave, new_subject, person, roles, sign_on


def audited(subject: str) -> list[str]:
    events = AuditEvent.objects.filter(details__person=subject).order_by("audit_event_id")
    return [event.action for event in events]


def test_the_login_has_a_button_where_there_is_a_provider(provider: Provider, settings: LazySettings) -> None:
    assert "Sign in with Acme Sign-On" in Browser().see("/login").text
    settings.OIDC_ISSUER = ""

    assert "Sign in with" not in Browser().see("/login").text
    assert Browser().post("/login/sign-on").status_code == 404
    assert Browser().get("/login/sign-on/callback").status_code == 404


def test_a_new_user_gets_the_role_of_the_group(provider: Provider) -> None:
    subject, browser = new_subject(provider, "all", "ops", "others"), Browser()

    answer = sign_on(browser, subject, next="/audit")

    assert answer["Location"] == "/audit"
    assert came_in(browser)
    assert roles(subject) == {"operator"}
    assert not person(subject).has_usable_password()
    assert not person(subject).is_superuser
    assert audited(subject) == ["person.create", "person.change", "person.sign_on"]


def test_the_question_has_state_nonce_and_pkce(provider: Provider) -> None:
    subject = new_subject(provider, "ops")

    sign_on(Browser(), subject)
    sign_on(Browser(), subject)

    (first, second) = provider.asked
    for one in ("state", "nonce", "code_challenge"):
        assert first[one] != second[one]
        assert len(first[one]) >= 16
    assert first["code_challenge_method"] == "S256"
    assert first["scope"].split() in (["openid", "profile"], ["profile", "openid"])


def test_a_user_without_a_matching_claim_is_refused(provider: Provider) -> None:
    subject, browser = new_subject(provider, "strangers"), Browser()

    answer = sign_on(browser, subject)

    assert answer.status_code == 403
    assert "says nothing that gives you a role here" in Page(answer.content.decode()).text
    assert not came_in(browser)
    assert not User.objects.filter(username=subject).exists()
    assert audited(subject) == ["person.sign_on_refused"]


def test_people_shows_who_signs_on(provider: Provider, admin: Browser) -> None:
    subject = new_subject(provider, "ops")
    sign_on(Browser(), subject)

    rows = {name: row for row in admin.see("/people").rows() for name in (subject, admin.name) if row.startswith(name)}

    assert {name: "single sign-on" in row for name, row in rows.items()} == {subject: True, admin.name: False}


def test_roles_are_those_of_each_login(provider: Provider) -> None:
    subject = new_subject(provider, "leads")
    sign_on(Browser(), subject)
    assert roles(subject) == {"admin"}

    provider.people[subject]["groups"] = ["all"]
    sign_on(Browser(), subject)

    assert roles(subject) == {"viewer"}


def test_leaving_the_group_removes_the_role_in_every_session(provider: Provider) -> None:
    subject, before = new_subject(provider, "all", "acme"), Browser()
    sign_on(before, subject)
    assert before.get("/").status_code == 200
    assert Grant.objects.filter(person=person(subject)).count() == 1

    provider.people[subject]["groups"] = []
    assert sign_on(Browser(), subject).status_code == 403

    assert roles(subject) == set()
    assert not Grant.objects.filter(person=person(subject)).exists()
    assert before.get("/").status_code == 403


def test_a_group_may_stand_for_a_tenant(provider: Provider) -> None:
    subject, browser = new_subject(provider, "acme"), Browser()

    sign_on(browser, subject)
    sign_on(browser, subject)

    (grant,) = Grant.objects.filter(person=person(subject))
    assert (grant.role, grant.tenant_name, grant.queue_prefix) == ("operator", "acme", "")
    assert roles(subject) == set()


def test_grants_that_people_gave_stay(provider: Provider) -> None:
    subject = new_subject(provider, "acme")
    sign_on(Browser(), subject)
    grants.give(person(subject), "viewer", tenant=None, prefix="billing-", actor="ana")

    provider.people[subject]["groups"] = ["all"]
    sign_on(Browser(), subject)

    assert [grant.created_by for grant in Grant.objects.filter(person=person(subject))] == ["ana"]


def test_what_cannot_be_given_keeps_nothing_that_was_taken(provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    subject = new_subject(provider, "leads")
    sign_on(Browser(), subject)
    grants.give(person(subject), "viewer", tenant=None, prefix="billing-", actor="ana")
    monkeypatch.setattr(grants, "MAX_OF_ONE_PERSON", 1)

    provider.people[subject]["groups"] = ["acme"]
    answer = sign_on(Browser(), subject)

    assert "a person has at most 1 grants" in Page(answer.content.decode()).text
    assert roles(subject) == set()
    assert audited(subject)[-1] == "person.sign_on_refused"


def test_a_disabled_account_stays_out(provider: Provider) -> None:
    subject, browser = new_subject(provider, "ops"), Browser()
    sign_on(Browser(), subject)
    User.objects.filter(username=subject).update(is_active=False)

    assert sign_on(browser, subject).status_code == 403
    assert not came_in(browser)


def test_nothing_of_what_a_provider_tells_is_kept_but_the_subject(provider: Provider) -> None:
    subject = new_subject(provider, "ops", email="a@b.example", email_verified=True, address="Rose Street 7")

    sign_on(Browser(), subject)

    (kept,) = SocialAccount.objects.filter(uid=subject)
    assert (kept.provider, kept.extra_data) == (provider.url, {})
    assert not SocialToken.objects.exists()
    assert person(subject).email == ""


def test_another_issuer_knows_other_people_by_the_same_subject(provider: Provider, settings: LazySettings) -> None:
    subject = new_subject(provider, "ops")
    sign_on(Browser(), subject)
    SocialAccount.objects.filter(uid=subject).update(provider="https://before.example")

    answer = sign_on(Browser(), subject)

    assert answer.status_code == 403
    assert "who has nothing to do with you yet" in answer.content.decode()


def test_the_session_ends_at_a_time_that_nothing_moves(provider: Provider, settings: LazySettings) -> None:
    settings.OIDC_SESSION_HOURS, browser = 3, Browser()
    sign_on(browser, new_subject(provider, "ops"))
    ends_at = browser.session["_session_expiry"]
    latest = timezone.now() + timedelta(hours=3)

    browser.post("/preferences", {"theme": "dark"})
    session = browser.session
    session["touched"] = True
    session.save()

    assert browser.session["_session_expiry"] == ends_at
    assert (parse_datetime(ends_at) or timezone.now()) <= latest
    assert browser.session.get_expiry_date() <= latest


def test_a_provider_that_is_away_is_said_so(provider: Provider, settings: LazySettings) -> None:
    settings.OIDC_ISSUER = "http://127.0.0.1:9"

    answer = Browser().post("/login/sign-on")

    assert answer.status_code == 502
    assert "does not answer as it should" in answer.content.decode()


def test_turning_back_there_is_no_fault(provider: Provider) -> None:
    browser = Browser()
    address = leave(browser)
    state = dict(one.split("=") for one in address.partition("?")[2].split("&"))["state"]

    page = browser.see("/login/sign-on/callback", 403, state=state, error="access_denied")

    assert "You did not sign in there" in page.text


def test_no_page_of_the_library_has_an_address() -> None:
    ours = {one.callback.__module__.partition(".")[0] for one in patterns(get_resolver())}

    assert ours == {"console"}
    for path in ("/accounts/login/", "/accounts/signup/", "/accounts/password/reset/", "/accounts/email/", "/oidc/"):
        assert Browser().get(path).status_code in (302, 404)


def test_a_claim_may_be_deep_or_a_word(settings: LazySettings) -> None:
    settings.OIDC_ROLES, settings.OIDC_TENANTS = {"ops": "operator"}, [("ops", "viewer", "acme")]
    settings.OIDC_CLAIM = "realm_access.roles"

    held = admission.held_by({"realm_access": {"roles": ["ops", 7, None, {"ops": 1}]}})

    assert held == admission.Held("operator", frozenset({("viewer", "acme")}))
    settings.OIDC_CLAIM = "https://acme.example/group"
    assert admission.held_by({"https://acme.example/group": "ops"}) == held
    for hostile in (None, 7, {}, [["ops"]], {"ops": "ops"}, "OPS", True):
        assert not admission.held_by({"https://acme.example/group": hostile})


def test_the_names_of_roles_are_those_that_there_are() -> None:
    assert tuple(ROLES) == configuration.ROLES
    assert Group.objects.model is not None
