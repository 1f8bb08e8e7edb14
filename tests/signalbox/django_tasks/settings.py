"""The console's settings with our backend for tasks, for worker processes."""

from console.settings import *  # noqa: F403, TID251

TASKS = {"default": {"BACKEND": "signalbox.django_tasks.SignalboxBackend", "QUEUES": []}}
