"""An address says which flavour a client is of."""

from __future__ import annotations

import subprocess
import sys

import pytest

from signalbox import AsyncClient, AsyncVerbs, Client, InvalidArgument, Verbs, connect, connect_async
from signalbox.http import AsyncHttpClient, HttpClient


@pytest.mark.parametrize(
    ("url", "kinds"),
    [
        ("postgresql://db.test/shop", (Client, AsyncClient)),
        ("postgres://db.test/shop", (Client, AsyncClient)),
        ("host=db.test dbname=shop", (Client, AsyncClient)),
        ("", (Client, AsyncClient)),
        ("https://queue.test", (HttpClient, AsyncHttpClient)),
        ("HTTP://queue.test/behind/", (HttpClient, AsyncHttpClient)),
    ],
)
def test_the_scheme_decides(url, kinds):
    clients: tuple[Verbs, AsyncVerbs] = (connect(url), connect_async(url))
    assert (type(clients[0]), type(clients[1])) == kinds


def test_options_are_those_of_the_flavour():
    assert isinstance(connect("postgresql://db.test", prepare_threshold=None), Client)
    assert isinstance(connect("https://queue.test", "the-key", timeout=3, retry_seconds=0), HttpClient)


def test_the_key_may_be_in_the_environment(monkeypatch):
    monkeypatch.setenv("SIGNALBOX_API_KEY", "not a key")
    assert isinstance(connect("postgresql://db.test"), Client)
    assert isinstance(connect("https://queue.test", "a-key"), HttpClient)
    with pytest.raises(InvalidArgument) as caught:
        connect("https://queue.test")
    assert caught.value.field == "api_key"


@pytest.mark.parametrize(
    ("arguments", "field"),
    [(("mysql://db.test",), "url"), ((7,), "url"), (("postgresql://db.test", "a-key"), "api_key")],
)
def test_what_is_neither_is_named(arguments, field):
    for make in (connect, connect_async):
        with pytest.raises(InvalidArgument) as caught:
            make(*arguments)
        assert caught.value.field == field


WITHOUT_HTTPX = """
import sys
sys.modules["httpx"] = None
import signalbox
signalbox.connect("postgresql://db.test")
try:
    signalbox.connect("https://queue.test")
except ImportError as error:
    print(error)
"""


def test_without_httpx_the_database_is_there_and_http_says_what_to_install():
    ran = subprocess.run([sys.executable, "-c", WITHOUT_HTTPX], capture_output=True, text=True)
    assert "pip install 'httpx>=0.27'" in ran.stdout, ran.stderr
