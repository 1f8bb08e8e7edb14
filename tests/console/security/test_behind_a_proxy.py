"""Wrong passwords count for the client's address behind a trusted proxy; other senders' headers are ignored."""

from __future__ import annotations

import re
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator
from http.cookiejar import CookieJar
from urllib.parse import urlencode

import pytest
from django.contrib.auth.models import User

from tests.console.servers import console_server

ATTEMPTS = "2"


@pytest.fixture
def name(commits: None) -> Iterator[str]:
    made = f"proxied-{uuid.uuid4().hex[:8]}"
    User.objects.create_user(made, password="correct horse battery")
    yield made
    User.objects.filter(username=made).delete()


def status_of_a_wrong_password(url: str, name: str, forwarded_for: str) -> int:
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
    page = browser.open(f"{url}/login", timeout=120).read().decode()
    (token,) = re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', page)
    form = urlencode({"csrfmiddlewaretoken": token, "username": name, "password": "wrong"}).encode()
    request = urllib.request.Request(f"{url}/login", form, {"X-Forwarded-For": forwarded_for})
    try:
        return int(browser.open(request, timeout=120).status)
    except urllib.error.HTTPError as error:
        return error.code


@pytest.mark.parametrize(("trusted", "elsewhere"), [("127.0.0.1", 422), ("192.0.2.99", 429)])
def test_only_a_trusted_proxy_sets_the_client_address(dsn: str, name: str, trusted: str, elsewhere: int) -> None:
    with console_server(dsn, LOGIN_ATTEMPTS=ATTEMPTS, FORWARDED_ALLOW_IPS=trusted) as server:
        here = [status_of_a_wrong_password(server.url, name, "198.51.100.1") for _ in range(3)]

        assert here == [422, 429, 429]
        assert status_of_a_wrong_password(server.url, name, "198.51.100.2") == elsewhere
