"""Protection against guessing: after too many wrong passwords for one name from one address, a person has to wait.

A /64 network of IPv6 counts as one address, because one customer has that many. Many addresses or many names slow the
login down: after MANY wrong passwords for one name from all addresses, or from one address for all names, the console
checks one password a minute. This is a delay and not a lock. It spares a person who is logged in and confirms the
password, and a browser in which the person has logged in before: it keeps a signed cookie for one person, which ends
with that person's password, and after KNOWN_SECONDS. So strangers who guess a password do not slow its person down.

django-axes counts. It gets no form, so its tables do not store the other fields of a request.
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

# Of a client without an address, and of all together; no client has it. An attempt without any would be a row that
# nothing keeps from being there twice, and with two of them each further one fails uncounted.
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
    """A refusal to check another password or code before `until`."""

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
    """Raise `TooManyAttempts` where no code is checked for this name now, from this address or from any."""
    for one in _places(request):
        if not AxesProxyHandler.is_allowed(one, {"username": username}):
            raise TooManyAttempts(_until(username, client_address(one)))


def note_wrong_code(request: HttpRequest, username: str) -> None:
    """Count it like a wrong password, and once more for any address: a person who gives codes knows the password."""
    for one in _places(request):
        auth.user_login_failed.send(sender=__name__, credentials={"username": username}, request=one)


def forgive_codes(username: str) -> None:
    """Forget wrong codes after a right one."""
    AccessAttempt.objects.filter(username=username, ip_address=NOWHERE).delete()


def remember_browser(response: HttpResponse, person: AbstractBaseUser) -> None:
    """Let the browser show from now on that the person has logged in there."""
    known = signing.dumps([person.get_username(), person.get_session_auth_hash()], salt=KNOWN_SALT)
    set_cookie(response, KNOWN_COOKIE, known, KNOWN_SECONDS)


def _knows(request: HttpRequest, username: str) -> bool:
    """Return whether the person of this name has logged in there, with the password that is right today."""
    try:
        cookie = request.COOKIES.get(KNOWN_COOKIE, "")
        name, password = signing.loads(cookie, salt=KNOWN_SALT, max_age=KNOWN_SECONDS)
    except (signing.BadSignature, TypeError, ValueError):
        return False
    person = get_user_model().objects.filter(username=name).first() if name == username else None
    return person is not None and constant_time_compare(person.get_session_auth_hash(), password)


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
    own = getattr(getattr(request, "user", None), "is_authenticated", False)  # they confirm; strangers do not stop them
    slow = {} if own or _knows(request, username) else _too_many(username, client_address(request))
    if not slow:
        yield
        return
    with transaction.atomic():  # of several at once, one is looked at
        if not all(_is_next(lock) for lock in slow):
            raise TooManyAttempts(timezone.now() + timedelta(seconds=SLOW_SECONDS))
        last = max(failures.aggregate(at=Max("attempt_time"))["at"] or timezone.now() for failures in slow.values())
        if (until := last + timedelta(seconds=SLOW_SECONDS)) > timezone.now():
            raise TooManyAttempts(until)
        yield


def _too_many(username: str, address: str) -> dict[str, QuerySet[AccessAttempt]]:
    """The wrong passwords within LOGIN_LOCK_MINUTES of a name and of an address, where they are MANY, by lock."""
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
    """Return whether no other request checks a password for this name or address now."""
    with connection.cursor() as cursor:
        cursor.execute(ONE_AT_A_TIME, [lock])
        return bool(cursor.fetchone()[0])


def _bare(request: HttpRequest) -> HttpRequest:
    """Copy as much of the request as the counting needs."""
    bare = HttpRequest()
    bare.META, bare.path, bare.path_info = request.META, request.path[:255], request.path_info[:255]
    return bare


def _places(request: HttpRequest) -> list[HttpRequest]:
    """List the place that the request comes from, and `NOWHERE`, which requests from all addresses have in common."""
    here, nowhere = _bare(request), _bare(request)
    nowhere.META = {name: value for name, value in request.META.items() if name != "REMOTE_ADDR"}
    return [nowhere] if client_address(request) == NOWHERE else [here, nowhere]


def _until(username: str, address: str) -> datetime:
    failed = AccessAttempt.objects.filter(username=username, ip_address=address).aggregate(at=Max("attempt_time"))["at"]
    return (failed or timezone.now()) + settings.AXES_COOLOFF_TIME
