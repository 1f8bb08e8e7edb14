"""A second factor at the login: a code that only the person's own device can compute, or one on paper, used once.

Codes, secrets and their rows are django-allauth's; asking, counting, encryption and the audit are here. A code of an
app is used up by its step, which is written into the row that is locked for looking at it. allauth notes used codes in
a cache, which each process has its own of, and for one step, though a code is taken for three. Wrong codes count like
wrong passwords, so six digits cannot be tried one after another.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import logging
from collections.abc import Callable
from typing import Any

from allauth.core.internal.cryptokit import compare_user_code
from allauth.mfa.adapter import DefaultMFAAdapter, get_adapter
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal import auth as totp
from allauth.mfa.utils import decrypt, encrypt
from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser
from django.contrib.sessions.backends.base import SessionBase
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.deprecation import MiddlewareMixin
from django.utils.safestring import SafeString, mark_safe

from console.access import lockout
from queues import audit

PASSED = "second_factor"  # in the session: a code was given
PENDING = "second_factor_secret"  # in the session, encrypted: a secret that no code has confirmed yet
LAST_STEP = "last_step"  # in the row's data: of the code that was used last
APP, PAPER = Authenticator.Type.TOTP, Authenticator.Type.RECOVERY_CODES

# Pages for a person without a factor where one is required.
ALLOWED = {"account", "account_password", "second_factor", "second_factor_confirm", "logout", "preferences", "live"}
ALLOWED |= {"sign_on", "sign_on_callback", "sign_on_again", "recovery_codes"}

logger = logging.getLogger(__name__)


def has_one(person: AbstractBaseUser) -> bool:
    """Return whether a code is asked for when the person logs in."""
    return settings.SECOND_FACTOR != "off" and app_of(person) is not None


def app_of(person: AbstractBaseUser) -> Authenticator | None:
    return Authenticator.objects.filter(user_id=person.pk, type=APP).first()


def begin(session: SessionBase) -> None:
    """A new secret to be confirmed."""
    session[PENDING] = encrypt(totp.generate_totp_secret())


def pending(session: SessionBase) -> str:
    """The secret that waits for its first code; empty when there is none."""
    try:
        return decrypt(session[PENDING])
    except (KeyError, Unreadable):
        return ""


def address(person: AbstractBaseUser, secret: str) -> str:
    """Return the address that an app on the same device opens, and that the picture shows."""
    return get_adapter().build_totp_url(person, secret)


def confirm(person: AbstractBaseUser, session: SessionBase, code: str) -> list[str] | None:
    """Put the app into force, and return the codes to keep on paper; None when the code is wrong."""
    secret = pending(session)
    step = _step(secret, code, 0) if secret else None
    if step is None:
        return None
    with transaction.atomic():
        _lock(person)
        if app_of(person) is not None:
            return None  # confirmed in another window in between
        made = totp.TOTP.activate(person, secret).instance
        made.data[LAST_STEP] = step
        made.save(update_fields=["data"])
        audit.record(person.get_username(), "person.second_factor", details={"person": person.get_username()})
        codes = _paper(person)
    del session[PENDING]
    return codes


def takes(person: AbstractBaseUser, code: str) -> bool:
    """Return whether it is an unused code of the person: of the app, of this moment, or one of those on paper."""
    try:
        return _takes_app(person, code) or _takes_paper(person, code)
    except Unreadable:
        logger.error("A second factor was encrypted with another SECRET_KEY: see SECRET_KEY_FALLBACKS")
        return False


@transaction.atomic
def takes_counted(request: HttpRequest, person: AbstractBaseUser, code: str) -> bool:
    """Return whether this is a code of the person. Wrong codes are counted; raises `TooManyAttempts`.

    Under the person's row, one code after another: of many at once each would else be looked at before any is counted.
    """
    name = person.get_username()
    get_user_model().objects.select_for_update(no_key=True).filter(pk=person.pk).first()
    lockout.check(request, name)
    if takes(person, code):
        lockout.forgive_codes(name)
        return True
    lockout.note_wrong_code(request, name)
    return False


def renew_paper(person: AbstractBaseUser) -> list[str] | None:
    """Make other codes to keep on paper, in place of those before; None for a person without a second factor."""
    with transaction.atomic():
        _lock(person)
        if app_of(person) is None:
            return None
        audit.record(person.get_username(), "person.recovery_codes", details={"person": person.get_username()})
        return _paper(person)


def paper_left(person: AbstractBaseUser) -> int:
    """Return how many codes on paper are not used yet."""
    row = Authenticator.objects.filter(user_id=person.pk, type=PAPER).first()
    try:
        return len(RecoveryCodes(row).get_unused_codes()) if row else 0
    except Unreadable:
        return 0


def remove(person: AbstractBaseUser, *, actor: str) -> bool:
    """Remove the second factor, so that the password is enough. False when there was none."""
    with transaction.atomic():
        _lock(person)
        Authenticator.objects.filter(user_id=person.pk, type=PAPER).delete()
        removed, _ = Authenticator.objects.filter(user_id=person.pk, type=APP).delete()
        if removed:
            audit.record(actor, "person.no_second_factor", details={"person": person.get_username()})
        return bool(removed)


class RequiredFactorMiddleware(MiddlewareMixin):
    """Middleware that leads a person without a second factor to making one, where one is required."""

    def process_view(self, request: HttpRequest, view: Callable[..., Any], *_: Any) -> HttpResponse | None:
        """Return None to let the request go on. Reads no database: the session says whether a code was given."""
        if settings.SECOND_FACTOR != "required" or not request.user.is_authenticated or request.session.get(PASSED):
            return None
        name = request.resolver_match.url_name if request.resolver_match else ""
        return None if name in ALLOWED else redirect("account")


@transaction.atomic
def _takes_app(person: AbstractBaseUser, code: str) -> bool:
    row = Authenticator.objects.select_for_update().filter(user_id=person.pk, type=APP).first()
    step = _step(decrypt(row.data["secret"]), code, row.data.get(LAST_STEP, 0)) if row else None
    if row is None or step is None:
        return False
    row.data[LAST_STEP], row.last_used_at = step, timezone.now()
    row.save(update_fields=["data", "last_used_at"])  # of two with the same code at once one waits, and finds it used
    return True


@transaction.atomic
def _takes_paper(person: AbstractBaseUser, code: str) -> bool:
    row = Authenticator.objects.filter(user_id=person.pk, type=PAPER).first()
    if row is None or not RecoveryCodes(row).validate_code(code):
        return False
    details = {"person": person.get_username(), "left": paper_left(person)}
    audit.record(person.get_username(), "person.recovery_code_used", details=details)
    return True


def _step(secret: str, code: str, after: int) -> int | None:
    """The step whose code this is, of those around now that come `after` the last used; else None."""
    for step in totp.yield_hotp_counters_from_time():
        expected = totp.format_hotp_value(totp.hotp_value(secret, step))
        if step > after and compare_user_code(actual=code, expected=expected):
            return step
    return None


def _paper(person: AbstractBaseUser) -> list[str]:
    Authenticator.objects.filter(user_id=person.pk, type=PAPER).delete()
    return RecoveryCodes.activate(person).generate_codes()


def _lock(person: AbstractBaseUser) -> None:
    get_user_model().objects.select_for_update().get(pk=person.pk)


PURPOSE = b"signalbox: secrets of second factors"


class Unreadable(Exception):  # noqa: N818 - it names what happened
    """A secret that was encrypted with another SECRET_KEY."""


class SealingAdapter(DefaultMFAAdapter):
    """Answers for allauth: how secrets are kept, and how people are called in their app."""

    def encrypt(self, text: str) -> str:
        return _box().encrypt(text.encode()).decode()

    def decrypt(self, encrypted_text: str) -> str:
        try:
            return _box().decrypt(encrypted_text.encode()).decode()
        except InvalidToken:
            raise Unreadable(Unreadable.__doc__) from None

    def get_totp_label(self, user: AbstractBaseUser) -> str:
        return f"{self.get_totp_issuer()}:{user.get_username()}"


def _box() -> MultiFernet:
    """Encrypts with SECRET_KEY, opens also what those before it encrypted."""
    keys = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    derived = [hmac.digest(key.encode(), PURPOSE, hashlib.sha256) for key in keys]
    return MultiFernet([Fernet(base64.urlsafe_b64encode(one)) for one in derived])


def picture_of(address: str) -> SafeString:
    """The element. The address is drawn as squares: nothing of it is text in the page."""
    _, _, element = get_adapter().build_totp_svg(address).partition("?>")
    named = element.strip().replace(
        "<svg ", '<svg class="key-picture" role="img" aria-label="The key as a picture" ', 1
    )
    return mark_safe(named)  # noqa: S308 # nosec B308 B703 - it holds numbers of ours alone
