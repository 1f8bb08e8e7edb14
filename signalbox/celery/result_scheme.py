"""Registration of the scheme `signalbox://` with Celery's result backends: a checkout has no entry points."""

from celery.app.backends import BACKEND_ALIASES

BACKEND_ALIASES["signalbox"] = "signalbox.celery.results:ResultBackend"
