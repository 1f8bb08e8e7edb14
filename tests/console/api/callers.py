"""Programs that call the API: one connection a call, with a key, and nothing that mends what was asked for."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

TIMEOUT_SECONDS = 120


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def document(self) -> Any:
        return json.loads(self.content)

    @property
    def kind(self) -> str:
        """The slug of a problem."""
        assert self.headers["content-type"] == "application/problem+json", self.content
        assert self.document["status"] == self.status
        return str(self.document["type"]).removeprefix("/problems/")

    @property
    def fields(self) -> list[str]:
        """The fields that a problem names."""
        return [error["field"] for error in self.document.get("errors", [])]


@dataclass(frozen=True)
class Caller:
    """Caller with this key; without a key when it is empty."""

    url: str
    key: str = ""

    def get(self, path: str, **headers: str) -> Answer:
        return self.call("GET", path, **headers)

    def post(self, path: str, document: Any = None, **headers: str) -> Answer:
        return self.call("POST", path, document, **headers)

    def patch(self, path: str, document: Any, **headers: str) -> Answer:
        return self.call("PATCH", path, document, **headers)

    def delete(self, path: str, **headers: str) -> Answer:
        return self.call("DELETE", path, **headers)

    def call(self, method: str, path: str, document: Any = None, **headers: str) -> Answer:
        """Send a document as JSON; the names of further headers have underscores for dashes."""
        content = None if document is None else json.dumps(document).encode()
        kind = {} if content is None else {"content-type": "application/json"}
        return self.send(method, path, content, {**kind, **{n.replace("_", "-"): v for n, v in headers.items()}})

    def send(self, method: str, path: str, content: Any, headers: Mapping[str, str]) -> Answer:
        """Send these bytes, or the pieces of an iterable, as they are."""
        place = urlsplit(self.url)
        connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=TIMEOUT_SECONDS)
        try:
            authorization = {"authorization": f"Bearer {self.key}"} if self.key else {}
            connection.request(method, path, content, {**authorization, **headers}, encode_chunked=True)
            response = connection.getresponse()
            given = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, given, response.read())
        finally:
            connection.close()
