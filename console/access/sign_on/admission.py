"""Admission of people by their provider: each login sets the roles of the provider's claims and removes others."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from allauth.socialaccount.models import SocialAccount, SocialLogin
from django.conf import settings
from django.contrib.auth.models import Group, User
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import Value
from django.db.models.functions import Lower

from console.access.grants import grants
from console.access.grants.models import Grant
from console.access.roles import ROLES
from console.access.sign_on.provider import MAX_SUBJECT
from queues import audit
from queues.errors import InvalidArgument

ACTOR = "OIDC sign-on"  # no person's name has a space in it
MAX_NAME = 150
NOT_PEOPLE = {"celery", "manage.py", "schedule", "signalbox", "system", "upkeep"}  # other actors in the audit


def admit(login: SocialLogin) -> User | str:
    """Find or create the person and set the roles of the claims, or say why not. Every answer is audited."""
    try:
        with transaction.atomic():
            return _known(login) if login.is_existing else _unknown(login)
    except IntegrityError:
        return "Another login with this name finished at the same moment. Try again."
    except InvalidArgument as error:
        return f"Your roles cannot be given: {error}."


def _known(login: SocialLogin) -> User | str:
    person = User.objects.select_for_update().get(pk=login.user.pk)
    held = held_by(login.claims)
    if not person.is_active:
        return _refused(login, person.get_username(), "An administrator has deactivated your account here.")
    _give(person, held)
    if not held:
        return _refused(login, person.get_username(), _nothing())
    try:
        with transaction.atomic():
            _grant(person, held)
    except InvalidArgument as error:  # removed roles stay removed
        return _refused(login, person.get_username(), f"Your roles cannot be given: {error}.")
    return _let_in(person, held)


def _unknown(login: SocialLogin) -> User | str:
    held, name = held_by(login.claims), name_of(login.claims)
    if not held:
        return _refused(login, name, _nothing())
    if _is_taken(name):
        return _refused(login, name, f"There is a person called {name} here, who has nothing to do with you yet.")
    login.user.username = name
    login.user.set_unusable_password()
    login.save(None, connect=True)  # the person and the account at the provider; no email address
    details = {"person": name, "role": held.role, "issuer": settings.OIDC_ISSUER, "subject": login.account.uid}
    audit.record(ACTOR, "person.create", details=details)
    _give(login.user, held)
    _grant(login.user, held)
    return _let_in(login.user, held)


def name_of(claims: Claims) -> str:
    """Choose the user name: the name at the provider if it is valid here, else the beginning of the subject."""
    for claim in ("preferred_username", "email", "sub"):
        name = unicodedata.normalize("NFKC", claims[claim]) if isinstance(claims.get(claim), str) else ""
        try:
            UnicodeUsernameValidator()(name)
        except ValidationError:
            continue
        if 0 < len(name) <= MAX_NAME and name.lower() not in NOT_PEOPLE:
            return name
    return "subject-" + "".join(one if one.isalnum() else "-" for one in str(claims["sub"]))[: MAX_NAME - 8]


def is_from_provider(person: User) -> bool:
    """Return whether the current provider knows the person."""
    return bool(settings.OIDC_ISSUER) and (
        SocialAccount.objects.filter(user_id=person.pk, provider=settings.OIDC_ISSUER).exists()
    )


def _is_taken(name: str) -> bool:
    """Return whether the name exists, in any capitalisation: the audit could not distinguish them."""
    return User.objects.annotate(lowered=Lower("username")).filter(lowered=Lower(Value(name))).exists()


def _give(person: User, held: Held) -> None:
    """Set exactly this role and these tenants. Grants that people gave stay."""
    before = sorted(person.groups.filter(name__in=ROLES).values_list("name", flat=True))
    after = [held.role] if held.role else []
    if before != after:
        person.groups.set(Group.objects.filter(name__in=after))
        changes = {"role": {"before": ", ".join(before), "after": held.role}}
        audit.record(ACTOR, "person.change", details={"person": person.get_username(), "changes": changes})
    for grant in Grant.objects.filter(person=person, created_by=ACTOR):
        if (grant.role, grant.tenant_name) not in held.tenants:
            grants.take(grant.pk, actor=ACTOR)


def _grant(person: User, held: Held) -> None:
    """Grant these tenants. Raises `InvalidArgument` if they exceed the limit together with grants that people gave."""
    for role, tenant in sorted(held.tenants):
        if not Grant.objects.filter(person=person, role=role, tenant_name=tenant, queue_prefix="").exists():
            grants.give(person, role, tenant=tenant, prefix="", actor=ACTOR)


def _let_in(person: User, held: Held) -> User:
    granted = [f"{role}@{tenant}" for role, tenant in sorted(held.tenants)]
    details = {"person": person.get_username(), "role": held.role, "tenants": granted, "issuer": settings.OIDC_ISSUER}
    audit.record(person.get_username(), "person.sign_on", details=details)
    return person


def _refused(login: SocialLogin, name: str, reason: str) -> str:
    details = {"person": name, "issuer": settings.OIDC_ISSUER, "subject": login.account.uid}
    audit.record(ACTOR, "person.sign_on_refused", reason=reason, details=details)
    return reason


def _nothing() -> str:
    return (
        f"{settings.OIDC_NAME} knows you, and says nothing that gives you a role here. An administrator can tell why."
    )


Claims = Mapping[str, Any]
MAX_VALUES = 1_000


@dataclass(frozen=True)
class Held:
    """A role for all queues, or None, and (role, tenant) for the queues of tenants."""

    role: str = ""
    tenants: frozenset[tuple[str, str]] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.role or self.tenants)


def held_by(claims: Claims) -> Held:
    """Return the largest role of any value of the claim, and the roles for tenants."""
    values = set(values_of(claims, settings.OIDC_CLAIM))
    given = {settings.OIDC_ROLES[value] for value in values if value in settings.OIDC_ROLES}
    role = next((one for one in reversed(ROLES) if one in given), "")
    tenants = frozenset((one, tenant) for value, one, tenant in settings.OIDC_TENANTS if value in values)
    return Held(role, tenants)


def values_of(claims: Claims, name: str) -> list[str]:
    """Return the values of a claim, which may be one or a list; `realm_access.roles` is a path into the claims."""
    found: Any = claims.get(name)
    if found is None:
        found = claims
        for part in name.split("."):
            found = found.get(part) if isinstance(found, dict) else None
    listed = found if isinstance(found, list) else [found]
    return [one for one in listed[:MAX_VALUES] if isinstance(one, str)]


def link(person: User, subject: str, *, actor: str) -> None:
    """Link this person to the subject at the provider. Raises `InvalidArgument`."""
    issuer = settings.OIDC_ISSUER
    if not issuer:
        raise InvalidArgument("there is no sign-on here: OIDC_ISSUER is not set", "OIDC_ISSUER")
    if not (subject.isascii() and subject.isprintable() and 0 < len(subject) <= MAX_SUBJECT):
        raise InvalidArgument(f"subject must have at most {MAX_SUBJECT} printable ASCII characters", "subject")
    try:
        with transaction.atomic():
            if SocialAccount.objects.select_for_update().filter(user_id=person.pk, provider=issuer).exists():
                raise InvalidArgument(f"{person.get_username()} is linked already: unlink first", "name")
            SocialAccount.objects.create(user_id=person.pk, provider=issuer, uid=subject)
            details = {"person": person.get_username(), "issuer": issuer, "subject": subject}
            audit.record(actor, "person.link", details=details)
    except IntegrityError:
        raise InvalidArgument(f"subject is {subject!r}, which belongs to another person here", "subject") from None


@transaction.atomic
def unlink(person: User, *, actor: str) -> int:
    """Unlink the person from every provider; return the number of links. Roles stay until they are changed."""
    removed, _ = SocialAccount.objects.filter(user_id=person.pk).delete()
    if removed:
        audit.record(actor, "person.unlink", details={"person": person.get_username()})
    return int(removed)
