"""Every address of the console: each room lists its own in its `urls.py`; parts of addresses are converted here."""

from __future__ import annotations

from urllib.parse import unquote

from django.urls import include, path, register_converter
from django.urls.converters import IntConverter, StringConverter


class QueueNameConverter(StringConverter):
    """A queue's name as `signalbox.create_queue` accepts it, and the few characters more of a dead-letter queue's."""

    regex = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"


class FingerprintConverter:
    """A fingerprint of any text: a slash would end it, so it is written as %2F once more."""

    regex = r"[^/]{1,600}"

    def to_python(self, value: str) -> str:
        return unquote(value)

    def to_url(self, value: str) -> str:
        return value.replace("%", "%25").replace("/", "%2F")


class RowIdConverter(IntConverter):
    """A positive bigint in an address."""

    regex = r"[0-9]{1,18}"


register_converter(QueueNameConverter, "queue")
register_converter(RowIdConverter, "row")
register_converter(FingerprintConverter, "fingerprint")

ROOMS = (
    "overview",
    "fleet",
    "palette",
    "queues",
    "messages",
    "dead_letters",
    "redrives",
    "trash",
    "filters",
    "alerts",
    "streams",
    "captures",
    "subscriptions",
    "history",
    "pipeline",
    "masking",
    "administration",
    "access",
    "api_reference",
    "documentation",
    "web",
)
urlpatterns = [path("", include(f"console.{room}.urls")) for room in ROOMS]

handler400 = "console.web.errors.views.bad_request"
handler403 = "console.web.errors.views.forbidden"
handler404 = "console.web.errors.views.not_found"
handler500 = "console.web.errors.views.server_error"
