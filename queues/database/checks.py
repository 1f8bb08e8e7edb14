"""System checks of settings whose mistakes show only with the first large body, or in a crash."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register  # noqa: A004 - Django's word for it
from django.core.files.storage import FileSystemStorage, storages
from django.db import DEFAULT_DB_ALIAS, connection

from queues.bodies import ALIAS, WholeFiles
from queues.database import search_path
from queues.database.durability import read_unsafe
from signalbox.connections import pooling

SETTINGS = "settings"
"""The tag of the checks that every command runs."""


@register(SETTINGS)
def large_bodies_have_a_store(**_: Any) -> list[CheckMessage]:
    """Check that the storage of large bodies works, and shows only complete objects."""
    try:
        storage = storages[ALIAS]
    except Exception as error:  # whatever a storage raises over its options
        hint = "See BODIES_STORAGE and BODIES_OPTIONS; django-storages is not installed by default."
        return [Error(f"The storage of large bodies cannot be used: {error}", hint=hint, id="queues.E001")]
    if isinstance(storage, FileSystemStorage) and not isinstance(storage, WholeFiles):
        hint = "Use queues.bodies.WholeFiles, which shows a file when it is complete."
        return [Warning("The storage of large bodies shows files that are not complete.", hint=hint, id="queues.W001")]
    return []


@register(Tags.database)
def the_database_keeps_what_it_commits(databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    """Refuse to install queues where commits may be lost: `migrate` and `check --database default` run this check."""
    if not databases or DEFAULT_DB_ALIAS not in databases:
        return []
    hint = "Turn it on for the role and the database of DATABASE_URL, or set ALLOW_UNSAFE_DATABASE=true to play."
    if settings.ALLOW_UNSAFE_DATABASE:
        return [Warning(str(setting), hint=hint, id="queues.W002") for setting in read_unsafe()]
    return [Error(str(setting), hint=hint, id="queues.E002") for setting in read_unsafe()]


@register(Tags.database)
def a_pooler_leads_to_our_tables(databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    """Check that a role behind a pooler in transaction mode has the search path of Signalbox."""
    if not databases or DEFAULT_DB_ALIAS not in databases or not pooling.is_pooled() or search_path.is_ours(connection):
        return []
    message = "Connections through the pooler do not find the tables: their search path is without signalbox."
    hint = "Run `manage.py migrate` with DATABASE_DIRECT_URL, then RECONNECT on the pooler's console."
    return [Error(message, hint=hint, id="queues.E003")]
