"""Registration of the scheme `signalbox://` with kombu, done by importing this module.

Kombu has no entry point for transports, only a table of names. It does load the entry points of serializers before an
application of Celery's connects. Signalbox lists a serializer, which is plain JSON by another name: its import
registers the scheme. A checkout has no entry points: import `signalbox.celery` there.
"""

import json

from kombu.transport import TRANSPORT_ALIASES

TRANSPORT_ALIASES["signalbox"] = "signalbox.celery.transport:Transport"

#: Encoder, decoder, content type and encoding, as kombu registers them.
serializer = (json.dumps, json.loads, "application/x-signalbox-json", "utf-8")
