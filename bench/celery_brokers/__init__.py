"""Benchmark of Celery over Signalbox and over kombu's two other PostgreSQL brokers, installed for the run."""
