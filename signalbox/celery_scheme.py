"""Tells kombu of the scheme `signalbox://` when this is imported.

Kombu has no entry point for transports, only a table of names. It does load the entry points of serializers when it is
imported itself, and so ours is listed as one: it is plain JSON by another name, and loading it enters the scheme. An
application that runs from a checkout, where there are no entry points, imports `signalbox.celery_broker` instead.
"""

import json

from kombu.transport import TRANSPORT_ALIASES

TRANSPORT_ALIASES["signalbox"] = "signalbox.celery_broker.transport:Transport"

#: Encoder, decoder, content type and encoding, as kombu registers them.
serializer = (json.dumps, json.loads, "application/x-signalbox-json", "utf-8")
