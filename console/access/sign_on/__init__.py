"""Sign-on by OpenID Connect, off unless settings name an issuer.

django-allauth speaks the protocol; we say who comes in, and as what.
"""
