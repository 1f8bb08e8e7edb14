"""The console as an ASGI application, served by uvicorn."""

import os

from django.core.asgi import get_asgi_application

import metrics

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")

application = get_asgi_application()

metrics.keep_fresh()
