"""``python -m gambol`` is the command ``gambol``."""

from gambol.cli import main

main()
