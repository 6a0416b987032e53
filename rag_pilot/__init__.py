"""A two-week pilot that measures whether an assistant on your own documents works."""

__version__ = "0.1.0"
