"""Celery over Signalbox, beside kombu's two other brokers in PostgreSQL, which are installed for the run."""
