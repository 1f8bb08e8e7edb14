"""A provider of OpenID Connect made of Authlib, as a server of its own on this machine: codes once, PKCE demanded.

A test says who people are there, and how it lies: `twists` changes what its answers say.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from authlib.integrations.flask_oauth2 import AuthorizationServer
from authlib.oauth2.rfc6749 import ClientMixin, grants
from authlib.oauth2.rfc7636 import CodeChallenge
from authlib.oidc.core.grants import OpenIDCode
from flask import Flask, Response, jsonify, request
from joserfc import jwt
from joserfc.jwk import RSAKey
from werkzeug.serving import make_server

CLIENT_ID, CLIENT_SECRET = "signalbox-console", "a secret of both"
CALLBACK = "/login/sign-on/callback"
PAGE = '<title>Provider</title><form method="post"><label>Who <input name="sub"></label><button>Sign in</button></form>'


@dataclass
class Provider:
    """Identity provider with its users and its lies."""

    url: str = ""
    people: dict[str, dict[str, Any]] = field(default_factory=dict)
    key: RSAKey = field(default_factory=lambda: RSAKey.generate_key(2048, {"kid": "one", "use": "sig", "alg": "RS256"}))
    signs_with: Any = None
    header: dict[str, Any] = field(default_factory=lambda: {"alg": "RS256", "kid": "one"})
    document: dict[str, Any] = field(default_factory=dict)
    twists: dict[str, Any] = field(default_factory=dict)
    """Claims of identity tokens as they are to be; None leaves one out."""
    more: dict[str, Any] = field(default_factory=dict)
    """What the second answer, about the person, says otherwise."""
    answer: dict[str, Any] = field(default_factory=dict)
    """What the answer with the tokens says otherwise."""
    asked: list[dict[str, str]] = field(default_factory=list)
    """What it was asked for, each time."""


@dataclass
class _Code:
    code: str
    subject: str
    asked: dict[str, str]
    scope: str
    at: int

    @property
    def code_challenge(self) -> str:
        return self.asked.get("code_challenge", "")

    @property
    def code_challenge_method(self) -> str:
        return self.asked.get("code_challenge_method", "")

    def get_redirect_uri(self) -> str:
        return self.asked["redirect_uri"]

    def get_scope(self) -> str:
        return self.scope

    def get_nonce(self) -> str:
        return self.asked.get("nonce", "")

    def get_auth_time(self) -> int:
        return self.at

    def get_acr(self) -> None:
        return None

    def get_amr(self) -> None:
        return None


class _Client(ClientMixin):
    """The console, as the provider knows it."""

    client_id = CLIENT_ID

    def get_client_id(self) -> str:
        return CLIENT_ID

    def get_default_redirect_uri(self) -> str:
        return ""

    def get_allowed_scope(self, scope: str) -> str:
        return scope

    def check_redirect_uri(self, redirect_uri: str) -> bool:
        return redirect_uri.endswith(CALLBACK)

    def check_client_secret(self, client_secret: str) -> bool:
        return client_secret == CLIENT_SECRET

    def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:
        return method == "client_secret_post"

    def check_response_type(self, response_type: str) -> bool:
        return response_type == "code"

    def check_grant_type(self, grant_type: str) -> bool:
        return grant_type == "authorization_code"


@contextmanager
def running() -> Iterator[Provider]:
    """Answering, at `url`, until the end."""
    provider = Provider()
    server = make_server("127.0.0.1", 0, _app(provider), threaded=True)
    provider.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        thread.join(60)
        server.server_close()


def _app(provider: Provider) -> Flask:
    app, codes, tokens = Flask(__name__), {}, {}
    server = AuthorizationServer(
        app, query_client=_client, save_token=lambda token, asked: tokens.update({token["access_token"]: asked.user})
    )
    server.register_grant(_grant(provider, codes), [_identity(provider)(), CodeChallenge(required=True)])

    @app.get("/.well-known/openid-configuration")
    def document() -> Response:
        return jsonify(_document(provider) | provider.document)

    @app.get("/keys")
    def keys() -> Response:
        return jsonify({"keys": [provider.key.as_dict(private=False)]})

    @app.route("/authorize", methods=["GET", "POST"])
    def authorize() -> Any:
        grant = server.get_consent_grant(end_user=None)
        if request.method == "GET":
            return PAGE
        provider.asked.append(request.args.to_dict())
        return server.create_authorization_response(grant=grant, grant_user=request.form["sub"])

    @app.post("/token")
    def token() -> Any:
        answer = server.create_token_response()
        return jsonify(answer.get_json() | provider.answer) if provider.answer else answer

    @app.get("/userinfo")
    def userinfo() -> Any:
        subject = tokens[request.headers["Authorization"].removeprefix("Bearer ")]
        return jsonify({"sub": subject, **provider.people.get(subject, {}), **provider.more})

    return app


def _document(provider: Provider) -> dict[str, Any]:
    return {
        "issuer": provider.url,
        "authorization_endpoint": f"{provider.url}/authorize",
        "token_endpoint": f"{provider.url}/token",
        "userinfo_endpoint": f"{provider.url}/userinfo",
        "jwks_uri": f"{provider.url}/keys",
        "token_endpoint_auth_methods_supported": ["client_secret_post"],
    }


def _client(client_id: str) -> _Client | None:
    return _Client() if client_id == CLIENT_ID else None


def _grant(provider: Provider, codes: dict[str, _Code]) -> type[grants.AuthorizationCodeGrant]:
    class Grant(grants.AuthorizationCodeGrant):
        TOKEN_ENDPOINT_AUTH_METHODS = ["client_secret_post"]

        def save_authorization_code(self, code: str, asked: Any) -> None:
            at = int(time.time())
            codes[code] = _Code(code, asked.user, dict(asked.payload.data), asked.scope, at)

        def query_authorization_code(self, code: str, client: _Client) -> _Code | None:
            return codes.get(code)

        def delete_authorization_code(self, authorization_code: _Code) -> None:
            del codes[authorization_code.code]

        def authenticate_user(self, authorization_code: _Code) -> str:
            return authorization_code.subject

    return Grant


def _identity(provider: Provider) -> type[OpenIDCode]:
    class Identity(OpenIDCode):
        def exists_nonce(self, nonce: str, asked: Any) -> bool:
            return any(one.get("nonce") == nonce for one in provider.asked[:-1])

        def resolve_client_private_key(self, client: _Client) -> RSAKey:
            return provider.key

        def get_client_claims(self, client: _Client) -> dict[str, Any]:
            return {"iss": provider.url}

        def generate_user_info(self, user: str, scope: str) -> dict[str, Any]:
            return {"sub": user}

        def encode_id_token(self, token: Any, asked: Any) -> str:
            made = super().encode_id_token(token, asked)
            said = jwt.decode(made, provider.key).claims | provider.twists
            claims = {name: value for name, value in said.items() if value is not None}
            return jwt.encode(provider.header, claims, provider.signs_with or provider.key, [provider.header["alg"]])

    return Identity
