"""API keys: credentials of programs, with scopes and queues.

A key is `sbx_<identifier>.<secret>`. The database stores the identifier and the SHA-256 of the secret, so a key cannot
be read from it. The key is shown once, when it is created (docs/run/api-keys.md).
"""

from console.access.api_keys.authentication import authenticate
from console.access.api_keys.key import ALL, SCOPES, Key, Unauthorized
from console.access.api_keys.limits import LimitExceeded, admitted

__all__ = ["ALL", "SCOPES", "Key", "LimitExceeded", "Unauthorized", "admitted", "authenticate"]
