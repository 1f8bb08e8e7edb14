"""A process that does an erasure's part of the archive and kills itself: killed_erasure.py ERASURE_ID STEP."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any
from unittest import mock

os.environ["DJANGO_SETTINGS_MODULE"] = "console.settings"

import django

django.setup()

from pipeline.archive.files import Store  # noqa: E402
from pipeline.erasure import in_archive  # noqa: E402
from pipeline.erasure.models import ErasedMessage  # noqa: E402

ERASURE_ID, STEP = int(sys.argv[1]), sys.argv[2]


def die(*_: Any, **__: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def rewrite(store: Store, kind: str, old: str, new: str, *more: Any) -> int:
    if STEP == "writing":
        with store.writing(new) as stream:
            stream.write(b"PAR1 and no more")
            stream.flush()
            die()
    written = rewrite_really(store, kind, old, new, *more)
    if STEP == "written":
        die()
    return written


rewrite_really = in_archive.rewrite
with mock.patch.object(in_archive, "rewrite", rewrite):
    if STEP == "exchanging":
        mock.patch.object(ErasedMessage.objects, "bulk_create", die).start()
    if STEP == "exchanged":
        mock.patch.object(in_archive, "remove_discarded", die).start()
    if STEP == "removed":
        remove_really = Store.remove

        def remove(self: Store, path: str) -> None:
            remove_really(self, path)
            die()

        mock.patch.object(Store, "remove", remove).start()
    in_archive.erase(ERASURE_ID)
