"""The console as tests serve it in a process of its own: as patient with a busy machine as their own process is."""

from __future__ import annotations

from importlib import import_module

from django.conf import settings

from console.asgi import application as application
from tests.patience import LIMITS_OF_PAGES, PATIENCE_MILLISECONDS, PATIENCE_SECONDS

settings.SOCIALACCOUNT_REQUESTS_TIMEOUT = PATIENCE_SECONDS
for _limit in LIMITS_OF_PAGES:
    _module, _, _name = _limit.rpartition(".")
    setattr(import_module(_module), _name, PATIENCE_MILLISECONDS)
