"""Addresses of login, people, grants, API keys and the own account."""

from __future__ import annotations

from django.urls import path

from console.access import account, login, people
from console.access.api_keys import views as api_keys
from console.access.grants import views as grants
from console.access.sign_on import views as sign_on
from console.web.sidebar import Group, Item, register

urlpatterns = [
    path("people", people.browse, name="people"),
    path("people/<row:person_id>", people.change, name="person"),
    path("people/<row:person_id>/grants", grants.browse, name="grants"),
    path("grants/<row:grant_id>/take", grants.take, name="grant_take"),
    path("api-keys", api_keys.browse, name="api_keys"),
    path("api-keys/<row:key_id>/revoke", api_keys.revoke, name="api_key_revoke"),
    path("account", account.show, name="account"),
    path("account/password", account.password, name="account_password"),
    path("account/second-factor", account.begin, name="second_factor"),
    path("account/second-factor/confirm", account.confirm, name="second_factor_confirm"),
    path("account/second-factor/remove", account.remove, name="second_factor_remove"),
    path("account/recovery-codes", account.recovery_codes, name="recovery_codes"),
    path("account/sign-on", sign_on.again, name="sign_on_again"),
    path("login", login.login, name="login"),
    path("login/sign-on", sign_on.start, name="sign_on"),
    path("login/sign-on/callback", sign_on.callback, name="sign_on_callback"),
    path("login/code", login.code, name="login_code"),
    path("logout", login.logout, name="logout"),
]

PEOPLE = ("person", "grants", "api_keys", "api_key")
register(Item(Group.ADMIN, 20, "Users & access", "people", "people", PEOPLE, permission="administer"))
