"""A code beside the password: set up, asked for, used once, counted when wrong, taken away when the device is lost."""

from __future__ import annotations

import base64
import importlib
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
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from console.confirming import FIELD
from console.second_factor import keeping, picture
from console.second_factor.keeping import APP, PAPER
from console.second_step import WAITING
from queues.models import AuditEvent
from tests.console.browsers import Browser, Page
from tests.console.security.codes import wrong

RIGHT = "correct horse battery"
NOW = 1_800_000_000.0
MFA = ("mfa", "0003_authenticator_type_uniq")
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
    """Somebody who may have a second factor, at a moment that stands still."""
    settings.SECOND_FACTOR, settings.AXES_FAILURE_LIMIT = "optional", 3
    monkeypatch.setattr(totp.time, "time", lambda: NOW)
    made = f"factor-{uuid.uuid4().hex[:8]}"
    person = User.objects.create_user(made, password=RIGHT)
    person.groups.set([Group.objects.get(name="viewer")])
    yield made
    User.objects.filter(username=made).delete()


def reckon(secret: str, steps: int = 0) -> str:
    """What the app shows that has this key, now or so many steps later."""
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
    assert "From now on you are asked for a code" in set_up(with_password(name), -1).text
    return name


def taken_at(secret: str, seconds: float, code: str, monkeypatch: pytest.MonkeyPatch) -> int | None:
    monkeypatch.setattr(totp.time, "time", lambda: seconds)
    return keeping._step(secret, code, 0)


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
        "not the code of this moment" in browser.submit("/account/second-factor/confirm", 422, code=wrong(secret)).text
    )
    after = browser.submit("/account/second-factor/confirm", 200, code=reckon(secret))

    assert secret not in "".join(after.text.split())
    assert AuditEvent.objects.filter(action="person.second_factor", actor=name).count() == 1
    assert secret not in str(list(AuditEvent.objects.filter(actor=name).values("details")))


def test_the_picture_is_of_the_address_and_holds_no_text_of_it() -> None:
    hostile = "otpauth://totp/</svg><script>alert(1)</script>?secret=ABC"

    drawn = picture.of(hostile)

    assert drawn.startswith('<svg class="key-picture"')
    assert "script" not in drawn
    assert drawn != picture.of("otpauth://totp/other")


def test_the_database_alone_reckons_no_codes(enrolled: str, settings: LazySettings) -> None:
    row, before = factor_of(enrolled), settings.SECRET_KEY
    assert code(enrolled)
    assert row.data["secret"] != decrypt(row.data["secret"])
    now = code(enrolled)

    settings.SECRET_KEY = "another key, of fifty letters or so, and not the one of before"
    assert not keeping.takes(User.objects.get(username=enrolled), now)
    settings.SECRET_KEY_FALLBACKS = [before]
    assert keeping.takes(User.objects.get(username=enrolled), now)


def test_a_code_on_paper_lets_in_once_without_the_device(name: str) -> None:
    codes = paper(set_up(with_password(name)))
    assert len(set(codes)) == 10
    browser = with_password(name)

    assert browser.post("/login/code", {"code": codes[3]}).status_code == 302
    assert came_in(browser)
    assert "9 of the codes on paper" in browser.see("/account").text
    assert "used already" in with_password(name).submit("/login/code", 422, code=codes[3]).text
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
    assert "Nothing was changed: set up the app first" in with_password(name).submit("/account/recovery-codes").text
    assert not Authenticator.objects.filter(user__username=name).exists()


