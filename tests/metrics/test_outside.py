"""Webhooks reach the internet and nothing behind the wall: by no address, by no name, by no second look-up."""

from __future__ import annotations

import socket
from collections.abc import Callable
from ipaddress import ip_address
from typing import Any

import pytest
from django.conf import LazySettings

from metrics.alerts import webhooks
from tests.metrics.receivers import receiver

PRIVATE = [
    *("127.0.0.1", "127.8.8.8", "10.0.0.1", "172.16.3.4", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0"),
    *("::1", "::", "fe80::1", "fd00::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::"),
    *("::127.0.0.1", "::ffff:0:10.0.0.1", "fec0::1", "64:ff9b:1::a00:1"),
    *("224.0.0.1", "255.255.255.255", "192.0.2.1", "ff02::1"),
]
PUBLIC = ["93.184.215.14", "8.8.8.8", "2606:2800:21f:cb07:6820:80da:af6b:8b2c", "64:ff9b::808:808"]


@pytest.mark.parametrize("address", PRIVATE)
def test_a_private_address_is_known_however_it_is_written(address: str) -> None:
    assert not webhooks.is_public(ip_address(address))


@pytest.mark.parametrize("address", PUBLIC)
def test_addresses_of_the_internet_are_public(address: str) -> None:
    assert webhooks.is_public(ip_address(address))


@pytest.fixture
def resolves_to(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Resolve hook.example to one answer after another; the last answer repeats."""

    def _answer(*answers: list[str]) -> None:
        left = list(answers)
        real = socket.getaddrinfo

        def look_up(host: str, port: Any, *rest: Any, **more: Any) -> Any:
            if host != "hook.example":
                return real(host, port, *rest, **more)
            addresses = left.pop(0) if len(left) > 1 else left[0]
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]

        monkeypatch.setattr(socket, "getaddrinfo", look_up)

    return _answer


@pytest.mark.parametrize("answers", [["127.0.0.1"], ["8.8.8.8", "10.0.0.1"]])
def test_a_name_that_leads_inside_is_refused(resolves_to: Callable[..., None], answers: list[str]) -> None:
    resolves_to(answers)
    with receiver() as received:
        port = int(received.url.split(":")[2].split("/")[0])

        with pytest.raises(webhooks.PrivateAddressError):
            webhooks.post(f"http://hook.example:{port}/hook", b"{}", {}, 60)

    assert received.arrived == []


def test_with_the_setting_it_goes_there(resolves_to: Callable[..., None], settings: LazySettings) -> None:
    settings.ALERTS_WEBHOOK_PRIVATE = True
    resolves_to(["127.0.0.1"])
    with receiver() as received:
        port = int(received.url.split(":")[2].split("/")[0])

        status = webhooks.post(f"http://hook.example:{port}/hook?a=1", b"{}", {"X-A": "1"}, 60).status

    assert status == 204
    assert received.arrived[0][0]["Host"] == f"hook.example:{port}"


def test_the_address_that_was_looked_at_is_the_one_that_is_called(
    resolves_to: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    resolves_to(["8.8.8.8"], ["127.0.0.1"])
    called: list[Any] = []

    def note(place: Any, *_: Any) -> socket.socket:
        called.append(place)
        raise OSError("no address is called in a test")

    monkeypatch.setattr(socket, "create_connection", note)

    with pytest.raises(OSError, match="no address is called in a test"):
        webhooks.post("https://hook.example/x", b"{}", {}, 60)

    assert called == [("8.8.8.8", 443)]


def test_proxies_of_the_environment_are_not_asked(
    resolves_to: Callable[..., None], settings: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.ALERTS_WEBHOOK_PRIVATE = True
    with receiver() as proxy, receiver() as received:
        monkeypatch.setenv("http_proxy", proxy.url)

        webhooks.post(received.url, b"{}", {}, 60)

    assert (len(proxy.arrived), len(received.arrived)) == (0, 1)


def test_a_redirect_is_an_answer_like_others(settings: LazySettings) -> None:
    settings.ALERTS_WEBHOOK_PRIVATE = True
    with receiver() as received:
        received.answers = [302]

        assert webhooks.post(received.url, b"{}", {}, 60).status == 302

    assert len(received.arrived) == 1
