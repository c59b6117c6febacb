"""Formats motions come and go in, one file each; the extension chooses."""
