"""The version of this distribution; a test holds it against pyproject.toml."""

__all__ = ["__version__"]

__version__ = "0.1.0"
