"""The version, in one place."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("gambol")
except PackageNotFoundError:
    __version__ = "0+source"
