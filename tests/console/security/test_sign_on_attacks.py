"""Attacks on sign-on: answers that were not asked for, tokens that are not right, accounts that are another's."""

from __future__ import annotations

import time
import uuid
from datetime import timedelta
from typing import Any

import pytest
from allauth.socialaccount.models import SocialAccount
from django.conf import LazySettings
from django.contrib.auth.models import Group, User
from django.contrib.sessions.models import Session
from django.test import RequestFactory
from django.utils import timezone
from joserfc import jwt
from joserfc.jwk import OctKey, RSAKey

from console.access.sessions import stored_key
from console.access.sign_on import provider as providers
from console.access.sign_on.provider import Fault
from console.access.sign_on.views import QUESTION_SECONDS
from queues.models import AuditEvent
from tests.console.browsers import Browser, Page
from tests.console.security.corpus import ELEMENTS
from tests.console.security.oidc_provider import CLIENT_ID, CLIENT_SECRET, Provider
from tests.console.security.sign_ons import came_in, leave, new_subject, sign_on, there

NOT_AN_ANSWER = "What came back was not an answer to this browser's question"


def refused(browser: Browser, back: str, status: int = 403) -> str:
    """Text of the page for a refused sign-on."""
    answer = browser.get(back)
    assert answer.status_code == status, answer.content.decode()
    assert not came_in(browser)
    return Page(answer.content.decode()).text


def test_an_answer_for_another_browser_is_refused(provider: Provider) -> None:
    attacker, victim = Browser(), Browser()
    back = there(leave(attacker), new_subject(provider, "ops"))

    assert NOT_AN_ANSWER in refused(victim, back)
    leave(victim)
    assert NOT_AN_ANSWER in refused(victim, back)


@pytest.mark.parametrize("state", ["", "&state=", "&state=forged", "&state=%00", f"&state={'x' * 5000}"])
def test_a_forged_state_is_refused(provider: Provider, state: str) -> None:
    browser = Browser()
    back = there(leave(browser), new_subject(provider, "ops"))

    assert NOT_AN_ANSWER in refused(browser, back.partition("&state=")[0] + state)


def test_an_answer_is_taken_once(provider: Provider) -> None:
    browser, subject = Browser(), new_subject(provider, "ops")
    back = there(leave(browser), subject)
    assert browser.get(back).status_code == 302
    browser.post("/logout")

    assert NOT_AN_ANSWER in refused(browser, back)


