"""Tells kombu of the scheme `signalbox://` when this is imported.

Kombu has no entry point for transports, only a table of names. It does load the entry points of serializers, before any
application of Celery's connects, and so ours is listed as one: it is plain JSON by another name, and loading it enters
the scheme. Where there are no entry points (a checkout) `signalbox.celery_broker` is imported instead.
"""

import json

from kombu.transport import TRANSPORT_ALIASES

TRANSPORT_ALIASES["signalbox"] = "signalbox.celery_broker.transport:Transport"

#: Encoder, decoder, content type and encoding, as kombu registers them.
serializer = (json.dumps, json.loads, "application/x-signalbox-json", "utf-8")
