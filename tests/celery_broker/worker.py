"""The application of a worker's process: `celery -A tests.celery_broker.worker worker`."""

from tests.celery_broker.shop import of_environment

app = of_environment()
