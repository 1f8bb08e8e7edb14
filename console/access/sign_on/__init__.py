"""Sign-on by OpenID Connect, off unless settings name an issuer.

django-allauth speaks the protocol; this package decides who may log in, and with which roles.
"""
