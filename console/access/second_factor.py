"""A second factor for the login: a code from the person's app, or a recovery code, each usable once.

django-allauth makes the codes, secrets and rows; this module asks, counts, encrypts and audits. A code of an app is
marked as used by its time step, in the row that is locked while the code is checked. allauth would mark it in a cache,
which differs between processes, and for one step, although a code is accepted for three. Wrong codes count like wrong
passwords, so six digits cannot be tried one after another.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from allauth.core.internal.cryptokit import compare_user_code
from allauth.mfa.adapter import DefaultMFAAdapter, get_adapter
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal import auth as totp
from allauth.mfa.utils import decrypt, encrypt
from cryptography.fernet import InvalidToken
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
from queues.encryption import cipher

PASSED = "second_factor"  # in the session: a code was given
PENDING = "second_factor_secret"  # in the session, encrypted: a new secret until its first code confirms it
LAST_STEP = "last_step"  # in the row's data: the time step of the last used code
APP, PAPER = Authenticator.Type.TOTP, Authenticator.Type.RECOVERY_CODES

# URL names of the pages that are open to a person who still has to set up a required second factor.
ALLOWED = {"account", "account_password", "second_factor", "second_factor_confirm", "logout", "preferences", "live"}
ALLOWED |= {"sign_on", "sign_on_callback", "sign_on_again", "recovery_codes"}

logger = logging.getLogger(__name__)


def has_one(person: AbstractBaseUser) -> bool:
    """Return whether the person's login asks for a code."""
    return settings.SECOND_FACTOR != "off" and app_of(person) is not None


def app_of(person: AbstractBaseUser) -> Authenticator | None:
    return Authenticator.objects.filter(user_id=person.pk, type=APP).first()


def begin(session: SessionBase) -> None:
    """Create a new secret, to be confirmed by its first code."""
    session[PENDING] = encrypt(totp.generate_totp_secret())


def pending(session: SessionBase) -> str:
    """Return the secret that is not confirmed yet; empty if there is none."""
    try:
        return decrypt(session[PENDING])
    except (KeyError, Unreadable):
        return ""


def address(person: AbstractBaseUser, secret: str) -> str:
    """Return the otpauth address, which the picture shows and which an app on the same device opens."""
    return get_adapter().build_totp_url(person, secret)


def confirm(person: AbstractBaseUser, session: SessionBase, code: str) -> list[str] | None:
    """Activate the second factor and return the recovery codes; None if the code is wrong."""
    secret = pending(session)
    step = _step(secret, code, 0) if secret else None
    if step is None:
        return None
    with transaction.atomic():
        _lock(person)
        if app_of(person) is not None:
            return None  # confirmed in another window
        made = totp.TOTP.activate(person, secret).instance
        made.data[LAST_STEP] = step
        made.save(update_fields=["data"])
        audit.record(person.get_username(), "person.second_factor", details={"person": person.get_username()})
        codes = _paper(person)
    del session[PENDING]
    return codes


def takes(person: AbstractBaseUser, code: str) -> bool:
    """Return whether this is an unused code of the person: a current code of the app, or a recovery code."""
    try:
        return _takes_app(person, code) or _takes_paper(person, code)
    except Unreadable:
        logger.error("A second factor was encrypted with another SECRET_KEY: see SECRET_KEY_FALLBACKS")
        return False


@transaction.atomic
def takes_counted(request: HttpRequest, person: AbstractBaseUser, code: str) -> bool:
    """Return whether this is a code of the person, and count wrong codes. Raises `TooManyAttempts`.

    The person's row is locked, so that concurrent codes are checked one after another and each is counted.
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
    """Replace the recovery codes; None for a person without a second factor."""
    with transaction.atomic():
        _lock(person)
        if app_of(person) is None:
            return None
        audit.record(person.get_username(), "person.recovery_codes", details={"person": person.get_username()})
        return _paper(person)


def paper_left(person: AbstractBaseUser) -> int:
    """Return the number of unused recovery codes."""
    row = Authenticator.objects.filter(user_id=person.pk, type=PAPER).first()
    try:
        return len(RecoveryCodes(row).get_unused_codes()) if row else 0
    except Unreadable:
        return 0


def remove(person: AbstractBaseUser, *, actor: str) -> bool:
    """Remove the second factor, so that the password is enough. Return False if there was none."""
    with transaction.atomic():
        _lock(person)
        Authenticator.objects.filter(user_id=person.pk, type=PAPER).delete()
        removed, _ = Authenticator.objects.filter(user_id=person.pk, type=APP).delete()
        if removed:
            audit.record(actor, "person.no_second_factor", details={"person": person.get_username()})
        return bool(removed)


class RequiredFactorMiddleware(MiddlewareMixin):
    """Middleware that leads people to the setup of a second factor if one is required."""

    def process_view(self, request: HttpRequest, view: Callable[..., Any], *_: Any) -> HttpResponse | None:
        """Return None if the request may continue. Reads no database, because the session says whether a code was
        given.
        """
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
    row.save(
        update_fields=["data", "last_used_at"]
    )  # of two requests with one code, the second waits for the lock and finds it used
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
    """Return the time step of this code if it is current and later than `after`, the last used step; else None."""
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
    """The secret was encrypted with another SECRET_KEY."""


class SealingAdapter(DefaultMFAAdapter):
    """Adapter of allauth: encrypts secrets, and sets the label of the person in the app."""

    def encrypt(self, text: str) -> str:
        return cipher(PURPOSE).encrypt(text.encode()).decode()

    def decrypt(self, encrypted_text: str) -> str:
        try:
            return cipher(PURPOSE).decrypt(encrypted_text.encode()).decode()
        except InvalidToken:
            raise Unreadable(Unreadable.__doc__) from None

    def get_totp_label(self, user: AbstractBaseUser) -> str:
        return f"{self.get_totp_issuer()}:{user.get_username()}"


def picture_of(address: str) -> SafeString:
    """Return the QR code of the address as an SVG element, without the address as text."""
    _, _, element = get_adapter().build_totp_svg(address).partition("?>")
    named = element.strip().replace(
        "<svg ", '<svg class="key-picture" role="img" aria-label="The key as a picture" ', 1
    )
    return mark_safe(named)  # noqa: S308 # nosec B308 B703 - it holds numbers of ours alone