def test_whoever_had_a_factor_of_before_keeps_it(name: str) -> None:
    """The migration, on a database with people in it: those who confirmed one, and those who did not."""
    migration = importlib.import_module("console.migrations.0005_secrets_of_allauth")
    people = [User.objects.get(username=name), User.objects.create_user(f"{name}-2", password=RIGHT)]
    with connection.cursor() as cursor:
        cursor.execute(
            "create temporary table console_second_factor"
            " (person_id int, secret text, confirmed bool, last_step bigint, created_at timestamptz default now())"
        )
        cursor.executemany(
            "insert into console_second_factor values (%s, %s, %s, %s)",
            [(people[0].pk, RFC_SECRET, True, int(NOW // 30)), (people[1].pk, RFC_SECRET, False, 0)],
        )
    try:
        before = MigrationLoader(connection).project_state([("console", "0004_second_factor"), MFA]).apps
        with connection.schema_editor() as editor:
            migration.move(before, editor)

        assert not keeping.takes(people[0], reckon(RFC_SECRET)), "it was used before"
        assert keeping.takes(people[0], reckon(RFC_SECRET, 1))
        assert not keeping.has_one(people[1])
        old = before.get_model("console", "SecondFactor").objects
        old.all().delete()
        with connection.schema_editor() as editor:
            migration.move_back(before, editor)
        assert [(one.secret, one.last_step) for one in old.all()] == [(RFC_SECRET, int(NOW // 30) + 1)]
    finally:
        with connection.cursor() as cursor:
            cursor.execute("drop table pg_temp.console_second_factor")
        people[1].delete()


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

    assert "used already" in again.submit("/login/code", 422, code=used).text
    assert not came_in(again)


def test_no_code_is_taken_twice_by_another_process_or_later(enrolled: str, monkeypatch: pytest.MonkeyPatch) -> None:
    person, used = User.objects.get(username=enrolled), code(enrolled)
    assert keeping.takes(person, used)

    cache.clear()  # as another process, which has a cache of its own
    assert not keeping.takes(person, used)
    monkeypatch.setattr(totp.time, "time", lambda: NOW + 30)
    assert not keeping.takes(person, used)


def test_without_our_note_of_it_a_code_is_taken_twice(enrolled: str) -> None:
    """What allauth has in place of it: this is why the step is in the row."""
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


def test_nobody_comes_to_the_code_without_a_password_or_late(enrolled: str) -> None:
    assert Browser().get("/login/code")["Location"] == "/login"
    browser = with_password(enrolled)
    session = browser.session
    session[WAITING] = {**session[WAITING], "at": session[WAITING]["at"] - 600}
    session.save()

    assert browser.post("/login/code", {"code": code(enrolled)})["Location"] == "/login"
    assert not came_in(browser)


def test_whoever_was_shut_out_meanwhile_stays_out(enrolled: str) -> None:
    browser = with_password(enrolled)
    User.objects.filter(username=enrolled).update(is_active=False)

    browser.post("/login/code", {"code": code(enrolled)})

    assert not came_in(browser)


def test_a_password_that_was_changed_meanwhile_is_asked_for_again(enrolled: str) -> None:
    browser = with_password(enrolled)
    person = User.objects.get(username=enrolled)
    person.set_password("another horse 1")
    person.save()

    assert browser.post("/login/code", {"code": code(enrolled)})["Location"] == "/login"
    assert not came_in(browser)


def test_it_is_removed_by_oneself_or_by_a_command(enrolled: str) -> None:
    browser = with_password(enrolled)
    browser.post("/login/code", {"code": code(enrolled)})
    assert "Your password is enough again" in browser.submit("/account/second-factor/remove").text
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
def test_whoever_came_in_without_a_code_changes_nothing_about_it(
    enrolled: str, settings: LazySettings, path: str
) -> None:
    """As where it was off for a while: codes on paper would let in for good whoever knows the password."""
    settings.SECOND_FACTOR = "off"
    browser = with_password(enrolled)
    settings.SECOND_FACTOR, before = "optional", list(Authenticator.objects.filter(user__username=enrolled).values())

    assert "you came in without a code" in browser.submit(path).text
    assert path not in browser.see("/account").html
    assert list(Authenticator.objects.filter(user__username=enrolled).values()) == before


def test_where_it_is_off_nobody_is_asked(enrolled: str, settings: LazySettings) -> None:
    settings.SECOND_FACTOR = "off"
    browser = with_password(enrolled)

    assert came_in(browser)
    assert browser.post("/account/second-factor").status_code == 404
    assert "Second factor" not in browser.see("/account").text


def test_where_it_is_required_there_is_nothing_before_it(name: str, settings: LazySettings) -> None:
    settings.SECOND_FACTOR = "required"
    browser = with_password(name)

    assert browser.get("/")["Location"] == "/account"
    assert "You need one before anything else" in browser.see("/account").text
    set_up(browser)

    assert came_in(browser)
    assert "everybody here needs a second factor" in browser.submit("/account/second-factor/remove").text


def test_whoever_came_in_before_it_was_required_is_told_what_to_do(enrolled: str, settings: LazySettings) -> None:
    settings.SECOND_FACTOR = "off"
    browser = with_password(enrolled)
    settings.SECOND_FACTOR = "required"

    assert "log out and in again" in browser.see("/account").text
    assert browser.get("/")["Location"] == "/account"


def test_one_changes_ones_password(name: str) -> None:
    here, elsewhere = with_password(name), with_password(name)

    assert "This is not your password" in here.submit("/account/password", 422, old="wrong", new="another horse 1").text
    assert "too common" in here.submit("/account/password", 422, old=RIGHT, new="password1").text
    page = here.submit("/account/password", old=RIGHT, new="another horse 1")

    assert "Your password is changed" in page.text
    assert came_in(here)
    assert not came_in(elsewhere)
    assert User.objects.get(username=name).check_password("another horse 1")
    assert AuditEvent.objects.filter(action="person.password", actor=name).count() == 1
    assert FIELD not in page.html
