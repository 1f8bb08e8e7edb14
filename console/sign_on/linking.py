"""Accounts that were here before: whoever has the machine says whose they are at the provider, and nobody else can."""

from __future__ import annotations

from allauth.socialaccount.models import SocialAccount
from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from console.sign_on.provider import LONGEST_SUBJECT
from queues import audit
from queues.errors import InvalidArgument


def link(person: User, subject: str, *, actor: str) -> None:
    """From now on whoever has this subject at the provider comes in as this person. Raises `InvalidArgument`."""
    issuer = settings.OIDC_ISSUER
    if not issuer:
        raise InvalidArgument("there is no sign-on here: OIDC_ISSUER is not set", "OIDC_ISSUER")
    if not (subject.isascii() and subject.isprintable() and 0 < len(subject) <= LONGEST_SUBJECT):
        raise InvalidArgument(f"subject must have at most {LONGEST_SUBJECT} printable ASCII characters", "subject")
    try:
        with transaction.atomic():
            if SocialAccount.objects.select_for_update().filter(user_id=person.pk, provider=issuer).exists():
                raise InvalidArgument(f"{person.get_username()} is linked already: unlink first", "name")
            SocialAccount.objects.create(user_id=person.pk, provider=issuer, uid=subject)
            details = {"person": person.get_username(), "issuer": issuer, "subject": subject}
            audit.record(actor, "person.link", details=details)
    except IntegrityError:
        raise InvalidArgument(f"subject is {subject!r}, who is somebody else here", "subject") from None


@transaction.atomic
def unlink(person: User, *, actor: str) -> int:
    """Nobody at any provider is this person any more; how many were. Roles stay until they are changed."""
    removed, _ = SocialAccount.objects.filter(user_id=person.pk).delete()
    if removed:
        audit.record(actor, "person.unlink", details={"person": person.get_username()})
    return int(removed)
