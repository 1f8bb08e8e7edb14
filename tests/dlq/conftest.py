"""Fixtures of the dead-letter tests."""

from tests.dlq.dead_letter_scenes import make_dead_letter_scene, scene

__all__ = ["make_dead_letter_scene", "scene"]
