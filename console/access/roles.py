"""Roles and permissions: three roles, each a set of permissions; an action without its permission is denied.

A role for all queues is a Django group, which every migration recreates. A role for some queues is a grant
(`console.access.grants`); grants are additive. Views declare their permission with `requires`, and templates ask the
same question: a denied action stays visible, disabled, with the reason. A page that does not limit itself to a person's
queues is open only to roles for all queues.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, Protocol

from django.apps import AppConfig
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponseBase

from queues.control.queues import check_beginning
from queues.errors import InvalidArgument
from queues.reach import EVERYTHING, NOTHING, Reach, check_reserved

# Codename -> the activity that it allows, as the subject of "… requires the operator role".
PERMISSIONS = {
    "see_metadata": "Viewing queues and metrics",
    "see_payloads": "Viewing payloads, attributes and stacks",
    "send": "Sending",
    "redrive": "Redriving and triaging dead letters",
    "silence": "Silencing alerts",
    "pause": "Pausing and resuming queues",
    "purge": "Purging, deleting and restoring messages",
    "purge_any": "Purging, deleting and restoring any number of messages",
    "approve": "Deciding on approvals",
    "reveal": "Revealing masked fields",
    "configure": "Changing queues, streams and quotas",
    "archive": "Starting and cancelling pipeline runs",
    "mask": "Managing masking rules",
    "erase": "Managing erasure requests",
    "maintain": "Managing maintenance mode",
    "administer": "Managing people and access",
}
OPERATES = ("see_metadata", "see_payloads", "send", "redrive", "silence", "pause", "purge")
ROLES = {
    "viewer": ("see_metadata",),
    "operator": OPERATES,
    "admin": tuple(PERMISSIONS),
}
CHANGING = set(PERMISSIONS) - {"see_metadata", "see_payloads", "reveal", "purge_any"}
"""Permissions that only administrators keep under maintenance."""
SHOWING = {"see_payloads", "reveal"}
"""Permissions that a list of several queues needs for every queue that it lists."""
MANAGING = {"send", "redrive", "pause", "purge", "configure"}
"""Permissions that no role has for a queue of Signalbox itself, because its messages are the workers' tasks."""
MAX_SAID = 3

User = AbstractBaseUser | AnonymousUser
View = Callable[..., HttpResponseBase]


class Thing(Protocol):
    """The subject of a request that rights apply to: a queue, a stream, a job."""

    @property
    def is_system(self) -> bool:
        """Return whether the thing belongs to Signalbox itself: people may see it, but not change it."""

    def is_within(self, reach: Reach) -> bool:
        """Return whether the reach covers all queues of the thing."""


def may(user: User, permission: str, thing: Thing | None = None) -> bool:
    """Return whether `user` has `permission` for this thing; without one, for all queues."""
    if _is_kept_from_people(permission, thing):
        return False
    if _holds(user, permission):
        return True
    return thing is not None and thing.is_within(reach(user, permission))


def reach(user: User, permission: str) -> Reach:
    """Return the queues for which `user` has `permission`. Costs one query, and none for a role for all queues."""
    if _holds(user, permission):
        return EVERYTHING
    return Reach.of(one.bounds for one in _grants(user) if permission in ROLES.get(one.role, ()))


def is_scoped(user: User) -> bool:
    """Return whether the person sees only some queues."""
    return not may(user, "see_metadata")


def role_of(user: User) -> str:
    """Return the name of the largest role that the user's permissions fill, and the grants; or "no role"."""
    held = {permission for permission in PERMISSIONS if may(user, permission)}
    filled = [role for role, permissions in ROLES.items() if held.issuperset(permissions)]
    said = [*filled[-1:], *(str(one) for one in (_grants(user) if len(filled) < len(ROLES) else ()))]
    more = [f"{len(said) - MAX_SAID} more"] if len(said) > MAX_SAID else []
    return ", ".join([*said[:MAX_SAID], *more]) or "no role"


def denial(user: User, permission: str, thing: Thing | None = None) -> str:
    """Say which role the action requires; empty if the user has the permission. Without a thing: for all queues."""
    if may(user, permission, thing):
        return ""
    activity = PERMISSIONS[permission]
    if _is_kept_from_people(permission, thing):
        return f"{thing} belongs to Signalbox itself (tenant system). {activity} is not possible there."
    needed = f"{activity} requires the {role_with(permission)} role"
    if thing is not None:
        return f"{needed} for {thing}."
    if reach(user, permission):
        return f"{needed} for all queues. Your grants are for some queues."
    return f"{needed}."


def role_with(permission: str) -> str:
    """Return the smallest role that has the permission."""
    return next(role for role, permissions in ROLES.items() if permission in permissions)


def _is_kept_from_people(permission: str, thing: Thing | None) -> bool:
    return thing is not None and permission in MANAGING and thing.is_system


def check(user: User, permission: str, thing: Thing | None = None) -> None:
    """Raise PermissionDenied with the reason unless `user` has `permission`."""
    if reason := denial(user, permission, thing):
        raise PermissionDenied(reason)


def _holds(user: User, permission: str) -> bool:
    """Return whether the person has the permission for all queues. A page asks this seventy times, Django once."""
    known: set[str] | None = getattr(user, "_signalbox_permissions", None)
    if known is None:
        known = user.get_all_permissions()  # type: ignore[union-attr]
        user._signalbox_permissions = known  # type: ignore[union-attr]
    return f"console.{permission}" in known


