"""Django's tasks over Signalbox: a backend that sends them, and what a worker runs to do them.

TASKS = {"default": {"BACKEND": "signalbox.django_tasks.SignalboxBackend"}}

python -m signalbox.worker default signalbox.django_tasks:run
"""

from signalbox.django_tasks.backend import SignalboxBackend
from signalbox.django_tasks.running import run, run_async

__all__ = ["SignalboxBackend", "run", "run_async"]
