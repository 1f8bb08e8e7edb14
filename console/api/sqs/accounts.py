"""Accounts, addresses and ARNs: the names of queues in SQS.

The account is a hash of the tenant's name, so that it needs no table and never changes. No two tenants have queues of
one name, so a queue is found by its name, and the account is only compared.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from urllib.parse import urlsplit

PATH = "/sqs"
DEFAULT_TENANT = "default"
DEFAULT_ACCOUNT = "000000000000"
PARTITION = "aws"

_PATH = re.compile(r"(?:.*/)?([0-9]{12})/([^/]+)/?")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,80}(\.fifo)?")
_ARN = re.compile(r"arn:[a-z-]{1,20}:sqs:([a-z0-9-]{1,40}):([0-9]{12}):([A-Za-z0-9._-]{1,100})")


def account_of(tenant: str | None) -> str:
    """Return the account of a tenant, 12 digits."""
    if tenant in (None, DEFAULT_TENANT):
        return DEFAULT_ACCOUNT
    digest = hashlib.sha256(tenant.encode()).digest()
    return f"{int.from_bytes(digest[:8]) % 10**12:012}"


def is_name(text: str) -> bool:
    """Return whether a text is the name of a queue rather than its URL."""
    return bool(_NAME.fullmatch(text))


def queue_in(address: str) -> tuple[str, str] | None:
    """Return the account and the name in the URL or path of a queue; None if the address has another form."""
    try:
        path = urlsplit(address).path
    except ValueError:
        return None
    found = _PATH.fullmatch(path)
    return (found[1], found[2]) if found else None


@dataclass(frozen=True)
class Arn:
    """The ARN of a queue."""

    region: str
    account: str
    name: str

    def __str__(self) -> str:
        return f"arn:{PARTITION}:sqs:{self.region}:{self.account}:{self.name}"


def read_arn(text: object) -> Arn | None:
    """Parse the ARN of a queue; None if the value is no ARN of a queue."""
    found = _ARN.fullmatch(text) if isinstance(text, str) else None
    return Arn(*found.groups()) if found else None
