"""The first account of a new server: an administrator, whose password is shown once."""

from __future__ import annotations

import secrets

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.db import transaction

from queues import audit

NAME = "admin"
ACTOR = "manage.py"


@transaction.atomic
def open_first_account() -> str | None:
    """Create the account `admin` and return its password; None where people have accounts, or sign on elsewhere."""
    if settings.OIDC_ISSUER or get_user_model().objects.exists():
        return None
    password = secrets.token_urlsafe(12)
    person = get_user_model().objects.create_superuser(NAME, password=password)
    person.groups.set(Group.objects.filter(name="admin"))
    audit.record(ACTOR, "person.create", details={"person": NAME, "role": "admin"})
    return password
