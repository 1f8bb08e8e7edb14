"""Base class of commands over jobs: a refusal names its field, and an answer is text or JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from queues.commands import VerbCommand
from queues.errors import SignalboxError

NOT_AT_ITS_END = 3
"""Exit code when a job did not end while the command waited for it."""


class JobCommand(VerbCommand):
    """A command that starts, shows or changes jobs."""

    def sentence_of(self, error: SignalboxError) -> str:
        field = getattr(error, "field", None)
        return f"{field}: {error}" if field else str(error)

    def tell(self, as_json: bool, document: Mapping[str, Any], lines: Iterable[str]) -> None:
        """Write the document for programs, or the lines for people."""
        for line in [json.dumps(document, indent=2, default=str)] if as_json else lines:
            self.stdout.write(line)
