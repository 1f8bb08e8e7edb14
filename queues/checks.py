"""What is wrong with the settings and would be noticed only when the first large body comes."""

from __future__ import annotations

from typing import Any

from django.core.checks import CheckMessage, Error, Warning, register  # noqa: A004 - Django's word for it
from django.core.files.storage import FileSystemStorage, storages

from queues.bodies import ALIAS, WholeFiles


@register()
def large_bodies_have_a_store(**_: Any) -> list[CheckMessage]:
    """The storage of large bodies can be made, and writes objects whole."""
    try:
        storage = storages[ALIAS]
    except Exception as error:  # whatever a storage raises over its options
        return [
            Error(
                f"The storage of large bodies cannot be used: {error}",
                hint="See BODIES_STORAGE and BODIES_OPTIONS; django-storages is not installed by default.",
                id="queues.E001",
            )
        ]
    if isinstance(storage, FileSystemStorage) and not isinstance(storage, WholeFiles):
        return [
            Warning(
                "The storage of large bodies shows files that are half written.",
                hint="Use queues.bodies.WholeFiles, which shows them when they are whole.",
                id="queues.W001",
            )
        ]
    return []
