"""A code beside the password: set up, asked for, used once, counted when wrong, taken away when the device is lost."""

from __future__ import annotations

import base64
import io
import uuid
from collections.abc import Iterator

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal import auth as totp
from allauth.mfa.utils import decrypt
from django.conf import LazySettings
from django.contrib.auth.models import Group, User
from django.core.cache import cache
from django.core.management import call_command

from console.access import second_factor
from console.access.login import WAITING
from console.access.reauthentication import FIELD
from console.access.second_factor import APP, PAPER
from queues.models import AuditEvent
from tests.console.browsers import Browser, Page
from tests.console.security.codes import wrong

RIGHT = "correct horse battery"
NOW = 1_800_000_000.0
# RFC 6238, appendix B, the last six digits of its eight.
VECTORS = [
    (59, "287082"),
    (1111111109, "081804"),
    (1111111111, "050471"),
    (1234567890, "005924"),
    (2000000000, "279037"),
]
RFC_SECRET = base64.b32encode(b"12345678901234567890").decode()


@pytest.fixture
def name(commits: None, settings: LazySettings, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """User who may have a second factor, at a fixed moment."""
    settings.SECOND_FACTOR, settings.AXES_FAILURE_LIMIT = "optional", 3
    monkeypatch.setattr(totp.time, "time", lambda: NOW)
    made = f"factor-{uuid.uuid4().hex[:8]}"
    person = User.objects.create_user(made, password=RIGHT)
    person.groups.set([Group.objects.get(name="viewer")])
    yield made
    User.objects.filter(username=made).delete()


def reckon(secret: str, steps: int = 0) -> str:
    """Code of an app with this key, now or some steps later."""
    return totp.format_hotp_value(totp.hotp_value(secret, int(NOW // 30) + steps))


def code(name: str, steps: int = 0) -> str:
    return reckon(secret_of(name), steps)


def wrong_code(name: str) -> str:
    return wrong(secret_of(name))


def secret_of(name: str) -> str:
    return str(decrypt(factor_of(name).data["secret"]))


def factor_of(name: str) -> Authenticator:
    return Authenticator.objects.get(user__username=name, type=APP)


def shown(page: Page) -> str:
    """The key that the page shows."""
    return "".join(page.one("code").text.split())


def set_up(browser: Browser, steps: int = 0) -> Page:
    """The key, and its first code; the page with the codes for paper."""
    secret = shown(browser.submit("/account/second-factor"))
    return browser.submit("/account/second-factor/confirm", 200, code=reckon(secret, steps))


def paper(page: Page) -> list[str]:
    return [one.text for one in page.all("code")]


def came_in(browser: Browser) -> bool:
    return browser.get("/").status_code == 200


def with_password(name: str) -> Browser:
    browser = Browser()
    assert browser.post("/login", {"username": name, "password": RIGHT}).status_code == 302
    return browser


@pytest.fixture
def enrolled(name: str) -> str:
    assert "Second factor set up: login now asks for a code" in set_up(with_password(name), -1).text
    return name


def taken_at(secret: str, seconds: float, code: str, monkeypatch: pytest.MonkeyPatch) -> int | None:
    monkeypatch.setattr(totp.time, "time", lambda: seconds)
    return second_factor._step(secret, code, 0)


@pytest.mark.parametrize(("seconds", "expected"), VECTORS)
def test_codes_are_those_of_the_standard(seconds: int, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert taken_at(RFC_SECRET, seconds, f"{expected[:3]} {expected[3:]}", monkeypatch) == seconds // 30


@pytest.mark.parametrize("text", ["", "12345", "1234567", "abcdef", "١٢٣٤٥٦", "\0", "-12345", "\ud800"])
def test_what_is_no_code_is_none(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert taken_at(RFC_SECRET, 59, text, monkeypatch) is None


def test_a_code_of_another_time_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    step = 2_000_000_000 // 30

    codes = [totp.format_hotp_value(totp.hotp_value(RFC_SECRET, step + n)) for n in range(-3, 4)]
    taken = [taken_at(RFC_SECRET, 2_000_000_000, one, monkeypatch) for one in codes]

    assert [one is not None for one in taken] == [False, False, True, True, True, False, False]


def test_the_key_is_shown_until_a_code_confirms_it(name: str) -> None:
    browser = with_password(name)

    page = browser.submit("/account/second-factor")
    secret = shown(page)
    assert page.link("Open the app").startswith(f"otpauth://totp/Signalbox%3A{name}?secret={secret}")
    assert len(page.all("svg", class_="key-picture")) == 1
    assert secret not in str(browser.session.items())
    assert came_in(with_password(name)), "nothing is asked for before that"
    assert (
        "The code is wrong, expired or already used"
        in browser.submit("/account/second-factor/confirm", 422, code=wrong(secret)).text
    )
    after = browser.submit("/account/second-factor/confirm", 200, code=reckon(secret))

    assert secret not in "".join(after.text.split())
    assert AuditEvent.objects.filter(action="person.second_factor", actor=name).count() == 1
    assert secret not in str(list(AuditEvent.objects.filter(actor=name).values("details")))


def test_the_picture_is_of_the_address_and_holds_no_text_of_it() -> None:
    hostile = "otpauth://totp/</svg><script>alert(1)</script>?secret=ABC"

    drawn = second_factor.picture_of(hostile)

    assert drawn.startswith('<svg class="key-picture"')
    assert "script" not in drawn
    assert drawn != second_factor.picture_of("otpauth://totp/other")


def test_the_database_alone_reckons_no_codes(enrolled: str, settings: LazySettings) -> None:
    row, before = factor_of(enrolled), settings.SECRET_KEY
    assert code(enrolled)
    assert row.data["secret"] != decrypt(row.data["secret"])
    now = code(enrolled)

    settings.SECRET_KEY = "another key, of fifty characters or so, and not the earlier one"
    assert not second_factor.takes(User.objects.get(username=enrolled), now)
    settings.SECRET_KEY_FALLBACKS = [before]
    assert second_factor.takes(User.objects.get(username=enrolled), now)


def test_a_code_on_paper_lets_in_once_without_the_device(name: str) -> None:
    codes = paper(set_up(with_password(name)))
    assert len(set(codes)) == 10
    browser = with_password(name)

    assert browser.post("/login/code", {"code": codes[3]}).status_code == 302
    assert came_in(browser)
    assert "Unused recovery codes: 9." in browser.see("/account").text
    assert "already used" in with_password(name).submit("/login/code", 422, code=codes[3]).text
    assert AuditEvent.objects.filter(action="person.recovery_code_used", actor=name, details__left=9).count() == 1
    for one in codes:
        assert one not in str(list(Authenticator.objects.filter(user__username=name).values("data")))


def test_other_codes_on_paper_take_the_place_of_those_before(enrolled: str) -> None:
    browser = with_password(enrolled)
    browser.post("/login/code", {"code": code(enrolled)})

    first = paper(browser.submit("/account/recovery-codes", 200))
    second = paper(browser.submit("/account/recovery-codes", 200))

    assert not set(first) & set(second)
    assert with_password(enrolled).post("/login/code", {"code": first[0]}).status_code == 422
    assert with_password(enrolled).post("/login/code", {"code": second[0]}).status_code == 302


def test_there_are_no_codes_on_paper_without_an_app(name: str) -> None:
    assert (
        "Nothing was changed: set up a second factor first"
        in with_password(name).submit("/account/recovery-codes").text
    )
    assert not Authenticator.objects.filter(user__username=name).exists()


def test_the_login_asks_for_the_code(enrolled: str) -> None:
    browser = with_password(enrolled)

    assert not came_in(browser)
    form = browser.see("/login/code", next="/audit").fields()
    answer = browser.post("/login/code", {**form, "code": code(enrolled)})

    assert answer["Location"] == "/audit"
    assert came_in(browser)


def test_no_code_is_taken_twice(enrolled: str) -> None:
    used = code(enrolled)
    assert with_password(enrolled).post("/login/code", {"code": used}).status_code == 302

    again = with_password(enrolled)

    assert "already used" in again.submit("/login/code", 422, code=used).text
    assert not came_in(again)


def test_no_code_is_taken_twice_by_another_process_or_later(enrolled: str, monkeypatch: pytest.MonkeyPatch) -> None:
    person, used = User.objects.get(username=enrolled), code(enrolled)
    assert second_factor.takes(person, used)

    cache.clear()  # as another process, which has a cache of its own
    assert not second_factor.takes(person, used)
    monkeypatch.setattr(totp.time, "time", lambda: NOW + 30)
    assert not second_factor.takes(person, used)


def test_without_our_note_of_it_a_code_is_taken_twice(enrolled: str) -> None:
    """The class of allauth in its place explains why the step is in the row."""
    factor, used = totp.TOTP(factor_of(enrolled)), code(enrolled)
    assert [factor.validate_code(used), factor.validate_code(used)] == [True, False]

    cache.clear()

    assert factor.validate_code(used)


def test_wrong_codes_are_counted(enrolled: str) -> None:
    browser = with_password(enrolled)

    statuses = [browser.post("/login/code", {"code": wrong_code(enrolled)}).status_code for _ in range(4)]

    assert statuses[0] == 422
    assert statuses[3] == 429
    assert browser.post("/login/code", {"code": code(enrolled)}).status_code == 429
    assert not came_in(browser)


def test_codes_are_not_tried_from_one_address_after_another(enrolled: str) -> None:
    browser = with_password(enrolled)

    for number in range(3):
        assert (
            browser.post("/login/code", {"code": wrong_code(enrolled)}, REMOTE_ADDR=f"2001:db8::{number}").status_code
            == 422
        )

    answer = browser.post("/login/code", {"code": code(enrolled)}, REMOTE_ADDR="2001:db8::4")
    assert answer.status_code == 429
    assert not came_in(browser)
    assert with_password(enrolled).get("/").status_code == 302, "the password is asked for and looked at"


def test_a_right_code_forgives_the_wrong_ones(enrolled: str) -> None:
    for steps in (0, 1):
        browser = with_password(enrolled)
        for _ in range(2):
            browser.post("/login/code", {"code": wrong_code(enrolled)}, REMOTE_ADDR="192.0.2.9")
        browser.post("/login/code", {"code": code(enrolled, steps)}, REMOTE_ADDR="192.0.2.9")
        assert came_in(browser)


def test_giving_the_password_again_does_not_forgive_wrong_codes(enrolled: str) -> None:
    for _ in range(3):
        with_password(enrolled).post("/login/code", {"code": wrong_code(enrolled)})

    assert Browser().post("/login", {"username": enrolled, "password": RIGHT}).status_code == 429


def test_the_code_page_needs_a_recent_password(enrolled: str) -> None:
    assert Browser().get("/login/code")["Location"] == "/login"
    browser = with_password(enrolled)
    session = browser.session
    session[WAITING] = {**session[WAITING], "at": session[WAITING]["at"] - 600}
    session.save()

    assert browser.post("/login/code", {"code": code(enrolled)})["Location"] == "/login"
    assert not came_in(browser)


def test_a_user_disabled_during_login_stays_out(enrolled: str) -> None:
    browser = with_password(enrolled)
    User.objects.filter(username=enrolled).update(is_active=False)

    browser.post("/login/code", {"code": code(enrolled)})

    assert not came_in(browser)


def test_a_password_changed_during_login_is_asked_for_again(enrolled: str) -> None:
    browser = with_password(enrolled)
    person = User.objects.get(username=enrolled)
    person.set_password("another horse 1")
    person.save()

    assert browser.post("/login/code", {"code": code(enrolled)})["Location"] == "/login"
    assert not came_in(browser)


def test_it_is_removed_by_oneself_or_by_a_command(enrolled: str) -> None:
    browser = with_password(enrolled)
    browser.post("/login/code", {"code": code(enrolled)})
    assert "Second factor removed." in browser.submit("/account/second-factor/remove").text
    assert came_in(with_password(enrolled))
    set_up(browser)
    told = io.StringIO()

    call_command("unlock", enrolled, "--second-factor", stdout=told)

    assert "needs no code any more; 1 session ended" in told.getvalue()
    assert not came_in(browser)
    assert not Authenticator.objects.filter(user__username=enrolled, type__in=[APP, PAPER]).exists()


def test_a_second_factor_ends_the_sessions_that_came_in_without(name: str) -> None:
    here, elsewhere = with_password(name), with_password(name)

    set_up(here)

    assert came_in(here)
    assert not came_in(elsewhere)


@pytest.mark.parametrize("path", ["/account/recovery-codes", "/account/second-factor/remove"])
def test_a_session_without_a_code_cannot_change_the_second_factor(
    enrolled: str, settings: LazySettings, path: str
) -> None:
    """Recovery codes of a time when the factor was off must not admit a person who knows only the password."""
    settings.SECOND_FACTOR = "off"
    browser = with_password(enrolled)
    settings.SECOND_FACTOR, before = "optional", list(Authenticator.objects.filter(user__username=enrolled).values())

    assert "this session began without a code" in browser.submit(path).text
    assert path not in browser.see("/account").html
    assert list(Authenticator.objects.filter(user__username=enrolled).values()) == before


def test_no_code_is_asked_for_when_the_second_factor_is_off(enrolled: str, settings: LazySettings) -> None:
    settings.SECOND_FACTOR = "off"
    browser = with_password(enrolled)

    assert came_in(browser)
    assert browser.post("/account/second-factor").status_code == 404
    assert "Second factor" not in browser.see("/account").text


def test_where_it_is_required_there_is_nothing_before_it(name: str, settings: LazySettings) -> None:
    settings.SECOND_FACTOR = "required"
    browser = with_password(name)

    assert browser.get("/")["Location"] == "/account"
    assert "A second factor is required to use the console" in browser.see("/account").text
    set_up(browser)

    assert came_in(browser)
    assert "a second factor is required (SECOND_FACTOR)" in browser.submit("/account/second-factor/remove").text


def test_an_older_session_is_asked_to_set_up_the_second_factor(enrolled: str, settings: LazySettings) -> None:
    settings.SECOND_FACTOR = "off"
    browser = with_password(enrolled)
    settings.SECOND_FACTOR = "required"

    assert "log out and log in again to use the console" in browser.see("/account").text
    assert browser.get("/")["Location"] == "/account"


def test_one_changes_ones_password(name: str) -> None:
    here, elsewhere = with_password(name), with_password(name)

    assert (
        "The current password is wrong"
        in here.submit("/account/password", 422, old="wrong", new="another horse 1").text
    )
    assert "too common" in here.submit("/account/password", 422, old=RIGHT, new="password1").text
    page = here.submit("/account/password", old=RIGHT, new="another horse 1")

    assert "Password changed." in page.text
    assert came_in(here)
    assert not came_in(elsewhere)
    assert User.objects.get(username=name).check_password("another horse 1")
    assert AuditEvent.objects.filter(action="person.password", actor=name).count() == 1
    assert FIELD not in page.html
