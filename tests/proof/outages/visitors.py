"""Visitor of a console by HTTP only, with cookies and form tokens."""

from __future__ import annotations

import re

import httpx

from tests.proof.outages.own_server import PASSWORD

TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="(\w+)"')


class Visitor(httpx.Client):
    """Browser that follows no redirect by itself, and waits as long as a busy machine takes."""

    def __init__(self, url: str) -> None:
        super().__init__(base_url=url, timeout=120, headers={"Referer": url})
        self._token = ""

    def post_form(self, path: str, **fields: str) -> httpx.Response:
        """Send a form as the page that was read last would."""
        return self.post(path, data={**fields, "csrfmiddlewaretoken": self._token})

    def read(self, path: str, **headers: str) -> httpx.Response:
        answer = self.get(path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        if found := TOKEN.search(answer.text):
            self._token = found[1]
        return answer

    def log_in(self, name: str) -> httpx.Response:
        self.read("/login")
        return self.post_form("/login", username=name, password=PASSWORD, next="/")
