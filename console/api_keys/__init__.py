"""API keys: what programs show instead of a person's password, and what each may do with which queues.

A key is `sbx_<identifier>.<secret>`. The database has the identifier and the SHA-256 of the secret, so nobody reads a
key from it; it is shown once, when it is made (docs/api-keys.md).
"""

from console.api_keys.authentication import authenticate
from console.api_keys.key import ALL, SCOPES, Key
from console.api_keys.limits import LimitExceeded, admitted
from console.api_keys.tokens import Unauthorized

__all__ = ["ALL", "SCOPES", "Key", "LimitExceeded", "Unauthorized", "admitted", "authenticate"]
