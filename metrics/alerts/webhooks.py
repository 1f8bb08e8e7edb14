"""A notification as a signed POST to a URL of the settings.

Whoever may set the environment chooses where it goes; no page and no message does. `metrics.alerts.outside` is the way
there; plain HTTP has to be allowed, since the alert can be read on its way.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import time

from django.conf import settings

from metrics.alerts import outside
from metrics.alerts.models import Notification

TIMEOUT_SECONDS = 10.0
TIMESTAMP_HEADER = "Signalbox-Timestamp"
SIGNATURE_HEADER = "Signalbox-Signature"
ID_HEADER = "Signalbox-Notification"


class NotAcceptedError(Exception):
    """The receiver did not answer with a status from 200 to 299."""


def send(notification: Notification) -> None:
    """POST it. Raises when it does not arrive, or is not accepted."""
    body = json.dumps(notification.news, separators=(",", ":")).encode()
    timestamp = str(int(time.time()))
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "Signalbox",
        ID_HEADER: str(notification.pk),
        TIMESTAMP_HEADER: timestamp,
        SIGNATURE_HEADER: sign(settings.ALERTS_WEBHOOK_SECRET, timestamp, body),
    }
    status = outside.post(notification.target, body, headers, TIMEOUT_SECONDS)
    if not 200 <= status < 300:
        raise NotAcceptedError(f"answered {status}")


def sign(secret: str, timestamp: str, body: bytes) -> str:
    """`sha256=` and the HMAC-SHA256 of the timestamp, a dot and the body, in hexadecimal digits."""
    return "sha256=" + hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()
