"""The application of a worker's process: `celery -A tests.signalbox.celery.worker worker`."""

from tests.signalbox.celery.shop import of_environment

app = of_environment()
