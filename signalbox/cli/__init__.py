"""The command line `signalbox`: verbs over a database or a server. One file a noun, one function a command."""

from signalbox.cli.main import main

__all__ = ["main"]
