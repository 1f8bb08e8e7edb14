"""Back from the provider: whoever it says they are comes in, or proves once more who they are, or is told why not."""

from __future__ import annotations

import requests
from allauth.socialaccount.models import SocialLogin
from django.contrib.auth import logout as end_session
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from console import confirming, entering
from console.frame import Frame
from console.sign_on import admitting, provider, tokens
from console.sign_on.faults import Fault

LOGIN, AGAIN = "login", "again"
LEEWAY_SECONDS = 60  # clocks differ


def arrive(request: HttpRequest, login: SocialLogin) -> HttpResponse:
    """Let them in. Raises `Fault` for an answer to a question that this browser did not ask."""
    if not tokens.answers(login.said, login.state.get("nonce")):
        raise Fault("the identity token answers another question")
    again = login.state.get("process") == AGAIN
    if again and login.user != request.user:  # and nobody comes in, so the audit says nothing of it
        return refuse(request, "You signed in as somebody else. Nothing was done, and you are here as you were.")
    verdict = admitting.admit(login)
    if verdict.person is None:
        if again:
            end_session(request)  # what they were here they are no longer
        return refuse(request, verdict.reason)
    if again:
        return _prove_again(request, login)
    at = tokens.logged_in_at(login.said)
    return entering.enter(request, verdict.person, login.state.get("next") or "/", elsewhere=at)


def refuse(request: HttpRequest, reason: str, status: int = 403) -> HttpResponse:
    context = {"title": "Not signed in", "reason": reason, "provider": provider.name(), "frame": Frame(request)}
    answer = render(request, "sessions/sign_on_refused.html", context, status=status)
    answer["Cache-Control"] = "no-store"
    return answer


def fail(request: HttpRequest, exception: Exception | None) -> HttpResponse:
    """Something between us and the provider was not as it has to be."""
    if isinstance(exception, requests.RequestException):
        return refuse(request, f"{provider.name()} does not answer as it should. Try again in a moment.", 502)
    return refuse(request, "What came back was not an answer to this browser's question, or too late. Try again.")


def _prove_again(request: HttpRequest, login: SocialLogin) -> HttpResponse:
    """The same person, who logged in there since we asked: what was asked for can be done now."""
    asked = login.state.get("data") or {}
    if tokens.logged_in_at(login.said) < asked.get("at", float("inf")) - LEEWAY_SECONDS:
        reason = f"{provider.name()} did not ask for your password, or does not say so. Nothing was done."
        return refuse(request, f"{reason} Log out and in again, or set up a second factor under Your account.")
    request.session.cycle_key()
    request.session[confirming.CHECKED_AT] = timezone.now().timestamp()
    kept = [(name, value) for name, values in asked.get("fields", []) for value in values]
    context = {"title": "Go on", "to": asked.get("to", "/"), "kept": kept, "frame": Frame(request)}
    answer = render(request, "sessions/proved.html", context)
    answer["Cache-Control"] = "no-store"
    return answer
