"""Django's tasks over Signalbox: a backend that sends tasks, and the handlers with which a worker runs them.

TASKS = {"default": {"BACKEND": "signalbox.django_tasks.SignalboxBackend"}}

python -m signalbox.worker default signalbox.django_tasks:run
"""

from signalbox.django_tasks.backend import SignalboxBackend
from signalbox.django_tasks.running import run, run_async

__all__ = ["SignalboxBackend", "run", "run_async"]
