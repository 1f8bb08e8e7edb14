"""The client over HTTP, with the verbs of every client. Needs httpx: the extra `http`."""

try:
    import httpx as _httpx  # noqa: F401 - imported to say what to install
except ImportError as error:
    raise ImportError("signalbox.http needs httpx 0.27 or later: pip install 'httpx>=0.27'") from error

from signalbox.errors import Forbidden, OutcomeUnknown, RateLimited, ServerUnavailable, Unauthorized
from signalbox.http.async_client import AsyncHttpClient
from signalbox.http.client import HttpClient

__all__ = [
    "AsyncHttpClient",
    "Forbidden",
    "HttpClient",
    "OutcomeUnknown",
    "RateLimited",
    "ServerUnavailable",
    "Unauthorized",
]
