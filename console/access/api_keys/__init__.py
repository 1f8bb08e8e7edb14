"""API keys: what programs show instead of a person's password, and what each may do with which queues.

A key is `sbx_<identifier>.<secret>`. The database has the identifier and the SHA-256 of the secret, so no one reads a
key from it; it is shown once, when it is made (docs/run/api-keys.md).
"""

from console.access.api_keys.authentication import authenticate
from console.access.api_keys.key import ALL, SCOPES, Key, Unauthorized
from console.access.api_keys.limits import LimitExceeded, admitted

__all__ = ["ALL", "SCOPES", "Key", "LimitExceeded", "Unauthorized", "admitted", "authenticate"]
