"""Who may do what: nine permissions, bundled into three roles, denied unless given.

Roles are Django groups, made again after every migration. Views name the permission they need with
`requires`, and templates ask the same question: a denied action stays visible, disabled, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.apps import AppConfig
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponseBase

# Codename -> what it allows, as a sentence says it after "may".
PERMISSIONS = {
    "see_metadata": "see queues, numbers and message facts",
    "see_payloads": "see payloads, attributes and stacks, and send test messages",
    "redrive": "redrive dead letters",
    "silence": "silence alerts",
    "purge": "purge messages",
    "approve": "decide about what others ask for above the thresholds",
    "reveal": "reveal masked fields",
    "configure": "create, configure, pause and resume queues",
    "administer": "give people their roles",
}
ROLES = {
    "viewer": ("see_metadata",),
    "operator": ("see_metadata", "see_payloads", "redrive", "silence"),
    "admin": tuple(PERMISSIONS),
}

View = Callable[..., HttpResponseBase]


def may(user: AbstractBaseUser | AnonymousUser, permission: str) -> bool:
    """Whether `user` has `permission`, by a role or by being a superuser."""
    return user.has_perm(f"console.{permission}")  # type: ignore[union-attr]


def role_of(user: AbstractBaseUser | AnonymousUser) -> str:
    """The name of the largest role that the user's permissions fill, or "no role"."""
    held = {permission for permission in PERMISSIONS if may(user, permission)}
    filled = [role for role, permissions in ROLES.items() if held.issuperset(permissions)]
    return filled[-1] if filled else "no role"


def denial(user: AbstractBaseUser | AnonymousUser, permission: str) -> str:
    """Why `user` may not, and which role may; empty when the user may."""
    if may(user, permission):
        return ""
    able = next(role for role, permissions in ROLES.items() if permission in permissions)
    return f"Your role, {role_of(user)}, may not {PERMISSIONS[permission]}. The role {able} may."


def check(user: AbstractBaseUser | AnonymousUser, permission: str) -> None:
    """Raise PermissionDenied, saying why, unless `user` has `permission`."""
    if reason := denial(user, permission):
        raise PermissionDenied(reason)


def requires(permission: str) -> Callable[[View], View]:
    """Let a view run only for people with `permission`; others log in, or are told which role may."""
    if permission not in PERMISSIONS:
        raise ValueError(f"unknown permission {permission!r}")

    def guard(view: View) -> View:
        @wraps(view)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if not request.user.is_authenticated:
                return redirect_to_login(request.get_full_path())
            check(request.user, permission)
            return view(request, *args, **kwargs)

        guarded.permission = permission  # type: ignore[attr-defined]
        return guarded

    return guard


class Denials:
    """Why one person may not do something, for templates: `denied.redrive` is empty when they may."""

    def __init__(self, user: AbstractBaseUser | AnonymousUser) -> None:
        self.user = user

    def __getitem__(self, permission: str) -> str:
        if permission not in PERMISSIONS:
            raise KeyError(permission)
        return denial(self.user, permission)


def create_groups(app_config: AppConfig, using: str, **_: Any) -> None:
    """Make the three groups hold exactly their permissions. Safe to run again."""
    from django.contrib.auth.management import create_permissions
    from django.contrib.auth.models import Group, Permission
    from django.contrib.contenttypes.models import ContentType

    from console.models import Access

    create_permissions(app_config, verbosity=0, using=using)  # auth's own receiver may run after this one
    kind = ContentType.objects.db_manager(using).get_for_model(Access)
    for role, permissions in ROLES.items():
        group, _created = Group.objects.using(using).get_or_create(name=role)
        group.permissions.set(Permission.objects.using(using).filter(content_type=kind, codename__in=permissions))
