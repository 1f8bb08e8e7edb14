"""Against guessing: too many wrong passwords for one name from one address, and one has to wait and is told how long.

A /64 network of IPv6 counts as one address, because one customer has that many. Many addresses or many names slow the
login down: after MANY wrong passwords for one name from all addresses, or from one address for all names, the console
checks one password a minute. This is a delay and not a lock. It spares a person who is logged in and confirms the
password, and a browser in which the person has logged in before (`console.known_browsers`).

django-axes counts. It gets no form, so its tables do not store the other fields of a request.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import IPv6Address, ip_address, ip_network

from axes.handlers.proxy import AxesProxyHandler
from axes.models import AccessAttempt
from axes.utils import reset
from django.conf import settings
from django.contrib import auth
from django.contrib.auth.models import AbstractBaseUser
from django.db import connection, transaction
from django.db.models import Max, QuerySet, Sum
from django.http import HttpRequest
from django.utils import timezone

from console import known_browsers
from queues import audit

# Of a client without an address, and of all together; nobody comes from it. An attempt without any would be a row that
# nothing keeps from being there twice, and with two of them each further one fails uncounted.
NOWHERE = "::"
NETWORK_BITS = 64
NAME_TIMES, ADDRESS_TIMES = 5, 20
"""MANY, as multiples of LOGIN_ATTEMPTS: for one name from all addresses, and from one address for all names."""
SLOW_SECONDS = 60
ONE_AT_A_TIME = "select pg_try_advisory_xact_lock(hashtext('console.attempts'), hashtext(%s))"


class TooManyAttempts(Exception):  # noqa: N818 - it names what happened
    """So many wrong passwords that nobody looks at another one before `until`."""

    def __init__(self, until: datetime) -> None:
        super().__init__(TooManyAttempts.__doc__)
        self.until = until


def authenticate(request: HttpRequest, username: str, password: str) -> AbstractBaseUser | None:
    """The person, or None when name and password do not match. Raises `TooManyAttempts`."""
    bare = _bare(request)
    with _no_faster_than_allowed(request, username):
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
    """The client's address according to the server, which knows its proxies; `NOWHERE` when it is no address.

    For IPv6 the first address of its /64 network; an IPv4 address has one spelling.
    """
    try:
        address = ip_address(request.META.get("REMOTE_ADDR", "").partition("%")[0])
    except ValueError:
        return NOWHERE
    if not isinstance(address, IPv6Address):
        return str(address)
    if address.ipv4_mapped:
        return str(address.ipv4_mapped)
    return str(ip_network((address, NETWORK_BITS), strict=False).network_address)


@transaction.atomic
def unlock(username: str, *, actor: str) -> int:
    """Let this name try again at once, from everywhere; returns how many records of failures were removed."""
    removed = int(reset(username=username))
    if removed:
        audit.record(actor, "person.unlock", details={"person": username})
    return removed


@contextmanager
def _no_faster_than_allowed(request: HttpRequest, username: str) -> Iterator[None]:
    """Allow one password in SLOW_SECONDS after MANY wrong ones. Raises `TooManyAttempts`."""
    address = client_address(request)
    own = getattr(getattr(request, "user", None), "is_authenticated", False)  # they confirm; strangers do not stop them
    slow = (
        []
        if own or known_browsers.knows(request, username)
        else [one for one in _counted(username, address) if one.is_slow]
    )
    if not slow:
        yield
        return
    with transaction.atomic():  # of several at once, one is looked at
        if not all(one.is_next() for one in slow):
            raise TooManyAttempts(timezone.now() + timedelta(seconds=SLOW_SECONDS))
        if (until := max(one.until() for one in slow)) > timezone.now():
            raise TooManyAttempts(until)
        yield


@dataclass(frozen=True)
class _Counted:
    """The wrong passwords within LOGIN_LOCK_MINUTES that have one thing in common: a name, or an address."""

    common: dict[str, str]
    most: int

    @property
    def is_slow(self) -> bool:
        return bool((self._lately().aggregate(sum=Sum("failures_since_start"))["sum"] or 0) >= self.most)

    def is_next(self) -> bool:
        """Whether no other request checks a password for this name or address now."""
        with connection.cursor() as cursor:
            cursor.execute(ONE_AT_A_TIME, [str(self.common)])
            return bool(cursor.fetchone()[0])

    def until(self) -> datetime:
        last = self._lately().aggregate(at=Max("attempt_time"))["at"] or timezone.now()
        return last + timedelta(seconds=SLOW_SECONDS)

    def _lately(self) -> QuerySet[AccessAttempt]:
        since = timezone.now() - settings.AXES_COOLOFF_TIME
        return AccessAttempt.objects.filter(**self.common, attempt_time__gte=since).exclude(ip_address=NOWHERE)


def _counted(username: str, address: str) -> list[_Counted]:
    return [
        _Counted({"username": username.replace("\0", "")}, settings.LOGIN_ATTEMPTS * NAME_TIMES),
        _Counted({"ip_address": address}, settings.LOGIN_ATTEMPTS * ADDRESS_TIMES),
    ]


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
