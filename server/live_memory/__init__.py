"""Live Memory: learns a codebase once and answers questions about it with checked sources."""

__version__ = "0.1.0"