def test_a_question_of_long_ago_is_forgotten(provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    browser = Browser()
    back = there(leave(browser), new_subject(provider, "ops"))
    later = time.time() + 3600
    monkeypatch.setattr("allauth.socialaccount.internal.statekit.time.time", lambda: later)

    answer = browser.get(back)

    assert answer.status_code == 403


def test_a_stolen_code_is_worth_nothing_elsewhere(provider: Provider) -> None:
    """The code of one browser with the state of another: the verifier of PKCE stays with the first."""
    victim, attacker = Browser(), Browser()
    stolen = there(leave(victim), new_subject(provider, "ops"))
    own = there(leave(attacker), new_subject(provider, "all"))
    code, state = stolen.split("code=")[1].split("&")[0], own.split("state=")[1]

    assert NOT_AN_ANSWER in refused(attacker, f"/login/sign-on/callback?code={code}&state={state}")


TWISTS: list[dict[str, Any]] = [
    {"nonce": "of-another-login"},
    {"nonce": None},
    {"nonce": ["a", "b"]},
    {"iss": "https://evil.example"},
    {"iss": None},
    {"aud": ["another-client"]},
    {"aud": None},
    {"aud": [CLIENT_ID, "another-client"]},
    {"azp": "another-client"},
    {"exp": 1_700_000_000},
    {"exp": None},
    {"exp": "never"},
    {"iat": 32_503_680_000},
    {"iat": None},
    {"nbf": 32_503_680_000},
    {"sub": None},
    {"sub": 7},
    {"sub": ""},
    {"sub": "x" * 300},
    {"sub": "a\0b"},
    {"sub": "somebody-else"},
]


@pytest.mark.parametrize("twist", TWISTS, ids=str)
def test_an_invalid_token_is_refused(provider: Provider, twist: dict[str, Any]) -> None:
    browser, people = Browser(), User.objects.count()
    back = there(leave(browser), new_subject(provider, "leads"))
    provider.twists = twist

    assert NOT_AN_ANSWER in refused(browser, back)
    assert User.objects.count() == people


def test_the_same_token_without_a_twist_lets_in(provider: Provider) -> None:
    provider.twists = {"aud": [CLIENT_ID], "azp": CLIENT_ID, "extra": ELEMENTS}
    browser = Browser()

    assert sign_on(browser, new_subject(provider, "leads")).status_code == 302
    assert came_in(browser)


def test_a_signature_of_another_key_is_none(provider: Provider) -> None:
    browser = Browser()
    back = there(leave(browser), new_subject(provider, "leads"))
    provider.signs_with = RSAKey.generate_key(2048)

    assert NOT_AN_ANSWER in refused(browser, back)


@pytest.mark.parametrize("kid", ["one", "two"])
def test_a_key_that_the_token_brings_along_is_none(provider: Provider, kid: str) -> None:
    browser, own = Browser(), RSAKey.generate_key(2048, {"kid": kid, "use": "sig", "alg": "RS256"})
    back = there(leave(browser), new_subject(provider, "leads"))
    provider.signs_with = own
    provider.header = {"alg": "RS256", "kid": kid, "jwk": own.as_dict(private=False), "jku": f"{provider.url}/evil"}

    assert NOT_AN_ANSWER in refused(browser, back)


def test_another_kind_of_token_is_no_identity(provider: Provider) -> None:
    """One for access, of the same provider and for the same client: no question of ours stands in it."""
    browser = Browser()
    back = there(leave(browser), new_subject(provider, "leads"))
    provider.header = {"alg": "RS256", "kid": "one", "typ": "at+jwt"}
    provider.twists = {"nonce": None, "scope": "openid"}

    assert NOT_AN_ANSWER in refused(browser, back)


@pytest.mark.parametrize("header", [{"alg": "HS256", "kid": "one"}, {"alg": "RS256", "kid": "two"}, {"alg": "HS256"}])
def test_a_signature_by_what_is_no_secret_is_none(provider: Provider, header: dict[str, str]) -> None:
    """Reason: with a shared-secret algorithm any holder of the public key or client secret could sign."""
    browser = Browser()
    back = there(leave(browser), new_subject(provider, "leads"))
    provider.header = header
    if header["alg"] == "HS256":
        provider.signs_with = OctKey.import_key(CLIENT_SECRET * 3)

    assert NOT_AN_ANSWER in refused(browser, back)


def test_a_token_without_a_signature_is_none(provider: Provider) -> None:
    now = int(time.time())
    said = {"iss": provider.url, "sub": "x", "aud": CLIENT_ID, "iat": now, "exp": now + 60}
    good = jwt.encode({"alg": "RS256", "kid": "one"}, said, provider.key)
    document = {"jwks_uri": f"{provider.url}/keys"}
    assert providers.checked_token(good, document)["sub"] == "x"

    for bad in (f"eyJhbGciOiJub25lIn0.{good.split('.')[1]}.", good.rpartition(".")[0] + ".", "", "a.b.c", "\0"):
        with pytest.raises(Fault):
            providers.checked_token(bad, document)


@pytest.mark.parametrize(
    "answer", [{"id_token": None}, {"id_token": 7}, {"access_token": None}, {"access_token": ["x"]}], ids=str
)
def test_an_answer_without_tokens_is_refused(provider: Provider, answer: dict[str, Any]) -> None:
    browser = Browser()
    back = there(leave(browser), new_subject(provider, "leads"))
    provider.answer = answer

    assert NOT_AN_ANSWER in refused(browser, back)


@pytest.mark.parametrize("subject", ["another", None, 7])
def test_answers_about_different_people_are_refused(provider: Provider, subject: Any) -> None:
    browser = Browser()
    back = there(leave(browser), new_subject(provider, "all"))
    provider.more = {"sub": subject, "groups": ["leads"]}

    assert NOT_AN_ANSWER in refused(browser, back)


def test_what_is_signed_counts_more_than_what_is_not(provider: Provider) -> None:
    provider.twists, provider.more = {"groups": ["all"]}, {"groups": ["leads"]}
    subject = new_subject(provider)

    sign_on(Browser(), subject)

    assert set(User.objects.get(username=subject).groups.values_list("name", flat=True)) == {"viewer"}


@pytest.mark.parametrize(
    "document",
    [
        {"issuer": "https://evil.example"},
        {"issuer": None},
        {"token_endpoint": "http://evil.example/token"},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"authorization_endpoint": None},
        {"jwks_uri": "file:///etc/passwd"},
        {"userinfo_endpoint": "http://evil.example/"},
    ],
    ids=str,
)
def test_a_document_that_leads_elsewhere_is_not_followed(provider: Provider, document: dict[str, Any]) -> None:
    provider.document = document

    answer = Browser().post("/login/sign-on")

    assert answer.status_code == 403
    assert "evil" not in answer.content.decode()


def test_the_callback_of_another_issuer_is_none(provider: Provider) -> None:
    browser = Browser()
    back = there(leave(browser), new_subject(provider, "ops"))

    assert NOT_AN_ANSWER in refused(browser, f"{back}&iss=https://evil.example")
    assert browser.get(f"{back}&iss={provider.url}").status_code == 302


