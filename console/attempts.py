"""Against guessing: too many wrong passwords for one name from one address, and one has to wait and is told how long.

The counting is django-axes'. It sees no form: what else somebody sent along is nobody's business in its tables.
"""

from __future__ import annotations

from datetime import datetime
from ipaddress import ip_address

from axes.handlers.proxy import AxesProxyHandler
from axes.models import AccessAttempt
from axes.utils import reset
from django.conf import settings
from django.contrib import auth
from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models import Max
from django.http import HttpRequest
from django.utils import timezone

from queues import audit

# Of a client without an address, and of all together; nobody comes from it. An attempt without any would be a row that
# nothing keeps from being there twice, and with two of them each further one fails uncounted.
NOWHERE = "::"


class TooManyAttempts(Exception):  # noqa: N818 - it names what happened
    """So many wrong passwords that nobody looks at another one before `until`."""

    def __init__(self, until: datetime) -> None:
        super().__init__(TooManyAttempts.__doc__)
        self.until = until


def authenticate(request: HttpRequest, username: str, password: str) -> AbstractBaseUser | None:
    """The person, or None when name and password do not match. Raises `TooManyAttempts`."""
    bare = _bare(request)
    person = auth.authenticate(bare, username=username, password=password)
    if person is None and getattr(bare, "axes_locked_out", False):
        raise TooManyAttempts(_until(username, client_address(request)))
    return person


def check(request: HttpRequest, username: str) -> None:
    """Raise `TooManyAttempts` where nobody looks at a code for this name now, from here or from anywhere."""
    for one in _places(request):
        if not AxesProxyHandler.is_allowed(one, {"username": username}):
            raise TooManyAttempts(_until(username, client_address(one)))


def note_wrong_code(request: HttpRequest, username: str) -> None:
    """Count it like a wrong password, and once more whatever the address: whoever gives codes knows the password."""
    for one in _places(request):
        auth.user_login_failed.send(sender=__name__, credentials={"username": username}, request=one)


def forgive_codes(username: str) -> None:
    """After a right one: those before are not held against the person."""
    AccessAttempt.objects.filter(username=username, ip_address=NOWHERE).delete()


def client_address(request: HttpRequest) -> str:
    """Where the request comes from, as the server says, which knows its proxies; `NOWHERE` when that is no address."""
    try:
        return str(ip_address(request.META.get("REMOTE_ADDR", "")))
    except ValueError:
        return NOWHERE


@transaction.atomic
def unlock(username: str, *, actor: str) -> int:
    """Let this name try again at once, from everywhere; returns how many records of failures were removed."""
    removed = int(reset(username=username))
    if removed:
        audit.record(actor, "person.unlock", details={"person": username})
    return removed


def _bare(request: HttpRequest) -> HttpRequest:
    """As much of the request as the counting needs."""
    bare = HttpRequest()
    bare.META, bare.path, bare.path_info = request.META, request.path[:255], request.path_info[:255]
    return bare


def _places(request: HttpRequest) -> list[HttpRequest]:
    """Where the request comes from, and nowhere, which is what those from all addresses have in common."""
    here, nowhere = _bare(request), _bare(request)
    nowhere.META = {name: value for name, value in request.META.items() if name != "REMOTE_ADDR"}
    return [nowhere] if client_address(request) == NOWHERE else [here, nowhere]


def _until(username: str, address: str) -> datetime:
    failed = AccessAttempt.objects.filter(username=username, ip_address=address).aggregate(at=Max("attempt_time"))["at"]
    return (failed or timezone.now()) + settings.AXES_COOLOFF_TIME
