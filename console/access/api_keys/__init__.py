"""API keys: credentials of programs, with scopes and queues.

A key is `sbx_<identifier>.<secret>`. The database stores the identifier and the SHA-256 of the secret, so a key cannot
be read from it. The key is shown once, when it is created (docs/run/api-keys.md). A key that signs requests, as AWS's
SDKs do, also has its secret encrypted, because the check of a signature needs the secret itself.
"""

from console.access.api_keys.authentication import authenticate, authenticate_signer
from console.access.api_keys.key import ALL, SCOPES, SQS_SCOPES, Key, Unauthorized
from console.access.api_keys.limits import LimitExceeded, admitted

__all__ = [
    "ALL",
    "SCOPES",
    "SQS_SCOPES",
    "Key",
    "LimitExceeded",
    "Unauthorized",
    "admitted",
    "authenticate",
    "authenticate_signer",
]
