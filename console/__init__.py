"""All web code and the Django project; importing it makes the Celery application current."""

from console.celery import app as celery_app

__all__ = ["celery_app"]
