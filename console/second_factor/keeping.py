"""Making, confirming, using and removing a second factor; each with its row of audit, but using an app.

A code of an app is used up by its step, which is written into the row that is locked for looking at it. allauth notes
used codes in a cache, which each process has its own of, and for one step, though a code is taken for three.
"""

from __future__ import annotations

import logging

from allauth.core.internal.cryptokit import compare_user_code
from allauth.mfa.adapter import get_adapter
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal import auth as totp
from allauth.mfa.utils import decrypt, encrypt
from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser
from django.contrib.sessions.backends.base import SessionBase
from django.db import transaction
from django.utils import timezone

from console.second_factor.sealing import Unreadable
from queues import audit

PENDING = "second_factor_secret"  # in the session, encrypted: a secret that no code has confirmed yet
LAST_STEP = "last_step"  # in the row's data: of the code that was used last
APP, PAPER = Authenticator.Type.TOTP, Authenticator.Type.RECOVERY_CODES

logger = logging.getLogger(__name__)


def has_one(person: AbstractBaseUser) -> bool:
    """Whether a code is asked for when they log in."""
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
    """What an app on the same device opens, and what the picture says."""
    return get_adapter().build_totp_url(person, secret)


def confirm(person: AbstractBaseUser, session: SessionBase, code: str) -> list[str] | None:
    """In force from now on, with the codes to keep on paper; None when the code is wrong."""
    secret = pending(session)
    step = _step(secret, code, 0) if secret else None
    if step is None:
        return None
    with transaction.atomic():
        _lock(person)
        if app_of(person) is not None:
            return None  # confirmed in another window meanwhile
        made = totp.TOTP.activate(person, secret).instance
        made.data[LAST_STEP] = step
        made.save(update_fields=["data"])
        audit.record(person.get_username(), "person.second_factor", details={"person": person.get_username()})
        codes = _paper(person)
    del session[PENDING]
    return codes


def takes(person: AbstractBaseUser, code: str) -> bool:
    """Whether it is a code of theirs that nobody has used: of their app, of this moment, or one of those on paper."""
    try:
        return _takes_app(person, code) or _takes_paper(person, code)
    except Unreadable:
        logger.error("The second factor of somebody was encrypted with another SECRET_KEY: see SECRET_KEY_FALLBACKS")
        return False


def renew_paper(person: AbstractBaseUser) -> list[str] | None:
    """Other codes to keep on paper, in place of those before; None for whoever has no second factor."""
    with transaction.atomic():
        _lock(person)
        if app_of(person) is None:
            return None
        audit.record(person.get_username(), "person.recovery_codes", details={"person": person.get_username()})
        return _paper(person)


def paper_left(person: AbstractBaseUser) -> int:
    """How many codes on paper are not used yet."""
    row = Authenticator.objects.filter(user_id=person.pk, type=PAPER).first()
    try:
        return len(RecoveryCodes(row).get_unused_codes()) if row else 0
    except Unreadable:
        return 0


def remove(person: AbstractBaseUser, *, actor: str) -> bool:
    """Their password is enough again. False when it was before."""
    with transaction.atomic():
        _lock(person)
        Authenticator.objects.filter(user_id=person.pk, type=PAPER).delete()
        removed, _ = Authenticator.objects.filter(user_id=person.pk, type=APP).delete()
        if removed:
            audit.record(actor, "person.no_second_factor", details={"person": person.get_username()})
        return bool(removed)


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