@pytest.mark.parametrize("claim", ["preferred_username", "email"])
@pytest.mark.parametrize("verified", [True, False])
def test_an_account_cannot_be_taken_over_by_its_name_or_address(provider: Provider, claim: str, verified: bool) -> None:
    name = f"local-{uuid.uuid4().hex[:8]}@acme.example"
    mine = User.objects.create_user(name, email=name, password="correct horse battery")
    mine.groups.set([Group.objects.get(name="admin")])
    subject = f"on-{uuid.uuid4().hex[:8]}"
    provider.people[subject] = {claim: name.upper(), "email": name, "email_verified": verified, "groups": ["all"]}
    browser = Browser()

    text = refused(browser, there(leave(browser), subject))

    assert "who has nothing to do with you yet" in text
    mine.refresh_from_db()
    assert mine.has_usable_password()
    assert set(mine.groups.values_list("name", flat=True)) == {"admin"}
    assert AuditEvent.objects.filter(action="person.sign_on_refused", details__subject=subject).count() == 1
    mine.delete()


@pytest.mark.parametrize("name", [ELEMENTS, "a b", "x" * 200, "\0", "", 7, ["admin"], "manager\u202e", "Manage.py"])
def test_a_hostile_name_becomes_none_of_ours(provider: Provider, name: Any) -> None:
    subject = f"on-{uuid.uuid4().hex[:8]}"
    provider.people[subject] = {"preferred_username": name, "groups": ["all"]}
    browser = Browser()

    sign_on(browser, subject)

    assert came_in(browser)
    assert User.objects.filter(username=subject).exists()


@pytest.mark.parametrize("name", ["schedule", "upkeep", "System", "celery"])
def test_names_of_automatic_actors_are_refused(provider: Provider, name: str) -> None:
    """Reason: where people choose the subject, the audit must not show a false actor."""
    provider.people[name] = {"preferred_username": name, "groups": ["all"]}

    sign_on(Browser(), name)

    assert [one.user.username for one in SocialAccount.objects.filter(uid=name)] == [f"subject-{name}"]
    User.objects.filter(username=f"subject-{name}").delete()


@pytest.mark.parametrize(
    "wanted", ["https://evil.example/", "//evil.example", "javascript:alert(1)", "/\\evil.example"]
)
def test_redirects_stay_on_this_site(provider: Provider, wanted: str) -> None:
    answer = sign_on(Browser(), new_subject(provider, "ops"), next=wanted)

    assert answer["Location"] == "/"


def test_what_is_added_to_the_address_does_not_reach_the_provider(provider: Provider) -> None:
    """allauth takes these from a query, so that a link could ask for more than we do."""
    browser = Browser()

    address = leave(browser, "/login/sign-on?scope=admin&auth_params=prompt%3Dnone&process=connect&action=x")

    for word in ("admin", "prompt", "connect"):
        assert word not in address


def test_a_sign_on_begins_with_a_form_of_ours(provider: Provider) -> None:
    strict = Browser(enforce_csrf_checks=True)

    assert strict.get("/login/sign-on").status_code == 405
    assert strict.post("/login/sign-on").status_code == 403
    assert Browser().post("/login/sign-on/callback").status_code == 405


def test_strangers_cannot_fill_the_sessions(provider: Provider, settings: LazySettings) -> None:
    assert settings.ACCOUNT_RATE_LIMITS == {"sign_on": "30/m/key"}
    settings.ACCOUNT_RATE_LIMITS = {"sign_on": "3/d/key"}
    browser = Browser()

    statuses = [browser.post("/login/sign-on").status_code for _ in range(4)]

    assert statuses == [200, 200, 200, 429]
    assert browser.post("/login/sign-on", REMOTE_ADDR="192.0.2.7").status_code == 200


def test_what_strangers_left_is_not_kept(provider: Provider) -> None:
    stranger, browser = Browser(), Browser()
    leave(stranger)
    left = Session.objects.get(pk=stored_key(stranger.session.session_key))
    assert left.expire_date <= timezone.now() + timedelta(seconds=QUESTION_SECONDS)
    Session.objects.filter(pk=left.pk).update(expire_date=timezone.now() - timedelta(seconds=1))

    sign_on(browser, new_subject(provider, "ops"))

    assert not Session.objects.filter(pk=left.pk).exists()
    assert browser.session.get_expiry_age() > QUESTION_SECONDS, "it is no stranger's any more"


def test_asking_again_makes_no_session_shorter_or_longer(provider: Provider) -> None:
    browser = Browser()
    sign_on(browser, new_subject(provider, "ops"))
    before = browser.session["_session_expiry"]

    leave(browser, "/account/sign-on")
    leave(browser)

    assert browser.session["_session_expiry"] == before


def test_a_second_provider_in_the_librarys_table_is_ignored(provider: Provider) -> None:
    assert providers.provider_of(RequestFactory().get("/")).app.pk is None
    assert Browser().get("/oidc/evil/login/").status_code in (302, 404)


def test_the_session_of_before_is_not_the_one_of_after(provider: Provider) -> None:
    browser = Browser()
    back = there(leave(browser), new_subject(provider, "ops"))
    before = browser.session.session_key

    browser.get(back)

    assert browser.session.session_key != before
    assert came_in(browser)