def _grants(user: User) -> Sequence[Any]:
    """Return the person's grants, read once in a request."""
    if not user.is_authenticated or not getattr(user, "is_active", False):
        return ()
    known: Sequence[Any] | None = getattr(user, "_signalbox_grants", None)
    if known is None:
        known = list(user.grants.order_by("grant_id"))  # type: ignore[attr-defined]
        user._signalbox_grants = known  # type: ignore[attr-defined]
    return known


@dataclass(frozen=True)
class Subject:
    """A finder of the thing that an address names. By default the thing never belongs to Signalbox itself."""

    find: Callable[..., Thing | None]
    missing: Callable[..., str]
    """Returns the text of the 404: the same for a thing that is hidden and for one that does not exist."""
    is_system: Callable[..., bool] = lambda **_: False
    """Returns whether the thing belongs to Signalbox itself. Former names that still work count too."""


def requires(permission: str, *, of: Subject | None = None, in_part: bool = False) -> Callable[[View], View]:
    """Restrict a view to people with `permission`; others log in, or read which role has the permission.

    `of` finds the queues that the address is about: a person who may not see them gets 404, and one who sees them
    without the permission gets 403. `in_part` marks views that limit themselves to the person's queues. Without either,
    the view needs a role for all queues.
    """
    if permission not in PERMISSIONS:
        raise ValueError(f"unknown permission {permission!r}")

    def guard(view: View) -> View:
        @wraps(view)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if not request.user.is_authenticated:
                return redirect_to_login(request.get_full_path())
            if of is not None:
                _enter(request, permission, of, kwargs)
            elif not (in_part and reach(request.user, permission)):
                check(request.user, permission)
            request.in_part = in_part  # type: ignore[attr-defined]
            return view(request, *args, **kwargs)

        guarded.permission = permission  # type: ignore[attr-defined]
        guarded.is_cut_to_reach = of is not None or in_part  # type: ignore[attr-defined]
        return guarded

    return guard


def _enter(request: HttpRequest, permission: str, subject: Subject, named: dict[str, Any]) -> None:
    """Record the subject of the request, and refuse people who may not see it or lack the permission."""
    user = request.user
    if all(may(user, one) for one in PERMISSIONS) or not _grants(user):
        if not subject.is_system(**named):
            return check(user, permission)
        if subject.find(**named) is None:
            raise Http404(subject.missing(**named))  # the address has a former name
    return enter(request, permission, subject.find(**named), subject.missing(**named))


def enter(request: HttpRequest, permission: str, thing: Thing | None, missing: str) -> None:
    """Record that the request is about `thing`, or about nothing; refuse people who may not see it or lack the
    permission.
    """
    user = request.user
    if thing is None and not may(user, permission):
        if is_scoped(user) or reach(user, permission):
            raise Http404(missing)
    elif is_scoped(user) and not may(user, "see_metadata", thing):
        raise Http404(missing)
    check(user, permission, thing)
    request.thing = thing  # type: ignore[attr-defined]


# ---- within a request


def may_here(request: HttpRequest, permission: str) -> bool:
    """Return whether the person has the permission for the subject of the request."""
    return not denial_here(request, permission)


def denial_here(request: HttpRequest, permission: str) -> str:
    """Say why the person lacks the permission for the subject of the request; empty if the person has it.

    On a page of several queues, the permission for one queue is enough; one of `SHOWING` is needed for every queue.
    """
    held = getattr(request, "denied_by_maintenance", None)
    if held and permission in CHANGING and (reason := held()):
        return str(reason)
    thing = getattr(request, "thing", None)
    if thing is None and getattr(request, "in_part", False):
        held = reach(request.user, permission)
        needed = reach(request.user, "see_metadata") if permission in SHOWING else NOTHING
        if held and held.covers(needed):
            return ""
    return denial(request.user, permission, thing)


def is_limited_here(request: HttpRequest) -> bool:
    """Return whether the person may purge only up to the operator's limit, in any of the queues of the request."""
    thing = getattr(request, "thing", None)
    if thing is not None:
        return not may(request.user, "purge_any", thing)
    return not reach(request.user, "purge_any").covers(reach(request.user, "purge"))


def check_here(request: HttpRequest, permission: str) -> None:
    """Raise PermissionDenied with the reason unless the person has the permission for the subject of the request."""
    if reason := denial_here(request, permission):
        raise PermissionDenied(reason)


def check_new(request: HttpRequest, name: str, tenant: str) -> None:
    """Refuse a new queue or stream outside of the queues that the person may configure. Raises `InvalidArgument`."""
    check_reserved(name, tenant)
    held = reach(request.user, "configure")
    if not held.has_all_tenants:
        check_beginning(name, tenant)
    if not held.holds(name, tenant):
        raise InvalidArgument(f"name is {name}, of the tenant {tenant}: your role may make {held} alone", "name")


class Denials:
    """Reasons for denied actions, for templates: `denied.redrive` is empty if the person may redrive."""

    def __init__(self, request: HttpRequest) -> None:
        self.request = request

    def __getitem__(self, permission: str) -> str:
        if permission not in PERMISSIONS:
            raise KeyError(permission)
        return denial_here(self.request, permission)


def create_groups(app_config: AppConfig, using: str, **_: Any) -> None:
    """Create the three groups with exactly their permissions. Can run again."""
    from django.contrib.auth.management import create_permissions
    from django.contrib.auth.models import Group, Permission
    from django.contrib.contenttypes.models import ContentType

    create_permissions(app_config, verbosity=0, using=using)  # the receiver of django.contrib.auth may run later
    kind = ContentType.objects.db_manager(using).get_for_model(app_config.get_model("Access"))
    for role, permissions in ROLES.items():
        group, _created = Group.objects.using(using).get_or_create(name=role)
        group.permissions.set(Permission.objects.using(using).filter(content_type=kind, codename__in=permissions))
