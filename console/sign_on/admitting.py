"""Who a provider's word lets in, and as what. Roles are those of its claims at each login: others are taken."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

from allauth.socialaccount.models import SocialAccount, SocialLogin
from django.conf import settings
from django.contrib.auth.models import Group, User
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import Value
from django.db.models.functions import Lower

from console.grants import keeping
from console.grants.models import Grant
from console.roles import ROLES
from console.sign_on.claims import Claims, Held, held_by
from queues import audit
from queues.errors import InvalidArgument

ACTOR = "OIDC sign-on"  # no person's name has a space in it
LONGEST_NAME = 150
NOT_PEOPLE = {"celery", "manage.py", "schedule", "signalbox", "system", "upkeep"}  # who else acts in the audit


@dataclass(frozen=True)
class Verdict:
    """The person who may come in, or why nobody does."""

    person: User | None = None
    reason: str = ""


def admit(login: SocialLogin) -> Verdict:
    """Find or make the person, with the roles of now. Each verdict has its row in the audit."""
    try:
        with transaction.atomic():
            return _known(login) if login.is_existing else _unknown(login)
    except IntegrityError:
        return Verdict(reason="Somebody of that name, or you in another window, came in at the same moment. Try again.")
    except InvalidArgument as error:
        return Verdict(reason=f"Your roles cannot be given: {error}.")


def _known(login: SocialLogin) -> Verdict:
    person = User.objects.select_for_update().get(pk=login.user.pk)
    held = held_by(login.claims)
    if not person.is_active:
        return _refused(login, person.get_username(), "An administrator here has shut you out.")
    _give(person, held)
    if not held:
        return _refused(login, person.get_username(), _nothing())
    try:
        with transaction.atomic():
            _grant(person, held)
    except InvalidArgument as error:  # what was taken stays taken
        return _refused(login, person.get_username(), f"Your roles cannot be given: {error}.")
    return _let_in(person, held)


def _unknown(login: SocialLogin) -> Verdict:
    held, name = held_by(login.claims), name_of(login.claims)
    if not held:
        return _refused(login, name, _nothing())
    if _is_taken(name):
        return _refused(login, name, f"There is somebody called {name} here, who has nothing to do with you yet.")
    login.user.username = name
    login.user.set_unusable_password()
    login.save(None, connect=True)  # the person and their account there; no address of mail
    details = {"person": name, "role": held.role, "issuer": settings.OIDC_ISSUER, "subject": login.account.uid}
    audit.record(ACTOR, "person.create", details=details)
    _give(login.user, held)
    _grant(login.user, held)
    return _let_in(login.user, held)


def name_of(claims: Claims) -> str:
    """What they are called here: as there, when that can be a name; else by the beginning of their subject."""
    for claim in ("preferred_username", "email", "sub"):
        name = unicodedata.normalize("NFKC", claims[claim]) if isinstance(claims.get(claim), str) else ""
        try:
            UnicodeUsernameValidator()(name)
        except ValidationError:
            continue
        if 0 < len(name) <= LONGEST_NAME and name.lower() not in NOT_PEOPLE:
            return name
    return "subject-" + "".join(one if one.isalnum() else "-" for one in str(claims["sub"]))[: LONGEST_NAME - 8]


def is_from_provider(person: User) -> bool:
    """Whether the provider of now knows them."""
    return bool(settings.OIDC_ISSUER) and (
        SocialAccount.objects.filter(user_id=person.pk, provider=settings.OIDC_ISSUER).exists()
    )


def _is_taken(name: str) -> bool:
    """Also by who differs in capitals: in the audit nobody could tell them apart."""
    return User.objects.annotate(lowered=Lower("username")).filter(lowered=Lower(Value(name))).exists()


def _give(person: User, held: Held) -> None:
    """Exactly this role, and no more tenants than these; grants that people gave stay."""
    before = sorted(person.groups.filter(name__in=ROLES).values_list("name", flat=True))
    after = [held.role] if held.role else []
    if before != after:
        person.groups.set(Group.objects.filter(name__in=after))
        changes = {"role": {"before": ", ".join(before), "after": held.role}}
        audit.record(ACTOR, "person.change", details={"person": person.get_username(), "changes": changes})
    mine = Grant.objects.filter(person=person, created_by=ACTOR)
    for grant in mine:
        if (grant.role, grant.tenant_name) not in held.tenants:
            keeping.take(grant.pk, actor=ACTOR)


def _grant(person: User, held: Held) -> None:
    """These tenants. Raises `InvalidArgument` where they are too many beside those that people gave."""
    for role, tenant in sorted(held.tenants):
        if not Grant.objects.filter(person=person, role=role, tenant_name=tenant, queue_prefix="").exists():
            keeping.give(person, role, tenant=tenant, prefix="", actor=ACTOR)


def _let_in(person: User, held: Held) -> Verdict:
    granted = [f"{role}@{tenant}" for role, tenant in sorted(held.tenants)]
    details = {"person": person.get_username(), "role": held.role, "tenants": granted, "issuer": settings.OIDC_ISSUER}
    audit.record(person.get_username(), "person.sign_on", details=details)
    return Verdict(person)


def _refused(login: SocialLogin, name: str, reason: str) -> Verdict:
    details = {"person": name, "issuer": settings.OIDC_ISSUER, "subject": login.account.uid}
    audit.record(ACTOR, "person.sign_on_refused", reason=reason, details=details)
    return Verdict(reason=reason)


def _nothing() -> str:
    return (
        f"{settings.OIDC_NAME} knows you, and says nothing that gives you a role here. An administrator can tell why."
    )
