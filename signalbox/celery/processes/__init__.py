"""Additions to processes of Celery that are no workers: beat and Flower. The transport imports each in its process."""
