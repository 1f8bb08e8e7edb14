"""`signalbox`: the verbs from a terminal, over either flavour. A file for each noun, a function for each command."""

from signalbox.cli.main import main

__all__ = ["main"]
