"""Protection against guessed passwords: wrong passwords for one name from one address lock that pair for a time.

A /64 network of IPv6 counts as one address, because one customer has that many. Many addresses or many names slow the
login down: after MANY wrong passwords for one name from all addresses, or from one address for all names, the console
checks one password a minute. This delay spares a person who is logged in and confirms the password, and a browser in
which the person has logged in before. Such a browser has a signed cookie for one person, which is valid until the
person's password changes, and for KNOWN_SECONDS. So strangers who guess a password do not delay its owner.

django-axes counts the failures. It gets no form, so its tables store no other field of a request.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from ipaddress import IPv6Address, ip_address, ip_network

from axes.handlers.proxy import AxesProxyHandler
from axes.models import AccessAttempt
from axes.utils import reset
from django.conf import settings
from django.contrib import auth
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser
from django.core import signing
from django.db import connection, transaction
from django.db.models import Max, QuerySet, Sum
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from console.web.preferences import set_cookie
from queues import audit

# The address of clients without one, and of all clients together. An attempt with a null address would not be
# unique in axes' table, and with two such rows every later attempt would fail uncounted.
NOWHERE = "::"
NETWORK_BITS = 64
NAME_TIMES, ADDRESS_TIMES = 5, 20
"""MANY, as multiples of LOGIN_ATTEMPTS: for one name from all addresses, and from one address for all names."""
SLOW_SECONDS = 60
KNOWN_COOKIE = settings.SESSION_COOKIE_NAME.removesuffix("session") + "known"
KNOWN_SALT = "console.access.known_browsers"
KNOWN_SECONDS = 90 * 24 * 3600
ONE_AT_A_TIME = "select pg_try_advisory_xact_lock(hashtext('console.access.lockout'), hashtext(%s))"


class TooManyAttempts(Exception):  # noqa: N818 - it names what happened
    """The refusal to check another password or code before `until`."""

    def __init__(self, until: datetime) -> None:
        super().__init__(TooManyAttempts.__doc__)
        self.until = until


def authenticate(request: HttpRequest, username: str, password: str) -> AbstractBaseUser | None:
    """Return the person, or None if name and password do not match. Raises `TooManyAttempts`."""
    bare = _bare(request)
    with _no_faster_than_allowed(request, username):
        person = auth.authenticate(bare, username=username, password=password)
    if person is None and getattr(bare, "axes_locked_out", False):
        raise TooManyAttempts(_until(username, client_address(request)))
    return person


def check(request: HttpRequest, username: str) -> None:
    """Raise `TooManyAttempts` if wrong passwords or codes have locked this name, for this address or for all."""
    for one in _places(request):
        if not AxesProxyHandler.is_allowed(one, {"username": username}):
            raise TooManyAttempts(_until(username, client_address(one)))


def note_wrong_code(request: HttpRequest, username: str) -> None:
    """Count a wrong code like a wrong password, and also for all addresses, since the password was right."""
    for one in _places(request):
        auth.user_login_failed.send(sender=__name__, credentials={"username": username}, request=one)


def forgive_codes(username: str) -> None:
    """Delete the counted wrong codes after a right one."""
    AccessAttempt.objects.filter(username=username, ip_address=NOWHERE).delete()


def remember_browser(response: HttpResponse, person: AbstractBaseUser) -> None:
    """Set the cookie that shows that the person has logged in with this browser."""
    known = signing.dumps([person.get_username(), person.get_session_auth_hash()], salt=KNOWN_SALT)
    set_cookie(response, KNOWN_COOKIE, known, KNOWN_SECONDS)


def known_person(request: HttpRequest) -> AbstractBaseUser | None:
    """Return the person who last logged in with this browser; None if the password has changed since."""
    try:
        cookie = request.COOKIES.get(KNOWN_COOKIE, "")
        name, password = signing.loads(cookie, salt=KNOWN_SALT, max_age=KNOWN_SECONDS)
    except (signing.BadSignature, TypeError, ValueError):
        return None
    person = get_user_model().objects.filter(username=name).first()
    same = person is not None and constant_time_compare(person.get_session_auth_hash(), password)
    return person if same else None


def _knows(request: HttpRequest, username: str) -> bool:
    """Return whether the person has logged in with this browser, with the current password."""
    person = known_person(request)
    return person is not None and person.get_username() == username


def client_address(request: HttpRequest) -> str:
    """Return the client's address as the server reports it; `NOWHERE` if it is no address.

    IPv6 addresses become the first address of their /64 network; an IPv4 address has one spelling.
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
    """Allow this name to try again at once from everywhere; return the number of deleted failure records."""
    removed = int(reset(username=username))
    if removed:
        audit.record(actor, "person.unlock", details={"person": username})
    return removed


@contextmanager
def _no_faster_than_allowed(request: HttpRequest, username: str) -> Iterator[None]:
    """Allow one password in SLOW_SECONDS after MANY wrong ones. Raises `TooManyAttempts`."""
    own = getattr(
        getattr(request, "user", None), "is_authenticated", False
    )  # confirms a password; strangers must not delay it
    slow = {} if own or _knows(request, username) else _too_many(username, client_address(request))
    if not slow:
        yield
        return
    with transaction.atomic():  # of concurrent requests, one is checked
        if not all(_is_next(lock) for lock in slow):
            raise TooManyAttempts(timezone.now() + timedelta(seconds=SLOW_SECONDS))
        last = max(failures.aggregate(at=Max("attempt_time"))["at"] or timezone.now() for failures in slow.values())
        if (until := last + timedelta(seconds=SLOW_SECONDS)) > timezone.now():
            raise TooManyAttempts(until)
        yield


def _too_many(username: str, address: str) -> dict[str, QuerySet[AccessAttempt]]:
    """Return the recent failures of this name and of this address that reach MANY, by the key of the lock to take."""
    since = timezone.now() - settings.AXES_COOLOFF_TIME
    lately = AccessAttempt.objects.filter(attempt_time__gte=since).exclude(ip_address=NOWHERE)
    sames = [({"username": username.replace("\0", "")}, NAME_TIMES), ({"ip_address": address}, ADDRESS_TIMES)]
    found = {}
    for same, times in sames:
        failures = lately.filter(**same)
        if (failures.aggregate(sum=Sum("failures_since_start"))["sum"] or 0) >= settings.LOGIN_ATTEMPTS * times:
            found[str(same)] = failures
    return found


def _is_next(lock: str) -> bool:
    """Return whether no other request is checking a password for this name or address."""
    with connection.cursor() as cursor:
        cursor.execute(ONE_AT_A_TIME, [lock])
        return bool(cursor.fetchone()[0])


def _bare(request: HttpRequest) -> HttpRequest:
    """Copy the parts of the request that django-axes needs."""
    bare = HttpRequest()
    bare.META, bare.path, bare.path_info = request.META, request.path[:255], request.path_info[:255]
    return bare


def _places(request: HttpRequest) -> list[HttpRequest]:
    """Return copies of the request: from its own address, and from `NOWHERE`, which counts all addresses together."""
    here, nowhere = _bare(request), _bare(request)
    nowhere.META = {name: value for name, value in request.META.items() if name != "REMOTE_ADDR"}
    return [nowhere] if client_address(request) == NOWHERE else [here, nowhere]


def _until(username: str, address: str) -> datetime:
    failed = AccessAttempt.objects.filter(username=username, ip_address=address).aggregate(at=Max("attempt_time"))["at"]
    return (failed or timezone.now()) + settings.AXES_COOLOFF_TIME
