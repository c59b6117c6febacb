"""Motions: states over time on a scene, what can be done with them, and the formats they come and go in."""

from __future__ import annotations

from gambol.motion.contacts import Contacts
from gambol.motion.motion import Motion, Poses, Source

__all__ = ["Contacts", "Motion", "Poses", "Source"]
